"""Fetch a card, in both worlds, from servers that misbehave."""

from __future__ import annotations

import asyncio
import copy
import gc
import gzip
import inspect
import logging
import os
import pickle
import socket
import ssl
import threading
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

import a2a_discovery._async.resolver as async_resolver
from a2a_discovery._deadline import SyncDeadline, TimeLimitError
from a2a_discovery._fetch_errors import retry_after
from a2a_discovery._response import BodyReader, ResponseHead
from a2a_discovery.errors import CardError, FetchError, FetchTimeoutError
from a2a_discovery.policy import UrlPolicy
from tests.cases import CASES
from tests.servers import Exchange, Server, World, certificate

pytestmark = pytest.mark.anyio

CARD = (CASES / "bench_card.json").read_bytes()
PATH = "/.well-known/agent-card.json"
MB = 1024 * 1024


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["async", "sync"])
def world(request: pytest.FixtureRequest) -> World:
    return World(request.param)


@pytest.fixture(scope="session")
def only_authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("authority"))[1]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, only_authority: Path) -> None:
    """No proxy, and one trusted certificate, which loads faster than the usual hundred."""
    for name in [n for n in os.environ if n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SSL_CERT_FILE", str(only_authority))


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    return certificate(tmp_path_factory.mktemp("tls"))


def respond(status: int = 200, body: bytes = CARD, *fields: str) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(status, body, *fields)


def unframed(*parts: bytes, fields: str = "") -> Callable[[Exchange], None]:
    """An answer whose body ends where the connection does."""
    return lambda exchange: exchange.send(f"HTTP/1.1 200 OK\r\n{fields}\r\n".encode(), *parts)


async def failure(world: World, reference: str, match: str = "", **options: Any) -> FetchError:
    async with world.resolver(**options) as resolver:
        with pytest.raises(FetchError, match=match) as caught:
            await resolver.resolve(reference)
    return caught.value


@contextmanager
def peak_memory(limit: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit


# A card is fetched.


async def test_card(world: World) -> None:
    fields = ["Content-Type: application/json", "ETag: x", "Vary: a", "vary: b"]
    with Server(respond(200, CARD, *fields)) as server:
        async with world.resolver() as resolver:
            found = await resolver.resolve(f"127.0.0.1:{server.port}/a")
    assert found.data == CARD
    assert found.url == found.requested_url == f"{server.url}/a{PATH}"
    assert found.headers["etag"] == "x" and found.headers["vary"] == "a, b"
    assert found.redirects == ()
    assert found.card
    (exchange,) = server.seen
    assert exchange.target == f"/a{PATH}"
    assert exchange.head.startswith(b"GET ")
    assert exchange.headers == {
        "host": f"127.0.0.1:{server.port}",
        "accept": "application/json, application/a2a+json",
        "a2a-version": "1.0",
        "accept-encoding": "gzip",
        "user-agent": "a2a-discovery",
    }


async def test_values_are_immutable_and_quiet(world: World) -> None:
    with Server(respond()) as server:
        async with world.resolver() as resolver:
            document = await resolver.fetch(server.card_url)
    assert (document.status, document.body) == (200, CARD)
    assert "skills" not in repr(document) and "content-length" not in repr(document)
    with pytest.raises(TypeError):
        document.headers["etag"] = "y"
    with pytest.raises(AttributeError):
        document.body = b""


@pytest.mark.parametrize("content_type", ["application/a2a+json", "text/plain", "application/octet-stream", "junk;;"])
async def test_content_type_is_no_matter(world: World, content_type: str) -> None:
    with Server(respond(200, CARD, f"Content-Type: {content_type}")) as server:
        async with world.resolver() as resolver:
            assert (await resolver.resolve(server.url)).data == CARD


async def test_card_error_names_its_url(world: World) -> None:
    with Server(respond(200, b"[1]")) as server:
        async with world.resolver() as resolver:
            with pytest.raises(CardError) as caught:
                await resolver.resolve(server.url)
    assert caught.value.url == server.card_url


async def test_refused_reference(world: World) -> None:
    error = await failure(world, "https://user:s3cret@h.test", "credentials do not belong")
    assert "s3cret" not in f"{error} {error.url}"
    async with world.resolver() as resolver:
        with pytest.raises(FetchError, match="'file'"):
            await resolver.fetch("file:///etc/passwd")


async def test_tls(world: World, tls: tuple[ssl.SSLContext, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(respond(), tls=tls[0]) as server:
        await failure(world, server.url, "certificate of 127.0.0.1 is not trusted: self.signed")
        monkeypatch.setenv("SSL_CERT_FILE", str(tls[1]))
        async with world.resolver() as resolver:
            assert (await resolver.resolve(server.url)).data == CARD


# What goes along: headers, and a client that was passed in.


async def test_own_headers(world: World) -> None:
    headers = {"Authorization": "Bearer t", "accept-encoding": "br", "Accept": "application/json"}
    with Server(respond()) as server:
        async with world.resolver(headers=headers) as resolver:
            headers.clear()
            await resolver.resolve(server.url)
    sent = server.seen[0].headers
    assert sent["authorization"] == "Bearer t"
    assert sent["accept"] == "application/json" and sent["accept-encoding"] == "gzip"


@pytest.mark.parametrize("headers", [{"X-Key": "s3cret\r\nX: y"}, {"X-Key": "s3cret\u20ac"}, {"X Key": "s3cret"}])
def test_bad_header_is_the_callers_fault(world: World, headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="is not valid HTTP") as caught:
        world.resolver(headers=headers)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": float("inf")}, {"connect_timeout": -1}])
def test_bad_time_limit(world: World, options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="seconds"):
        world.resolver(**options)


async def test_client_of_the_caller(world: World) -> None:
    defaults: dict[str, Any] = {
        "headers": {"X-Default": "d", "User-Agent": "mine"},
        "cookies": {"session": "c"},
        "params": {"key": "k"},
        "auth": ("user", "pw"),
    }
    with Server(respond(), keep_alive=True) as server:
        async with world.client(**defaults) as client:
            before = dict(client.headers)
            async with world.resolver(client, headers={"X-Own": "o"}) as resolver:
                await resolver.fetch(f"{server.url}/card?id=5")
            assert dict(client.headers) == before
            async with world.resolver(client) as again:
                await again.resolve(server.url)
        assert len(server.connections) == 1
    first, second = server.seen
    assert sorted(first.target.partition("?")[2].split("&")) == ["id=5", "key=k"]
    assert second.target == f"{PATH}?key=k"
    assert first.headers["x-own"] == "o" and "x-own" not in second.headers
    for sent in (first.headers, second.headers):
        assert sent["x-default"] == "d" and sent["user-agent"] == "mine" and sent["cookie"] == "session=c"
        assert sent["authorization"].startswith("Basic ") and sent["a2a-version"] == "1.0"
        assert sent["accept"] == "application/json, application/a2a+json" and sent["accept-encoding"] == "gzip"


async def test_no_cookies_of_our_own(world: World) -> None:
    with Server(respond(200, CARD, "Set-Cookie: a=b", "Set-Cookie: \x01;;=;expires=;domain")) as server:
        async with world.resolver() as resolver:
            await resolver.resolve(server.url)
            await resolver.resolve(server.url)
            assert not resolver._client.cookies
    assert "cookie" not in server.seen[1].headers


async def test_closed_client(world: World) -> None:
    async with world.client() as client:
        pass
    await failure(world, "https://h.test", "failed", client=client)


# Redirects.


def redirect(status: int, location: str | None) -> Callable[[Exchange], None]:
    return respond(status, b"", *([f"Location: {location}"] if location is not None else []))


def site(pages: dict[str, Callable[[Exchange], None]]) -> Callable[[Exchange], None]:
    return lambda exchange: pages.get(exchange.target, respond(404))(exchange)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect(world: World, status: int) -> None:
    pages = {"/a.json": redirect(status, "b/c.json?x=1#f"), "/b/c.json?x=1": respond()}
    with Server(site(pages)) as server:
        async with world.resolver(headers={"Authorization": "Bearer t"}) as resolver:
            found = await resolver.resolve(f"{server.url}/a.json")
    assert found.url == f"{server.url}/b/c.json?x=1"
    assert found.requested_url == f"{server.url}/a.json"
    assert found.redirects == (f"{server.url}/a.json",)
    assert [e.headers["authorization"] for e in server.seen] == ["Bearer t"] * 2


@pytest.mark.parametrize("status", [300, 304, 305, 306])
async def test_other_3xx_is_not_followed(world: World, status: int) -> None:
    with Server(redirect(status, "/b.json")) as server:
        error = await failure(world, server.url, "only 200")
    assert error.status == status and len(server.seen) == 1


async def test_redirect_limit(world: World) -> None:
    def hop(exchange: Exchange) -> None:
        number = int(exchange.target.strip("/.json"))
        (respond() if number == 5 else redirect(302, f"/{number + 1}.json"))(exchange)

    with Server(hop) as server:
        async with world.resolver() as resolver:
            assert len((await resolver.resolve(f"{server.url}/0.json")).redirects) == 5
        error = await failure(world, f"{server.url}/-1.json", "after 5 redirects")
    assert error.url == f"{server.url}/4.json"
    assert error.redirects == tuple(f"{server.url}/{n}.json" for n in range(-1, 4))
    assert error.status == 302


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        (None, "without a Location"),
        ("http://[::1", "cannot be read"),
        ("http://h.test/a b", "not followed"),
        ("http://h.test:x/", "not followed|cannot be read"),
        ("https://user:s3cret@h.test/", "credentials"),
        ("//user:s3cret@h.test/", "credentials"),
        ("ftp://h.test/", "'ftp'"),
        ("javascript:alert(1)", "'javascript'|cannot be read"),
        ("https://xn--a.test/", "Location that cannot be read"),
        ("https://\u2177.test/", "(?i)location that cannot be read|no valid host name"),
        ("https://" + "a" * 70 + ".test/", "no valid host name|cannot be resolved|no name that can be looked up"),
        ("https:///x", "not followed|cannot be read"),
        ("http://0.0.0.0/", "listen on"),
        ("http://h.test/", "TLS"),
        ("\xff\xfe", "404"),
    ],
)
async def test_bad_location(world: World, location: str | None, reason: str) -> None:
    def handler(exchange: Exchange) -> None:
        if exchange.target != PATH:
            exchange.answer(404)
            return
        field = b"" if location is None else b"Location: " + location.encode(errors="surrogateescape") + b"\r\n"
        exchange.send(b"HTTP/1.1 302 Found\r\n", field, b"Content-Length: 0\r\n\r\n")

    with Server(handler) as server:
        error = await failure(world, server.url, reason)
    assert "s3cret" not in str(error)


async def test_plain_http_where_it_was_asked_for(world: World) -> None:
    def pages(request: httpx.Request) -> httpx.Response:
        match str(request.url):
            case "http://h.test/a.json":
                return httpx.Response(302, headers={"Location": "/b.json"})
            case "http://h.test/b.json" | "http://other.test/b.json":
                return httpx.Response(200, content=CARD)
            case _:
                return httpx.Response(302, headers={"Location": "http://other.test/b.json"})

    async with world.client(transport=httpx.MockTransport(pages)) as client:
        async with world.resolver(client) as resolver:
            assert (await resolver.resolve("http://h.test/a.json")).data == CARD
        await failure(world, "http://h.test/c.json", "has to be called with TLS", client=client)
        await failure(world, "https://h.test/c.json", "leaves https", client=client)
        open_policy = UrlPolicy(allow_http=True)
        await failure(world, "https://h.test/c.json", "leaves https", client=client, policy=open_policy)
        async with world.resolver(client, policy=open_policy) as resolver:
            assert (await resolver.resolve("http://h.test/c.json")).url == "http://other.test/b.json"


@pytest.mark.parametrize("own_client", [True, False])
async def test_credentials_stay_at_their_origin(world: World, own_client: bool) -> None:
    with Server(site({"/c.json": respond()}), keep_alive=True) as home, Server(respond()) as foreign:
        home._handler = site(
            {
                "/a.json": redirect(302, "/b.json"),
                "/a.json?key=k": redirect(302, "/b.json"),
                "/b.json": redirect(302, f"{foreign.url}/x.json"),
                "/b.json?key=k": redirect(302, f"{foreign.url}/x.json"),
                "/c.json": respond(),
            }
        )
        foreign._handler = respond(302, b"", f"Location: {home.url}/c.json", "Set-Cookie: evil=1")
        options: dict[str, Any] = {"headers": {"Authorization": "Bearer s3cret", "X-Key": "s3cret"}}
        if own_client:
            async with world.resolver(**options) as resolver:
                found = await resolver.resolve(f"{home.url}/a.json")
        else:
            defaults: dict[str, Any] = {
                "headers": {"X-Default": "s3cret"},
                "cookies": {"session": "s3cret"},
                "params": {"key": "k"},
                "auth": ("user", "s3cret"),
            }
            async with world.client(**defaults) as client, world.resolver(client, **options) as resolver:
                found = await resolver.resolve(f"{home.url}/a.json")
    assert found.url == f"{home.url}/c.json" and len(found.redirects) == 3
    first, second, away, back = *home.seen[:2], *foreign.seen, home.seen[2]
    for exchange in (first, second):
        assert b"s3cret" in exchange.head and exchange.headers["x-key"] == "s3cret"
    neutral = {"host", "accept", "a2a-version", "accept-encoding", "user-agent"}
    for exchange in (away, back):
        assert set(exchange.headers) == neutral and "key=k" not in exchange.target


# Bodies: size and content coding.


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "GZIP", "identity, gzip"])
async def test_gzip(world: World, coding: str) -> None:
    half = len(CARD) // 2
    body = gzip.compress(CARD[:half]) + gzip.compress(CARD[half:])
    with Server(respond(200, body, f"Content-Encoding: {coding}")) as server:
        async with world.resolver() as resolver:
            found = await resolver.resolve(server.url)
    assert found.data == CARD and found.headers["content-encoding"] == coding


