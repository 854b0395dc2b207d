"""TLS that is broken, or that proves the wrong thing."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from a2a_discovery.errors import CallTimeoutError, FetchError, FetchTimeoutError, TransportError
from tests.agent.common import card, failure, interface, task, within
from tests.agent.grpc_server import GrpcServer
from tests.faults.common import CARD, GUARD, LIMIT, Fault, check_calls, check_fetch
from tests.servers import Exchange, Server, World, certificate

pytestmark = pytest.mark.anyio


def hello(*parts: bytes, after: Callable[[Exchange], object] = lambda exchange: None) -> Callable[[Exchange], None]:
    """Take the client's first message, and answer it with something."""

    def act(exchange: Exchange) -> None:
        exchange.connection.recv(65536)
        exchange.send(*parts)
        after(exchange)

    return act


def alert(number: int) -> bytes:
    return b"\x15\x03\x03\x00\x02\x02" + bytes([number])


HANDSHAKES = {
    "hung up": hello(),
    "reset": hello(after=Exchange.reset),
    "an alert": hello(alert(40)),
    "an internal error": hello(alert(80)),
    "an alert of no meaning": hello(alert(255)),
    "a record of no type": hello(b"\x63\x03\x03\x00\x05hello"),
    "a record beyond all bounds": hello(b"\x16\x03\x03\xff\xff" + b"x" * 65535),
    "plain HTTP": hello(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    "its own message back": lambda exchange: exchange.send(exchange.connection.recv(65536)),
}


@contextmanager
def spoiled(act: Callable[[Exchange], object]) -> Iterator[Server]:
    """A server that fails in the handshake."""
    with Server(act, raw=True) as server:
        server.url = server.url.replace("http:", "https:")
        yield server


@pytest.mark.parametrize("fault", HANDSHAKES)
async def test_a_handshake_that_fails(world: World, fault: str) -> None:
    expected = Fault(HANDSHAKES[fault], FetchError, TransportError, TransportError, "TLS")
    with spoiled(expected.act) as server:
        await check_fetch(world, server, expected)
        for error in await check_calls(world, server, expected):
            assert isinstance(error, TransportError) and not error.sent


async def test_a_handshake_that_never_ends(world: World) -> None:
    silent = Fault(hello(after=lambda exchange: exchange.drip(b"\x16\x03\x03\x40\x00")), None, None, None)
    with spoiled(silent.act) as server:
        async with world.resolver(connect_timeout=LIMIT) as resolver, within(GUARD):
            with pytest.raises(FetchTimeoutError, match="connect_timeout"):
                await resolver.resolve(server.url)
        one = card(interface("JSONRPC", server.url))
        async with world.agent(one, connect_timeout=LIMIT) as agent, within(GUARD):
            for name in ("GetTask", "SubscribeToTask"):
                error, _ = await failure(agent, name)
                assert isinstance(error, CallTimeoutError) and (error.phase, error.sent) == ("connect", False)


CERTIFICATES: dict[str, tuple[str, tuple[int, int], bool, str]] = {
    "another name": ("127.0.0.2", (-1, 1), True, "IP address mismatch"),
    "expired": ("127.0.0.1", (-2, -1), True, "expired"),
    "not valid yet": ("127.0.0.1", (1, 2), True, "not yet valid"),
    "nobody's": ("127.0.0.1", (-1, 1), False, "self.signed"),
}


@pytest.mark.parametrize("fault", CERTIFICATES)
async def test_a_certificate_that_proves_nothing(
    world: World, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, days, trusted, told = CERTIFICATES[fault]
    context, file = certificate(tmp_path, host, days)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
    expected = Fault(lambda exchange: exchange.answer(200, CARD), FetchError, TransportError, TransportError, told)
    with Server(expected.act, tls=context) as server:
        error = await check_fetch(world, server, expected)
        assert "certificate of 127.0.0.1 is not trusted" in str(error)
        for error in await check_calls(world, server, expected):
            assert isinstance(error, TransportError) and not error.sent and told.partition(".")[0] in str(error)
        assert not server.seen


async def test_a_certificate_that_grpc_does_not_trust(world: World, tls: tuple[ssl.SSLContext, Path]) -> None:
    pair = (tls[1].with_name("server.pem").read_bytes(), tls[1].read_bytes())
    with GrpcServer(lambda *_: task(), credentials=grpc.ssl_server_credentials([pair])) as server:
        async with world.agent(card(interface("GRPC", f"https://{server.url}"))) as agent, within(GUARD):
            for name in ("GetTask", "SubscribeToTask"):
                error, _ = await failure(agent, name)
                assert type(error) is TransportError and not error.sent
        assert not server.seen
