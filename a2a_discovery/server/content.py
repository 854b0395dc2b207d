"""What an agent says, in the forms that are convenient to write, as parts and messages (§4.1.4, §4.1.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias
from uuid import uuid4

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Value

from a2a_discovery.types import Message, Part, Role

Content: TypeAlias = str | bytes | Mapping[str, Any] | Part | Message | Iterable["Content"]
"""Text, bytes, a JSON object, a part, the parts of a message, or several of these."""


def parts_of(content: Content, *, media_type: str = "", filename: str = "") -> list[Part]:
    """The parts that ``content`` stands for; ``media_type`` and ``filename`` go with text, bytes and objects.

    Raises:
        TypeError: it is of no such type.
        ValueError: it has no part, or an object holds what JSON cannot.
    """
    parts = list(_parts(content, media_type, filename))
    if not parts:
        raise ValueError("at least one part is needed (§4.1.4)")
    return parts


def _parts(content: Content, media_type: str, filename: str) -> Iterable[Part]:
    match content:
        case str():
            yield Part(text=content, media_type=media_type, filename=filename)
        case bytes():
            yield Part(raw=content, media_type=media_type or "application/octet-stream", filename=filename)
        case Part():
            yield content
        case Message():
            yield from content.parts
        case Mapping():
            try:
                value = json_format.ParseDict(dict(content), Value())
            except json_format.ParseError as exc:
                raise ValueError("the object holds what JSON cannot") from exc
            yield Part(data=value, media_type=media_type or "application/json", filename=filename)
        case Iterable():
            for item in content:
                yield from _parts(item, media_type, filename)
        case _:
            raise TypeError(f"{type(content).__name__} is no content: use str, bytes, dict, Part, Message or a list")


def message_of(content: Content, *, context_id: str, task_id: str = "") -> Message:
    """A message of the agent; a ``Message`` keeps what it has, and gets what it lacks."""
    message = Message()
    if isinstance(content, Message):
        message.CopyFrom(content)
    if not message.parts:
        message.parts.extend(parts_of(content))
    message.message_id = message.message_id or str(uuid4())
    message.role = message.role or Role.ROLE_AGENT
    message.context_id = context_id
    message.task_id = task_id
    return message


def text_of(message: Message) -> str:
    """The text parts of a message, one per line."""
    return "\n".join(part.text for part in message.parts if part.WhichOneof("content") == "text")
