"""The records of an operation and of one call of it; the table of operations is generated (``_gen/operations.py``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from google.protobuf.message import Message


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of AgentCapabilities: its field, its JSON name, and the A2A error that its absence means (§3.3.4)."""

    field: str
    json_name: str
    error: str


@dataclass(frozen=True, slots=True)
class Route:
    """An HTTP+JSON route: ``verb``, ``template`` with ``{field}`` for a segment, ``body`` if one is sent (§11.3)."""

    verb: str
    template: str
    body: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """What is known of an operation before it is called.

    Attributes:
        name: the rpc's name, which is the JSON-RPC method too (§9.1).
        method: the name of the Python method: ``"send_message"``.
        request: the request message.
        response: the response message, of each event when ``streaming``.
        streaming: whether the server answers with a stream.
        flag: the capability that it needs, or None (§3.3.4).
        idempotent: whether it is safe to send again.
        grpc_path: the HTTP/2 path of the gRPC call (§10).
        route: the HTTP+JSON route without a tenant.
        tenant_route: the same below ``/{tenant}``.
    """

    name: str
    method: str
    request: type[Message]
    response: type[Message]
    streaming: bool
    flag: Flag | None
    idempotent: bool
    grpc_path: str
    route: Route
    tenant_route: Route


class CallOptions(TypedDict, total=False):
    """What every operation of an agent takes besides its request.

    ``timeout`` replaces the agent's own limit for this call, in seconds: of the whole call, or, of a stream, of the
    silence between two signs of life. ``extensions`` are URIs declared in addition to the agent's, ``service_params``
    further headers or gRPC metadata (§3.2.6). ``skill`` is the id of the skill that the call is meant for: its own
    security requirements have to be met too; it is not sent. With ``check_parts``, a call that sends a message raises
    ContentTypeNotSupportedError (§3.3.2) when no input mode of the card, or of ``skill``, accepts the media type of a
    part, and nothing is sent (see ``a2a_discovery.check_parts``); without it, that is the agent's to judge.
    """

    timeout: float
    extensions: Iterable[str]
    service_params: Mapping[str, str]
    skill: str
    check_parts: bool


@dataclass(frozen=True, slots=True)
class CallContext:
    """What a server knows of a call besides its request.

    Attributes:
        operation: the name of the operation: ``"SendMessage"``.
        binding: the binding over which it came: ``"JSONRPC"``, ``"HTTP+JSON"`` or ``"GRPC"``.
        version: the protocol version that the client speaks, Major.Minor (§3.6).
        extensions: the extensions that the client declares, in its order (§3.2.6).
        service_params: all headers or gRPC metadata, names in lower case.
    """

    operation: str
    binding: str
    version: str
    extensions: tuple[str, ...]
    service_params: Mapping[str, str]
