"""Schema -> ``_gen/readers.py``: one straight-line ProtoJSON reader per message.

A reader takes a decoded JSON object to the keyword arguments of the message's constructor and gives up
(``UnfitError``) at the first thing that is not the plain canonical form; the diagnosis then says what it was, or reads
the rarer form.
"""

from __future__ import annotations

from codegen.schema import Field, Message, Schema
from codegen.text import head, snake

_UNFIT = "raise UnfitError"


def generate(schema: Schema) -> str:
    """The text of the module."""
    lines = [
        *head("ProtoJSON readers: a decoded JSON object to the keyword arguments of a message's constructor."),
        "from __future__ import annotations",
        "",
        "from collections.abc import Callable",
        "from typing import Any",
        "",
        "from a2a_discovery._forms import UnfitError, read_bytes, read_struct, read_timestamp, read_value",
        "",
        "Reader = Callable[[Any, bool], dict[str, Any]]",
        "",
    ]
    for name, values in schema.enums.items():
        lines.append(f"_{snake(name).upper()} = {values!r}")
    for message in schema.messages.values():
        lines += ["", "", *_reader(message, schema)]
    table = ", ".join(f'"{name}": {snake(name)}' for name in schema.messages)
    return "\n".join([*lines, "", "", f"READERS: dict[str, Reader] = {{{table}}}", ""])


def _reader(message: Message, schema: Schema) -> list[str]:
    odd = sorted({f.name for f in message.fields if f.name != f.json_name})
    name = snake(message.name)
    lines = []
    guard = "type(o) is not dict"
    if odd:
        lines += [f"_{name.upper()}_ODD = frozenset({odd!r})", "", ""]
        guard += f" or not _{name.upper()}_ODD.isdisjoint(o)"
    lines += [f"def {name}(o: Any, need: bool) -> dict[str, Any]:", f"    if {guard}:", f"        {_UNFIT}"]
    lines += ["    k: dict[str, Any] = {}", "    get = o.get"]
    for field in message.fields:
        lines += [f"    {line}" for line in _field(field)]
    for members in message.oneofs.values():
        given = [_given(f) for f in members]
        lines += [f"    if {' + '.join(f'({g})' for g in given)} > 1:", f"        {_UNFIT}"]
    if message.name in schema.policy["readers"]["never_hollow"]:
        lines += ["    if o and not k:", f"        {_UNFIT}"]
    exempt = schema.policy["required"]["may_be_default"]
    demanded = [f for f in message.fields if f.required and f"{f.owner}.{f.name}" not in exempt]
    if demanded:
        lines += [f"    if need and not ({' and '.join(_set(f) for f in demanded)}):", f"        {_UNFIT}"]
    return [*lines, "    return k"]


def _var(field: Field) -> str:
    return f"v{field.number}"


def _given(field: Field) -> str:
    if field.kind == "value" and field.shape == "one":
        return f'"{field.json_name}" in o'
    return f"{_var(field)} is not None"


def _set(field: Field) -> str:
    if field.kind == "enum":
        return f'k.get("{field.name}")'
    return _given(field) if field.presence else _var(field)


def _field(field: Field) -> list[str]:
    v, key = _var(field), f'k["{field.name}"]'
    body = {"one": _one, "many": _many, "map": _map}[field.shape](field, v, key)
    return [f'{v} = get("{field.json_name}")', f"if {_given(field)}:", *(f"    {line}" for line in body)]


def _one(field: Field, v: str, key: str) -> list[str]:
    if field.kind == "enum":
        return [
            f"n = _{snake(field.type).upper()}.get({v}) if type({v}) is str else None",
            "if n is None:",
            f"    {_UNFIT}",
            f"{key} = n",
        ]
    refused = {
        "string": f"type({v}) is not str",
        "bool": f"{v} is not True and {v} is not False",
        "int32": f"type({v}) is not int or not -0x80000000 <= {v} <= 0x7FFFFFFF",
    }
    if field.kind in refused:
        return [f"if {refused[field.kind]}:", f"    {_UNFIT}", f"{key} = {v}"]
    return [f"{key} = {_call(field, v)}"]


def _call(field: Field, v: str) -> str:
    return f"{snake(field.type)}({v}, need)" if field.kind == "message" else f"read_{field.kind}({v})"


def _many(field: Field, v: str, key: str) -> list[str]:
    lines = [f"if type({v}) is not list:", f"    {_UNFIT}"]
    if field.kind == "message":
        return [*lines, f"{key} = [{_call(field, 'x')} for x in {v}]"]
    return [*lines, *_all_strings(field, v), f"{key} = {v}"]


def _map(field: Field, v: str, key: str) -> list[str]:
    lines = [f"if type({v}) is not dict:", f"    {_UNFIT}"]
    if field.kind == "message":
        return [*lines, f"{key} = {{a: {_call(field, 'x')} for a, x in {v}.items()}}"]
    return [*lines, *_all_strings(field, f"{v}.values()"), f"{key} = {v}"]


def _all_strings(field: Field, values: str) -> list[str]:
    if field.kind != "string":
        raise SystemExit(f"{field.owner}.{field.name}: the readers know no list or map of {field.kind} yet")
    return [f"for x in {values}:", "    if type(x) is not str:", f"        {_UNFIT}"]
