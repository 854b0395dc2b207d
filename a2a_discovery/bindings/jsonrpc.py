"""The JSONRPC binding (§9, JSON-RPC 2.0) without I/O; the method is the operation's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson
from google.protobuf.message import Message

from a2a_discovery import protojson
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery._operation import Operation
from a2a_discovery.bindings import answers, bodies, faults
from a2a_discovery.errors import A2AError, CardError, InvalidAgentResponseError

MEDIA_TYPE: Final = "application/json"

# Such a request says nothing but its tenant, and without one it has no params (§9.4).
_BARE = {o.name for o in OPERATIONS.values() if len(o.request.DESCRIPTOR.fields) == 1}

Id = str | int | float | None

# A number beyond 64 bits is read as a float: from here on, it may be another one than was written.
_MAX_EXACT: Final = 2.0**53


def encode_request(operation: Operation, request: Message, request_id: str) -> bytes:
    """The body of the POST that calls ``operation``."""
    params = protojson.dumps(request)
    head = b'{"jsonrpc":"2.0","id":"%b","method":"%b"' % (request_id.encode(), operation.name.encode())
    if params == b"{}" and operation.name in _BARE:
        return head + b"}"
    return head + b',"params":' + params + b"}"


def decode_response(operation: Operation, body: bytes, request_id: str) -> Any:
    """The response, or stream event, in the body of an answer.

    Raises:
        A2AError: the error that it holds; InvalidAgentResponseError when it holds neither.
    """
    return answers.from_json(operation, _decode_envelope(operation, body, request_id)["result"])


def decode_card(operation: Operation, body: bytes, request_id: str) -> answers.CardDocument:
    """The card in the body of an answer; raises as ``decode_response`` does."""
    document = _decode_envelope(operation, body, request_id)
    places = [place[1:] for place in bodies.doubled(document, body) if place[0] == "result"]
    return answers.CardDocument.of(document["result"], places)


def _decode_envelope(operation: Operation, body: bytes, request_id: str) -> dict[str, Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise InvalidAgentResponseError(f"the answer to {operation.name} is not JSON") from exc
    if not isinstance(document, dict) or document.get("jsonrpc") != "2.0":
        raise InvalidAgentResponseError(f"the answer to {operation.name} is no JSON-RPC 2.0 response")
    error = faults.error_in(document)
    if error is not None:
        raise faults.from_jsonrpc(error)
    if document.get("id") != request_id:
        raise InvalidAgentResponseError(f"the answer to {operation.name} has the id of another request")
    if "result" not in document:
        raise InvalidAgentResponseError(f"the answer to {operation.name} has neither result nor error")
    return document


@dataclass(frozen=True, slots=True)
class Call:
    """A request that a server read."""

    id: Id
    operation: Operation
    request: Message


class RequestError(Exception):
    """A request that cannot be carried out: the ``error`` to answer with, under the ``id`` as far as it was read."""

    def __init__(self, error: A2AError, request_id: Id) -> None:
        super().__init__(error, request_id)
        self.error = error
        self.id = request_id


def decode_request(body: bytes, max_values: int = bodies.MAX_VALUES) -> Call:
    """Read the body of a POST. Batches and notifications are refused: A2A has neither (§9.1).

    Raises:
        RequestError: it is no call of an operation, or holds more than ``max_values`` values.
    """
    try:
        document = bodies.decode(body)
    except A2AError as exc:
        raise RequestError(exc, None) from exc
    if not isinstance(document, dict):
        raise RequestError(faults.invalid_request("the body is no JSON-RPC request object"), None)
    request_id = document.get("id")
    if not isinstance(request_id, str | int | float) or isinstance(request_id, bool):
        raise RequestError(faults.invalid_request("the request has no id that is a string or a number"), None)
    if isinstance(request_id, float) and abs(request_id) >= _MAX_EXACT:
        raise RequestError(faults.invalid_request("the id is too large a number to be repeated: write a string"), None)
    try:
        bodies.check_size(document, body, max_values)
    except A2AError as exc:
        raise RequestError(exc, request_id) from exc
    doubled = bodies.doubled(document, body)
    if any(place[0] != "params" or len(place) == 1 for place in doubled):
        known = None if ("id",) in doubled else request_id
        raise RequestError(faults.invalid_request("a member of the request stands twice"), known)
    if document.get("jsonrpc") != "2.0":
        raise RequestError(faults.invalid_request('the request has no "jsonrpc": "2.0"'), request_id)
    method = document.get("method")
    if not isinstance(method, str):
        raise RequestError(faults.invalid_request("the request names no method"), request_id)
    operation = OPERATIONS.get(method)
    if operation is None:
        raise RequestError(faults.method_not_found(f"A2A 1.0 has no method {method[:100]!r}"), request_id)
    if doubled:
        problems = bodies.twice(operation.request.DESCRIPTOR, [place[1:] for place in doubled])
        raise RequestError(faults.invalid_params(problems), request_id)
    params = document.get("params")
    try:
        return Call(request_id, operation, protojson.loads(operation.request, {} if params is None else params))
    except CardError as exc:
        raise RequestError(faults.invalid_params(exc.problems), request_id) from exc


def encode_response(request_id: Id, message: Message) -> bytes:
    """The body of the answer, or the data of a stream event, that holds ``message``."""
    result = protojson.dumps(message) if answers.is_own(message) else b"{}"
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(request_id), result)


def encode_error(request_id: Id, error: A2AError) -> bytes:
    """The body of the answer that holds ``error``."""
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "error": faults.to_jsonrpc(error)})
