"""Calls of an agent whose card a stranger wrote: one origin, certain hosts, public addresses."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest

from a2a_discovery import _channels, protojson
from a2a_discovery.errors import CallTimeoutError, NoSupportedInterfaceError, TransportError
from a2a_discovery.policy import UrlPolicy
from tests.agent.common import BINDINGS, GET, HTTP, call, card, encoded, failure, interface, reply, site, task
from tests.agent.grpc_server import GrpcServer
from tests.lookup import INSIDE, LOOPBACK, PUBLIC, call_loopback_public, looked_up
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio

PRIVATE = UrlPolicy(deny_private=True, allow_http=True)
CALLS = ["GetTask", "SubscribeToTask"]


def named(binding: str, url: str) -> Any:
    """The card of a server on loopback, with a name instead of its address."""
    scheme = "http://" if binding == "GRPC" else ""
    return card(interface(binding, scheme + url.replace(LOOPBACK, "agent.test")))


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("answer", [[LOOPBACK], [PUBLIC, LOOPBACK], ["64:ff9b::7f00:1"]])
async def test_a_name_of_a_private_address(
    world: World, monkeypatch: pytest.MonkeyPatch, binding: str, answer: list[str]
) -> None:
    looked_up(monkeypatch, answer)
    with site(binding) as found:
        async with world.agent(named(binding, found.url), policy=PRIVATE) as agent:
            for name in CALLS:
                error, events = await failure(agent, name)
                assert type(error) is TransportError and not error.sent and events == []
                assert "agent.test is at" in error.message and "a loopback address" in error.message
        assert found.calls() == [] and not getattr(found.server, "connections", [])


@pytest.mark.parametrize("own_client", [True, False])
@pytest.mark.parametrize("binding", HTTP)
async def test_a_second_answer_of_the_lookup(
    world: World, monkeypatch: pytest.MonkeyPatch, binding: str, own_client: bool
) -> None:
    with site(binding) as found:
        for name in CALLS:
            looked_up(monkeypatch, [PUBLIC], [LOOPBACK])
            async with world.client() as client:
                options = {} if own_client else {"client": client}
                async with world.agent(named(binding, found.url), policy=PRIVATE, **options) as agent:
                    error, _ = await failure(agent, name)
            assert type(error) is TransportError and not error.sent
            assert "agent.test is at 127.0.0.1, a loopback address" in error.message
        assert found.server.seen == []


@pytest.mark.parametrize("binding", HTTP)
async def test_connections_are_kept_and_looked_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch, binding: str
) -> None:
    call_loopback_public(monkeypatch)
    lookup = looked_up(monkeypatch, [LOOPBACK])
    with site(binding) as found:
        async with world.agent(named(binding, found.url), policy=PRIVATE) as agent:
            for _ in range(3):
                assert await agent.get_task(GET) == task()
        assert len(found.server.connections) == 1  # type: ignore[union-attr]
    assert len(lookup.asked) == 2


async def test_grpc_calls_the_addresses_that_were_looked_at(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    call_loopback_public(monkeypatch)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    lookup = looked_up(monkeypatch, [LOOPBACK], [INSIDE])
    with site("GRPC") as found:
        async with world.agent(named("GRPC", found.url), policy=PRIVATE) as agent:
            assert await world.together([lambda: agent.get_task(GET)] * 4) == [task()] * 4
            for name in CALLS:
                await call(agent, name)
    assert lookup.asked == ["agent.test"]


async def test_grpc_asks_again_when_the_host_is_gone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    call_loopback_public(monkeypatch)
    lookup = looked_up(monkeypatch, ["127.0.0.2"], [LOOPBACK], [INSIDE])
    with site("GRPC") as found:
        async with world.agent(named("GRPC", found.url), policy=PRIVATE) as agent:
            error, _ = await failure(agent, "GetTask")
            assert type(error) is TransportError and not error.sent
            assert await agent.get_task(GET) == task()
            assert await agent.get_task(GET) == task()
    assert len(lookup.asked) == 2


async def test_grpc_with_tls_to_a_name(
    world: World, monkeypatch: pytest.MonkeyPatch, tls: tuple[ssl.SSLContext, Path]
) -> None:
    call_loopback_public(monkeypatch)
    pem = tls[1].read_bytes()
    key, _, certificate = (tls[1].parent / "server.pem").read_bytes().partition(b"-----BEGIN CERTIFICATE")
    trusting = grpc.ssl_channel_credentials(root_certificates=pem)
    monkeypatch.setattr(_channels.grpc, "ssl_channel_credentials", lambda: trusting)
    pair = grpc.ssl_server_credentials([(key, b"-----BEGIN CERTIFICATE" + certificate)])
    lookup = looked_up(monkeypatch, [LOOPBACK])
    with GrpcServer(lambda *_: task(), credentials=pair) as server:
        for name, works in [("agent.test", True), ("other.test", False)]:
            lookup.answers[name] = [[LOOPBACK]]
            async with world.agent(
                card(interface("GRPC", f"{name}:{server.port}")), policy=UrlPolicy(deny_private=True)
            ) as agent:
                if works:
                    assert await agent.get_task(GET) == task()
                else:
                    error, _ = await failure(agent, "GetTask")
                    assert isinstance(error, TransportError) and not error.sent
        assert len(server.seen) == 1


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_lookup_that_takes_too_long(monkeypatch: pytest.MonkeyPatch, binding: str) -> None:
    # Nothing ends the lookup of a blocking call.
    done = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: done.wait(5) and [])
    one = card(interface(binding, "agent.test:1" if binding == "GRPC" else "https://agent.test"))
    async with World("async").agent(one, policy=PRIVATE, connect_timeout=0.1) as agent:
        for name in CALLS:
            error, _ = await failure(agent, name)
            assert isinstance(error, CallTimeoutError) and (error.phase, error.sent) == ("connect", False)
    async with World("async").agent(one, policy=PRIVATE) as agent:
        for name, phase in zip(CALLS, ("unary", "idle"), strict=True):
            error, _ = await failure(agent, name, timeout=0.1)
            assert isinstance(error, CallTimeoutError) and (error.phase, error.seconds) == (phase, 0.1)
    done.set()


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_name_that_is_not_found(world: World, monkeypatch: pytest.MonkeyPatch, binding: str) -> None:
    looked_up(monkeypatch, [])
    one = card(interface(binding, "agent.test:1" if binding == "GRPC" else "https://agent.test"))
    async with world.agent(one, policy=PRIVATE) as agent:
        for name in CALLS:
            error, _ = await failure(agent, name)
            assert type(error) is TransportError and not error.sent and "cannot be resolved" in error.message


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_closed_agent_makes_no_connection(world: World, monkeypatch: pytest.MonkeyPatch, binding: str) -> None:
    call_loopback_public(monkeypatch)
    looked_up(monkeypatch, [LOOPBACK])
    with site(binding) as found:
        async with world.agent(named(binding, found.url), policy=PRIVATE) as agent:
            pass
        for name in CALLS:
            error, _ = await failure(agent, name)
            assert type(error) is TransportError
        assert found.calls() == []


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_lookup_that_finds_nothing(world: World, monkeypatch: pytest.MonkeyPatch, binding: str) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [])
    one = card(interface(binding, "agent.test:1" if binding == "GRPC" else "https://agent.test"))
    async with world.agent(one, policy=PRIVATE) as agent:
        error, _ = await failure(agent, "GetTask")
        assert type(error) is TransportError and not error.sent and "cannot be resolved" in error.message


async def test_the_callers_channel_is_the_callers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    lookup = looked_up(monkeypatch, [LOOPBACK])
    with site("GRPC") as found:
        async with (
            world.channel(found.url) as channel,
            world.agent(card(interface("GRPC", "agent.test:1")), channel=channel, policy=PRIVATE) as agent,
        ):
            assert await agent.get_task(GET) == task()
    assert lookup.asked == []


async def test_the_next_interface_is_tried(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    call_loopback_public(monkeypatch)
    lookup = looked_up(monkeypatch, [LOOPBACK])
    lookup.answers["inside.test"] = [[INSIDE]]
    with site("JSONRPC") as found:
        both = card(interface("GRPC", "inside.test:1"), interface("JSONRPC", found.url))
        async with world.agent(both, policy=PRIVATE, fallback=True) as agent:
            assert await agent.get_task(GET) == task()
            assert "a loopback address" in agent.selection.skipped[0].reason


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_private_address_is_not_chosen(world: World, binding: str) -> None:
    with site(binding) as found, pytest.raises(NoSupportedInterfaceError, match=r"127\.0\.0\.1 is a loopback address"):
        world.agent(found.card(), policy=PRIVATE)


async def test_a_card_is_kept_to_its_origin_or_to_certain_hosts(world: World) -> None:
    def handler(exchange: Exchange) -> None:
        if exchange.verb == "GET":
            exchange.answer(200, protojson.dumps(strange))
        else:
            exchange.read_body()
            exchange.answer(200, encoded(exchange, reply("GetTask")), "Content-Type: application/json")

    with Server(handler) as server, site("JSONRPC") as elsewhere, site("GRPC") as same_host:
        strange = card(
            interface("JSONRPC", elsewhere.url),
            interface("GRPC", same_host.url.replace(LOOPBACK, "localhost")),
            interface("JSONRPC", f"{server.url}/rpc"),
        )
        for policy in (UrlPolicy(same_origin=True), UrlPolicy(allow_hosts=[f"127.0.0.1:{server.port}"])):
            async with world.discover(server.url, policy=policy) as agent:
                assert agent.selection.index == 2 and await agent.get_task(GET) == task()
        strange.supported_interfaces[1].url = same_host.url
        async with world.discover(server.url, policy=UrlPolicy(same_origin=True)) as agent:
            assert agent.selection.index == 1 and await agent.get_task(GET) == task()
        async with world.discover(server.url) as agent:
            assert agent.selection.index == 0
        with pytest.raises(NoSupportedInterfaceError, match="give card_url"):
            world.agent(strange, policy=UrlPolicy(same_origin=True))
        with pytest.raises(NoSupportedInterfaceError, match="X-Forwarded-Proto"):
            world.agent(card(interface("JSONRPC", "http://agent.test")), card_url="https://agent.test/card.json")
        assert elsewhere.calls() == []
