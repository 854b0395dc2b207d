"""Calling again, and over the next interface: only where nothing can happen twice, and only when asked for."""

from __future__ import annotations

import socket
import threading
from typing import Any

import grpc
import pytest

import a2a_discovery._async.agent as async_agent
import a2a_discovery._sync.agent as sync_agent
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery.errors import A2AError, TransportError
from tests.agent.common import (
    BINDINGS,
    HTTP,
    METHODS,
    UNARY,
    call,
    card,
    failure,
    interface,
    reply,
    requests,
    site,
    task,
)
from tests.agent.grpc_server import GrpcServer
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that are made, none of which is."""
    made: list[float] = []

    async def async_sleep(seconds: float) -> None:
        made.append(seconds)

    monkeypatch.setattr(async_agent, "async_sleep", async_sleep)
    monkeypatch.setattr(sync_agent, "sync_sleep", made.append)
    return made


@pytest.fixture
def dead() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port: int = closed.getsockname()[1]
    return port


def at(binding: str, port: int) -> Any:
    return interface(binding, f"127.0.0.1:{port}" if binding == "GRPC" else f"http://127.0.0.1:{port}")


def answering(*answers: Any) -> Any:
    """HTTP+JSON: each request gets the next answer, a status with header fields or a message."""
    left = list(answers)

    def handler(exchange: Exchange) -> None:
        exchange.read_body()
        answer = left.pop(0)
        if isinstance(answer, tuple):
            exchange.answer(answer[0], b"", *answer[1:])
        else:
            from tests.agent.common import encoded

            exchange.answer(200, encoded(exchange, answer))

    return handler


@pytest.mark.parametrize("name", UNARY)
async def test_only_what_is_idempotent_is_repeated(world: World, name: str, pauses: list[float]) -> None:
    busy = (503, "Retry-After: 7")
    with Server(answering(busy, (429, "Retry-After: 1"), reply(name))) as server:
        async with world.agent(card(at("HTTP+JSON", server.port)), retries=2) as agent:
            if OPERATIONS[name].idempotent:
                assert await call(agent, name) == reply(name)
                assert pauses == [7.0, 1.0]
            else:
                error, _ = await failure(agent, name)
                assert error.http_status == 503 and error.retry_after == 7.0
                assert len(server.seen) == 1 and not pauses


@pytest.mark.parametrize(
    "answer",
    [(503,), (429, "Retry-After: soon"), (500, "Retry-After: 1"), (404, "Retry-After: 1"), (503, "Retry-After: 3600")],
)
async def test_only_who_is_busy_for_a_time_is_asked_again(world: World, answer: Any) -> None:
    with Server(answering(answer)) as server:
        async with world.agent(card(at("HTTP+JSON", server.port)), retries=3) as agent:
            error, _ = await failure(agent, "GetTask")
        assert isinstance(error, A2AError) and len(server.seen) == 1


async def test_no_more_often_than_said(world: World) -> None:
    busy = (503, "Retry-After: 0")
    with Server(answering(busy, busy, busy)) as server:
        async with world.agent(card(at("HTTP+JSON", server.port)), retries=2) as agent:
            await failure(agent, "GetTask")
        assert len(server.seen) == 3
    with Server(answering(busy)) as server:
        async with world.agent(card(at("HTTP+JSON", server.port))) as agent:
            await failure(agent, "GetTask")
        assert len(server.seen) == 1


@pytest.mark.parametrize("binding", BINDINGS)
async def test_connections_that_are_not_made(world: World, binding: str, dead: int, pauses: list[float]) -> None:
    async with world.agent(card(at(binding, dead)), retries=2) as agent:
        await failure(agent, "GetTask")
        assert pauses == [0.1, 0.2]
        await failure(agent, "SendMessage")
        await failure(agent, "SendStreamingMessage")
        assert pauses == [0.1, 0.2]


@pytest.mark.parametrize("binding", HTTP)
async def test_what_may_have_been_sent_is_not_repeated(world: World, binding: str) -> None:
    with Server(lambda exchange: None) as server, site("JSONRPC") as other:
        one = card(at(binding, server.port), interface("JSONRPC", other.url))
        async with world.agent(one, retries=3, fallback=True) as agent:
            for name in METHODS:
                error, _ = await failure(agent, name)
                assert isinstance(error, TransportError) and error.sent
            assert agent.selection.index == 0
        assert len(server.seen) == len(METHODS) and not other.server.seen


async def test_grpc_agents_that_are_busy(world: World, pauses: list[float]) -> None:
    tries: list[str] = []

    def busy(name: str, request: Any, context: Any) -> Any:
        tries.append(name)
        if len(tries) > 1:
            return task()
        context.set_trailing_metadata([("retry-after", "2")])
        return context.abort(grpc.StatusCode.UNAVAILABLE, "busy")

    with GrpcServer(busy) as server:
        async with world.agent(card(interface("GRPC", server.url)), retries=1) as agent:
            assert await call(agent, "GetTask") == task()
    assert pauses == [2.0]


@pytest.mark.parametrize("first", BINDINGS)
@pytest.mark.parametrize("second", BINDINGS)
@pytest.mark.parametrize("name", ["SendMessage", "SendStreamingMessage"])
async def test_the_next_interface_is_tried(world: World, first: str, second: str, name: str, dead: int) -> None:
    with site(second) as found:
        one = card(at(first, dead), interface("NEW", found.url), interface(second, found.url, "billing"))
        async with world.agent(one, fallback=True) as agent:
            assert agent.selection.index == 0
            answer = await call(agent, name)
            assert answer == ([reply(name)] if name == "SendStreamingMessage" else reply(name))
            assert agent.selection.index == 2 and agent.interface.tenant == "billing"
            assert [skipped.index for skipped in agent.selection.skipped] == [0, 1]
            assert "cannot be connected to" in agent.selection.skipped[0].reason
            assert "nothing listens" in agent.selection.skipped[0].reason
            await call(agent, name)
        assert found.calls() == [name, name]


@pytest.mark.parametrize("name", ["SendMessage", "SendStreamingMessage"])
async def test_the_next_interface_is_not_tried_unless_asked_for(world: World, name: str, dead: int) -> None:
    with site("JSONRPC") as found:
        async with world.agent(card(at("HTTP+JSON", dead), interface("JSONRPC", found.url))) as agent:
            error, _ = await failure(agent, name)
            assert not error.sent and agent.selection.index == 0
        assert not found.server.seen


async def test_no_interface_can_be_connected_to(world: World, dead: int) -> None:
    async with world.agent(card(at("HTTP+JSON", dead), at("GRPC", dead)), fallback=True) as agent:
        for name in ("SendMessage", "SendStreamingMessage"):
            error, _ = await failure(agent, name)
            assert type(error) is TransportError and "nothing listens" in str(error)
        assert agent.selection.index == 1


async def test_errors_of_the_agent_are_no_reason_to_ask_elsewhere(world: World) -> None:
    with Server(answering((503,), (404,))) as server, site("JSONRPC") as other:
        one = card(at("HTTP+JSON", server.port), interface("JSONRPC", other.url))
        async with world.agent(one, fallback=True) as agent:
            for _ in range(2):
                error, _ = await failure(agent, "SendMessage")
                assert isinstance(error, A2AError)
        assert not other.server.seen


async def test_another_tenant_of_the_next_interface_is_refused(world: World, dead: int) -> None:
    with site("JSONRPC") as found:
        one = card(interface("HTTP+JSON", f"http://127.0.0.1:{dead}", "a"), interface("JSONRPC", found.url, "b"))
        request = requests()["SendMessage"]
        request.tenant = "a"
        async with world.agent(one, fallback=True) as agent:
            error, _ = await failure(agent, "SendMessage", request)
        assert type(error).__name__ == "TenantMismatchError" and not found.server.seen


async def test_many_fall_back_at_once(world: World, dead: int) -> None:
    with site("JSONRPC") as found:
        one = card(at("HTTP+JSON", dead), interface("JSONRPC", found.url))
        async with world.agent(one, fallback=True) as agent:
            answers = await world.together([lambda: call(agent, "GetTask")] * 20)
            assert answers == [task()] * 20 and agent.selection.index == 1


@pytest.mark.parametrize("binding", ["JSONRPC", "GRPC"])
async def test_one_agent_serves_many_at_once(world: World, binding: str) -> None:
    from a2a_discovery import types as t

    def echo(request: Any) -> Any:
        return t.Task(id=request.id, context_id="c", status=task().status)

    if binding == "GRPC":
        with GrpcServer(lambda name, request, context: echo(request), workers=16) as server:
            await many(world, card(interface("GRPC", server.url)))
        return
    from tests.agent.test_operations import arrived

    def handler(exchange: Exchange) -> None:
        from tests.agent.common import Site, encoded

        exchange.read_body()
        one = Site(binding, "", _Seen(exchange))  # type: ignore[arg-type]
        exchange.answer(200, encoded(exchange, echo(arrived(one, 0))), "Content-Type: application/json")

    threads = threading.active_count()
    with Server(handler, keep_alive=True) as server_:
        path = "/rpc" if binding == "JSONRPC" else ""
        await many(world, card(interface(binding, server_.url + path)))
    assert threading.active_count() <= threads


class _Seen:
    def __init__(self, exchange: Exchange) -> None:
        self.seen = [exchange]


async def many(world: World, one: Any) -> None:
    from a2a_discovery import types as t

    async with world.agent(one) as agent:
        calls = [lambda i=i: call(agent, "GetTask", t.GetTaskRequest(id=str(i))) for i in range(200)]
        assert [found.id for found in await world.together(calls)] == [str(i) for i in range(200)]
