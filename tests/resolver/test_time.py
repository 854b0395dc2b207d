"""Time limits."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import a2a_discovery._async.resolver as async_resolver
from a2a_discovery._deadline import SyncAlarm, SyncDeadline, TimeLimitError
from a2a_discovery.errors import FetchTimeoutError
from tests.resolver.common import CARD, failure, redirect
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio


@pytest.fixture(
    params=["status line", "header", "body", "body with a length", "chunk extension", "error body", "continue"]
)
def drip(request: pytest.FixtureRequest) -> Callable[[Exchange], None]:
    start, data = {
        "status line": (b"", b"HTTP/1.1 200 " + b"O" * 10_000),
        "header": (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        "body": (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
        "body with a length": (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b" "),
        "chunk extension": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x"),
        "error body": (b"HTTP/1.1 404 Not Found\r\n\r\n", b" "),
        "continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    }[request.param]

    def handler(exchange: Exchange) -> None:
        exchange.send(start)
        exchange.drip(data)

    return handler


async def timed_out(world: World, reference: str, **options: Any) -> FetchTimeoutError:
    started = time.monotonic()
    error = await failure(world, reference, r"within 0\.3 s \(timeout", timeout=0.3, **options)
    assert 0.25 < time.monotonic() - started < 5
    assert isinstance(error, FetchTimeoutError)
    return error


async def test_drip(world: World, drip: Callable[[Exchange], None]) -> None:
    threads = threading.active_count()
    with Server(drip) as server:
        await timed_out(world, server.url)
    assert threading.active_count() <= threads


async def test_drip_over_tls(
    world: World, tls: tuple[ssl.SSLContext, Path], drip: Callable[[Exchange], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tls[1]))
    with Server(drip, tls=tls[0]) as server:
        await timed_out(world, server.url)


async def test_drip_on_a_connection_that_was_kept(world: World) -> None:
    def handler(exchange: Exchange) -> None:
        if exchange.target == "/first.json":
            exchange.answer(200, CARD)
            return
        # No byte of it reaches the body, so nothing but the socket can end the wait.
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")
        exchange.drip(b"x")

    with Server(handler, keep_alive=True) as server:
        async with world.client() as client:
            async with world.resolver(client) as resolver:
                await resolver.resolve(f"{server.url}/first.json")
            await timed_out(world, server.url, client=client)
            assert len(server.connections) == 1


def test_socket_that_opens_too_late_is_shut_down() -> None:
    class Stream:
        def get_extra_info(self, name: str) -> socket.socket | None:
            return ours if name == "socket" else None

    ours, theirs = socket.socketpair()
    ended = None
    with ours, theirs:
        theirs.settimeout(1)
        with pytest.raises(TimeLimitError), SyncDeadline(0.01, SyncAlarm()) as deadline:
            while not deadline._fired:
                time.sleep(0.01)
            deadline.watch(Stream())
            deadline.watch(None)
            ended = theirs.recv(1)
    assert ended == b""


async def test_silence(world: World) -> None:
    with Server(lambda exchange: exchange.stopped.wait(5), raw=True) as server:
        await timed_out(world, server.url)


async def test_time_covers_redirects(world: World) -> None:
    def handler(exchange: Exchange) -> None:
        exchange.stopped.wait(0.12)
        redirect(302, "/again.json")(exchange)

    with Server(handler) as server:
        error = await timed_out(world, server.url)
    assert error.redirects


async def test_transport_that_never_waits(world: World) -> None:
    class Endless(httpx.AsyncByteStream, httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            while True:
                time.sleep(0.01)
                yield b" "

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for chunk in self:
                yield chunk

    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Endless()))
    async with world.client(transport=transport) as client:
        await timed_out(world, "https://h.test", client=client)


@pytest.fixture
def full_listener() -> Iterator[int]:
    """A port whose queue is full: the system answers no further connection."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for connection in waiting:
            connection.setblocking(False)
            connection.connect_ex(("127.0.0.1", port))
        yield port
        for connection in waiting:
            connection.close()


async def test_connect_timeout(world: World, full_listener: int) -> None:
    error = await failure(world, f"127.0.0.1:{full_listener}", "no connection within 0.2 s", connect_timeout=0.2)
    assert isinstance(error, FetchTimeoutError)
    await timed_out(world, f"127.0.0.1:{full_listener}", connect_timeout=5.0)


async def test_tls_handshake_counts_as_connecting(world: World) -> None:
    with Server(lambda exchange: exchange.drip(b"\x16\x03\x01\x20\x00" + b"x" * 9999), raw=True) as server:
        reference = server.url.replace("http:", "https:")
        error = await failure(world, reference, "no connection within 0.2 s", connect_timeout=0.2)
        assert isinstance(error, FetchTimeoutError)
        await timed_out(world, reference)
    # A connection left open would be reported here.
    gc.collect()


async def test_cancellation_passes() -> None:
    with Server(lambda exchange: exchange.drip(b"HTTP/1.1 200 " + b"x" * 999)) as server:
        async with async_resolver.CardResolver() as resolver:
            task = asyncio.create_task(resolver.resolve(server.url))
            while not server.seen:
                await asyncio.sleep(0.01)
            task.cancel("by the caller")
            with pytest.raises(asyncio.CancelledError):
                await task
            assert task.cancelled()
