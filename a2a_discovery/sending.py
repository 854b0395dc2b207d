"""From what a caller hands over to the request message of an operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from google.protobuf.message import Message as ProtobufMessage

from a2a_discovery._operation import Operation
from a2a_discovery.dataclasses import as_message
from a2a_discovery.types import Message, Part, Role, SendMessageRequest

_USER = Role.ROLE_USER  # looked up once: protobuf's enums take their time


def as_request(operation: Operation, given: Any) -> Any:
    """A request of ``operation`` that is the caller's in content and nobody else's as an object.

    Args:
        operation: the operation.
        given: its request message, or its betterproto dataclass; None where nothing is REQUIRED; for the two that send,
            a text, parts or a Message too, as dataclasses as well. An absent ``message_id`` is filled with a UUID
            (§4.1.4).

    Raises:
        TypeError: it is none of these.
    """
    cls = operation.request
    if given is None and not issubclass(cls, SendMessageRequest):
        return cls()
    if cls is SendMessageRequest and (isinstance(given, str | Part) or _are_parts(given)):
        parts = _parts([given] if isinstance(given, str | Part) else given)
        return cls(message=Message(message_id=str(uuid4()), role=_USER, parts=parts))
    message: Any = as_message(given)
    if cls is SendMessageRequest and isinstance(message, Part):
        return as_request(operation, message)
    if cls is SendMessageRequest and isinstance(message, Message):
        message = SendMessageRequest(message=message)
    if not isinstance(message, cls):
        raise TypeError(f"{operation.name} takes a {cls.__name__}, not a {type(message).__name__}")
    request: ProtobufMessage = cls()
    request.CopyFrom(message)
    if isinstance(request, SendMessageRequest) and request.HasField("message") and not request.message.message_id:
        request.message.message_id = str(uuid4())
    return request


def _are_parts(given: Any) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, bytes)


def _parts(given: Sequence[Any]) -> list[Part]:
    return [Part(text=part) if isinstance(part, str) else as_message(part, Part) for part in given]
