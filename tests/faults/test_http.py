"""HTTP/1.1 that is broken."""

from __future__ import annotations

import gzip
import itertools
import zlib
from contextlib import suppress
from typing import Any

import pytest

from a2a_discovery.bindings.sse import KEEP_ALIVE
from a2a_discovery.errors import A2AError, CardError, FetchError, InvalidAgentResponseError, TransportError
from tests.agent.common import STREAM_HEAD, card, encoded, failure, interface, reply, sse, started, within
from tests.faults.common import CARD, GUARD, TIMEOUT, Fault, check_calls, check_fetch, head, sends
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio

CHUNKED = b"Transfer-Encoding: chunked"


def floods(start: bytes, data: bytes) -> Any:
    """Send ``data`` as fast as it is taken, for ever."""

    def act(exchange: Exchange) -> None:
        exchange.read_body()
        exchange.send(start)
        with suppress(OSError):
            while not exchange.stopped.is_set():
                exchange.send(data)

    return act


def broken(act: Any, told: str = "") -> Fault:
    """An answer that is none."""
    return Fault(act, FetchError, TransportError, TransportError, told)


def unread(act: Any, told: str = "") -> Fault:
    """A whole answer whose content is not what it has to be."""
    return Fault(act, CardError, InvalidAgentResponseError, InvalidAgentResponseError, told)


def refused(act: Any, told: str = "") -> Fault:
    """An answer that says that there is none."""
    return Fault(act, FetchError, A2AError, A2AError, told)