@pytest.mark.parametrize(
    ("coding", "body", "reason"),
    [
        ("br", CARD, "content coding is 'br'"),
        ("gzip, gzip", gzip.compress(gzip.compress(CARD)), "'gzip, gzip'"),
        ("deflate", zlib.compress(CARD), "'deflate'"),
        ("gzip", gzip.compress(CARD)[:-9], "break off"),
        ("gzip", gzip.compress(CARD) + gzip.compress(CARD)[:-1], "break off"),
        ("gzip", b"", "break off"),
        ("gzip", CARD, "corrupt"),
        ("gzip", gzip.compress(CARD)[:-6] + b"\0\0\0\0\0\0", "corrupt"),
        ("gzip", gzip.compress(CARD) + b"trailing", "corrupt"),
    ],
)
async def test_content_coding_refused(world: World, coding: str, body: bytes, reason: str) -> None:
    with Server(respond(200, body, f"Content-Encoding: {coding}")) as server:
        error = await failure(world, server.url, reason)
    assert error.status == 200 and error.url == server.card_url


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("length", [False, True])
async def test_size_limit_is_exact(world: World, coded: bool, length: bool) -> None:
    body = os.urandom(3000).hex().encode()
    fields = ["Content-Encoding: gzip"] if coded else []
    wire = gzip.compress(b'"' + body + b'"') if coded else b'"' + body + b'"'
    with Server(lambda e: e.answer(200, wire, *fields, length=length)) as server:
        async with world.resolver(max_bytes=len(body) + 2) as resolver:
            assert len((await resolver.fetch(server.url)).body) == len(body) + 2
        await failure(world, server.url, r"limit of 6001 bytes \(max_bytes\)", max_bytes=len(body) + 1)


