"""Schema -> ``_gen/writers.py``: one straight-line ProtoJSON writer per message."""

from __future__ import annotations

from codegen.schema import Field, Message, Schema
from codegen.text import FUNCTION_TABLE, head, snake


def generate(schema: Schema) -> str:
    """The text of the module."""
    lines = [
        *head(
            "ProtoJSON writers: a message to a JSON object, canonical names, enums by name.",
            *FUNCTION_TABLE,
            "",
            "from a2a_discovery._forms import write_bytes, write_struct, write_timestamp, write_value",
        ),
        "Writer = Callable[[Any], dict[str, Any]]",
        "",
    ]
    for name, values in schema.enums.items():
        names = {number: value for value, number in values.items()}
        lines.append(f"_{snake(name).upper()} = {names!r}")
    always = schema.policy["required"]["may_be_default"]
    for message in schema.messages.values():
        lines += ["", "", *_writer(message, always)]
    table = ", ".join(f'"{name}": {snake(name)}' for name in schema.messages)
    return "\n".join([*lines, "", "", f"WRITERS: dict[str, Writer] = {{{table}}}", ""])


def _writer(message: Message, always: list[str]) -> list[str]:
    lines = [f"def {snake(message.name)}(m: Any) -> dict[str, Any]:", "    o: dict[str, Any] = {}"]
    members = message.oneofs
    for field in message.fields:
        if not field.oneof:
            body = _field(field, f"{field.owner}.{field.name}" in always)
        elif field is members[field.oneof][0]:
            body = _oneof(field.oneof, members[field.oneof])
        else:
            continue
        lines += [f"    {line}" for line in body]
    return [*lines, "    return o"]


def _oneof(name: str, members: list[Field]) -> list[str]:
    lines = [f'which = m.WhichOneof("{name}")']
    for i, field in enumerate(members):
        lines.append(f'{"elif" if i else "if"} which == "{field.name}":')
        lines.append(f'    o["{field.json_name}"] = {_single(field, f"m.{field.name}")}')
    return lines


def _field(field: Field, always: bool) -> list[str]:
    target, v = f'o["{field.json_name}"]', f"m.{field.name}"
    if field.presence:
        return [f'if m.HasField("{field.name}"):', f"    {target} = {_single(field, v)}"]
    # A slice is the fastest way to a list, and so to whether it holds anything, that protobuf offers.
    lines = [f"v = {v}[:]" if field.shape == "many" else f"v = {v}"]
    if always:
        return [*lines, f"{target} = {_form(field)}"]
    return [*lines, "if v:", f"    {target} = {_form(field)}"]


def _form(field: Field) -> str:
    if field.shape == "many":
        return "v" if field.kind == "string" else f"[{_single(field, 'x')} for x in v]"
    if field.shape == "map":
        # Protobuf's maps have an order of their own in each process; the text of a message must not.
        return f"{{a: {_single(field, 'v[a]')} for a in sorted(v)}}"
    return _single(field, "v")


def _single(field: Field, v: str) -> str:
    if field.kind == "message":
        return f"{snake(field.type)}({v})"
    if field.kind == "enum":
        return f"_{snake(field.type).upper()}.get({v}, {v})"
    return v if field.kind in ("string", "bool", "int32") else f"write_{field.kind}({v})"
