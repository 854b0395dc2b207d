"""HTTP/2 and gRPC that are broken."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from a2a_discovery.bindings.grpc import STATUS_DETAILS
from a2a_discovery.errors import (
    A2AError,
    CallTimeoutError,
    InvalidAgentResponseError,
    StreamInterruptedError,
    TransportError,
)
from tests.agent.common import card, failure, interface, task, within
from tests.faults.common import GUARD, LIMIT
from tests.faults.http2 import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEAD,
    HEADERS,
    PING,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    Peer,
    frame,
    message,
)
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio

Act = Callable[[Peer], object]


def number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def reset(code: int) -> Act:
    return lambda peer: peer.send(frame(RST_STREAM, 0, peer.stream, number(code)))


def goaway(code: int, last: int = 0) -> Act:
    return lambda peer: peer.send(frame(GOAWAY, 0, 0, number(last) + number(code)))


def ends(*trailers: tuple[bytes, bytes], body: bytes = b"") -> Act:
    """A head, perhaps a body, and trailers."""
    return lambda peer: peer.send(
        peer.fields(HEAD), *([peer.data(body)] if body else []), peer.fields(trailers, end=True)
    )


def only(*fields: tuple[bytes, bytes]) -> Act:
    """Head and trailers in one."""
    return lambda peer: peer.send(peer.fields(fields, end=True))


def answers(body: bytes, *more: tuple[bytes, bytes]) -> Act:
    """A body that is not followed by trailers."""
    return lambda peer: peer.send(peer.fields([*HEAD, *more]), peer.data(body))


def forever(data: bytes) -> Act:
    def act(peer: Peer) -> None:
        with suppress(OSError):
            while not peer.exchange.stopped.is_set():
                peer.send(data)

    return act


def then(*acts: Act) -> Act:
    return lambda peer: [act(peer) for act in acts]


def sends(make: Callable[[Peer], bytes]) -> Act:
    return lambda peer: peer.send(make(peer))


OK = (b"grpc-status", b"0")
NOT_FOUND = (b"grpc-status", b"5")
DETAILS = STATUS_DETAILS.encode()
HALF = message(b"12", length=9)
BOMB = message(gzip.compress(b"\0" * (80 * 1024 * 1024), 1), flag=1)

# What depends on the version of gRPC.
REPORTED = (A2AError, TransportError)
UNREADABLE = (TransportError, InvalidAgentResponseError)
SLOWLY = (TransportError, CallTimeoutError)

# What is sent once the call has come, and the class of the error of a unary call and of a stream.
FAULTS: dict[str, tuple[Act, Any, Any]] = {
    # Streams and connections that are ended.
    **{f"RST_STREAM {code}": (reset(code), TransportError, TransportError) for code in (0, 1, 3, 5, 11, 12, 13, 255)},
    **{f"GOAWAY {code}": (goaway(code), TransportError, TransportError) for code in (0, 1, 11, 12)},
    "GOAWAY after the call": (goaway(0, 2**31 - 1), CallTimeoutError, CallTimeoutError),
    "RST_STREAM behind the head": (then(sends(lambda p: p.fields(HEAD)), reset(2)), TransportError, TransportError),
    "a head, then nothing": (sends(lambda p: p.fields(HEAD)), CallTimeoutError, CallTimeoutError),
    # Heads and trailers.
    "no status": (only(*HEAD), TransportError, TransportError),
    "no status behind a body": (
        lambda p: p.send(p.fields(HEAD), p.data(HALF, end=True)),
        TransportError,
        TransportError,
    ),
    "a status of no number": (only(*HEAD, (b"grpc-status", b"x")), TransportError, TransportError),
    "an empty status": (only(*HEAD, (b"grpc-status", b"")), TransportError, TransportError),
    "a negative status": (only(*HEAD, (b"grpc-status", b"-1")), TransportError, TransportError),
    "status 17": (only(*HEAD, (b"grpc-status", b"17")), REPORTED, REPORTED),
    "a status beyond all bounds": (only(*HEAD, (b"grpc-status", b"9" * 30)), TransportError, TransportError),
    "two statuses": (only(*HEAD, NOT_FOUND, (b"grpc-status", b"0")), InvalidAgentResponseError, StreamInterruptedError),
    "status 0 without an answer": (only(*HEAD, OK), InvalidAgentResponseError, StreamInterruptedError),
    "a text that is not UTF-8": (only(*HEAD, NOT_FOUND, (b"grpc-message", b"\xff%FF%")), A2AError, A2AError),
    "details that are not base64": (only(*HEAD, NOT_FOUND, (DETAILS, b"!!!")), A2AError, A2AError),
    "details that are no status": (
        only(*HEAD, NOT_FOUND, (DETAILS, base64.b64encode(b"\xff" * 9))),
        A2AError,
        A2AError,
    ),
    "HTTP 404": (only((b":status", b"404"), (b"content-type", b"text/html")), TransportError, TransportError),
    "HTTP 200 that is HTML": (
        only((b":status", b"200"), (b"content-type", b"text/html")),
        TransportError,
        TransportError,
    ),
    "no HTTP status": (
        only((b"content-type", b"application/grpc"), OK),
        InvalidAgentResponseError,
        StreamInterruptedError,
    ),
    "a name in upper case": (only(*HEAD, (b"X-Upper", b"x"), NOT_FOUND), TransportError, TransportError),
    "an index of nothing": (
        sends(lambda p: frame(HEADERS, END_HEADERS | END_STREAM, p.stream, b"\xff\xff\xff\x07")),
        TransportError,
        TransportError,
    ),
    "half a field": (
        sends(lambda p: frame(HEADERS, END_HEADERS | END_STREAM, p.stream, b"\0\x7f")),
        TransportError,
        TransportError,
    ),
    "2,000 fields": (only(*HEAD, *[(b"x", b"y")] * 2_000, NOT_FOUND), TransportError, TransportError),
    "a field of 100 kB": (
        lambda p: p.send(
            p.fields(HEAD, complete=False),
            *[frame(CONTINUATION, 0, p.stream, b"\0\1x\x7e" + b"y" * 126)] * 800,
            frame(CONTINUATION, END_HEADERS, p.stream),
        ),
        TransportError,
        TransportError,
    ),
    "continuations without an end": (
        sends(lambda p: p.fields(HEAD, complete=False) + frame(CONTINUATION, 0, p.stream, b"\0\1x\1y" * 100) * 2_000),
        TransportError,
        TransportError,
    ),
    # Bodies.
    "a body before the head": (sends(lambda p: p.data(HALF, end=True)), TransportError, TransportError),
    "a body behind the trailers": (
        lambda p: p.send(p.fields([*HEAD, NOT_FOUND], end=True), p.data(HALF)),
        A2AError,
        A2AError,
    ),
    "longer than what comes": (
        ends(OK, body=HALF),
        InvalidAgentResponseError,
        StreamInterruptedError,
    ),
    "longer than what comes, for ever": (answers(HALF), CallTimeoutError, CallTimeoutError),
    "beyond the limit": (answers(message(b"12", length=2**32 - 1)), SLOWLY, SLOWLY),
    "half a prefix": (ends(OK, body=b"\0\0"), InvalidAgentResponseError, StreamInterruptedError),
    "packed without a coding": (ends(OK, body=message(b"12", flag=1)), UNREADABLE, UNREADABLE),
    "packed in an unknown coding": (
        answers(message(b"12", flag=1), (b"grpc-encoding", b"br")),
        TransportError,
        TransportError,
    ),
    "gzip that is none": (answers(message(b"12", flag=1), (b"grpc-encoding", b"gzip")), TransportError, TransportError),
    "a bomb": (
        lambda p: p.send(
            p.fields([*HEAD, (b"grpc-encoding", b"gzip")]),
            *(p.data(BOMB[i : i + 16384]) for i in range(0, len(BOMB), 16384)),
        ),
        TransportError,
        TransportError,
    ),
    "no message": (ends(OK, body=message(b"\xff" * 9)), InvalidAgentResponseError, InvalidAgentResponseError),
    # Frames.
    "a frame beyond the limit": (sends(lambda p: p.data(b"x" * 0xFFFFFF)), TransportError, TransportError),
    "half a setting": (sends(lambda p: frame(SETTINGS, 0, 0, b"\0\1\0")), TransportError, TransportError),
    "a setting that cannot be": (
        sends(lambda p: frame(SETTINGS, 0, 0, b"\0\4\xff\xff\xff\xff")),
        TransportError,
        TransportError,
    ),
    "settings for ever": (forever(frame(SETTINGS, 0, 0) * 500), CallTimeoutError, CallTimeoutError),
    "pings for ever": (forever(frame(PING, 0, 0, b"12345678") * 500), CallTimeoutError, CallTimeoutError),
    "empty data for ever": (
        then(sends(lambda p: p.fields(HEAD)), lambda p: forever(p.data(b"") * 500)(p)),
        SLOWLY,
        SLOWLY,
    ),
    "a promise": (
        sends(lambda p: frame(PUSH_PROMISE, END_HEADERS, p.stream, number(2))),
        CallTimeoutError,
        CallTimeoutError,
    ),
    "an answer on another stream": (
        sends(lambda p: frame(HEADERS, END_HEADERS | END_STREAM, p.stream + 2, b"\x88")),
        CallTimeoutError,
        CallTimeoutError,
    ),
    "one byte at a time": (
        lambda p: (p.send(frame(DATA, 0, p.stream, b"x" * 16384)[:9]), p.exchange.drip(b"x", 0.01)),
        CallTimeoutError,
        CallTimeoutError,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_has_its_error(world: World, fault: str) -> None:
    act, unary, stream = FAULTS[fault]

    def handler(exchange: Exchange) -> None:
        peer = Peer(exchange)
        peer.begin()
        while True:  # gRPC may make both calls on one connection
            peer.wait()
            act(peer)

    seconds = LIMIT if unary in (CallTimeoutError, SLOWLY) else GUARD
    with Server(handler, raw=True) as server:
        one = card(interface("GRPC", f"127.0.0.1:{server.port}"))
        async with world.agent(one, timeout=seconds, idle_timeout=seconds) as agent, within(GUARD):
            for name, expected in (("GetTask", unary), ("SubscribeToTask", stream)):
                error, events = await failure(agent, name)
                assert type(error) in (expected if isinstance(expected, tuple) else (expected,)), (name, error)
                assert not events
                assert not isinstance(error, TransportError) or error.sent


@pytest.mark.parametrize("stays", [True, False])
async def test_a_connection_that_takes_no_call(world: World, stays: bool) -> None:
    def handler(exchange: Exchange) -> None:
        exchange.send(frame(SETTINGS, 0, 0), frame(GOAWAY, 0, 0, number(0) + number(0)))
        exchange.stopped.wait(GUARD if stays else 0)

    with Server(handler, raw=True) as server:
        one = card(interface("GRPC", f"127.0.0.1:{server.port}"))
        async with world.agent(one, timeout=GUARD, idle_timeout=GUARD) as agent, within(3 * GUARD):
            for name in ("GetTask", "SubscribeToTask") * 3:
                error, _ = await failure(agent, name)
                assert isinstance(error, TransportError)


async def test_a_call_is_reset_at_each_byte(world: World) -> None:
    sent: list[int] = []

    def handler(exchange: Exchange) -> None:
        peer = Peer(exchange)
        peer.begin()
        peer.wait()
        answer = peer.fields(HEAD) + peer.data(message(task().SerializeToString())) + peer.fields([OK], end=True)
        sent.append(len(answer))
        exchange.send(answer[: len(sent) - 1])
        exchange.reset()

    with Server(handler, raw=True) as server:
        one = card(interface("GRPC", f"127.0.0.1:{server.port}"))
        async with world.agent(one, timeout=LIMIT) as agent, within(3 * GUARD):
            while not sent or len(sent) < sent[-1]:
                error, _ = await failure(agent, "GetTask")
                assert isinstance(error, TransportError)
