"""Connections over HTTP that cannot be made."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from a2a_discovery.errors import CallTimeoutError, TransportError
from tests.agent.common import HTTP, card, failure, interface, within
from tests.servers import Server, World

pytestmark = pytest.mark.anyio


async def test_nothing_listens(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    for binding in HTTP:
        async with world.agent(card(interface(binding, f"http://127.0.0.1:{port}"))) as agent:
            for name in ("GetTask", "SubscribeToTask"):
                error, _ = await failure(agent, name)
                assert type(error) is TransportError and not error.sent and "nothing listens" in str(error)


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


async def test_no_connection_in_time(world: World, full_listener: int) -> None:
    one = card(interface("JSONRPC", f"http://127.0.0.1:{full_listener}"))
    async with world.agent(one, connect_timeout=0.2) as agent:
        for name in ("GetTask", "SubscribeToTask"):
            error, _ = await failure(agent, name)
            assert isinstance(error, CallTimeoutError)
            assert (error.phase, error.seconds, error.sent) == ("connect", 0.2, False)
    async with world.agent(one) as agent:
        for name, phase in [("GetTask", "unary"), ("SubscribeToTask", "idle")]:
            async with within(2):
                error, _ = await failure(agent, name, timeout=0.2)
            assert isinstance(error, CallTimeoutError) and (error.phase, error.seconds) == (phase, 0.2)


async def test_tls_to_a_plain_port(world: World) -> None:
    with Server(lambda exchange: exchange.send(b"HTTP/1.1 400 Bad\r\n\r\n"), raw=True) as server:
        async with world.agent(card(interface("JSONRPC", server.url.replace("http:", "https:")))) as agent:
            for name in ("GetTask", "SubscribeToTask"):
                error, _ = await failure(agent, name)
                assert type(error) is TransportError and not error.sent


async def test_plain_http_to_a_tls_port(world: World, tls: tuple[ssl.SSLContext, Path]) -> None:
    with Server(lambda exchange: None, tls=tls[0]) as server:
        async with world.agent(card(interface("JSONRPC", server.url.replace("https:", "http:")))) as agent:
            for name in ("GetTask", "SubscribeToTask"):
                error, _ = await failure(agent, name)
                assert type(error) is TransportError and error.sent


async def test_a_certificate_that_nobody_vouches_for(world: World, tls: tuple[ssl.SSLContext, Path]) -> None:
    with Server(lambda exchange: None, tls=tls[0]) as server:
        async with world.agent(card(interface("JSONRPC", server.url))) as agent:
            error, _ = await failure(agent, "GetTask")
            assert type(error) is TransportError and not error.sent and "certificate" in str(error)
