"""The HTTP+JSON binding (§11) without I/O; routes are those of the schema's ``google.api.http`` rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlencode

import orjson
from google.protobuf.message import Message

from a2a_discovery import protojson
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery._operation import Operation, Route
from a2a_discovery.bindings import answers, bodies, faults
from a2a_discovery.errors import A2AError, CardError, InvalidAgentResponseError
from a2a_discovery.problems import Problem

MEDIA_TYPE: Final = "application/a2a+json"

_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What to send: ``target`` is the path below the interface's URL, with the query."""

    verb: str
    target: str
    body: bytes | None


def encode_request(operation: Operation, request: Message, *, verb: str | None = None) -> HttpRequest:
    """The request that calls ``operation``; below ``/{tenant}`` when ``request`` names a tenant.

    A field in the path is one percent-encoded segment, whatever it holds; those of a GET that are not there are query
    parameters (§11.5). A body has the tenant too.

    Args:
        operation: the operation.
        request: its request, complete (§5.7).
        verb: ``"POST"`` where the route has another verb; it sends a body then: some servers subscribe so (§5.3).
    """
    tenant: str = getattr(request, "tenant", "")
    route = operation.tenant_route if tenant else operation.route
    fields = protojson.to_dict(request)
    names = _FIELD.findall(route.template)
    path = _FIELD.sub(lambda found: _segment(getattr(request, found[1])), route.template)
    json_names = {f.name: f.json_name for f in request.DESCRIPTOR.fields}
    for name in names:
        if name != "tenant":
            fields.pop(json_names[name], None)
    if route.body or verb is not None:
        return HttpRequest(verb or route.verb, path, orjson.dumps(fields))
    fields.pop("tenant", None)
    query = urlencode([(name, _parameter(value)) for name, value in fields.items()], quote_via=quote, safe="")
    return HttpRequest(route.verb, f"{path}?{query}" if query else path, None)


def decode_response(operation: Operation, body: bytes) -> Any:
    """The response in the body of an answer, or in the data of a stream event.

    Raises:
        A2AError: the error that it holds; InvalidAgentResponseError when it is no response.
    """
    if not body.strip() and not answers.is_own(operation.response):
        return operation.response()
    return answers.from_json(operation, _decode_body(operation, body))


def decode_card(operation: Operation, body: bytes) -> answers.CardDocument:
    """The card in the body of an answer; raises as ``decode_response`` does."""
    document = _decode_body(operation, body)
    return answers.CardDocument.of(document, bodies.doubled(document, body))


def _decode_body(operation: Operation, body: bytes) -> Any:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise InvalidAgentResponseError(f"the answer to {operation.name} is not JSON") from exc
    if (error := faults.error_in(document)) is not None:
        raise faults.from_status(error)
    return document


@dataclass(frozen=True, slots=True)
class Match:
    """The operation that a path means, and the fields in the path, decoded."""

    operation: Operation
    values: Mapping[str, str]


def match(verb: str, path: str) -> Match:
    """Find the operation of a request.

    Args:
        verb: the HTTP method; HEAD is answered like GET.
        path: what follows the interface's URL, still percent-encoded, without the query.

    Raises:
        A2AError: nothing is at this path (HTTP 404), or not for this verb (405), or a field in it is no UTF-8 (400).
    """
    verb = "GET" if verb == "HEAD" else verb
    others = set()
    for pattern, route_verb, operation in _ROUTES:
        found = pattern.fullmatch(path)
        if found is None:
            continue
        if route_verb == verb:
            return Match(operation, {name: _text(name, value) for name, value in found.groupdict().items()})
        others.add(route_verb)
    error = faults.method_not_found(f"there is no operation {verb[:20]} {path[:200]}")
    if others:
        error.http_status = 405
        error.metadata["allow"] = ", ".join(sorted(others))
    raise error


