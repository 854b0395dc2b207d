"""What came back for a call: read into its message, and checked."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf.message import DecodeError

from a2a_discovery import protojson
from a2a_discovery._duplicates import Step
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery._gen.required import COMPLETE
from a2a_discovery._operation import Operation
from a2a_discovery.bindings import bodies
from a2a_discovery.errors import CardError, InvalidAgentResponseError
from a2a_discovery.problems import Findings, Problem
from a2a_discovery.types import AgentCard
from a2a_discovery.validation import validate

_log = logging.getLogger("a2a_discovery")

_COMPLETE = {o.name: COMPLETE.get(o.response.DESCRIPTOR.name) for o in OPERATIONS.values()}
_NEEDS_PAYLOAD = {o.name: "payload" in o.response.DESCRIPTOR.oneofs_by_name for o in OPERATIONS.values()}


@dataclass(frozen=True, slots=True)
class CardDocument:
    """A card as it came in an answer: a signature may cover members that no message holds.

    Attributes:
        value: its JSON object.
        problems: what is wrong with it that ``value`` does not show.
    """

    value: Any
    problems: Sequence[Problem] = ()

    @classmethod
    def of(cls, value: Any, doubled: Iterable[tuple[Step, ...]]) -> CardDocument:
        """The card that should be ``value``, in which keys stand twice at the places ``doubled``."""
        findings = Findings()
        if not isinstance(value, dict):
            protojson.diagnose(AgentCard, value, None, findings, need=True)
        return cls(value, [*bodies.twice(AgentCard.DESCRIPTOR, list(doubled)), *findings.problems])


def is_own(message: Any) -> bool:
    """Whether a message, or its class, is of this schema; the only other one is ``google.protobuf.Empty``."""
    return _is_ours(message.DESCRIPTOR)


def _is_ours(descriptor: Any) -> bool:
    return not descriptor.full_name.startswith("google.")


def from_json(operation: Operation, document: Any) -> Any:
    """The response that a decoded JSON value holds; where there is nothing to say, any value will do.

    Raises:
        InvalidAgentResponseError: it holds none.
    """
    cls = operation.response
    if not is_own(cls):
        return cls()
    message = protojson.read(cls, document, None, need=False)
    if message is not None:
        return message
    try:
        return protojson.loads(cls, document)
    except CardError as exc:
        raise InvalidAgentResponseError(f"the answer to {operation.name} cannot be read: {exc}") from exc


def from_wire(operation: Operation, data: bytes | None) -> Any:
    """The response that protobuf's wire format holds.

    Raises:
        InvalidAgentResponseError: it holds none, or a state or role that A2A 1.0 does not have; or there are no data: a
            call may end well without them.
    """
    if data is None:
        raise InvalidAgentResponseError(f"there is no answer to {operation.name}, though the call ended well")
    try:
        message = operation.response.FromString(data)
    except DecodeError as exc:
        raise InvalidAgentResponseError(f"the answer to {operation.name} is no {operation.response.__name__}") from exc
    if _NEEDS_PAYLOAD[operation.name] and message.WhichOneof("payload") == "artifact_update":
        return message  # most events of most streams; nothing in it is an enum
    if (unknown := _unknown_enum(message)) is not None:
        raise InvalidAgentResponseError(f"the answer to {operation.name} holds {unknown}, which A2A 1.0 does not have")
    return message


@cache
def _enum_fields(descriptor: Any) -> tuple[tuple[str, frozenset[int] | None, bool], ...]:
    """Name, known numbers and whether it is repeated, of the fields that are enums, or (without numbers) lead to some.

    The JSON readers refuse unknown names; the wire format lets any number pass.
    """
    found: list[tuple[str, frozenset[int] | None, bool]] = []
    for field in descriptor.fields:
        if field.enum_type is not None:
            found.append((field.name, frozenset(field.enum_type.values_by_number), field.is_repeated))
        elif field.message_type is not None and _is_ours(field.message_type) and _enum_fields(field.message_type):
            found.append((field.name, None, field.is_repeated))
    return tuple(found)


def _unknown_enum(message: Any) -> str | None:
    for name, numbers, repeated in _enum_fields(message.DESCRIPTOR):
        if numbers is not None:
            if getattr(message, name) not in numbers:
                return f"{name} {getattr(message, name)}"
        elif repeated or message.HasField(name):
            value = getattr(message, name)
            for below in value if repeated else (value,):
                if (unknown := _unknown_enum(below)) is not None:
                    return unknown
    return None


def check(operation: Operation, message: Any, *, strict: bool) -> str:
    """Check a response: its payload has to be there, and its REQUIRED fields should be (§5.7).

    Returns the name of the payload that is set, empty where the response has no choice of them.

    Raises:
        InvalidAgentResponseError: no payload; or, when ``strict``, a REQUIRED field is missing. Otherwise the latter is
            logged as a warning.
    """
    payload = ""
    if _NEEDS_PAYLOAD[operation.name]:
        payload = message.WhichOneof("payload")
        if payload is None:
            members = ", ".join(f.json_name for f in message.DESCRIPTOR.oneofs_by_name["payload"].fields)
            raise InvalidAgentResponseError(f"the answer to {operation.name} holds none of {members}")
    complete = _COMPLETE[operation.name]
    if complete is not None and not complete(message):
        problems = validate(message)
        found = "; ".join(str(problem) for problem in problems[:5])
        told = f"the answer to {operation.name} lacks REQUIRED fields: {found}"
        if strict:
            raise InvalidAgentResponseError(told)
        _log.warning("%s", told)
    return payload
