"""Schema -> ``_gen/required.py``: the REQUIRED fields, and one check per message that has any at or below it."""

from __future__ import annotations

from codegen.schema import Field, Message, Schema
from codegen.text import FUNCTION_TABLE, head, snake


def generate(schema: Schema) -> str:
    """The text of the module."""
    exempt = set(schema.policy["required"]["may_be_default"])
    demanded = {
        m.name: [f for f in m.fields if f.required and f"{f.owner}.{f.name}" not in exempt]
        for m in schema.messages.values()
    }
    checked = _with_required_below(schema, demanded)
    lines = [
        *head(
            "REQUIRED fields (§5.7): which they are, and whether a message and all below it have them.", *FUNCTION_TABLE
        ),
        "# Proto field names, by message. Those that may hold their default (codegen/policy.toml) are left out.",
        "REQUIRED: dict[str, frozenset[str]] = {",
        *(f'    "{name}": frozenset({[f.name for f in fields]!r}),' for name, fields in demanded.items() if fields),
        "}",
        "",
        "# The REQUIRED fields that were left out above.",
        "MAY_BE_DEFAULT: dict[str, frozenset[str]] = {",
        *(
            f'    "{name}": frozenset({[f.name for f in m.fields if f"{name}.{f.name}" in exempt]!r}),'
            for name, m in schema.messages.items()
            if any(f"{name}.{f.name}" in exempt for f in m.fields)
        ),
        "}",
    ]
    for name in checked:
        lines += ["", "", *_check(schema.messages[name], demanded[name], checked)]
    table = ", ".join(f'"{name}": {snake(name)}' for name in checked)
    lines += ["", "", "# Messages that are not here have nothing REQUIRED at or below them."]
    return "\n".join([*lines, f"COMPLETE: dict[str, Callable[[Any], bool]] = {{{table}}}", ""])


def _with_required_below(schema: Schema, demanded: dict[str, list[Field]]) -> list[str]:
    found = {name for name, fields in demanded.items() if fields}
    grew = True
    while grew:
        above = {m.name for m in schema.messages.values() if any(f.type in found for f in m.fields)}
        grew = not above <= found
        found |= above
    return [name for name in schema.messages if name in found]


def _check(message: Message, demanded: list[Field], checked: list[str]) -> list[str]:
    terms = [f'm.HasField("{f.name}")' if f.presence else f"m.{f.name}" for f in demanded]
    for field in message.fields:
        if field.kind != "message" or field.type not in checked:
            continue
        check, value = snake(field.type), f"m.{field.name}"
        if field.shape == "one":
            known = field in demanded
            terms.append(f"{check}({value})" if known else f'(not m.HasField("{field.name}") or {check}({value}))')
        else:
            terms.append(f"all(map({check}, {value}{'.values()' if field.shape == 'map' else ''}))")
    return [f"def {snake(message.name)}(m: Any) -> bool:", f"    return bool({' and '.join(terms)})"]
