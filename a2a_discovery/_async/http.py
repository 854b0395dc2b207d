"""Calls over JSONRPC and HTTP+JSON."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

import httpx
from google.protobuf.message import Message

from a2a_discovery import _call_errors
from a2a_discovery._async.bodies import read_body
from a2a_discovery._authorization import SecretUrl
from a2a_discovery._deadline import AsyncAlarm, AsyncDeadline, AsyncSlots, Clock, TimeLimitError
from a2a_discovery._guard import AsyncGuard
from a2a_discovery._operation import Operation
from a2a_discovery._response import BodyError, ResponseHead
from a2a_discovery._service_params import USER_AGENT
from a2a_discovery._watch import AsyncWatch, async_hang_up
from a2a_discovery.bindings import faults, sse
from a2a_discovery.bindings.answers import CardDocument
from a2a_discovery.bindings.http import JsonRpcWire, Outgoing, RestWire, Wire
from a2a_discovery.card import MAX_CARD_BYTES
from a2a_discovery.errors import A2ADiscoveryError, A2AError, InvalidAgentResponseError, TransportError
from a2a_discovery.policy import UrlPolicy, UrlRefusedError, parse_url

MAX_RESPONSE_BYTES = 64 * 1024 * 1024
# httpx's pool looks at every waiting request each time that one begins or ends; with a thousand it does little else.
MAX_CALLS = 100
_MAX_ERROR_BYTES = 1024 * 1024


class HttpTransport:
    """Calls one interface.

    Args:
        binding: ``"JSONRPC"`` or ``"HTTP+JSON"``.
        url: the interface's URL.
        client: sends the requests; stays open.
        own_client: whether it is the agent's own, which brings no headers, cookies or params with it.
        policy: which addresses may be called.
        connect_timeout: seconds for one connection, TLS included.
    """

    def __init__(
        self,
        binding: str,
        url: str,
        client: httpx.AsyncClient,
        *,
        own_client: bool,
        policy: UrlPolicy,
        connect_timeout: float,
    ) -> None:
        self._wire: Wire = JsonRpcWire(url) if binding == "JSONRPC" else RestWire(url)
        self._url = parse_url(url)
        self._endpoint, self._endpoint_text = httpx.URL(url), url
        self._client = client
        self._own_client = own_client
        self._policy = policy
        self._connect_timeout = connect_timeout
        self._alarm = AsyncAlarm()
        self._slots = AsyncSlots(MAX_CALLS)

    async def unary(
        self, operation: Operation, request: Message, params: Mapping[str, str], timeout: float, query: str = ""
    ) -> Any:
        """One call with one answer, within ``timeout`` seconds; raises A2AError and TransportError.

        ``query``, encoded, goes along in the URL; it is a secret.
        """
        outgoing, body = await self._exchange(operation, request, params, timeout, query, MAX_RESPONSE_BYTES)
        return self._wire.decode(operation, outgoing, body)

    async def card(
        self, operation: Operation, request: Message, params: Mapping[str, str], timeout: float, query: str = ""
    ) -> CardDocument:
        """The same for a card, as it came."""
        outgoing, body = await self._exchange(operation, request, params, timeout, query, MAX_CARD_BYTES)
        return self._wire.decode_card(operation, outgoing, body)

    async def _exchange(
        self,
        operation: Operation,
        request: Message,
        params: Mapping[str, str],
        timeout: float,
        query: str,
        limit: int,
    ) -> tuple[Outgoing, bytes]:
        """What was sent, and the body of the answer."""
        outgoing = self._wire.encode(operation, request)
        answered = False
        try:
            async with self._limit(timeout) as deadline, self._slots:
                guard = self._guard()
                extensions = deadline.extensions(self._connect_timeout, guard)
                response = await self._send(outgoing, params, query, "gzip", extensions)
                answered = True
                try:
                    if guard is not None:
                        await guard.check_answer(response)
                    deadline.watch(response.extensions.get("network_stream"))
                    head, body = await self._read(response, limit, deadline)
                finally:
                    await response.aclose()
        except TimeLimitError as exc:
            raise _call_errors.unary_timeout(self._url, timeout) from exc
        except httpx.TimeoutException as exc:
            raise self._timeout(exc, timeout, expired=deadline.expired) from exc
        except UrlRefusedError as exc:
            raise _call_errors.http_error(self._url, exc, answered=answered) from exc
        except A2ADiscoveryError:
            raise
        except Exception as exc:
            # A hostile answer surfaces as whatever httpx and the layers below it did not foresee.
            raise _call_errors.http_error(self._url, exc, answered=answered) from exc
        if head.status == 200:
            _check_json(operation, head, body)
        elif not 200 < head.status < 300:
            raise faults.from_http(head.status, head.headers, body)
        return outgoing, body

    async def stream(
        self, operation: Operation, request: Message, params: Mapping[str, str], idle: float, query: str = ""
    ) -> AsyncGenerator[Any, None]:
        """One call with a stream of answers, at most ``idle`` seconds apart; raises A2AError and TransportError."""
        outgoing = self._wire.encode(operation, request)
        response = await self._open(outgoing, params, query, idle)
        if self._wire.other_verb(operation, response.status_code):
            error = await self._error(response, idle)
            if type(error) is not A2AError:
                raise error
            outgoing = self._wire.encode(operation, request, again=True)
            response = await self._open(outgoing, params, query, idle)
        try:
            head = ResponseHead.read(response.status_code, response.headers.multi_items())
            if head.status != 200:
                raise await self._error(response, idle)
            if head.media_type == sse.MEDIA_TYPE:
                async for data in self._events(response, idle):
                    yield self._wire.decode(operation, outgoing, data)
            else:
                head, body = await self._read_within(response, MAX_RESPONSE_BYTES, idle)
                _check_json(operation, head, body)
                yield self._wire.decode(operation, outgoing, body)
        except (httpx.ReadTimeout, TimeLimitError) as exc:
            raise _call_errors.idle_timeout(self._url, idle) from exc
        except A2ADiscoveryError:
            raise
        except Exception as exc:
            raise _call_errors.http_error(self._url, exc, answered=True) from exc
        finally:
            await response.aclose()

    async def _open(self, outgoing: Outgoing, params: Mapping[str, str], query: str, idle: float) -> httpx.Response:
        answered = False
        try:
            async with self._limit(idle) as deadline:
                guard = self._guard()
                extensions = deadline.extensions(self._connect_timeout, guard)
                response = await self._send(outgoing, params, query, "identity", extensions)
                answered = True
                if guard is not None:
                    await guard.check_answer(response)
                return response
        except (httpx.TimeoutException, TimeLimitError) as exc:
            if isinstance(exc, httpx.ConnectTimeout) and not deadline.expired:
                raise _call_errors.connect_timeout(self._url, self._connect_timeout) from exc
            raise _call_errors.idle_timeout(self._url, idle) from exc
        except Exception as exc:
            raise _call_errors.http_error(self._url, exc, answered=answered) from exc

    async def aclose(self) -> None:
        """End what runs in the background; the client stays open."""
        self._alarm.close()

    def _limit(self, seconds: float) -> AsyncDeadline:
        return AsyncDeadline(seconds, self._alarm, tls=self._url.scheme == "https")

    def _guard(self) -> AsyncGuard | None:
        return AsyncGuard.of(self._policy, self._url, own_client=self._own_client)

    async def _send(
        self, outgoing: Outgoing, params: Mapping[str, str], query: str, coding: str, extensions: dict[str, Any]
    ) -> httpx.Response:
        headers = {**params, **outgoing.headers, "Accept-Encoding": coding}
        if self._own_client:
            # There is nothing of the client's to be merged in, which takes longer than all the rest of a request.
            url = self._endpoint if outgoing.url == self._endpoint_text else httpx.URL(outgoing.url)
            headers.setdefault(USER_AGENT, "a2a-discovery")
            request = httpx.Request(outgoing.verb, url, headers=headers, content=outgoing.body, extensions=extensions)
        else:
            # Default params of the client's would replace the query of the URL.
            own = httpx.URL(outgoing.url).params if self._client.params else None
            request = self._client.build_request(
                outgoing.verb, outgoing.url, params=own, headers=headers, content=outgoing.body, extensions=extensions
            )
        if query:
            request.url = SecretUrl.of(request.url, query)
        return await self._client.send(request, stream=True, follow_redirects=False)

    async def _read(self, response: httpx.Response, limit: int, clock: Clock) -> tuple[ResponseHead, bytes]:
        """The whole body, within ``limit`` bytes after decompression."""
        try:
            return await read_body(response, limit, clock)
        except BodyError as exc:
            raise TransportError(f"the answer cannot be read: {exc}", url=self._url.without_query()) from exc

    async def _read_within(self, response: httpx.Response, limit: int, seconds: float) -> tuple[ResponseHead, bytes]:
        async with self._limit(seconds) as deadline:
            deadline.watch(response.extensions.get("network_stream"))
            return await self._read(response, limit, deadline)

    async def _error(self, response: httpx.Response, idle: float) -> A2AError:
        """The error that an answer to a stream call means; the answer is closed."""
        head = ResponseHead.read(response.status_code, response.headers.multi_items())
        body = b""
        try:
            # The status is an answer already, whatever becomes of the rest.
            with suppress(Exception):
                head, body = await self._read_within(response, _MAX_ERROR_BYTES, idle)
        finally:
            await response.aclose()
        return faults.from_http(head.status, head.headers, body)

    async def _events(self, response: httpx.Response, idle: float) -> AsyncIterator[bytes]:
        """The data of each event; one that is never completed, however slowly it grows, counts as silence."""
        parser = sse.Parser()
        coded = "content-encoding" in response.headers or response.is_stream_consumed
        # A limit per read would not notice what never becomes part of the body.
        watch = AsyncWatch(idle, async_hang_up(response.extensions.get("network_stream")), self._alarm)
        try:
            async for chunk in response.aiter_bytes() if coded else response.aiter_raw():
                try:
                    events, larger = parser.feed(chunk), None
                except sse.EventSizeError as exc:
                    events, larger = exc.events, exc
                watch.hold()
                for data in events:
                    if data.strip():
                        yield data
                if larger is not None:
                    told = f"the stream holds an event of more than {sse.MAX_EVENT_BYTES} bytes"
                    raise InvalidAgentResponseError(told) from larger
                watch.go_on(heard=b"\n" in chunk or b"\r" in chunk)
        except (httpx.HTTPError, httpx.StreamError, OSError) as exc:
            if not watch.expired:
                raise
            raise _call_errors.idle_timeout(self._url, idle) from exc
        finally:
            watch.stop()
        if watch.expired:
            raise _call_errors.idle_timeout(self._url, idle)

    def _timeout(self, exc: httpx.TimeoutException, timeout: float, *, expired: bool) -> TransportError:
        if isinstance(exc, httpx.ConnectTimeout) and not expired:
            return _call_errors.connect_timeout(self._url, self._connect_timeout)
        return _call_errors.unary_timeout(self._url, timeout)


def _check_json(operation: Operation, head: ResponseHead, body: bytes) -> None:
    """Only JSON is an answer, even without a Content-Type: a login page is none, whatever its status."""
    kind = head.media_type
    if body and kind and kind != "application/json" and not kind.endswith("+json"):
        raise InvalidAgentResponseError(f"the answer to {operation.name} is {kind[:100]}, not JSON")
