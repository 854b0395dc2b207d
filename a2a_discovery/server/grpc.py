"""Serve an agent over gRPC (§10), from the operation table."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError, Message

from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery._operation import CallContext, Operation
from a2a_discovery.bindings import faults
from a2a_discovery.bindings.answers import is_own
from a2a_discovery.bindings.bodies import MAX_VALUES
from a2a_discovery.bindings.grpc import STATUS_DETAILS, encode_error
from a2a_discovery.errors import A2AError, MissingExtraError
from a2a_discovery.server.checks import ensure_writable
from a2a_discovery.server.dispatch import Dispatcher
from a2a_discovery.server.handler import AgentHandler
from a2a_discovery.server.http import error_headers, off_loop

if TYPE_CHECKING:
    import grpc

BINDING: Final = "GRPC"

_log = logging.getLogger("a2a_discovery")

# Clients refuse trailers of more than 8 KiB altogether, unless they are told otherwise. Sizes in bytes; a text's may
# become three times as many.
_MAX_DETAILS: Final = 4096
_MAX_TEXT: Final = 1024


def grpc_handlers(
    card: Any, handler: AgentHandler, *, extended_card: Any = None, max_request_values: int = MAX_VALUES
) -> tuple[grpc.GenericRpcHandler, ...]:
    """What ``grpc.aio.server().add_generic_rpc_handlers(…)`` takes, to answer A2A's calls with ``handler``.

    Args:
        card: the card that clients see: an ``AgentCard``, or its betterproto dataclass.
        handler: carries the operations out.
        extended_card: the answer to GetExtendedAgentCard, in place of the handler's.
        max_request_values: how many messages and values a request may hold; how many bytes is a setting of the server.

    Raises:
        CardError: a card lacks a REQUIRED field, or holds what JSON cannot.
        MissingExtraError: grpcio is not installed.
    """
    try:
        import grpc
    except ModuleNotFoundError as exc:
        raise MissingExtraError("a2a_discovery.server.grpc", "grpc") from exc
    dispatcher = Dispatcher(card, handler, extended_card, max_values=max_request_values)
    methods: dict[str, grpc.RpcMethodHandler] = {}
    service = ""
    for operation in OPERATIONS.values():
        service, _, method = operation.grpc_path.removeprefix("/").partition("/")
        # Bytes in and out: what cannot be read is an error of the client's, and gets the protocol's own.
        if operation.streaming:
            methods[method] = grpc.unary_stream_rpc_method_handler(_streaming(dispatcher, operation))
        else:
            methods[method] = grpc.unary_unary_rpc_method_handler(_unary(dispatcher, operation))
    return (grpc.method_handlers_generic_handler(service, methods),)


def _unary(dispatcher: Dispatcher, operation: Operation) -> Callable[[bytes, Any], Awaitable[bytes | None]]:
    async def answer(data: bytes, call: Any) -> bytes | None:
        try:
            request, context = await off_loop(len(data), lambda: _admit(dispatcher, operation, data, call))
            return _written(await dispatcher.unary(operation, request, context))
        except A2AError as exc:
            await _abort(call, exc)
            return None

    return answer


def _streaming(dispatcher: Dispatcher, operation: Operation) -> Callable[[bytes, Any], AsyncIterator[bytes]]:
    async def answer(data: bytes, call: Any) -> AsyncIterator[bytes]:
        try:
            request, context = await off_loop(len(data), lambda: _admit(dispatcher, operation, data, call))
            async with aclosing(dispatcher.stream(operation, request, context)) as events:
                async for event in events:
                    yield _written(event)
        except A2AError as exc:
            await _abort(call, exc)

    return answer


def _admit(dispatcher: Dispatcher, operation: Operation, data: bytes, call: Any) -> tuple[Message, CallContext]:
    service_params = _service_params(call.invocation_metadata())
    dispatcher.version(BINDING, service_params)
    try:
        request = operation.request.FromString(data)
    except DecodeError as exc:
        raise faults.standard(-32602, f"the request is no {operation.request.__name__}") from exc
    return request, dispatcher.admit(BINDING, operation, request, service_params)


def _written(message: Message) -> bytes:
    """The answer, if it is one that every binding could give."""
    try:
        if is_own(message):
            ensure_writable(message)
    except ValueError as exc:
        _log.exception("the handler's answer cannot be written as JSON")
        raise faults.internal() from exc
    return message.SerializeToString()


def _service_params(metadata: Iterable[tuple[str, str | bytes]] | None) -> dict[str, str]:
    """Metadata as service parameters; a name that comes twice has both values, as in HTTP (RFC 9110 §5.3)."""
    params: dict[str, str] = {}
    for name, value in metadata or ():
        if isinstance(value, str):
            params[name] = f"{params[name]}, {value}" if name in params else value
    return params


async def _abort(call: Any, error: A2AError) -> None:
    import grpc

    if _cut(error.message) != error.message:
        error = _short(error, error.details)
    name, text, details = encode_error(error)
    if len(details) > _MAX_DETAILS:
        name, text, details = encode_error(_short(error, ()))
    trailers: list[tuple[str, str | bytes]] = [(STATUS_DETAILS, details)]
    trailers += [(header.lower(), value) for header, value in error_headers(error).items()]
    await call.abort(grpc.StatusCode[name], text, tuple(trailers))


def _cut(message: str) -> str:
    text = faults.readable(message).encode()
    return text.decode() if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT].decode(errors='ignore')}…"


def _short(error: A2AError, details: Any) -> A2AError:
    short = A2AError(
        _cut(error.message),
        code=error.code,
        reason=error.reason,
        details=details,
        http_status=error.http_status,
        grpc_status=error.grpc_status,
        retry_after=error.retry_after,
        challenge=error.challenge,
    )
    short.metadata = error.metadata if details else {}
    return short
