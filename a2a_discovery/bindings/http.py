"""What the two bindings over HTTP have in common for a client: a call as one HTTP request, an answer as a message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from google.protobuf.message import Message

from a2a_discovery._operation import Operation
from a2a_discovery.bindings import jsonrpc, rest, sse
from a2a_discovery.bindings.answers import CardDocument

_JSON = f"{rest.MEDIA_TYPE}, {jsonrpc.MEDIA_TYPE}"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One HTTP request: where to, what, and the id that its answer has to carry (JSON-RPC)."""

    verb: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    request_id: str


class Wire(Protocol):
    """A binding over HTTP, for one interface."""

    def encode(self, operation: Operation, request: Message, *, again: bool = False) -> Outgoing:
        """The request of a call; ``again`` after a server knew neither path nor verb of a subscription."""
        ...

    def decode(self, operation: Operation, outgoing: Outgoing, body: bytes) -> Any:
        """The message in the body of an answer, or in the data of an event; raises A2AError."""
        ...

    def decode_card(self, operation: Operation, outgoing: Outgoing, body: bytes) -> CardDocument:
        """The card in the body of an answer, as it came; raises A2AError."""
        ...

    def other_verb(self, operation: Operation, status: int) -> bool:
        """Whether an answer of this status is reason to ask ``again``."""
        ...


class JsonRpcWire:
    """JSONRPC at ``url``."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._ids = count(1)

    def encode(self, operation: Operation, request: Message, *, again: bool = False) -> Outgoing:  # noqa: ARG002
        """A POST, whatever the operation."""
        request_id = str(next(self._ids))
        headers = {"Accept": _accept(operation, jsonrpc.MEDIA_TYPE), "Content-Type": jsonrpc.MEDIA_TYPE}
        body = jsonrpc.encode_request(operation, request, request_id)
        return Outgoing("POST", self._url, headers, body, request_id)

    def decode(self, operation: Operation, outgoing: Outgoing, body: bytes) -> Any:
        """The result; its id is checked."""
        return jsonrpc.decode_response(operation, body, outgoing.request_id)

    def decode_card(self, operation: Operation, outgoing: Outgoing, body: bytes) -> CardDocument:
        """The result; its id is checked."""
        return jsonrpc.decode_card(operation, body, outgoing.request_id)

    def other_verb(self, operation: Operation, status: int) -> bool:  # noqa: ARG002
        """Never: there is one path and one verb."""
        return False


class RestWire:
    """HTTP+JSON below ``url``."""

    def __init__(self, url: str) -> None:
        base, mark, query = url.partition("?")
        self._base = base.rstrip("/")
        self._query = mark + query

    def encode(self, operation: Operation, request: Message, *, again: bool = False) -> Outgoing:
        """The verb, path and body of the operation's route."""
        made = rest.encode_request(operation, request, verb="POST" if again else None)
        target = made.target
        if self._query:
            # The interface's own query goes along.
            target += self._query if "?" not in target else f"&{self._query[1:]}"
        headers = {"Accept": _accept(operation, _JSON)}
        if made.body is not None:
            headers["Content-Type"] = rest.MEDIA_TYPE
        return Outgoing(made.verb, self._base + target, headers, made.body, "")

    def decode(self, operation: Operation, outgoing: Outgoing, body: bytes) -> Any:  # noqa: ARG002
        """The message itself is the body."""
        return rest.decode_response(operation, body)

    def decode_card(self, operation: Operation, outgoing: Outgoing, body: bytes) -> CardDocument:  # noqa: ARG002
        """The card itself is the body."""
        return rest.decode_card(operation, body)

    def other_verb(self, operation: Operation, status: int) -> bool:
        """A subscription is a GET in the schema, a POST in §5.3, and servers exist that have only one of them."""
        return operation.streaming and operation.route.verb == "GET" and status in (404, 405)


def _accept(operation: Operation, media_types: str) -> str:
    return f"{sse.MEDIA_TYPE}, {media_types}" if operation.streaming else media_types