async def test_content_length_alone_is_enough(world: World) -> None:
    def handler(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2097153\r\n\r\n")
        exchange.stopped.wait(5)

    with Server(handler) as server:
        await failure(world, server.url, "its Content-Length is 2097153", timeout=2.0)


async def test_50_megabytes(world: World) -> None:
    sent = 0

    def handler(exchange: Exchange) -> None:
        nonlocal sent
        exchange.send(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(800):
            exchange.send(block)
            sent += len(block)

    block = b" " * 65536
    with Server(handler) as server, peak_memory(8 * MB):
        await failure(world, server.url, "limit of 2097152 bytes")
    assert sent < 20 * MB


@pytest.mark.parametrize("status", [200, 404])
async def test_gzip_bomb(world: World, status: int) -> None:
    compressor = zlib.compressobj(wbits=31)
    start = compressor.compress(b" " * MB) + compressor.flush(zlib.Z_FULL_FLUSH)
    block = compressor.compress(b" " * MB) + compressor.flush(zlib.Z_FULL_FLUSH)
    bomb = start + block * 1023
    assert len(bomb) < 2 * MB
    with Server(respond(status, bomb, "Content-Encoding: gzip")) as server:
        started = time.monotonic()
        with peak_memory(8 * MB):
            error = await failure(world, server.url, "limit of 2097152 bytes" if status == 200 else "nothing at")
    assert time.monotonic() - started < 1
    assert error.first_bytes == b" " * 200


async def test_empty_gzip_members(world: World) -> None:
    with Server(unframed(gzip.compress(b"") * 200_000, fields="Content-Encoding: gzip\r\n")) as server:
        await failure(world, server.url, "limit of 2097152 bytes")


async def test_chunked(world: World) -> None:
    body = b"5\r\n[1,2,\r\n" * 2_000 + b"2\r\n3]\r\n0\r\n\r\n"
    with Server(unframed(body, fields="Transfer-Encoding: chunked\r\n")) as server:
        async with world.resolver() as resolver:
            assert (await resolver.fetch(server.url)).body == b"[1,2," * 2_000 + b"3]"


def test_small_chunks_take_no_more_memory() -> None:
    reader = BodyReader(ResponseHead(200, {}), MB)
    chunks = [bytes([n, n]) for n in range(256)]
    with peak_memory(3 * MB):
        for _ in range(400):
            for chunk in chunks:
                reader.feed(bytes(bytearray(chunk)))
        assert len(reader.finish()) == 400 * 512


@pytest.mark.parametrize("coded", [False, True])
async def test_transport_in_memory(world: World, coded: bool) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if coded:
            return httpx.Response(200, content=gzip.compress(CARD), headers={"Content-Encoding": "gzip"})
        return httpx.Response(200, content=CARD)

    async with world.client(transport=httpx.MockTransport(answer)) as client:
        async with world.resolver(client) as resolver:
            assert (await resolver.resolve("https://h.test")).data == CARD
        await failure(world, "https://h.test", "limit of 99 bytes", client=client, max_bytes=99)


async def test_auth_that_reads_the_body(world: World) -> None:
    class Reading(httpx.Auth):
        requires_response_body = True

        def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
            yield request

    with Server(respond(200, gzip.compress(CARD), "Content-Encoding: gzip")) as server:
        async with world.client(auth=Reading()) as client, world.resolver(client) as resolver:
            assert (await resolver.resolve(server.url)).data == CARD


# Time.


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
        with pytest.raises(TimeLimitError), SyncDeadline(0.01) as deadline:
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


# What the errors say.


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, r"credentials are demanded for /a.json; or the path is wrong"),
        (403, r"credentials are demanded for /a.json; or the path is wrong"),
        (404, r"nothing at /a.json; if the card lives elsewhere, give its own URL"),
        (405, r"RPC endpoint"),
        (204, r"204 No Content"),
        (206, r"206 Partial Content"),
        (500, r"500 Internal Server Error"),
        (999, r"it answered 999"),
    ],
)
async def test_status(world: World, status: int, reason: str) -> None:
    fields = ["Content-Type: text/plain", 'WWW-Authenticate: Bearer realm="r"', "Retry-After: 7"]
    body = b"" if status == 204 else b"No\x00such\x1b[31m page " + b"y" * 300
    with Server(lambda e: e.answer(status, body, *fields, length=status != 204)) as server:
        error = await failure(world, f"{server.url}/a.json", reason)
    assert error.status == status and error.content_type == "text/plain"
    assert error.retry_after == 7.0 and error.challenge == 'Bearer realm="r"'
    assert error.first_bytes == body[:200]
    assert error.url == f"{server.url}/a.json" and error.redirects == ()
    told = str(error)
    assert told.startswith(f"{server.url}/a.json: ") and told.isprintable() and len(told) < 600
    assert f"status {status}" in told and "text/plain" in told and "7 s" in told
    assert not body or "such" in told


