"""Hypothesis strategies for every message of the schema, and for JSON that is nearly one."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message
from hypothesis import strategies as st

from a2a_discovery import protojson, types
from a2a_discovery._forms import wrap_value
from a2a_discovery._schema import Field, fields

MESSAGES: list[type[Message]] = [getattr(types, name) for name in types.DESCRIPTOR.message_types_by_name]

texts = st.text(max_size=8)
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.just("fields"), inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
timestamps = st.builds(
    dict, seconds=st.integers(-62135596800, 253402300799), nanos=st.sampled_from([0, 1, 999_999_999, 500_000_000, 1000])
)


def _value(field: Field, depth: int) -> st.SearchStrategy[Any]:
    if field.message is not None:
        return arguments(field.message, depth - 1)
    if field.enum is not None:
        return st.sampled_from([v.number for v in field.enum.values])
    return {
        "string": texts,
        "bool": st.booleans(),
        "int32": st.integers(-(2**31), 2**31 - 1),
        "bytes": st.binary(max_size=8),
        "struct": json_objects,
        "value": json_values.map(wrap_value),
        "timestamp": timestamps,
    }[field.kind]


@st.composite
def arguments(draw: st.DrawFn, descriptor: Any, depth: int = 3) -> dict[str, Any]:
    """Constructor arguments of a message, each oneof with one member at the most."""
    chosen: dict[str, Any] = {}
    taken: set[str] = set()
    for field in fields(descriptor).values():
        if (field.message is not None and depth == 0) or field.oneof in taken or draw(st.integers(0, 2)) == 0:
            continue
        if field.oneof:
            taken.add(field.oneof)
        value = _value(field, depth)
        shapes = {
            "one": value,
            "many": st.lists(value, max_size=2),
            "map": st.dictionaries(texts, value, max_size=2),
        }
        chosen[field.name] = draw(shapes[field.shape])
    return chosen


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """A message of any class of the schema."""
    cls = draw(st.sampled_from(MESSAGES))
    return cls(**draw(arguments(cls.DESCRIPTOR)))


@st.composite
def near_documents(draw: st.DrawFn) -> tuple[type[Message], Any]:
    """A message class, and JSON in which some members of its document were exchanged for anything."""
    message = draw(messages())
    document = protojson.to_dict(message)
    if draw(st.integers(0, 3)) == 0:  # so that a oneof gets two members
        document |= protojson.to_dict(type(message)(**draw(arguments(message.DESCRIPTOR))))
    for _ in range(draw(st.integers(0, 2))):
        document = draw(damaged(document))
    return type(message), document


@st.composite
def damaged(draw: st.DrawFn, document: Any) -> Any:
    """The document with one place in it exchanged, removed, renamed or added to."""
    if isinstance(document, dict) and document and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(document)))
        rest = {k: v for k, v in document.items() if k != key}
        how = draw(st.sampled_from(["inside", "remove", "rename", "null"]))
        if how == "remove":
            return rest
        if how == "rename":
            return rest | {"".join(f"_{c.lower()}" if c.isupper() else c for c in key): document[key]}
        return document | {key: None if how == "null" else draw(damaged(document[key]))}
    if isinstance(document, list) and document and draw(st.booleans()):
        index = draw(st.integers(0, len(document) - 1))
        return [*document[:index], draw(damaged(document[index])), *document[index + 1 :]]
    if isinstance(document, dict) and draw(st.booleans()):
        return document | {draw(texts): draw(json_values)}
    return draw(
        json_values | st.sampled_from([[], {}, "", 0, 1.0, "5", "1.5", -(2**31) - 1, "TASK_STATE_NEW", "aGk", "a-_="])
    )
