"""The errors of the protocol on the wire, in both directions, from one table (§5.4, §9.5, §10.6, §11.6).

A named error is known by its JSON-RPC code, or by the reason of an ErrorInfo of the protocol's own domain: never by an
HTTP or gRPC status, which several errors share. Anything else is a plain ``A2AError`` that keeps what came.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import orjson

from a2a_discovery import errors
from a2a_discovery._response import retry_after
from a2a_discovery.errors import A2AError, ContentTypeNotSupportedError
from a2a_discovery.problems import Problem

DOMAIN: Final = "a2a-protocol.org"
_TYPE: Final = "type.googleapis.com/google.rpc."
_SHOWN = 200
_MAX_TEXT: Final = 16 * 1024
_SURROGATE = re.compile("[\ud800-\udfff]")

_NAMED = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, A2AError) and kind is not A2AError
]
_BY_CODE: dict[int, type[A2AError]] = {kind.code: kind for kind in _NAMED}
_BY_REASON: dict[str, type[A2AError]] = {kind.reason: kind for kind in _NAMED}

# JSON-RPC's own errors (§9.5): reason, HTTP status, gRPC status.
_STANDARD: Final = {
    -32700: ("JSON_PARSE_ERROR", 400, "INVALID_ARGUMENT"),
    -32600: ("INVALID_REQUEST", 400, "INVALID_ARGUMENT"),
    -32601: ("METHOD_NOT_FOUND", 404, "UNIMPLEMENTED"),
    -32602: ("INVALID_PARAMS", 400, "INVALID_ARGUMENT"),
    -32603: ("INTERNAL_ERROR", 500, "INTERNAL"),
}
_STANDARD_CODES = {reason: code for code, (reason, _, _) in _STANDARD.items()}


def standard(code: int, message: str, *, details: Sequence[Mapping[str, Any]] = ()) -> A2AError:
    """One of JSON-RPC's own errors, for a server to answer with."""
    reason, http_status, grpc_status = _STANDARD[code]
    return A2AError(
        message, code=code, reason=reason, http_status=http_status, grpc_status=grpc_status, details=details
    )


def parse_error(message: str) -> A2AError:
    """The request's body is not JSON."""
    return standard(-32700, message)


def invalid_request(message: str) -> A2AError:
    """The request's body is JSON, but no request."""
    return standard(-32600, message)


def method_not_found(message: str) -> A2AError:
    """There is no such operation, or nothing at this path."""
    return standard(-32601, message)


def invalid_params(problems: Sequence[Problem]) -> A2AError:
    """The request does not fit its message; each problem becomes a field violation."""
    return standard(-32602, _told(problems), details=[_violations(problems)])


def content_type_not_supported(problems: Sequence[Problem], *, local: bool = False) -> ContentTypeNotSupportedError:
    """Parts of the message are of media types that are not taken; each problem becomes a field violation."""
    return ContentTypeNotSupportedError(_told(problems), details=[_violations(problems)], local=local)


def internal() -> A2AError:
    """What a client is told of a failure that is none of its business."""
    return standard(-32603, "the agent failed to answer")


def to_jsonrpc(error: A2AError) -> dict[str, Any]:
    """The error object of a JSON-RPC response (§9.5)."""
    answer: dict[str, Any] = {"code": error.code, "message": readable(error.message)}
    if details := _details(error):
        answer["data"] = details
    return answer


def to_http(error: A2AError) -> tuple[int, bytes]:
    """The status and the body of an HTTP+JSON answer (§11.6)."""
    fields: dict[str, Any] = {
        "code": error.http_status,
        "status": error.grpc_status,
        "message": readable(error.message),
    }
    if details := _details(error):
        fields["details"] = details
    return error.http_status, orjson.dumps({"error": fields})


def _told(problems: Sequence[Problem]) -> str:
    message = "; ".join(f"{problem.path or 'the request'}: {problem.message}" for problem in problems[:3])
    return f"{message}; and {len(problems) - 3} more" if len(problems) > 3 else message


def _violations(problems: Sequence[Problem]) -> dict[str, Any]:
    violations = [{"field": problem.path, "description": problem.message} for problem in problems]
    return {"@type": f"{_TYPE}BadRequest", "fieldViolations": violations}


def _details(error: A2AError) -> list[dict[str, Any]]:
    details = [dict(detail) for detail in error.details if _can_be_written(detail)]
    if error.reason and not any(_is(detail, "ErrorInfo") for detail in details):
        info: dict[str, Any] = {"@type": f"{_TYPE}ErrorInfo", "reason": error.reason, "domain": DOMAIN}
        details.insert(0, {**info, "metadata": error.metadata} if error.metadata else info)
    return [_plain(detail) for detail in details]


