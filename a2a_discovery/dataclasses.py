"""The messages as betterproto dataclasses, for those who prefer them (extra ``betterproto``).

They are a view, never a second model: conversion goes through the wire format, and every check runs on the protobuf
message. The classes themselves are in ``a2a_discovery._gen.betterproto.a2a``; ``classes()`` gives that module.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from google.protobuf.message import Message

from a2a_discovery import types
from a2a_discovery.errors import MissingExtraError

_CLASSES = "a2a_discovery._gen.betterproto.a2a"
_OURS = frozenset(getattr(types, name) for name in types.DESCRIPTOR.message_types_by_name)


def classes() -> ModuleType:
    """The module of the generated dataclasses: ``classes().AgentCard(…)``.

    Raises:
        MissingExtraError: betterproto2 is not installed.
    """
    try:
        return import_module(_CLASSES)
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.startswith("a2a_discovery"):
            raise
        raise MissingExtraError("a2a_discovery.dataclasses", "betterproto") from exc


def to_dataclass(message: Message) -> Any:
    """The dataclass that holds what ``message`` holds; nothing is lost, unknown fields included.

    Raises:
        MissingExtraError: betterproto2 is not installed.
        TypeError: ``message`` is not one of ``a2a_discovery.types``.
    """
    if not isinstance(message, Message):
        raise TypeError(f"{type(message).__name__} is not a message of a2a_discovery.types")
    if type(message) not in _OURS:
        raise _not_ours(message)
    return _pairs()[message.DESCRIPTOR.name].parse(message.SerializeToString())


def from_dataclass(obj: Any) -> Message:
    """The message that holds what the dataclass ``obj`` holds.

    Raises:
        MissingExtraError: betterproto2 is not installed.
        TypeError: ``obj`` is not one of the generated dataclasses.
    """
    if type(obj).__module__ == _CLASSES:  # or there is no need for betterproto2
        for name, cls in _pairs().items():
            if type(obj) is cls:
                message: Message = getattr(types, name).FromString(bytes(obj))
                return message
    raise TypeError(f"{type(obj).__name__} is neither a message of a2a_discovery.types nor one of its dataclasses")


def as_message(obj: Any, cls: type[Message] | None = None) -> Any:
    """``obj`` itself when it is a message of ``a2a_discovery.types``, the message of a dataclass otherwise.

    Raises:
        TypeError: it is neither, or not a ``cls``.
    """
    message = obj
    if type(obj) not in _OURS:
        if isinstance(obj, Message):
            raise _not_ours(obj)
        message = from_dataclass(obj)
    if cls is not None and type(message) is not cls:
        raise TypeError(f"expected {cls.DESCRIPTOR.name}, found {message.DESCRIPTOR.name}")
    return message


def _not_ours(message: Message) -> TypeError:
    return TypeError(f"{message.DESCRIPTOR.full_name} is not a message of a2a_discovery.types")


@cache
def _pairs() -> dict[str, Any]:
    """Each message's name and its dataclass, which betterproto may spell otherwise (ApiKey for APIKey)."""
    spelled = {name.lower(): cls for name, cls in vars(classes()).items()}
    return {name: spelled[name.lower()] for name in types.DESCRIPTOR.message_types_by_name}