def decode_request(found: Match, query: str, body: bytes, max_values: int = bodies.MAX_VALUES) -> Any:
    """The request message of a matched route.

    Args:
        found: the route.
        query: the query, still percent-encoded.
        body: the body.
        max_values: how many values the body may hold.

    Raises:
        A2AError: the query or the body does not fit the message (invalid params), or contradicts the path.
    """
    cls = found.operation.request
    fields = _parameters(cls.DESCRIPTOR, query)
    if body.strip():
        document = bodies.decode(body)
        if not isinstance(document, dict):
            raise faults.invalid_request("the body is no JSON object")
        bodies.check_size(document, body, max_values)
        if doubled := bodies.doubled(document, body):
            raise faults.invalid_params(bodies.twice(cls.DESCRIPTOR, doubled))
        if both := fields.keys() & document.keys():
            raise faults.invalid_params(bodies.twice(cls.DESCRIPTOR, [(name,) for name in sorted(both)]))
        fields.update(document)
    try:
        message: Any = protojson.loads(cls, fields)
    except CardError as exc:
        raise faults.invalid_params(exc.problems) from exc
    for name, value in found.values.items():
        if getattr(message, name) not in ("", value):
            problem = Problem(name, "value", "error", "the path and the rest of the request differ", "§11.3")
            raise faults.invalid_params([problem])
        setattr(message, name, value)
    return message


def encode_response(message: Message) -> bytes:
    """The body of an answer, or the data of a stream event."""
    return protojson.dumps(message) if answers.is_own(message) else b"{}"


def _segment(value: str) -> str:
    """One path segment: nothing in it can end it, and ``..`` stays a name (RFC 3986 §3.3, §5.2.4)."""
    return value.replace(".", "%2E") if value in (".", "..") else quote(value, safe="")


def _parameter(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _text(name: str, value: str) -> str:
    """A field of the path, decoded: what is no UTF-8 must not become the same text as other such."""
    try:
        return unquote_to_bytes(value.encode("latin-1")).decode()
    except UnicodeError as exc:
        raise _no_text(name) from exc


def _no_text(name: str) -> A2AError:
    message = "this is no text in percent-encoded UTF-8 (RFC 3986 §2.5)"
    return faults.invalid_params([Problem(name, "syntax", "error", message, "§11.5")])


def _parameters(descriptor: Any, query: str) -> dict[str, Any]:
    """Query parameters as JSON; what the message does not have is passed over, an empty one is unset.

    Raises:
        A2AError: one stands twice, or is no UTF-8.
    """
    fields: dict[str, Any] = {}
    by_name = {f.name: f for f in descriptor.fields} | {f.json_name: f for f in descriptor.fields}
    for name, raw in parse_qsl(query, keep_blank_values=False, encoding="latin-1"):
        field = by_name.get(name)
        if field is None:
            continue
        if field.json_name in fields:
            raise faults.invalid_params(bodies.twice(descriptor, [(field.json_name,)]))
        try:
            value = raw.encode("latin-1").decode()
        except UnicodeError as exc:
            raise _no_text(field.json_name) from exc
        if field.type == field.TYPE_BOOL:
            fields[field.json_name] = {"true": True, "false": False}.get(value.lower(), value)
        else:
            fields[field.json_name] = value
    return fields


def _compiled() -> list[tuple[re.Pattern[str], str, Operation]]:
    """Every route as a pattern, those with more literal text first: ``/tasks/x:cancel`` is no task of that name."""
    routes: list[tuple[Route, Operation]] = []
    for operation in OPERATIONS.values():
        for route in (operation.route, operation.tenant_route):
            routes.append((route, operation))
            if operation.streaming and route.verb == "GET":
                # §5.3 subscribes by POST where the schema has a GET; clients of either kind exist.
                routes.append((Route("POST", route.template, True), operation))
    routes.sort(key=lambda entry: (entry[0].template.startswith("/{tenant}"), -len(_FIELD.sub("", entry[0].template))))
    return [(re.compile(_pattern(route.template)), route.verb, operation) for route, operation in routes]


def _pattern(template: str) -> str:
    pieces = _FIELD.split(template)
    return "".join(f"(?P<{piece}>[^/]+)" if i % 2 else re.escape(piece) for i, piece in enumerate(pieces))


_ROUTES: Final = _compiled()
