"""Servers over gRPC that break what can be broken: a named error in time, and no event lost."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from a2a_discovery.bindings import grpc as binding
from a2a_discovery.errors import (
    A2AError,
    CallTimeoutError,
    StreamInterruptedError,
    TaskNotFoundError,
    TransportError,
)
from tests.agent.common import GET, artifact, card, failure, interface, site, started, task, within
from tests.agent.grpc_server import GrpcServer
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio

CALLS = ["GetTask", "SubscribeToTask"]
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
SETTINGS_ACK = b"\x00\x00\x00\x04\x01\x00\x00\x00\x00"


def at(server: Server) -> Any:
    return card(interface("GRPC", f"127.0.0.1:{server.port}"))


async def test_nothing_listens(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with world.agent(card(interface("GRPC", f"127.0.0.1:{port}"))) as agent:
        for name in CALLS:
            error, _ = await failure(agent, name)
            assert type(error) is TransportError and not error.sent
            assert f"nothing listens on 127.0.0.1:{port}" in str(error) and str(port) in error.url


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00garbage\xff" * 9, b""])
async def test_ports_that_speak_something_else(world: World, greeting: bytes) -> None:
    def handler(exchange: Exchange) -> None:
        exchange.connection.recv(65536)
        exchange.send(greeting)

    with Server(handler, raw=True) as server:
        async with world.agent(at(server)) as agent, within(5):
            for name in CALLS:
                error, _ = await failure(agent, name)
                assert type(error) is TransportError and not error.sent


async def test_no_connection_in_time(world: World) -> None:
    with Server(lambda exchange: exchange.stopped.wait(9), raw=True) as server:
        for name in CALLS:
            async with world.agent(at(server), connect_timeout=0.3) as agent, within(3):
                error, _ = await failure(agent, name)
                assert isinstance(error, CallTimeoutError)
                assert (error.phase, error.seconds, error.sent) == ("connect", 0.3, False)
            async with world.agent(at(server), timeout=0.2, idle_timeout=0.2) as agent, within(3):
                error, _ = await failure(agent, name)
                assert isinstance(error, CallTimeoutError) and error.seconds == 0.2
                assert error.phase == ("unary" if name == "GetTask" else "idle")


@pytest.mark.parametrize("name", CALLS)
async def test_a_name_that_is_not_known(world: World, name: str) -> None:
    async with world.agent(card(interface("GRPC", "nobody.invalid:443"))) as agent, within(15):
        error, _ = await failure(agent, name, timeout=10)
    assert type(error) is TransportError and not error.sent and "cannot be resolved" in str(error)


@pytest.mark.parametrize("name", CALLS)
async def test_silence(world: World, name: str) -> None:
    done = threading.Event()

    def silent(called: str, request: Any, context: Any) -> Any:
        done.wait(5)
        return [] if called == "SubscribeToTask" else task()

    with GrpcServer(silent) as server:
        async with world.agent(card(interface("GRPC", server.url)), timeout=0.2, idle_timeout=0.2) as agent, within(3):
            error, _ = await failure(agent, name)
        done.set()
    assert isinstance(error, CallTimeoutError) and error.seconds == 0.2 and error.sent
    assert error.phase == ("unary" if name == "GetTask" else "idle")


# What ends a stream after two events.
def aborts(code: grpc.StatusCode, text: str = "m", details: bytes | None = None) -> Callable[[Any], None]:
    def abort(context: Any) -> None:
        if details is not None:
            context.set_trailing_metadata([(binding.STATUS_DETAILS, details)])
        context.abort(code, text)

    return abort


NOT_FOUND = binding.encode_error(TaskNotFoundError("gone", metadata={"taskId": "t"}))[2]
ENDS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "closed": (lambda context: None, StreamInterruptedError),
    "silence": (lambda context: time.sleep(0.6), CallTimeoutError),
    "cancelled": (aborts(grpc.StatusCode.CANCELLED), A2AError),
    "unavailable": (aborts(grpc.StatusCode.UNAVAILABLE), StreamInterruptedError),
    "status alone": (aborts(grpc.StatusCode.NOT_FOUND), A2AError),
    "deadline of the server": (aborts(grpc.StatusCode.DEADLINE_EXCEEDED), A2AError),
    "named": (aborts(grpc.StatusCode.NOT_FOUND, "gone", NOT_FOUND), TaskNotFoundError),
    "garbage details": (aborts(grpc.StatusCode.NOT_FOUND, "m", b"\xff\xff"), A2AError),
}


@pytest.mark.parametrize("end", ENDS)
async def test_ends_of_a_stream(world: World, end: str) -> None:
    act, expected = ENDS[end]

    def streamed(name: str, request: Any, context: Any) -> Iterator[Any]:
        yield started()
        yield artifact("2")
        act(context)

    with GrpcServer(streamed) as server:
        async with world.agent(card(interface("GRPC", server.url)), idle_timeout=0.3) as agent, within(3):
            error, events = await failure(agent, "SendStreamingMessage")
    assert events == [started(), artifact("2")]
    assert type(error) is expected
    if isinstance(error, StreamInterruptedError):
        assert (error.task_id, error.state) == ("t", started().task.status.state)
    if isinstance(error, A2AError):
        assert error.message in ("m", "gone") and not error.local


@pytest.mark.parametrize("end", [e for e in ENDS if e not in ("closed", "silence", "unavailable")])
async def test_ends_of_a_call(world: World, end: str) -> None:
    act, expected = ENDS[end]
    with GrpcServer(lambda name, request, context: act(context)) as server:
        async with world.agent(card(interface("GRPC", server.url))) as agent:
            error, _ = await failure(agent, "GetTask")
    assert type(error) is expected
    assert error.grpc_status == (
        "NOT_FOUND" if end in ("status alone", "named", "garbage details") else error.grpc_status
    )


async def test_a_server_that_dies_in_mid_stream(world: World) -> None:
    def streamed(name: str, request: Any, context: Any) -> Iterator[Any]:
        yield started()
        threading.Timer(0.05, server.server.stop, [0]).start()
        time.sleep(0.5)

    with GrpcServer(streamed) as server:
        async with world.agent(card(interface("GRPC", server.url))) as agent, within(3):
            error, events = await failure(agent, "SendStreamingMessage")
    assert events == [started()]
    assert type(error) is StreamInterruptedError and error.task_id == "t"


@pytest.mark.parametrize(
    "frames",
    [
        b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x02",  # RST_STREAM, INTERNAL_ERROR
        b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08",  # RST_STREAM, CANCEL
        b"\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02",  # GOAWAY, INTERNAL_ERROR
        b"garbage that is no frame at all",
        b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x07",  # RST_STREAM, REFUSED_STREAM
        b"",
    ],
)
@pytest.mark.parametrize("name", CALLS)
async def test_broken_http2(world: World, name: str, frames: bytes) -> None:
    def handler(exchange: Exchange) -> None:
        exchange.send(SETTINGS, SETTINGS_ACK)
        data = b""
        while len(data) < 200:
            data += exchange.connection.recv(65536)
        exchange.send(frames)
        exchange.stopped.wait(0.1)

    with Server(handler, raw=True) as server:
        async with world.agent(at(server)) as agent, within(3):
            error, _ = await failure(agent, name)
    assert type(error) is TransportError and error.sent


async def test_tls_to_a_plain_port_and_plain_to_tls(world: World, tls: tuple[ssl.SSLContext, Path]) -> None:
    with site("GRPC") as found:
        async with world.agent(card(interface("GRPC", f"https://{found.url}"))) as agent, within(5):
            error, _ = await failure(agent, "GetTask")
            assert type(error) is TransportError and not error.sent
    pair = (tls[1].with_name("server.pem").read_bytes(), tls[1].read_bytes())
    with GrpcServer(lambda *_: task(), credentials=grpc.ssl_server_credentials([pair])) as server:
        async with world.agent(card(interface("GRPC", server.url))) as agent, within(5):
            error, _ = await failure(agent, "GetTask")
            assert type(error) is TransportError and not error.sent


@pytest.mark.parametrize("name", CALLS)
async def test_what_the_agent_says_of_itself_is_no_broken_connection(world: World, name: str) -> None:
    """A text of gRPC's own from an agent that passes on what another one told it."""
    text = "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:443: Connection refused"
    with GrpcServer(lambda name, request, context: context.abort(grpc.StatusCode.UNAVAILABLE, text)) as server:
        async with world.agent(card(interface("GRPC", server.url))) as agent:
            error, _ = await failure(agent, name)
    assert isinstance(error, TransportError) and error.sent


async def test_a_message_beyond_the_limit(world: World) -> None:
    large = b"\x0a" + b"\xf8\xff\xff\x1f" + b"x" * (64 * 1024 * 1024 - 8)
    with site("GRPC", lambda name: large + b"xxxxxxx") as found:
        async with world.agent(found.card()) as agent:
            error, _ = await failure(agent, "GetTask")
    assert type(error) is TransportError and "larger than max" in str(error)


async def test_retry_after_and_challenge(world: World) -> None:
    def busy(name: str, request: Any, context: Any) -> None:
        context.set_trailing_metadata([("retry-after", "7"), ("www-authenticate", "Bearer")])
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "busy")

    with GrpcServer(busy) as server:
        async with world.agent(card(interface("GRPC", server.url))) as agent:
            error, _ = await failure(agent, "GetTask", GET)
    assert (error.retry_after, error.challenge, error.grpc_status) == (7.0, "Bearer", "RESOURCE_EXHAUSTED")
