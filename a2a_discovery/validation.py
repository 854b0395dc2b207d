"""REQUIRED checks over any message of the schema (§5.7): nested, in lists, in map values, in oneofs."""

from __future__ import annotations

from typing import Any

from a2a_discovery._gen.required import COMPLETE
from a2a_discovery._schema import Field, example, fields, is_request
from a2a_discovery.dataclasses import as_message
from a2a_discovery.errors import CardError
from a2a_discovery.problems import Findings, Problem, element, entry, member


def validate(message: Any) -> list[Problem]:
    """Name every REQUIRED field that ``message``, or a message in it, lacks (§5.7).

    A string or list that is REQUIRED and empty is missing, an enum that is UNSPECIFIED too; a message that is set is
    there, even when it is empty. ``message`` is one of ``a2a_discovery.types``, or a betterproto dataclass of the same.

    Raises:
        TypeError: it is neither.
    """
    checked = as_message(message)
    complete = COMPLETE.get(checked.DESCRIPTOR.name)
    if complete is None or complete(checked):
        return []
    findings = Findings()
    _walk(checked, "", findings, asked=is_request(checked.DESCRIPTOR))
    return findings.problems


def ensure_valid(message: Any) -> None:
    """Do nothing when ``validate`` finds nothing.

    Raises:
        CardError: a REQUIRED field is missing; ``.problems`` names every one.
    """
    if problems := validate(message):
        raise CardError(problems, subject=as_message(message).DESCRIPTOR.name)


def _walk(message: Any, path: str, findings: Findings, *, asked: bool) -> None:
    for field in fields(message.DESCRIPTOR).values():
        where = member(path, field.json_name)
        if field.required and not _is_set(message, field):
            wording = (
                f'this REQUIRED field is missing or empty; write "{field.json_name}": {example(field, asked=asked)}'
            )
            findings.error(where, "required", wording, "§5.7")
        if field.message is None:
            continue
        value = getattr(message, field.name)
        if field.shape == "many":
            for i, x in enumerate(value):
                _walk(x, element(where, i), findings, asked=asked)
        elif field.shape == "map":
            for key in sorted(value):
                _walk(value[key], entry(where, key), findings, asked=asked)
        elif message.HasField(field.name):
            _walk(value, where, findings, asked=asked)


def _is_set(message: Any, field: Field) -> bool:
    """Whether the field holds something; where presence is tracked, whether it is present."""
    if field.shape == "one" and message.DESCRIPTOR.fields_by_name[field.name].has_presence:
        return bool(message.HasField(field.name))
    return bool(getattr(message, field.name))
