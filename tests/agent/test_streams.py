"""Streams that behave, and answers that should have been one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from a2a_discovery import types as t
from a2a_discovery.errors import (
    CallTimeoutError,
    InvalidAgentResponseError,
    StreamInterruptedError,
)
from tests.agent.common import (
    BINDINGS,
    HTTP,
    STREAM_HEAD,
    artifact,
    call,
    card,
    encoded,
    eventually,
    failure,
    interface,
    message,
    site,
    sse,
    started,
    status,
    task,
)
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio

S = t.TaskState


def server(handler: Callable[[Exchange], Any]) -> Server:
    """Its handler is called with the body read."""

    def reading(exchange: Exchange) -> None:
        exchange.read_body()
        handler(exchange)

    return Server(reading)


def http_card(found: Server, binding: str) -> t.AgentCard:
    return card(interface(binding, found.url + ("/rpc" if binding == "JSONRPC" else "")))


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize(
    "state",
    [
        S.TASK_STATE_COMPLETED,
        S.TASK_STATE_FAILED,
        S.TASK_STATE_CANCELED,
        S.TASK_STATE_REJECTED,
        S.TASK_STATE_INPUT_REQUIRED,
        S.TASK_STATE_AUTH_REQUIRED,
    ],
)
async def test_streams_may_end_in_these_states(world: World, binding: str, state: int) -> None:
    events = [started(), artifact("a"), status(state), artifact("b")]
    with site(binding, lambda _: events) as found:
        async with world.agent(found.card()) as agent:
            assert await call(agent, "SendStreamingMessage") == events


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_message_is_a_whole_stream(world: World, binding: str) -> None:
    only = t.StreamResponse(message=message())
    with site(binding, lambda _: [only]) as found:
        async with world.agent(found.card()) as agent:
            assert await call(agent, "SendStreamingMessage") == [only]


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([], 0),
        ([artifact("a")], 0),
        ([started()], S.TASK_STATE_WORKING),
        ([started(), status(S.TASK_STATE_SUBMITTED)], S.TASK_STATE_SUBMITTED),
        ([status(S.TASK_STATE_INPUT_REQUIRED), status(S.TASK_STATE_WORKING)], S.TASK_STATE_WORKING),
    ],
)
async def test_streams_that_end_too_early(world: World, binding: str, events: list[Any], state: int) -> None:
    with site(binding, lambda _: events) as found:
        async with world.agent(found.card()) as agent:
            error, seen = await failure(agent, "SendStreamingMessage")
            assert type(error) is StreamInterruptedError and seen == events
            assert (error.task_id, error.state) == ("t" if events else "", state)
            error, _ = await failure(agent, "SubscribeToTask")
            assert (error.task_id, error.state) == ("t", state)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_text_with_line_ends_of_unicode(world: World, binding: str) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\r\nh\ri\n\nj\0k\ufeff"
    events = [artifact(text), status()]
    with site(binding, lambda _: events) as found:
        async with world.agent(found.card()) as agent:
            assert await call(agent, "SendStreamingMessage", text) == events


@pytest.mark.parametrize("binding", HTTP)
async def test_raw_u2028_and_any_cut(world: World, binding: str) -> None:
    def handler(exchange: Exchange) -> None:
        data = sse(exchange, artifact("a\u2028b"), status())
        assert "\u2028".encode() in data
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n\r\n")
        for at in range(0, len(data), 7):
            exchange.send(data[at : at + 7])

    with server(handler) as found:
        async with world.agent(http_card(found, binding)) as agent:
            assert await call(agent, "SendStreamingMessage") == [artifact("a\u2028b"), status()]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_events_just_within_the_limit(world: World, binding: str) -> None:
    events = [artifact("x" * (8 * 1024 * 1024 - 1000)), status()]
    with site(binding, lambda _: events) as found:
        async with world.agent(found.card()) as agent:
            assert await call(agent, "SendStreamingMessage") == events


@pytest.mark.parametrize("binding", HTTP)
@pytest.mark.parametrize("code", [200, 400, 503])
async def test_json_instead_of_a_stream(world: World, binding: str, code: int) -> None:
    gone = {
        "JSONRPC": b'{"jsonrpc":"2.0","id":"1","error":{"code":-32001,"message":"m"}}',
        "HTTP+JSON": b'{"error":{"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo",'
        b'"reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}',
    }[binding]
    with server(lambda exchange: exchange.answer(code, gone, "Content-Type: application/json")) as found:
        async with world.agent(http_card(found, binding)) as agent:
            error, _ = await failure(agent, "SendStreamingMessage")
    assert type(error).__name__ == "TaskNotFoundError"
    if code != 200:
        assert error.http_status == code


@pytest.mark.parametrize("binding", HTTP)
async def test_a_single_response_instead_of_a_stream(world: World, binding: str) -> None:
    def handler(exchange: Exchange) -> None:
        exchange.answer(200, encoded(exchange, answer), "Content-Type: application/json; charset=utf-8")

    with server(handler) as found:
        async with world.agent(http_card(found, binding)) as agent:
            answer = t.StreamResponse(task=task())
            assert await call(agent, "SendStreamingMessage") == [answer]
            answer = started()
            error, events = await failure(agent, "SendStreamingMessage")
            assert type(error) is StreamInterruptedError and events == [answer]


@pytest.mark.parametrize("binding", HTTP)
@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/octet-stream"])
async def test_another_content_type(world: World, binding: str, kind: str) -> None:
    def handler(exchange: Exchange) -> None:
        exchange.answer(200, sse(exchange, status()), f"Content-Type: {kind}")

    with server(handler) as found:
        async with world.agent(http_card(found, binding)) as agent:
            error, _ = await failure(agent, "SendStreamingMessage")
    assert type(error) is InvalidAgentResponseError and kind in str(error)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_streams_outlive_the_idle_limit_with_events_in_it(world: World, binding: str) -> None:
    def slowly(_: str) -> Iterator[Any]:
        for i in range(4):
            yield artifact(str(i))
            time.sleep(0.1)
        yield status()

    with site(binding, slowly) as found:
        async with world.agent(found.card(), idle_timeout=0.25) as agent:
            assert len(await call(agent, "SendStreamingMessage")) == 5
            error, events = await failure(agent, "SendStreamingMessage", timeout=0.05)
            assert isinstance(error, CallTimeoutError) and (error.phase, error.seconds) == ("idle", 0.05)
            assert events in ([], [artifact("0")])  # the first may come too late as well


@pytest.mark.parametrize("binding", HTTP)
async def test_comments_are_signs_of_life(world: World, binding: str) -> None:
    def handler(exchange: Exchange) -> None:
        exchange.send(STREAM_HEAD)
        for _ in range(4):
            exchange.send(b":\n\n")
            exchange.stopped.wait(0.1)
        exchange.send(sse(exchange, status()))

    with server(handler) as found:
        async with world.agent(http_card(found, binding), idle_timeout=0.25) as agent:
            assert await call(agent, "SendStreamingMessage") == [status()]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_slow_consumer_is_no_idle_server(world: World, binding: str) -> None:
    def slowly(_: str) -> Iterator[Any]:
        yield started()
        time.sleep(0.01)
        yield status()

    seen = []
    with site(binding, slowly) as found:
        async with world.agent(found.card(), idle_timeout=0.25) as agent:
            async for event in agent.send_streaming_message("hi"):
                seen.append(event)
                await asyncio.sleep(0.35)
    assert seen == [started(), status()]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_silence_after_the_end_is_no_error(world: World, binding: str) -> None:
    def silent(_: str) -> Iterator[Any]:
        yield status()
        time.sleep(1.2)

    with site(binding, silent) as found:
        async with world.agent(found.card(), idle_timeout=0.6) as agent:
            assert await call(agent, "SendStreamingMessage") == [status()]


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("how", ["break", "aclose", "error"])
async def test_leaving_a_stream_closes_the_connection(world: World, binding: str, how: str) -> None:
    gone: list[float] = []

    def endless(_: str) -> Iterator[Any]:
        try:
            while True:
                yield started()
                time.sleep(0.02)
        finally:
            gone.append(time.monotonic())

    with site(binding, endless) as found:
        async with world.agent(found.card()) as agent:
            events = agent.send_streaming_message("hi")
            if how == "aclose":
                await anext(events)
                await events.aclose()
            elif how == "break":
                async for _ in events:
                    break
                del events
            else:
                with pytest.raises(ZeroDivisionError):
                    async for _ in events:
                        raise ZeroDivisionError
                del events
            await eventually(lambda: gone)


async def test_streams_that_are_never_read_send_nothing(world: World) -> None:
    with site("JSONRPC") as found:
        async with world.agent(found.card()) as agent:
            for resume in (True, False):
                events = agent.send_streaming_message("hi", resume=resume)
                await events.aclose()
        assert not found.server.seen
