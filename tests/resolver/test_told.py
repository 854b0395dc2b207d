"""What the errors say."""

from __future__ import annotations

import copy
import inspect
import logging
import pickle
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from a2a_discovery._response import retry_after
from tests.resolver.common import CARD, PATH, failure, redirect, respond, site
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio


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
