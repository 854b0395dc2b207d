"""Serve an agent over HTTP: JSON-RPC (§9), HTTP+JSON (§11) and the card (§8.2) in one ASGI application."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from google.protobuf.message import Message

from a2a_discovery._operation import CallContext, Operation
from a2a_discovery.bindings import faults, jsonrpc, rest
from a2a_discovery.bindings.bodies import MAX_VALUES, too_large
from a2a_discovery.errors import A2AError, CardError, ContentTypeNotSupportedError
from a2a_discovery.server.cards import CardDocument
from a2a_discovery.server.dispatch import Dispatcher
from a2a_discovery.server.handler import AgentHandler
from a2a_discovery.server.http import (
    JSON,
    Answer,
    ClientGoneError,
    Receive,
    Scope,
    Send,
    TooLargeError,
    error_headers,
    media_type,
    off_loop,
    read_body,
    send_stream,
    service_params,
)
from a2a_discovery.server.paths import CARD, JSONRPC, REST, Paths

MAX_REQUEST_BYTES: Final = 4 * 1024 * 1024
KEEP_ALIVE_SECONDS: Final = 15.0
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602

_log = logging.getLogger("a2a_discovery")

_MEDIA_TYPES: Final = ("", JSON, rest.MEDIA_TYPE)
# Errors of JSON-RPC come with HTTP 200, but for those that HTTP's own machinery acts upon.
_OF_HTTP: Final = (401, 403, 413, 429, 503)


def asgi_app(
    card: Any,
    handler: AgentHandler,
    *,
    max_age: int = 300,
    last_modified: datetime | None = None,
    extended_card: Any = None,
    jsonrpc_path: str | None = None,
    rest_path: str | None = None,
    max_request_bytes: int = MAX_REQUEST_BYTES,
    max_request_values: int = MAX_VALUES,
    keep_alive: float = KEEP_ALIVE_SECONDS,
) -> AsgiApp:
    """An application that answers for an agent, to be run by any ASGI server, or mounted in another application.

    It answers at the paths of the card's JSONRPC and HTTP+JSON interfaces, and with the card itself at
    ``/.well-known/agent-card.json``. Mounted, it takes the paths of its card as those of the whole, or as those below
    the mount. When the server shuts down, so does the handler.

    Args:
        card: an ``AgentCard``, or its betterproto dataclass; what is done to it later changes nothing.
        handler: carries the operations out.
        max_age: seconds for which a client may keep the card without asking again (RFC 9111 §5.2.2.1).
        last_modified: when this card was published, with a time zone; by default now.
        extended_card: the answer to GetExtendedAgentCard, in place of the handler's.
        jsonrpc_path: the path of JSON-RPC, where a proxy makes it another than clients see.
        rest_path: the same for the routes of HTTP+JSON, which are below it.
        max_request_bytes: the largest body that is read; a larger one gets 413.
        max_request_values: how many JSON values a body may hold: objects, arrays, and what is in them; one with more
            gets 413. It bounds the time that a request can take from others.
        keep_alive: seconds of silence after which a stream gets a comment.

    Raises:
        CardError: a card lacks a REQUIRED field (§5.7); ``.problems`` names every one.
        ValueError: ``last_modified`` has no time zone.
    """
    return AsgiApp(
        Dispatcher(card, handler, extended_card, max_values=max_request_values),
        CardDocument(card, max_age=max_age, last_modified=last_modified),
        jsonrpc_path=jsonrpc_path,
        rest_path=rest_path,
        max_request_bytes=max_request_bytes,
        keep_alive=keep_alive,
    )


class AsgiApp:
    """What ``asgi_app`` makes."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        document: CardDocument,
        *,
        jsonrpc_path: str | None,
        rest_path: str | None,
        max_request_bytes: int,
        keep_alive: float,
    ) -> None:
        self._dispatcher = dispatcher
        self._document = document
        self._paths = Paths(dispatcher.card, jsonrpc_path=jsonrpc_path, rest_path=rest_path)
        self._limit = max_request_bytes
        self._keep_alive = keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the server's life (ASGI 3)."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await _Exchange(scope, receive, send).run(self._answer)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self._dispatcher.handler.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _answer(self, exchange: _Exchange) -> None:
        place = self._paths.find(exchange.scope)
        exchange.form = _JsonRpc() if place is not None and place.kind == JSONRPC else _Rest()
        if place is None:
            await exchange.send(_Rest().error(faults.method_not_found("nothing is at this path")))
        elif place.kind == CARD:
            await self._card(exchange)
        elif place.kind == JSONRPC:
            await self._jsonrpc(exchange)
        else:
            await self._rest(exchange, place.below)

    async def _card(self, exchange: _Exchange) -> None:
        document = self._document
        if exchange.method not in ("GET", "HEAD"):
            raise _not_allowed(exchange.method, "GET, HEAD")
        headers = exchange.headers
        tags = [headers["if-none-match"]] if "if-none-match" in headers else []
        known = document.is_known(tags, headers.get("if-modified-since"))
        await exchange.send(Answer(304 if known else 200, b"" if known else document.body, headers=document.headers))

    async def _jsonrpc(self, exchange: _Exchange) -> None:
        if exchange.method != "POST":
            raise _not_allowed(exchange.method, "POST")
        if media_type(exchange.headers) not in _MEDIA_TYPES:
            raise _wrong_type(exchange)
        body = await read_body(exchange.receive, exchange.headers, self._limit)
        call, context = await off_loop(len(body), lambda: self._read_call(exchange, body))
        await self._carry_out(exchange, call.operation, call.request, context)

    def _read_call(self, exchange: _Exchange, body: bytes) -> tuple[jsonrpc.Call, CallContext]:
        try:
            call = jsonrpc.decode_request(body, self._dispatcher.max_values)
        except jsonrpc.RequestError as exc:
            exchange.form = _JsonRpc(exc.id)
            if exc.error.code in (METHOD_NOT_FOUND, INVALID_PARAMS):
                # A client of another version calls other methods; what it needs to know is that.
                self._dispatcher.version(JSONRPC, exchange.headers)
            raise exc.error from exc
        exchange.form = _JsonRpc(call.id)
        return call, self._dispatcher.admit(JSONRPC, call.operation, call.request, exchange.headers)

    async def _rest(self, exchange: _Exchange, path: str) -> None:
        found = rest.match(exchange.method, path)
        self._dispatcher.version(REST, exchange.headers)
        body = await read_body(exchange.receive, exchange.headers, self._limit)
        if body.strip() and media_type(exchange.headers) not in _MEDIA_TYPES:
            raise _wrong_type(exchange)
        request, context = await off_loop(len(body), lambda: self._read_request(exchange, found, body))
        await self._carry_out(exchange, found.operation, request, context)

    def _read_request(self, exchange: _Exchange, found: rest.Match, body: bytes) -> tuple[Message, CallContext]:
        request = rest.decode_request(found, exchange.query, body, self._dispatcher.max_values)
        return request, self._dispatcher.admit(REST, found.operation, request, exchange.headers)

    async def _carry_out(
        self, exchange: _Exchange, operation: Operation, request: Message, context: CallContext
    ) -> None:
        if operation.streaming:
            events = self._dispatcher.stream(operation, request, context)
            form, receive, head = exchange.form, exchange.receive, exchange.head
            exchange.begun = True
            await send_stream(events, form, receive, exchange.raw_send, keep_alive=self._keep_alive, head=head)
        else:
            response = await self._dispatcher.unary(operation, request, context)
            await exchange.send(exchange.form.answer(response))


