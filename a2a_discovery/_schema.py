"""The descriptors as the diagnosis wants them: a message's fields by every name that JSON may use for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from a2a_discovery._gen.required import MAY_BE_DEFAULT, REQUIRED
from a2a_discovery.problems import element, entry, member

Kind = Literal["string", "bool", "int32", "bytes", "enum", "struct", "value", "timestamp", "message"]
Shape = Literal["one", "many", "map"]

# Longer than any name of the schema: such a key is unknown, and the path has to stay readable.
_LONGEST_NAME = 60

# Keys and indices of a path that are written out.
_MOST_STEPS = 60

_KINDS: dict[int, Kind] = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_ENUM: "enum",
}
_WELL_KNOWN: dict[str, Kind] = {
    "google.protobuf.Struct": "struct",
    "google.protobuf.Value": "value",
    "google.protobuf.Timestamp": "timestamp",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field; for a map, ``kind`` and what belongs to it are those of the values."""

    name: str
    json_name: str
    shape: Shape
    kind: Kind
    message: Descriptor | None
    enum: EnumDescriptor | None
    oneof: str | None
    required: bool
    may_be_default: bool


@cache
def fields(message: Descriptor) -> Mapping[str, Field]:
    """The fields of a message by JSON name, in the order of the schema."""
    return {field.json_name: _field(message, field) for field in message.fields}


@cache
def proto_names(message: Descriptor) -> Mapping[str, str]:
    """Proto name to JSON name, where the two differ."""
    return {f.name: f.json_name for f in fields(message).values() if f.name != f.json_name}


def _field(message: Descriptor, field: FieldDescriptor) -> Field:
    shape: Shape = "one"
    value = field
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        shape, value = "map", field.message_type.fields_by_name["value"]
    elif field.is_repeated:
        shape = "many"
    target = value.message_type
    kind = _KINDS.get(value.type)
    if kind is None:
        assert target is not None, "what is no scalar and no enum is a message"
        kind = _WELL_KNOWN.get(target.full_name, "message")
    oneof = field.containing_oneof
    # A proto3 optional field is the only member of a oneof that is named after it.
    real_oneof = oneof is not None and oneof.name != f"_{field.name}"
    return Field(
        name=field.name,
        json_name=field.json_name,
        shape=shape,
        kind=kind,
        message=target if kind == "message" else None,
        enum=value.enum_type,
        oneof=oneof.name if oneof is not None and real_oneof else None,
        required=field.name in REQUIRED.get(message.name, ()),
        may_be_default=field.name in MAY_BE_DEFAULT.get(message.name, ()),
    )


def is_request(message: Descriptor) -> bool:
    """Whether a client sends such a message, so that a message in it has the role ROLE_USER."""
    return message.name.endswith("Request")


def example(field: Field, *, one: bool = False, asked: bool = False) -> str:
    """What to write for a field, or for one element of it: JSON with ``…`` where the author has to fill in.

    ``asked`` is for what a client sends, whose enums start with what it may say.
    """
    text = _example_of_one(field, asked)
    if one:
        return text
    return {"one": text, "many": f"[{text}]", "map": f'{{"…": {text}}}'}[field.shape]


def _example_of_one(field: Field, asked: bool) -> str:
    if field.message is not None:
        inner = list(fields(field.message).values())
        wanted = [f for f in inner if f.required] or [f for f in inner if f.oneof][:1] or inner[: len(inner) == 1]
        return "{" + ", ".join(f'"{f.json_name}": {example(f, asked=asked)}' for f in wanted) + "}"
    if field.enum is not None:
        return f'"{field.enum.values[1 if asked else -1].name}"'
    plain = {"bool": "true", "int32": "1", "struct": "{…}", "value": "…", "timestamp": '"2026-01-31T12:00:00Z"'}
    return plain.get(field.kind, '"…"')


def path_of(message: Descriptor, place: tuple[str | int, ...]) -> str:
    """The path of a place in a document: keys and indices from the root, written as the schema suggests."""
    path = ""
    if len(place) > _MOST_STEPS:
        # The middle would be cut out anyway; a hostile document must not have it written 10,000 times.
        half = _MOST_STEPS // 2
        place = (*place[:half], "…", *place[-half:])
    # What the object that the next key stands in is: a message, a map, free JSON, or unknown to the schema (None).
    node: Descriptor | Field | Literal["free"] | None = message
    for step in place:
        if isinstance(step, int):
            path = element(path, step)
        elif isinstance(node, Field):
            path, node = entry(path, step), _inside(node)
        elif node == "free" or not step.isidentifier() or len(step) > _LONGEST_NAME:
            path = entry(path, step)
            node = "free" if node == "free" else None
        else:
            path = member(path, step)
            field = _named(node, step) if isinstance(node, Descriptor) else None
            node = field if field is None or field.shape == "map" else _inside(field)
    return path


def _named(message: Descriptor, name: str) -> Field | None:
    return fields(message).get(proto_names(message).get(name, name))


def _inside(field: Field) -> Descriptor | Literal["free"] | None:
    return "free" if field.kind in ("struct", "value") else field.message
