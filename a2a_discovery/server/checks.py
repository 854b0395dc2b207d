"""What a message may hold that its type lets pass and A2A does not, in what clients send and in what the agent says.

The wire format of gRPC carries numbers, times and enums for which JSON has no form: kept in a task, one of them would
spoil every later answer that holds the task.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

from google.protobuf.descriptor import Descriptor

from a2a_discovery._forms import MAX_NESTING, UnwritableError, write_timestamp
from a2a_discovery._schema import Field, fields
from a2a_discovery.bindings.bodies import MAX_VALUES, too_many
from a2a_discovery.problems import Findings, Problem, element, entry, member
from a2a_discovery.types import Role

_CHECKED: Final = ("message", "struct", "value", "timestamp", "enum")
_TOO_DEEP: Final = f"this is nested deeper than the {MAX_NESTING} messages that protobuf reads; make it flatter"

# What a client sends comes back in the history of a task, which a list of tasks holds one level deeper.
_DEEPER: Final = 1


def unfit_request(request: Any, max_values: int = MAX_VALUES) -> list[Problem]:
    """What no client may send, besides REQUIRED fields that are missing (which ``validate`` names).

    Numbers and times without a JSON form, free JSON that is unset or nested too deep, enum numbers that A2A 1.0 does
    not have, parts without content (§4.1.6), and a message in the agent's own name (§4.1.5).

    Raises:
        A2AError: the request holds more than ``max_values`` values.
    """
    walk = _Walk(asked=True, room=max_values)
    walk.message(request, "", _DEEPER)
    return walk.findings.problems


def ensure_writable(message: Any) -> None:
    """Do nothing when what the agent says has a form in every binding.

    Raises:
        ValueError: a number or time in it has no JSON form, or it is nested too deep; the message says where.
    """
    walk = _Walk(asked=False, room=math.inf)
    walk.message(message, "", 0)
    if not walk.findings.valid:
        problem = walk.findings.problems[0]
        raise ValueError(f"{problem.path or message.DESCRIPTOR.name}: {problem.message}")


@cache
def _checked_fields(descriptor: Descriptor) -> tuple[Field, ...]:
    return tuple(f for f in fields(descriptor).values() if f.kind in _CHECKED)


@cache
def _oneofs(descriptor: Descriptor) -> dict[str, list[str]]:
    members: dict[str, list[str]] = {}
    for field in fields(descriptor).values():
        if field.oneof:
            members.setdefault(field.oneof, []).append(field.json_name)
    return members


class _Walk:
    """One walk over a message.

    Args:
        asked: whether a client sent it.
        room: how many messages and values it may hold.
    """

    def __init__(self, *, asked: bool, room: float) -> None:
        self.findings = Findings()
        self._asked = asked
        self._limit = room
        self._count = 0

    def message(self, message: Any, path: str, level: int) -> None:
        self._one_more()
        for field in _checked_fields(message.DESCRIPTOR):
            where = member(path, field.json_name)
            if field.shape == "many":
                items = [(element(where, i), x) for i, x in enumerate(getattr(message, field.name))]
            elif field.shape == "map":
                items = [(entry(where, key), x) for key, x in sorted(getattr(message, field.name).items())]
            elif field.kind == "enum" or message.HasField(field.name):
                items = [(where, getattr(message, field.name))]
            else:
                continue
            for place, value in self.findings.while_room("error", items):
                # A map entry is a message of its own on the wire.
                self._field(field, value, place, level + (field.shape == "map"))
        if self._asked:
            for oneof, names in _oneofs(message.DESCRIPTOR).items():
                if message.WhichOneof(oneof) is None:
                    told = f"this holds none of {', '.join(names)}; write one of them"
                    self.findings.error(path, "oneof", told, "§4.1.6")

    def _field(self, field: Field, value: Any, path: str, level: int) -> None:
        if field.kind == "message":
            self.message(value, path, level + 1)
        elif field.kind == "enum":
            if self._asked:
                self._enum(field, value, path)
        elif field.kind == "timestamp":
            try:
                write_timestamp(value)
            except UnwritableError as exc:
                self.findings.error(path, "type", str(exc), "ProtoJSON")
        else:
            # A Struct stands where a Value one level up would have put it.
            found = self._struct(value, level) if field.kind == "struct" else self._value(value, level + 1)
            if found is not None:
                self.findings.error(path + found[0], "type", found[1], "ProtoJSON")

    def _enum(self, field: Field, value: int, path: str) -> None:
        assert field.enum is not None, "the field is an enum"
        names = [v.name for v in field.enum.values][1:]
        if value not in field.enum.values_by_number:
            told = f"found the number {value} where there has to be one of {', '.join(names)}"
            self.findings.error(path, "type", told, "ProtoJSON")
        elif field.enum is Role.DESCRIPTOR and value == Role.ROLE_AGENT:
            self.findings.error(path, "value", "a client's message has the role ROLE_USER", "§4.1.5")

    def _value(self, value: Any, level: int) -> tuple[str, str] | None:
        """Where in free JSON the first problem is, and what it is; ``level`` is that of the Value."""
        self._one_more()
        kind = value.WhichOneof("kind")
        if kind == "number_value":
            number = value.number_value
            return None if math.isfinite(number) else ("", f"the number {number} has no form in JSON")
        if kind == "struct_value":
            return self._struct(value.struct_value, level)
        if kind == "list_value":
            if level + 1 > MAX_NESTING:
                return "", _TOO_DEEP
            for i, item in enumerate(value.list_value.values):
                if found := self._value(item, level + 2):
                    return element("", i) + found[0], found[1]
        if kind is None and self._asked:
            return "", "this Value holds nothing, not even null"
        return None

    def _struct(self, struct: Any, level: int) -> tuple[str, str] | None:
        if level + 1 > MAX_NESTING:
            return "", _TOO_DEEP
        for key, item in struct.fields.items():
            if found := self._value(item, level + 3):
                return entry("", key) + found[0], found[1]
        return None

    def _one_more(self) -> None:
        self._count += 1
        if self._count > self._limit:
            raise too_many(int(self._limit))