class _Exchange:
    """A request, and its answer as far as it went."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self.raw_send = send
        self.method: str = scope["method"]
        self.head = self.method == "HEAD"
        self.query: str = scope.get("query_string", b"").decode("latin-1")
        self.headers = service_params(scope)
        self.form: _JsonRpc | _Rest = _Rest()
        self.begun = False

    async def run(self, answer: Callable[[_Exchange], Any]) -> None:
        """Answer, with an error where there is one; nothing is raised."""
        try:
            try:
                await answer(self)
            except A2AError as exc:
                await self.send(self.form.error(exc))
            except TooLargeError:
                await self.send(self.form.error(too_large()))
        except (ClientGoneError, OSError):
            return
        except Exception:
            _log.exception("a request could not be answered")
            if not self.begun:
                await self.send(self.form.error(faults.internal()))

    async def send(self, answer: Answer) -> None:
        """Send a whole answer."""
        self.begun = True
        await answer.send(self.raw_send, head=self.head)


class _JsonRpc:
    """Answers of the JSONRPC binding to the request of an id (§9.5)."""

    def __init__(self, request_id: jsonrpc.Id = None) -> None:
        self._id = request_id

    def answer(self, message: Message) -> Answer:
        return Answer(200, self.event(message))

    def event(self, message: Message) -> bytes:
        return _written(lambda: jsonrpc.encode_response(self._id, message))

    def error_event(self, error: A2AError) -> bytes:
        return jsonrpc.encode_error(self._id, error)

    def error(self, error: A2AError) -> Answer:
        allow = _allow(error)
        status = error.http_status if error.http_status in _OF_HTTP or allow else 200
        return Answer(status, self.error_event(error), headers=error_headers(error) | allow)


class _Rest:
    """Answers of the HTTP+JSON binding (§11.6)."""

    def answer(self, message: Message) -> Answer:
        return Answer(200, self.event(message), rest.MEDIA_TYPE)

    def event(self, message: Message) -> bytes:
        return _written(lambda: rest.encode_response(message))

    def error_event(self, error: A2AError) -> bytes:
        return faults.to_http(error)[1]

    def error(self, error: A2AError) -> Answer:
        status, body = faults.to_http(error)
        # An error that the handler had from elsewhere may bring a status that is none of an error.
        return Answer(status if 400 <= status < 600 else 500, body, headers=error_headers(error) | _allow(error))


def _written(encode: Callable[[], bytes]) -> bytes:
    try:
        return encode()
    except CardError as exc:
        _log.exception("the handler's answer cannot be written as JSON")
        raise faults.internal() from exc


def _allow(error: A2AError) -> dict[str, str]:
    if error.http_status != 405:
        return {}
    verbs = error.metadata.get("allow", "").split(", ")
    if "GET" in verbs and "HEAD" not in verbs:
        verbs.append("HEAD")
    return {"Allow": ", ".join(verbs)}


def _not_allowed(verb: str, allowed: str) -> A2AError:
    error = faults.invalid_request(f"{verb[:20]} is not answered here")
    error.http_status = 405
    error.metadata["allow"] = allowed
    return error


def _wrong_type(exchange: _Exchange) -> A2AError:
    return ContentTypeNotSupportedError(f"a request is {JSON}, not {media_type(exchange.headers)[:100]}")
