"""What is decided before anything is sent: refusals in their order, version, extensions, service parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from a2a_discovery import types as t
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery.errors import (
    A2AError,
    ExtensionSupportRequiredError,
    NoSupportedInterfaceError,
    PushNotificationNotSupportedError,
    TenantMismatchError,
    UnsupportedOperationError,
)
from tests.agent.common import BINDINGS, GET, HTTP, METHODS, call, card, failure, interface, message, requests, site
from tests.servers import Server, World

pytestmark = pytest.mark.anyio

NEEDED, OFFERED = "https://x.test/needed", "https://x.test/offered"
EXTENSIONS = [t.AgentExtension(uri=NEEDED, required=True), t.AgentExtension(uri=OFFERED)]


@pytest.fixture
def silent() -> Iterator[Server]:
    """A server that notices each connection."""
    with Server(lambda exchange: None, raw=True) as server:
        yield server


def at(silent: Server, binding: str, **options: Any) -> t.AgentCard:
    url = f"127.0.0.1:{silent.port}" if binding == "GRPC" else silent.url
    return card(interface(binding, url, "billing"), **options)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_local_refusals_in_their_order_make_no_connection(world: World, binding: str, silent: Server) -> None:
    bad = t.SendMessageRequest(tenant="other", message=t.Message())
    async with world.agent(at(silent, binding, flags=False, extensions=EXTENSIONS)) as agent:
        error, _ = await failure(agent, "SendStreamingMessage", bad)
        assert type(error) is UnsupportedOperationError and error.local
        error, _ = await failure(agent, "SendMessage", bad)
        assert type(error) is ExtensionSupportRequiredError and NEEDED in str(error) and error.local
        error, _ = await failure(agent, "SendMessage", bad, extensions=[NEEDED])
        assert type(error) is TenantMismatchError
        bad.tenant = ""
        error, _ = await failure(agent, "SendMessage", bad, extensions=[NEEDED])
        assert type(error) is A2AError and error.code == -32602 and error.local
        assert [path for path, _ in error.field_violations] == ["message.role", "message.parts"]
    assert not silent.connections


@pytest.mark.parametrize("binding", BINDINGS)
async def test_flags(world: World, binding: str, silent: Server) -> None:
    async with world.agent(at(silent, binding, flags=False)) as agent:
        for name, operation in OPERATIONS.items():
            assert agent.allows(name) == (operation.flag is None)
            if operation.flag is not None:
                error, _ = await failure(agent, name)
                assert type(error).__name__ == operation.flag.error and error.local
        config = t.SendMessageConfiguration(
            task_push_notification_config=t.TaskPushNotificationConfig(url="https://h.test")
        )
        error, _ = await failure(agent, "SendMessage", t.SendMessageRequest(message=message(), configuration=config))
        assert type(error) is PushNotificationNotSupportedError and error.local
    assert not silent.connections


@pytest.mark.parametrize("binding", BINDINGS)
async def test_incomplete_requests_of_every_kind(world: World, binding: str, silent: Server) -> None:
    async with world.agent(at(silent, binding)) as agent:
        for name, request in requests().items():
            empty = type(request)()
            if name in ("ListTasks", "GetExtendedAgentCard"):
                continue
            error, _ = await failure(agent, name, empty)
            assert error.code == -32602 and error.local and error.field_violations
    assert not silent.connections


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("declared", ["1.0", "1.0.1"])
async def test_version_of_the_entry_on_every_call(world: World, binding: str, declared: str) -> None:
    with site(binding) as found:
        one = interface(binding, found.url, version=declared)
        async with world.agent(card(one)) as agent:
            for name in METHODS:
                await call(agent, name)
                assert found.params()["a2a-version"] == "1.0"
                assert "a2a-extensions" not in found.params()


@pytest.mark.parametrize("binding", BINDINGS)
async def test_extensions_are_one_value(world: World, binding: str) -> None:
    with site(binding) as found:
        declared = {"A2A-Extensions": f"https://own.test, {OFFERED}"}
        async with world.agent(
            found.card(extensions=EXTENSIONS), extensions=[NEEDED, "https://unlisted.test"], service_params=declared
        ) as agent:
            for name in METHODS:
                await call(agent, name, service_params={"a2a-extensions": "https://call.test"})
                given = found.params()["a2a-extensions"]
                assert given == f"https://own.test,{OFFERED},https://call.test,{NEEDED}"
            await agent.get_task(GET, extensions=[OFFERED])
            assert found.params()["a2a-extensions"] == f"https://own.test,{OFFERED},{NEEDED}"
        async with world.agent(found.card(extensions=EXTENSIONS)) as agent:
            await agent.get_task(GET, extensions=iter([NEEDED]))
            assert found.params()["a2a-extensions"] == NEEDED
            await agent.get_task(GET, service_params={"A2A-Extensions": NEEDED})
            assert found.params()["a2a-extensions"] == NEEDED


@pytest.mark.parametrize("binding", HTTP)
async def test_the_callers_client_may_declare_extensions(world: World, binding: str) -> None:
    with site(binding) as found:
        async with (
            world.client(headers={"a2a-extensions": f"{NEEDED} ,https://own.test", "A2A-Version": "9"}) as client,
            world.agent(found.card(extensions=EXTENSIONS), client=client, extensions=[OFFERED]) as agent,
        ):
            await agent.get_task(GET)
            assert found.params()["a2a-extensions"] == f"{NEEDED},https://own.test,{OFFERED}"
            assert found.params()["a2a-version"] == "1.0"
    fields = [line.partition(b":")[0].lower() for line in found.server.seen[0].head.split(b"\r\n")]  # type: ignore[union-attr]
    assert len(fields) == len(set(fields))


@pytest.mark.parametrize("binding", BINDINGS)
async def test_service_params_go_along(world: World, binding: str) -> None:
    with site(binding) as found:
        async with world.agent(found.card(), service_params={"X-One": " 1 ", "x-two": "2"}) as agent:
            await agent.get_task(GET, service_params={"x-one": "3"})
            assert found.params()["x-one"] == "3" and found.params()["x-two"] == "2"
            await agent.get_task(GET)
            assert found.params()["x-one"] == "1"
            with pytest.raises(ValueError, match="x-secret"):
                await agent.get_task(GET, service_params={"x-secret": "a\r\nb"})


RESERVED = ["Content-Type", "accept", "Content-Length", "host", "TE", "Transfer-Encoding", "A2A-Version"]
NO_METADATA = ["X-a#b", "X-trace-Bin"]


@pytest.mark.parametrize("name", [*RESERVED, *NO_METADATA])
async def test_service_params_cannot_be_what_the_binding_says(world: World, name: str) -> None:
    one = card(interface("JSONRPC", "http://127.0.0.1:1"))
    with pytest.raises(ValueError, match=name):
        world.agent(one, service_params={name: "x"})
    async with world.agent(one) as agent:
        with pytest.raises(ValueError, match=name):
            await agent.get_task(GET, service_params={name: "x"})


@pytest.mark.parametrize("limit", ["connect_timeout", "timeout", "idle_timeout"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_limits_are_seconds_above_zero(world: World, limit: str, value: float) -> None:
    with pytest.raises(ValueError, match=limit):
        world.agent(card(interface("JSONRPC", "http://127.0.0.1:1")), **{limit: value})


@pytest.mark.parametrize("name", ["GetTask", "SubscribeToTask"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
async def test_limits_of_a_call_are_seconds_above_zero(world: World, name: str, value: float, silent: Server) -> None:
    async with world.agent(at(silent, "JSONRPC")) as agent:
        with pytest.raises(ValueError, match="timeout"):
            await call(agent, name, timeout=value)
    assert not silent.connections


async def test_cards_without_an_interface_that_is_spoken(world: World) -> None:
    with pytest.raises(NoSupportedInterfaceError):
        world.agent(card(interface("JSONRPC", "http://h.test")))


async def test_the_card_is_a_copy(world: World) -> None:
    given = card(interface("JSONRPC", "http://127.0.0.1:1", "a"))
    async with world.agent(given) as agent:
        given.supported_interfaces[0].tenant = "b"
        assert agent.interface.tenant == agent.card.supported_interfaces[0].tenant == "a"
        assert agent.selection.index == 0 and agent.selection.skipped == ()


@pytest.mark.parametrize("binding", BINDINGS)
async def test_discover_fetches_the_card_and_gives_the_agent(world: World, binding: str) -> None:
    from a2a_discovery import protojson

    with site(binding) as found:
        made = protojson.dumps(found.card("billing"))
        with Server(lambda exchange: exchange.answer(200, made, "Content-Type: application/json")) as host:
            async with world.discover(host.url, service_params={"x-one": "1"}) as agent:
                assert agent.interface.tenant == "billing"
                await agent.get_task(GET)
        assert found.calls() == ["GetTask"] and found.params()["x-one"] == "1"
