"""From what a caller hands over to the request message of an operation."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from google.protobuf.message import Message as ProtobufMessage

from a2a_discovery._operation import Operation
from a2a_discovery.dataclasses import as_message
from a2a_discovery.types import Message, Part, Role, SendMessageRequest

_USER = Role.ROLE_USER  # looked up once: protobuf's enums take their time
_BYTES: Final = "application/octet-stream"
_CONTENT: Final = (str, bytes, Path, Part)


def as_request(operation: Operation, given: Any) -> Any:
    """A request of ``operation`` that is the caller's in content and nobody else's as an object.

    Args:
        operation: the operation.
        given: its request message, or its betterproto dataclass; None where nothing is REQUIRED; for the two that send,
            what becomes parts (a text, bytes, the path of a file, a Part, or a sequence of these) or a Message too, as
            dataclasses as well. Bytes are ``application/octet-stream``, for files see ``file_part``. An absent
            ``message_id`` is filled with a UUID (§4.1.4).

    Raises:
        TypeError: it is none of these.
        OSError: a file cannot be read.
    """
    cls = operation.request
    if given is None and not issubclass(cls, SendMessageRequest):
        return cls()
    if cls is SendMessageRequest and (isinstance(given, _CONTENT) or _are_parts(given)):
        parts = [_part(part) for part in ([given] if isinstance(given, _CONTENT) else given)]
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


async def async_request(operation: Operation, given: Any) -> Any:
    """``as_request``; files are read in a thread, so that the event loop does not wait for a disk."""
    if isinstance(given, Path) or (_are_parts(given) and any(isinstance(part, Path) for part in given)):
        return await asyncio.to_thread(as_request, operation, given)
    return as_request(operation, given)


def file_part(path: Path, raw: bytes) -> Part:
    """The part that holds ``raw``, the bytes of the file at ``path``, under the file's name.

    Its media type is the one that ``mimetypes`` knows for the name, else ``application/octet-stream``.
    """
    kind, encoding = mimetypes.guess_type(path.name)
    # What is compressed is not what its inner name says.
    return Part(raw=raw, filename=path.name, media_type=_BYTES if kind is None or encoding else kind)


def _are_parts(given: Any) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, _CONTENT)


def _part(given: Any) -> Part:
    match given:
        case str():
            return Part(text=given)
        case bytes():
            return Part(raw=given, media_type=_BYTES)
        case Path():
            return file_part(given, given.read_bytes())
    part: Part = as_message(given, Part)
    return part
