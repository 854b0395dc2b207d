"""Small servers on loopback that misbehave on purpose, and the two worlds of the library as one."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import itertools
import socket
import ssl
import struct
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

import a2a_discovery._async.agent as async_agent
import a2a_discovery._async.catalog as async_catalog
import a2a_discovery._async.discovery as async_discovery
import a2a_discovery._async.keys as async_keys
import a2a_discovery._async.resolver as async_resolver
import a2a_discovery._sync.agent as sync_agent
import a2a_discovery._sync.catalog as sync_catalog
import a2a_discovery._sync.discovery as sync_discovery
import a2a_discovery._sync.keys as sync_keys
import a2a_discovery._sync.resolver as sync_resolver
from a2a_discovery._gen.async_methods import AsyncOperations
from a2a_discovery.fetched import FetchedDocument, ResolvedCard

Handler = Callable[["Exchange"], object]


class Exchange:
    """One request of an accepted connection: ``head`` up to its empty line, and the ``body`` if it is read."""

    def __init__(self, connection: socket.socket, stopped: threading.Event, origin: str, *, last: bool) -> None:
        self.connection = connection
        self.last = last
        self.stopped = stopped
        self.origin = origin
        self.head = b""
        self.body = b""

    @property
    def verb(self) -> str:
        return self.head.split(b" ")[0].decode("latin-1")

    @property
    def target(self) -> str:
        return self.head.split(b" ")[1].decode("latin-1")

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}

    def read_head(self) -> None:
        self.head = b""
        while b"\r\n\r\n" not in self.head:
            data = self.connection.recv(65536)
            if not data:
                return
            self.head += data
        self.head, _, self.body = self.head.partition(b"\r\n\r\n")

    def read_body(self) -> bytes:
        """The body of a request with a Content-Length."""
        while len(self.body) < int(self.headers.get("content-length", 0)):
            data = self.connection.recv(65536)
            if not data:
                break
            self.body += data
        return self.body

    def send(self, *parts: bytes) -> None:
        self.connection.sendall(b"".join(parts))

    def end(self) -> None:
        """End the connection as one that is done: what was sent arrives."""
        self.connection.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """End the connection as one that is broken: a RST, whatever is still to come."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def answer(self, status: int = 200, body: bytes = b"", *fields: str, length: bool = True) -> None:
        lines = [f"HTTP/1.1 {status} X", *fields, *([f"Content-Length: {len(body)}"] if length else [])]
        if self.last:
            lines.append("Connection: close")
        self.send("\r\n".join([*lines, "", ""]).encode("latin-1"), body)

    def drip(self, data: bytes, every: float = 0.03) -> None:
        """Send ``data`` again and again, a byte at a time, until the other side has gone."""
        for byte in itertools.cycle(data):
            self.send(bytes([byte]))
            if self.stopped.wait(every):
                return


class Server:
    """Answers each connection with ``handler`` in a thread of its own; a context manager.

    ``keep_alive`` calls the handler for each request of a connection; ``raw`` does not wait for a request.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        tls: ssl.SSLContext | None = None,
        keep_alive: bool = False,
        raw: bool = False,
        port: int = 0,
    ) -> None:
        self._handler = handler
        self._tls = tls
        self._keep_alive = keep_alive
        self._raw = raw
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = self._listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.card_url = f"{self.url}/.well-known/agent-card.json"
        self.seen: list[Exchange] = []
        self.connections: list[socket.socket] = []
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Server:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listener.close()
        for connection in self.connections:
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._stopped.is_set():
                connection, _ = self._listener.accept()
                self.connections.append(connection)
                thread = threading.Thread(target=self._serve, args=[connection])
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
                self.connections.append(connection)
            with connection:
                while True:
                    exchange = Exchange(connection, self._stopped, self.url, last=not self._keep_alive)
                    if not self._raw:
                        exchange.read_head()
                        if not exchange.head:
                            return
                    self.seen.append(exchange)
                    self._handler(exchange)
                    if not self._keep_alive:
                        return


def certificate(
    directory: Path, host: str = "127.0.0.1", days: tuple[int, int] = (-1, 1)
) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS context, and the file that makes a client trust it.

    The certificate is for the address ``host`` and for agent.test, valid from and to ``days`` from now.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a2a-discovery tests")])
    names = [x509.IPAddress(ipaddress.ip_address(host)), x509.DNSName("agent.test")]
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(days=days[0]))
        .not_valid_after(now + datetime.timedelta(days=days[1]))
        .add_extension(x509.SubjectAlternativeName(names), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    trusted, both = directory / "trusted.pem", directory / "server.pem"
    trusted.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    both.write_bytes(private + trusted.read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return context, trusted


class _Blocking:
    """The blocking resolver behind the async one's methods, so that a test is written once."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._resolver = sync_resolver.CardResolver(*args, **options)

    async def __aenter__(self) -> _Blocking:
        return self

    async def __aexit__(self, *exc: object) -> None:
        with self._resolver as entered:
            assert entered is self._resolver

    @property
    def blocking(self) -> sync_resolver.CardResolver:
        return self._resolver

    async def resolve(self, reference: str, **options: Any) -> ResolvedCard:
        return self._resolver.resolve(reference, **options)

    async def fetch(self, url: str) -> FetchedDocument:
        return self._resolver.fetch(url)

    async def read(self, data: Any, **options: Any) -> Any:
        return self._resolver.read(data, **options)