async def test_error_of_an_unreadable_body_is_its_status(world: World) -> None:
    with Server(respond(503, b"junk", "Content-Encoding: gzip")) as server:
        assert (await failure(world, server.url, "503")).first_bytes == b""
    with Server(lambda e: e.send(b"HTTP/1.1 503 X\r\nContent-Length: 99\r\n\r\nbroken")) as server:
        assert (await failure(world, server.url, "503")).first_bytes == b"broken"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Mon, 30 Nov 2026 12:01:00 GMT", 60.0),
        ("Monday, 30-Nov-26 12:01:00 GMT", 60.0),
        ("Mon Nov 30 12:01:00 2026", 60.0),
        ("Mon, 30 Nov 2020 12:01:00 GMT", 0.0),
        ("-1", None),
        ("1.5", None),
        ("9" * 5000, None),
        ("Mon, 99 Nov 2026 12:01:00 GMT", None),
        ("Mon, 30 Nov 99999999999999999999 12:01:00 GMT", None),
        ("\u0663", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, now=datetime(2026, 11, 30, 12, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html; charset=utf-8", b"<!doctype html><title>Sign in</title>"),
        ("TEXT/HTML", b"{}"),
        ("application/json", b"\xef\xbb\xbf \n<html>"),
        ("application/xhtml+xml", b"<html/>"),
    ],
)
async def test_web_page(world: World, content_type: str, body: bytes) -> None:
    pages = {PATH: redirect(302, "/login"), "/login": respond(200, body, f"Content-Type: {content_type}")}
    with Server(site(pages)) as server:
        error = await failure(world, server.url, "a web page, perhaps a login page, not an agent card")
    assert error.redirects == (server.card_url,) and error.url == f"{server.url}/login"
    assert server.card_url in str(error) and error.first_bytes == body


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "hung up without an HTTP answer: this may be a gRPC port"),
        (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + b"x" * 18, "not HTTP/1: this may be a gRPC port"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "not HTTP/1: this may be a gRPC port"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "not valid HTTP/1|larger than is read"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "not HTTP/1.*TLS|hung up.*TLS"),
        (b"HTTP/1.1 2x0 OK\r\n\r\n", "not HTTP/1"),
        (b"HTTP/1.1 200 OK\r\nb\xff\x00d: x\r\n\r\n", "not valid HTTP/1|larger than is read"),
        (b"HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n", "not valid HTTP/1|larger than is read"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "not valid HTTP/1|larger than is read"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "not valid HTTP/1|larger than is read"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: weird\r\n\r\n", "not valid HTTP/1|larger than is read"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, "not valid HTTP/1|larger than is read"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}", "broke before"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}", "broke before"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "broke before"),
        (b"HTTP/1.1 400 Bad\r\n\r\nClient sent an HTTP request to an HTTPS server.\n", "speaks TLS: write https"),
    ],
)
async def test_broken_answer(world: World, answer: bytes, reason: str) -> None:
    with Server(lambda exchange: exchange.send(answer)) as server:
        error = await failure(world, server.url, reason)
    assert error.__cause__ is not None or error.status == 400


