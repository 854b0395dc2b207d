"""Schema -> ``_gen/readers.py``: one straight-line ProtoJSON reader per message.

A reader takes a decoded JSON object to the keyword arguments of the message's constructor and gives up
(``UnfitError``) at the first thing that is not the plain canonical form; the diagnosis then says what it was, or reads
the rarer form.
"""

from __future__ import annotations

from codegen.schema import Field, Message, Schema
from codegen.text import FUNCTION_TABLE, head, snake

_UNFIT = "raise UnfitError"


def generate(schema: Schema) -> str:
    """The text of the module."""
    lines = [
        *head(
            "ProtoJSON readers: a decoded JSON object to the keyword arguments of a message's constructor.",
            *FUNCTION_TABLE,
            "",
            "from a2a_discovery._forms import UnfitError, read_bytes, read_struct, read_timestamp, read_value",
        ),
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
    if odd:
        lines += [f"_{name.upper()}_ODD = frozenset({odd!r})", "", ""]
    lines += [f"def {name}(o: Any, need: bool) -> dict[str, Any]:", "    if type(o) is not dict:", f"        {_UNFIT}"]
    lines += ["    k: dict[str, Any] = {}", "    get = o.get"]
    for field in message.fields:
        lines += [f"    {line}" for line in _field(field)]
    if odd:
        # Where every member was read, none of them can be a field by its proto name.
        lines += [f"    if len(k) != len(o) and not _{name.upper()}_ODD.isdisjoint(o):", f"        {_UNFIT}"]
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
    lines = [f'{v} = get("{field.json_name}")']
    if field.shape == "one" and field.kind in ("enum", "message", "bytes", "struct", "value", "timestamp"):
        return [*lines, f"if {_given(field)}:", *(f"    {line}" for line in _converted(field, v, key))]
    # The type that is expected is looked for first: most values have it.
    fits, body = _plain(field, v, key)
    return [*lines, f"if {fits}:", *(f"    {line}" for line in body), f"elif {v} is not None:", f"    {_UNFIT}"]


def _converted(field: Field, v: str, key: str) -> list[str]:
    if field.kind != "enum":
        return [f"{key} = {_call(field, v)}"]
    lookup = f"n = _{snake(field.type).upper()}.get({v}) if type({v}) is str else None"
    return [lookup, "if n is None:", f"    {_UNFIT}", f"{key} = n"]


def _plain(field: Field, v: str, key: str) -> tuple[str, list[str]]:
    if field.shape == "many":
        if field.kind == "message":
            return f"type({v}) is list", [f"{key} = [{_call(field, 'x')} for x in {v}]"]
        return f"type({v}) is list", [*_all_strings(field, v), f"{key} = {v}"]
    if field.shape == "map":
        if field.kind == "message":
            return f"type({v}) is dict", [f"{key} = {{a: {_call(field, 'x')} for a, x in {v}.items()}}"]
        return f"type({v}) is dict", [*_all_strings(field, f"{v}.values()"), f"{key} = {v}"]
    fits = {
        "string": f"type({v}) is str",
        "bool": f"{v} is True or {v} is False",
        "int32": f"type({v}) is int and -0x80000000 <= {v} <= 0x7FFFFFFF",
    }
    return fits[field.kind], [f"{key} = {v}"]


def _call(field: Field, v: str) -> str:
    return f"{snake(field.type)}({v}, need)" if field.kind == "message" else f"read_{field.kind}({v})"


def _all_strings(field: Field, values: str) -> list[str]:
    if field.kind != "string":
        raise SystemExit(f"{field.owner}.{field.name}: the readers know no list or map of {field.kind} yet")
    return [f"for x in {values}:", "    if type(x) is not str:", f"        {_UNFIT}"]
