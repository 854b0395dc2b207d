"""The GRPC binding (§10) without I/O: metadata, and errors as a google.rpc.Status."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any, Final

from google.protobuf.message import DecodeError
from google.rpc import code_pb2, error_details_pb2, status_pb2

from a2a_discovery._response import retry_after
from a2a_discovery.bindings.faults import from_status, readable, to_http
from a2a_discovery.errors import A2AError

STATUS_DETAILS: Final = "grpc-status-details-bin"
"""The trailing metadata that holds the whole error."""

# Importing it registers the messages that details may be.
_DETAILS = error_details_pb2.DESCRIPTOR
_CODES = frozenset(code_pb2.Code.keys()) - {"OK"}


def encode_metadata(service_params: Mapping[str, str]) -> list[tuple[str, str]]:
    """Service parameters, which have been checked, as metadata, whose names are in lower case (§10.2)."""
    return [(name.lower(), value) for name, value in service_params.items()]


def encode_error(error: A2AError) -> tuple[str, str, bytes]:
    """The status by name, its text, and the value of ``grpc-status-details-bin`` (§10.6)."""
    import orjson
    from google.protobuf import any_pb2, json_format

    # An error that the handler had from elsewhere may bring a status that is none of an error.
    name = error.grpc_status if error.grpc_status in _CODES else "UNKNOWN"
    text = readable(error.message)
    status = status_pb2.Status(code=code_pb2.Code.Value(name), message=text)
    for detail in orjson.loads(to_http(error)[1])["error"].get("details", ()):
        packed = any_pb2.Any()
        try:
            json_format.ParseDict(detail, packed)
        except (json_format.ParseError, TypeError):
            continue  # a detail of a type that has no place here: over the other bindings it is plain JSON
        status.details.append(packed)
    return name, text, status.SerializeToString()


def decode_error(code: str, text: str, metadata: Iterable[tuple[str, Any]]) -> A2AError:
    """The error that a call ended with.

    Args:
        code: the status by name: ``"NOT_FOUND"``.
        text: its details text.
        metadata: the trailing metadata.
    """
    values: dict[str, Any] = dict(metadata)
    answer: dict[str, Any] = {"grpc_status": code, "challenge": _text(values.get("www-authenticate"))}
    answer["retry_after"] = retry_after(_text(values.get("retry-after")))
    status: dict[str, Any] = {"message": text, "details": _details(values.get(STATUS_DETAILS))}
    return from_status(status, **answer)


def _details(value: Any) -> list[dict[str, Any]]:
    from google.protobuf import json_format

    if not isinstance(value, bytes):
        return []
    try:
        status = status_pb2.Status.FromString(value)
    except DecodeError:
        return []
    details: list[dict[str, Any]] = []
    for packed in status.details:
        try:
            details.append(json_format.MessageToDict(packed))
        except Exception:
            # What is no message, nested too deep or has no JSON form surfaces as whatever the printer did not foresee.
            details.append({"@type": packed.type_url, "value": b64encode(packed.value).decode()})
    return details


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