class _BlockingAgent:
    """The blocking agent behind the async one's methods; for a test that never waits for its own event loop."""

    def __init__(self, blocking: sync_agent.Agent) -> None:
        self.blocking = blocking

    async def __aenter__(self) -> _BlockingAgent:
        return self

    async def __aexit__(self, *exc: object) -> None:
        with self.blocking as entered:
            assert entered is self.blocking

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.blocking, name)
        if name in _STREAMS:
            return partial(_stepped, value)
        return partial(_called, value) if name in _CALLS else value


_STREAMS = {"send_streaming_message", "subscribe_to_task"}
_CALLS = {name for name in vars(AsyncOperations) if not name.startswith("_")} - _STREAMS | {
    "wait",
    "extended_card",
    "refresh_card",
}


async def _called(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return function(*args, **options)


async def _stepped(function: Callable[..., Any], *args: Any, **options: Any) -> AsyncIterator[Any]:
    with closing(function(*args, **options)) as events:
        for event in events:
            yield event


class World:
    """The async or the sync half of the library."""

    def __init__(self, name: str) -> None:
        self.name = name

    def agent(self, *args: Any, **options: Any) -> Any:
        if self.name == "async":
            return async_agent.AsyncAgent(*args, **options)
        if isinstance(options.get("resolver"), _Blocking):
            options["resolver"] = options["resolver"].blocking
        return _BlockingAgent(sync_agent.Agent(*args, **options))

    @asynccontextmanager
    async def discover(self, reference: str, **options: Any) -> AsyncIterator[Any]:
        if self.name == "async":
            async with async_discovery.discover(reference, **options) as agent:
                yield agent
        else:
            with sync_discovery.discover(reference, **options) as blocking:
                yield _BlockingAgent(blocking)

    async def together(self, calls: list[Callable[[], Any]]) -> list[Any]:
        """The results of calls made at once, by as many tasks or threads."""
        if self.name == "async":
            return await asyncio.gather(*(call() for call in calls))

        def run(call: Callable[[], Any]) -> Any:
            return asyncio.run(call())

        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(run, calls))

    def resolver(self, *args: Any, **options: Any) -> Any:
        return (async_resolver.CardResolver if self.name == "async" else _Blocking)(*args, **options)

    @asynccontextmanager
    async def key_sets(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        """A JwksResolver of this world, which is called as its world does."""
        if self.name == "async":
            async with async_keys.JwksResolver(*args, **options) as keys:
                yield keys
        else:
            with sync_keys.JwksResolver(*args, **options) as blocking:
                yield blocking

    async def catalog(self, kind: str, *args: Any, resolver: Any = None, **options: Any) -> Any:
        """The catalog that ``Catalog.from_{kind}`` of this world reads."""
        if self.name == "async":
            return await getattr(async_catalog.Catalog, f"from_{kind}")(*args, resolver=resolver, **options)
        blocking = None if resolver is None else resolver._resolver
        return getattr(sync_catalog.Catalog, f"from_{kind}")(*args, resolver=blocking, **options)

    @asynccontextmanager
    async def client(self, **options: Any) -> AsyncIterator[Any]:
        """An httpx client of this world."""
        if self.name == "async":
            async with httpx.AsyncClient(**options) as client:
                yield client
        else:
            with httpx.Client(**options) as blocking:
                yield blocking

    @asynccontextmanager
    async def channel(self, target: str) -> AsyncIterator[Any]:
        """A gRPC channel of this world."""
        import grpc

        if self.name == "async":
            async with grpc.aio.insecure_channel(target) as channel:
                yield channel
        else:
            with grpc.insecure_channel(target) as blocking:
                yield blocking