def readable(text: Any) -> str:
    """A text as it can be sent in every binding: half a surrogate pair is replaced, and what is very long is cut."""
    whole = _SURROGATE.sub("\ufffd", str(text))
    return whole if len(whole) <= _MAX_TEXT else f"{whole[:_MAX_TEXT]}…"


def _plain(value: Any) -> Any:
    """A detail as JSON holds it, whatever a handler put there."""
    if isinstance(value, Mapping):
        return {readable(key): _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    return readable(value)


def _can_be_written(detail: Mapping[str, Any]) -> bool:
    """Whether it is no deeper than JSON is written, four levels down: it may be another agent's, which is passed on."""
    try:
        orjson.dumps([[[[detail]]]])
    except orjson.JSONEncodeError:
        return False
    return True


def from_jsonrpc(error: Mapping[str, Any], **answer: Any) -> A2AError:
    """The error that the ``error`` object of a JSON-RPC response means; ``answer`` as of ``from_http``'s result."""
    data = error.get("data")
    listed = data if isinstance(data, list) else [] if data is None else [data]
    details = [item if isinstance(item, dict) else {"data": item} for item in listed]
    code = error.get("code")
    number = code if isinstance(code, int) and not isinstance(code, bool) else None
    kind = None if number is None else _BY_CODE.get(number)
    return _error(kind, error.get("message"), number, details, answer)


def from_status(status: Mapping[str, Any], **answer: Any) -> A2AError:
    """The error that a google.rpc.Status in its JSON form means."""
    listed = status.get("details")
    details = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return _error(None, status.get("message"), None, details, answer)


def from_http(status: int, headers: Mapping[str, str], body: bytes) -> A2AError:
    """The error that an HTTP answer means whose status is none of success, or whose body holds an error.

    The body is a google.rpc.Status below ``error`` (§11.6), a JSON-RPC response, or something that no agent wrote.

    Args:
        status: the HTTP status.
        headers: the header fields, names in lower case.
        body: the body, or its start.
    """
    answer: dict[str, Any] = {"http_status": status, "challenge": headers.get("www-authenticate")}
    answer["retry_after"] = retry_after(headers.get("retry-after"))
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = None
    if isinstance(document, dict):
        error = document.get("error", document)
        if isinstance(error, dict) and ("jsonrpc" in document or _is_jsonrpc(error)):
            return from_jsonrpc(error, **answer)
        if isinstance(error, dict) and ("message" in error or "details" in error):
            if isinstance(error.get("status"), str):
                answer["grpc_status"] = error["status"]
            return from_status(error, **answer)
    return A2AError(f"it answered {_phrase(status)}{_start(body)}", **answer)


def error_in(document: Any) -> Mapping[str, Any] | None:
    """The error that a decoded JSON document holds instead of a result, or None."""
    error = document.get("error") if isinstance(document, dict) else None
    return error if isinstance(error, dict) else None


def _is_jsonrpc(error: Mapping[str, Any]) -> bool:
    code = error.get("code")
    return isinstance(code, int) and code <= -32000


def _error(
    kind: type[A2AError] | None, message: Any, code: int | None, details: list[dict[str, Any]], answer: dict[str, Any]
) -> A2AError:
    info = next((d for d in details if _is(d, "ErrorInfo") and d.get("domain") == DOMAIN), {})
    reason, metadata = info.get("reason"), info.get("metadata")
    reason = reason if isinstance(reason, str) else ""
    if kind is None and (code is None or code in _STANDARD):
        kind = _BY_REASON.get(reason)
    facts = {
        "metadata": {k: str(v) for k, v in metadata.items()} if isinstance(metadata, dict) else {},
        "details": details,
        **answer,
    }
    if facts.get("retry_after") is None:
        facts["retry_after"] = _retry_delay(details)
    text = message if isinstance(message, str) else ""
    if kind is not None:
        return kind(text, **facts)
    if code is None:
        code = _STANDARD_CODES.get(reason)
    if code in _STANDARD:
        reason = reason or _STANDARD[code][0]
    return A2AError(text, code=code, reason=reason, **facts)


def _is(detail: Mapping[str, Any], name: str) -> bool:
    kind = detail.get("@type")
    return isinstance(kind, str) and kind.rpartition("/")[2] == f"google.rpc.{name}"


def _retry_delay(details: list[dict[str, Any]]) -> float | None:
    """Seconds of a google.rpc.RetryInfo, whose duration is written ``"1.5s"``."""
    for detail in details:
        delay = detail.get("retryDelay")
        if _is(detail, "RetryInfo") and isinstance(delay, str):
            try:
                return max(0.0, float(delay.removesuffix("s")))
            except ValueError:
                return None
    return None


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _start(body: bytes) -> str:
    text = " ".join(body[:_SHOWN].decode("utf-8", "replace").split())
    return f": {text}" if text else ""