async def test_odd_header_bytes_are_no_failure(world: World) -> None:
    fields = b"X: \xff\xfe\r\nSet-Cookie: \xff=\xfe; expires=\xff; max-age=x\r\nCT: \xe2\x82\r\n"
    answer = b"HTTP/1.1 200 \xff\xfe\r\n" + fields + b"\r\n"
    with Server(lambda exchange: exchange.send(answer, CARD)) as server:
        async with world.resolver() as resolver:
            assert (await resolver.resolve(server.url)).headers["x"] == "\xff\xfe"


async def test_reset(world: World) -> None:
    def handler(exchange: Exchange) -> None:
        exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with Server(handler) as server:
        await failure(world, server.url, "hung up without an HTTP answer")


async def test_grpc_port(world: World) -> None:
    grpc = pytest.importorskip("grpc")
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        await failure(world, f"127.0.0.1:{port}", "this may be a gRPC port")
        await failure(world, f"https://127.0.0.1:{port}", "gRPC port|does not speak TLS")
    finally:
        server.stop(None).wait()


async def test_tls_to_a_plain_port(world: World) -> None:
    with Server(lambda e: e.send(b"HTTP/1.1 400 Bad Request\r\n\r\n"), raw=True) as server:
        await failure(world, server.url.replace("http:", "https:"), "does not speak TLS: .* write http://")
    with Server(lambda e: e.connection.recv(1), raw=True) as server:
        await failure(world, server.url.replace("http:", "https:"), "TLS handshake failed.* port without TLS")


