"""Bodies: size and content coding."""

from __future__ import annotations

import gzip
import os
import time
import zlib
from collections.abc import Iterator

import httpx
import pytest

from a2a_discovery._response import BodyReader, ResponseHead
from tests.resolver.common import CARD, MB, failure, peak_memory, respond, unframed
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio


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
