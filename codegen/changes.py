"""What changed in meaning between two schemas, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from codegen.schema import Field, Schema


def changes(old: Schema, new: Schema) -> list[str]:
    """One line for each operation, message, field or enum value that came, went, or means something else now."""
    lines = [
        *_named("operation", {o.name: o for o in old.operations}, {o.name: o for o in new.operations}),
        *_named("message", old.messages, new.messages),
    ]
    for name in old.messages.keys() & new.messages.keys():
        before = {f.name: f for f in old.messages[name].fields}
        after = {f.name: f for f in new.messages[name].fields}
        lines += _named(f"field of {name}", before, after)
    for name in old.enums.keys() | new.enums.keys():
        lines += _named(f"value of {name}", old.enums.get(name, {}), new.enums.get(name, {}))
    return sorted(lines)


def _named(what: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in old.keys() | new.keys():
        if name not in new:
            yield f"{what} gone: {name}"
        elif name not in old:
            required = " (REQUIRED)" if getattr(new[name], "required", False) else ""
            yield f"{what} new: {name}{required}"
        elif not what.startswith("message"):
            yield from (f"{what} changed: {name}: {change}" for change in _differences(old[name], new[name]))


def _differences(old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, int):
        if old != new:
            yield f"number {old} -> {new}"
        return
    if isinstance(old, Field):
        if old.required != new.required:
            yield "is REQUIRED now" if new.required else "is REQUIRED no more"
        if old.form != new.form:
            yield f"type {old.form} -> {new.form}"
    words = ("number", "json_name", "presence", "oneof", "request", "response", "streaming", "route", "tenant_route")
    for word in words:
        before, after = getattr(old, word, None), getattr(new, word, None)
        if before != after:
            yield f"{word} {before or 'none'} -> {after or 'none'}"