async def test_plain_http_to_a_tls_port(world: World, tls: tuple[ssl.SSLContext, Path]) -> None:
    with Server(respond(), tls=tls[0]) as server:
        await failure(world, server.url.replace("https:", "http:"), r"speaks TLS only \(https://\)")


async def test_nothing_there(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for host in ("127.0.0.1", "localhost"):
        error = await failure(world, f"{host}:{port}", f"nothing listens on {host}:{port} ")
        assert isinstance(error.__cause__, httpx.ConnectError) and error.status is None


async def test_unknown_host(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    await failure(world, "https://nobody.test", "the host name nobody.test cannot be resolved")


@pytest.mark.parametrize("host", ["\u2177.test", "xn--a.test", "a" * 64 + ".test", "a..b.test", "\u202e.test"])
async def test_host_that_is_no_name(world: World, host: str) -> None:
    error = await failure(
        world, f"https://{host}", "no valid host name|cannot be resolved|no name that can be looked up"
    )
    assert error.__cause__ is not None


async def test_what_was_found_survives_copying_and_pickling(world: World) -> None:
    with Server(respond(200, CARD, "ETag: x")) as server:
        async with world.resolver() as resolver:
            found = await resolver.resolve(server.url)
            document = await resolver.fetch(server.card_url)
    for value in (found, document):
        for again in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert again == value
            with pytest.raises(TypeError):
                again.headers["etag"] = "y"


async def test_proxy(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(respond(407, b"")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        await failure(world, "https://h.test", "the proxy does not connect us")


async def test_log(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "a2a_discovery")
    pages = {"/a.json?key=s3cret": redirect(302, "/b.json"), "/b.json": respond(200, CARD, "X-Token: s3cret")}
    with Server(site(pages)) as server:
        async with world.resolver(headers={"Authorization": "s3cret"}) as resolver:
            await resolver.resolve(f"{server.url}/a.json?key=s3cret")
    records = [r for r in caplog.records if r.name == "a2a_discovery"]
    assert {r.levelno for r in records} == {logging.DEBUG}
    assert [r.getMessage() for r in records] == [
        f"GET {server.url}/a.json",
        f"GET {server.url}/b.json",
        f"fetched {len(CARD)} bytes from {server.url}/b.json",
    ]


def test_sync_names() -> None:
    import a2a_discovery.sync

    resolver = a2a_discovery.sync.CardResolver
    assert resolver.__module__ == "a2a_discovery._sync.resolver"
    assert not inspect.iscoroutinefunction(resolver.resolve)
