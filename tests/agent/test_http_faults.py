"""Servers over HTTP that break what can be broken: a named error in time, and no event lost."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from a2a_discovery import protojson
from a2a_discovery.bindings import jsonrpc
from a2a_discovery.errors import (
    A2ADiscoveryError,
    A2AError,
    CallTimeoutError,
    InvalidAgentResponseError,
    StreamInterruptedError,
    TransportError,
)
from tests.agent.common import HTTP, STREAM_HEAD, artifact, call, card, failure, interface, started, task, within
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio

LIMIT = 0.25
OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def then(*parts: bytes, after: Callable[[Exchange], object] = lambda exchange: None) -> Callable[[Exchange], None]:
    """Read the request, send, and go on with ``after``; a stream that ends is closed in order."""

    def handler(exchange: Exchange) -> None:
        exchange.read_body()
        exchange.send(*parts)
        after(exchange)

    return handler


def wait(exchange: Exchange) -> None:
    exchange.stopped.wait(5)


def drip(data: bytes) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.drip(data)


def events(binding: str, *messages: Any) -> bytes:
    if binding == "JSONRPC":
        return b"".join(b"data: " + jsonrpc.encode_response("1", one) + b"\n\n" for one in messages)
    return b"".join(b"data: " + protojson.dumps(one) + b"\n\n" for one in messages)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


BOMB = gzip.compress(b" " * (80 * 1024 * 1024), 1)

# What comes, and the error of a unary call and of one with a stream: a class, or the phase of a timeout.
ANY: dict[str, tuple[Callable[[Exchange], None], Any, Any]] = {
    "reset before the head": (then(after=Exchange.reset), TransportError, TransportError),
    "closed before the head": (then(), TransportError, TransportError),
    "reset inside the head": (then(b"HTTP/1.1 200 OK\r\nCont", after=Exchange.reset), TransportError, TransportError),
    "closed inside the head": (then(b"HTTP/1.1 200 OK\r\nCont"), TransportError, TransportError),
    "not HTTP": (then(b"\x00\x01\x02SSH-2.0-x\r\n\r\n"), TransportError, TransportError),
    "HTTP/2 preface": (then(b"\x00\x00\x06\x04\x00\x00\x00\x00\x00" + b"\x00" * 6), TransportError, TransportError),
    "huge head": (then(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000), TransportError, TransportError),
    "silence": (then(after=wait), "unary", "idle"),
    "silence inside the head": (then(b"HTTP/1.1 200", after=wait), "unary", "idle"),
    "slow head": (then(b"HTTP/1.1 200 ", after=drip(b"x")), "unary", "idle"),
    "endless continue": (then(after=drip(b"HTTP/1.1 100 Continue\r\n\r\n")), "unary", "idle"),
    "a login page": (
        then(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>"),
        InvalidAgentResponseError,
        InvalidAgentResponseError,
    ),
    "JSON that is called HTML": (
        then(b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{"jsonrpc":"2.0","id":"1","result":{"task":{}}}'),
        InvalidAgentResponseError,
        InvalidAgentResponseError,
    ),
    "HTML without a type": (
        then(b"HTTP/1.1 200 OK\r\n\r\n<html>"),
        InvalidAgentResponseError,
        InvalidAgentResponseError,
    ),
    "not JSON": (then(OK, b"\r\n{'a': 1}"), InvalidAgentResponseError, InvalidAgentResponseError),
    "invalid UTF-8": (then(OK, b'\r\n{"a": "\xff"}'), InvalidAgentResponseError, InvalidAgentResponseError),
    "deep JSON": (then(OK, b"\r\n" + b"[" * 100_000), InvalidAgentResponseError, InvalidAgentResponseError),
    "nothing": (then(OK, b"Content-Length: 0\r\n\r\n"), InvalidAgentResponseError, InvalidAgentResponseError),
    "truncated": (then(OK, b'Content-Length: 99\r\n\r\n{"a"'), TransportError, TransportError),
    "reset inside the body": (
        then(OK, b'Content-Length: 99\r\n\r\n{"a"', after=Exchange.reset),
        TransportError,
        TransportError,
    ),
    "wrong chunks": (then(OK, b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n"), TransportError, TransportError),
    "chunks without an end": (
        then(OK, b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"),
        TransportError,
        TransportError,
    ),
    "silence inside the body": (then(OK, b"Content-Length: 99\r\n\r\n{", after=wait), "unary", "idle"),
    "slow body": (then(OK, b"\r\n", after=drip(b" ")), "unary", "idle"),
    "slow chunk header": (
        then(OK, b"Transfer-Encoding: chunked\r\n\r\n1;", after=drip(b"x")),
        "unary",
        "idle",
    ),
    "slow error body": (then(b"HTTP/1.1 500 X\r\n\r\n", after=drip(b" ")), "unary", A2AError),
    "slow chunk header of an error": (
        then(b"HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n1;", after=drip(b"x")),
        "unary",
        A2AError,
    ),
    "huge Content-Length": (then(OK, b"Content-Length: 99999999999\r\n\r\n"), TransportError, TransportError),
    "corrupt gzip": (then(OK, b"Content-Encoding: gzip\r\n\r\nxxxx"), TransportError, TransportError),
    "unknown coding": (then(OK, b"Content-Encoding: br\r\n\r\nxxxx"), TransportError, TransportError),
    "an error without a body": (then(b"HTTP/1.1 502 Bad Gateway\r\n\r\n"), A2AError, A2AError),
}


def limits(expected: Any) -> dict[str, float]:
    """Short ones where one of them should run out, so that the others need not be."""
    seconds = LIMIT if isinstance(expected, str) else 5.0
    return {"timeout": seconds, "idle_timeout": seconds}


def check(error: Any, expected: Any) -> None:
    if isinstance(expected, str):
        assert type(error) is CallTimeoutError and error.phase == expected and error.seconds == LIMIT
    else:
        assert type(error) is expected
    if isinstance(error, TransportError):
        assert error.sent and "127.0.0.1" in error.url


@pytest.mark.parametrize("fault", ANY)
async def test_broken_answers(world: World, fault: str) -> None:
    handler, unary, stream = ANY[fault]
    threads = threading.active_count()
    with Server(handler) as server:
        async with world.agent(card(interface("JSONRPC", server.url)), **limits(unary)) as agent, within(3):
            error, _ = await failure(agent, "SendMessage")
            check(error, unary)
            error, events = await failure(agent, "SendStreamingMessage")
            check(error, stream)
            assert not events
    assert len(server.seen) <= 2
    assert threading.active_count() <= threads


# What comes after two events.
MID: dict[str, tuple[Callable[[str], Callable[[Exchange], None]], Any]] = {
    "closed": (lambda _: then(), StreamInterruptedError),
    "reset": (
        lambda _: then(after=lambda exchange: (exchange.stopped.wait(0.05), exchange.reset())),
        StreamInterruptedError,
    ),
    "half an event": (lambda binding: then(events(binding, artifact("3"))[:-20]), StreamInterruptedError),
    "an event without its empty line": (
        lambda binding: then(events(binding, artifact("3"))[:-1]),
        StreamInterruptedError,
    ),
    "silence": (lambda _: then(after=wait), "idle"),
    "a slow event": (lambda _: then(b"data: ", after=drip(b"x")), "idle"),
    "not JSON": (lambda _: then(b"data: {'a'\n\n"), InvalidAgentResponseError),
    "invalid UTF-8": (lambda _: then(b'data: {"task":"\xff"}\n\n'), InvalidAgentResponseError),
    "a large event": (lambda _: then(b"data: " + b" " * (8 * 1024 * 1024 + 9) + b"\n\n"), InvalidAgentResponseError),
    "an error": (
        lambda binding: then(
            b'data: {"jsonrpc":"2.0","id":"1","error":{"code":-32001,"message":"m"}}\n\n'
            if binding == "JSONRPC"
            else b'data: {"error":{"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo",'
            b'"reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}\n\n'
        ),
        "TaskNotFoundError",
    ),
}


@pytest.mark.parametrize("binding", HTTP)
@pytest.mark.parametrize("fault", MID)
async def test_streams_that_break_after_events(world: World, binding: str, fault: str) -> None:
    made, expected = MID[fault]
    before = [started(), artifact("2")]

    def handler(exchange: Exchange) -> None:
        exchange.send(STREAM_HEAD, events(binding, *before))
        made(binding)(exchange)

    with Server(handler) as server:
        async with world.agent(card(interface(binding, server.url)), **limits(expected)) as agent, within(3):
            error, found = await failure(agent, "SendStreamingMessage")
    assert found == before
    if expected == "TaskNotFoundError":
        assert type(error).__name__ == expected
        return
    check(error, expected)
    if isinstance(error, StreamInterruptedError):
        assert (error.task_id, error.state) == ("t", started().task.status.state)


CHUNKS: dict[str, tuple[Callable[[Exchange], None], Any]] = {
    "wrong chunks": (then(b"xyz\r\n"), StreamInterruptedError),
    "no last chunk": (then(), StreamInterruptedError),
    "a slow chunk header": (then(b"1;", after=drip(b"x")), "idle"),
}


@pytest.mark.parametrize("fault", CHUNKS)
async def test_chunked_streams_that_break_after_events(world: World, fault: str) -> None:
    handler, expected = CHUNKS[fault]
    first = then(CHUNKED, chunk(events("JSONRPC", started())), after=handler)
    with Server(first) as server:
        async with world.agent(card(interface("JSONRPC", server.url)), **limits(expected)) as agent, within(3):
            error, found = await failure(agent, "SendStreamingMessage")
    check(error, expected)
    assert found == [started()]


async def test_slow_head_on_a_connection_that_was_kept() -> None:
    world = World("async")  # for the other one, see SyncDeadline

    def handler(exchange: Exchange) -> None:
        exchange.read_body()
        if len(server.seen) == 1:
            exchange.answer(200, jsonrpc.encode_response("1", task()), "Content-Type: application/json")
        else:
            exchange.send(b"HTTP/1.1 200 ")
            exchange.drip(b"x")

    with Server(handler, keep_alive=True) as server:
        async with world.agent(card(interface("JSONRPC", server.url)), **limits("unary")) as agent:
            await call(agent, "GetTask")
            async with within(2):
                error, _ = await failure(agent, "GetTask")
                check(error, "unary")
        assert len(server.connections) == 1


async def test_a_body_beyond_the_limit(world: World) -> None:
    def handler(exchange: Exchange) -> None:
        exchange.read_body()
        with suppress(OSError):
            exchange.send(OK, b"\r\n")
            for _ in range(70):
                exchange.send(b" " * 1024 * 1024)

    with Server(handler) as server:
        async with world.agent(card(interface("JSONRPC", server.url))) as agent:
            error, _ = await failure(agent, "GetTask")
            assert type(error) is TransportError and "67108864" in str(error)


async def test_a_gzip_bomb(world: World) -> None:
    with Server(then(OK, b"Content-Encoding: gzip\r\n\r\n", BOMB)) as server:
        async with world.agent(card(interface("JSONRPC", server.url))) as agent:
            error, _ = await failure(agent, "GetTask")
            assert type(error) is TransportError and "67108864" in str(error)


@pytest.mark.parametrize("name", ["GetTask", "SubscribeToTask"])
async def test_a_client_that_fails_in_a_way_of_its_own(world: World, name: str) -> None:
    import httpx

    def broken(request: httpx.Request) -> httpx.Response:
        raise RuntimeError("secret")

    async with (
        world.client(transport=httpx.MockTransport(broken)) as client,
        world.agent(card(interface("JSONRPC", "https://h.test")), client=client) as agent,
    ):
        error, _ = await failure(agent, name)
    assert isinstance(error, A2ADiscoveryError) and "secret" not in str(error)


async def test_a_body_that_fails_in_a_way_of_its_own(world: World) -> None:
    import httpx

    class Broken(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield events("JSONRPC", started())
            raise RuntimeError("secret")

        async def __aiter__(self) -> Any:
            for data in self:
                yield data

    transport = httpx.MockTransport(
        lambda request: httpx.Response(200, stream=Broken(), headers={"content-type": "text/event-stream"})
    )
    async with (
        world.client(transport=transport) as client,
        world.agent(card(interface("JSONRPC", "https://h.test")), client=client) as agent,
    ):
        error, found = await failure(agent, "SendStreamingMessage")
        assert found == [started()]
        assert type(error) is StreamInterruptedError
        error, _ = await failure(agent, "GetTask")
        assert isinstance(error, A2ADiscoveryError)
