"""HTTP in the terms of ASGI: a request's headers and body, whole answers, and streams of events."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import parse_qsl

from google.protobuf.message import Message

from a2a_discovery._service_params import VERSION
from a2a_discovery.bindings import sse
from a2a_discovery.errors import A2AError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

JSON: Final = "application/json"

T = TypeVar("T")

_LARGE: Final = 64 * 1024
_FIELD_VALUE = re.compile(r"[\t\x20-\x7e]*")
_STREAM_HEADERS: Final = {
    "Content-Type": sse.MEDIA_TYPE,
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",  # nginx would hold events back
}


class ClientGoneError(Exception):
    """The client went away before its request was complete."""


class TooLargeError(Exception):
    """The request's body is larger than the limit."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer; ``headers`` beside Content-Type and Content-Length."""

    status: int
    body: bytes
    media_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self, send: Send, *, head: bool = False) -> None:
        """Send it, to HEAD without its body (RFC 9110 §9.3.2)."""
        headers = dict(self.headers)
        if self.status != 304:
            headers |= {"Content-Type": self.media_type, "Content-Length": str(len(self.body))}
        await send({"type": "http.response.start", "status": self.status, "headers": _encoded(headers)})
        await send({"type": "http.response.body", "body": b"" if head else self.body})


class Format(Protocol):
    """How a binding writes what it answers."""

    def event(self, message: Message) -> bytes:
        """The data of an event."""

    def error_event(self, error: A2AError) -> bytes:
        """The data of an event that holds an error."""

    def error(self, error: A2AError) -> Answer:
        """The answer that holds an error."""


def service_params(scope: Scope) -> dict[str, str]:
    """All headers, names in lower case; one that comes twice has both values (RFC 9110 §5.3).

    The version may be a parameter of the query instead (§3.6.1).
    """
    params: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        params[name] = f"{params[name]}, {value}" if name in params else value
    if VERSION.lower() not in params and (query := scope.get("query_string")):
        stated = [v for name, v in parse_qsl(query.decode("latin-1")) if name.lower() == VERSION.lower()]
        if stated:
            params[VERSION.lower()] = ", ".join(stated)
    return params


def media_type(headers: Mapping[str, str]) -> str:
    """The media type of the body, without parameters and in lower case; empty when none is stated."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def error_headers(error: A2AError) -> dict[str, str]:
    """The headers that go with an error: a challenge, and when to try again."""
    headers = {}
    if error.challenge and _FIELD_VALUE.fullmatch(error.challenge):
        headers["WWW-Authenticate"] = error.challenge
    if error.retry_after is not None:
        headers["Retry-After"] = f"{error.retry_after:.0f}"
    return headers


async def off_loop(size: int, read: Callable[[], T]) -> T:
    """What ``read`` returns or raises; a request of many bytes is read in a thread, so that others are answered."""
    return await asyncio.to_thread(read) if size > _LARGE else read()


async def read_body(receive: Receive, headers: Mapping[str, str], limit: int) -> bytes:
    """The whole body.

    Raises:
        TooLargeError: it has more than ``limit`` bytes.
        ClientGoneError: the client went away.
    """
    stated = headers.get("content-length", "")
    if stated.isdecimal() and int(stated[:20]) > limit:
        raise TooLargeError
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise TooLargeError
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


async def send_stream(
    events: AsyncGenerator[Message, None],
    form: Format,
    receive: Receive,
    send: Send,
    *,
    keep_alive: float,
    head: bool = False,
) -> None:
    """Send a stream of events (WHATWG HTML §9.2); an error before the first one is a whole answer.

    Args:
        events: what is sent; closed in any case, also when the client goes away.
        form: how it is written.
        receive: tells when the client goes away.
        send: takes the answer.
        keep_alive: seconds of silence after which a comment is sent.
        head: whether to send the headers only.
    """
    stream = _Stream(send, keep_alive)
    writer = asyncio.ensure_future(stream.write(events, form, head=head))
    watcher = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({writer, watcher}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (writer, watcher):
            task.cancel()
        await asyncio.wait({writer, watcher})
    if not writer.cancelled():
        writer.result()


class _Stream:
    def __init__(self, send: Send, keep_alive: float) -> None:
        self._send = send
        self._keep_alive = keep_alive
        self._started = False
        self._last = asyncio.get_running_loop().time()
        self._lock = asyncio.Lock()

    async def write(self, events: AsyncGenerator[Message, None], form: Format, *, head: bool) -> None:
        keeper = asyncio.ensure_future(self._keep())
        try:
            async with aclosing(events):
                async for event in events:
                    if head:
                        break
                    await self._put(sse.encode(form.event(event)))
        except A2AError as exc:
            if not self._started:
                keeper.cancel()
                await form.error(exc).send(self._send, head=head)
                return
            await self._put(sse.encode(form.error_event(exc)))
        finally:
            keeper.cancel()
        async with self._lock:
            await self._start()
            await self._send({"type": "http.response.body", "body": b""})

    async def _put(self, chunk: bytes) -> None:
        async with self._lock:
            if not self._started:
                await self._start()
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
            self._last = asyncio.get_running_loop().time()

    async def _start(self) -> None:
        if not self._started:
            self._started = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _encoded(_STREAM_HEADERS)})

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while True:
                await asyncio.sleep(self._last + self._keep_alive - loop.time())
                if loop.time() >= self._last + self._keep_alive:
                    await self._put(sse.KEEP_ALIVE)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _encoded(headers: Mapping[str, str]) -> Iterable[tuple[bytes, bytes]]:
    return [(name.lower().encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