NO_HTTP = "not valid HTTP/1"
FAULTS = {
    # The status line.
    "a status of no class": broken(sends(b"HTTP/1.1 000 OK\r\n\r\n{}")),
    "a status of four digits": broken(sends(b"HTTP/1.1 2000 OK\r\n\r\n{}")),
    "an upgrade": broken(sends(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n")),
    "an empty line first": broken(sends(b"\r\n\r\n")),
    "a status without an end": broken(floods(b"HTTP/1.1 200 ", b"x" * 65536)),
    "continue, for ever": Fault(floods(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 500), TIMEOUT, TIMEOUT, TIMEOUT),
    # The header.
    "a NUL in a field": broken(sends(head(b"X: a\0b"), b"{}"), NO_HTTP),
    "a field without a name": broken(sends(head(b": b"), b"{}"), NO_HTTP),
    "a space before the colon": broken(sends(head(b"Content-Length : 2"), b"{}"), NO_HTTP),
    "a length in two lines": broken(sends(head(b"Content-Length: 1\r\n 0"), b"{}" * 5), NO_HTTP),
    "two lengths": broken(sends(head(b"Content-Length: 2", b"Content-Length: 3"), b"{}x"), NO_HTTP),
    "a list of lengths": broken(sends(head(b"Content-Length: 2, 3"), b"{}x"), NO_HTTP),
    "a negative length": broken(sends(head(b"Content-Length: -1"), b"{}"), NO_HTTP),
    "a length in hexadecimal": broken(sends(head(b"Content-Length: 0x2"), b"{}"), NO_HTTP),
    "a length beyond all bounds": broken(sends(head(b"Content-Length: " + b"9" * 20), b"{}"), "larger than the limit"),
    "an unknown transfer coding": broken(sends(head(b"Transfer-Encoding: gzip, chunked"), b"0\r\n\r\n"), NO_HTTP),
    "a field of megabytes": broken(sends(head(b"X: " + b"x" * 4_000_000), b"{}"), "larger than is read"),
    "a field that never ends": broken(floods(head()[:-2] + b"X: ", b"x" * 65536), "larger than is read"),
    "fields without an end": broken(floods(head()[:-2], b"X: y\r\n" * 5000), "larger than is read"),
    # The framing of the body.
    "longer than its length": unread(sends(head(b"Content-Length: 9"), CARD), "not JSON"),
    "shorter than its length": broken(sends(head(b"Content-Length: 9999"), CARD), "broke"),
    "no body at all": unread(sends(head(b"Content-Length: 0")), "empty"),
    "no content": Fault(
        sends(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"),
        FetchError,
        InvalidAgentResponseError,
        A2AError,
        "204",
    ),
    "a negative chunk": broken(sends(head(CHUNKED), b"-1\r\n{}\r\n0\r\n\r\n"), "broke"),
    "a chunk beyond all bounds": broken(sends(head(CHUNKED), b"f" * 16 + b"\r\n{}\r\n0\r\n\r\n"), "broke"),
    "a chunk size of many digits": broken(sends(head(CHUNKED), b"0" * 200_000 + b"2\r\n{}\r\n0\r\n\r\n"), "broke"),
    "a chunk that is longer than it says": broken(sends(head(CHUNKED), b"1\r\n{}\r\n0\r\n\r\n"), "broke"),
    "no last chunk": broken(sends(head(CHUNKED), b"%x\r\n%b\r\n" % (len(CARD), CARD)), "broke"),
    "trailers without an end": broken(floods(head(CHUNKED) + b"2\r\n{}\r\n0\r\n", b"X: y\r\n" * 5000), "broke"),
    # Content codings.
    "gzip that breaks off": broken(sends(head(b"Content-Encoding: gzip"), gzip.compress(CARD)[:-9]), "break off"),
    "gzip with a wrong sum": broken(
        sends(head(b"Content-Encoding: gzip"), gzip.compress(CARD)[:-8] + b"\0" * 8), "corrupt"
    ),
    "gzip and something behind it": broken(
        sends(head(b"Content-Encoding: gzip"), gzip.compress(CARD) + b"x" * 9), "corrupt"
    ),
    "gzip twice": broken(sends(head(b"Content-Encoding: gzip, gzip"), gzip.compress(gzip.compress(CARD))), "coding"),
    "deflate": broken(sends(head(b"Content-Encoding: deflate"), zlib.compress(CARD)), "coding"),
    "no gzip": broken(sends(head(b"Content-Encoding: gzip"), CARD), "corrupt"),
    # Redirects: a fetch follows five of them, a call none.
    "a redirect to itself": refused(
        sends(head(b"Location: ", b"Content-Length: 0", status=b"302 Found")), "after 5 redirects"
    ),
    "a redirect to nowhere": refused(
        sends(head(b"Location: http://[", b"Content-Length: 0", status=b"307 X")), "not followed|cannot be read"
    ),
    # What is well framed.
    "a bare number": unread(sends(head(b"Content-Length: 3"), b"1.5")),
    "nested deeper than is read": unread(sends(head(), b"[" * 200_000 + b"]" * 200_000), "nested"),
    "UTF-16": unread(sends(head(), CARD.decode().encode("utf-16")), "not JSON"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_has_its_error(world: World, fault: str) -> None:
    with Server(FAULTS[fault].act) as server:
        await check_fetch(world, server, FAULTS[fault])
        for error in await check_calls(world, server, FAULTS[fault]):
            assert not isinstance(error, TransportError) or error.sent


async def test_an_endless_chain_of_redirects(world: World) -> None:
    numbers = itertools.count()

    def act(exchange: Exchange) -> None:
        exchange.answer(302, b"", f"Location: {server.url}/{next(numbers)}.json")

    with Server(act) as server:
        await check_fetch(world, server, Fault(act, FetchError, None, None, "after 5 redirects"))
    assert len(server.seen) == 6


async def test_a_fetch_is_reset_at_each_byte(world: World) -> None:
    answer = head(b"Content-Length: 2") + b"{}"

    def act(exchange: Exchange) -> None:
        exchange.send(answer[: len(server.seen) - 1])
        exchange.reset()

    with Server(act) as server:
        async with world.resolver(timeout=GUARD) as resolver:
            for _ in range(len(answer)):
                with pytest.raises(FetchError) as caught:
                    await resolver.resolve(server.url)
                assert type(caught.value) is FetchError
    assert len(server.seen) == len(answer)


@pytest.mark.parametrize(("binding", "name"), [("HTTP+JSON", "GetTask"), ("JSONRPC", "SendStreamingMessage")])
async def test_a_call_is_reset_at_each_byte(world: World, binding: str, name: str) -> None:
    sent: list[int] = []

    def act(exchange: Exchange) -> None:
        exchange.read_body()
        if name == "GetTask":
            body = encoded(exchange, reply(name))
            answer = head(b"Content-Length: %d" % len(body)) + body
        else:
            answer = STREAM_HEAD + sse(exchange, started()) + KEEP_ALIVE
        sent.append(len(answer))
        exchange.send(answer[: len(sent) - 1])
        exchange.reset()

    with Server(act) as server:
        url = server.url + ("/rpc" if binding == "JSONRPC" else "")
        async with world.agent(card(interface(binding, url))) as agent, within(3 * GUARD):
            error, events = None, []
            while not sent or len(sent) < sent[-1]:
                error, events = await failure(agent, name)
                assert isinstance(error, TransportError) and error.sent
                assert type(error).__name__ == ("StreamInterruptedError" if events else "TransportError")
    # Shortly before the end, the first event has come.
    assert events == ([started()] if name != "GetTask" else [])


@pytest.mark.parametrize("bomb", ["one line", "many lines"])
async def test_a_bomb_in_a_stream(world: World, bomb: str) -> None:
    """A stream that is packed though no coding was offered: its event stays within its limit."""
    line = b"data: " + b"x" * 93 + (b"" if bomb == "one line" else b"\n")
    data = gzip.compress(line * 100_000, 1)
    fields = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n"
    with Server(sends(fields, data)) as server:
        async with world.agent(card(interface("JSONRPC", server.url))) as agent, within(GUARD):
            error, _ = await failure(agent, "SendStreamingMessage")
    assert type(error) is InvalidAgentResponseError and "more than 8388608 bytes" in str(error)
