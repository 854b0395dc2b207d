"""The schema as plain records: what the generators need of the compiled descriptor, and of ``policy.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.api import annotations_pb2, field_behavior_pb2
from google.protobuf import descriptor_pb2

from codegen.render import comments

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    _Field.TYPE_STRING: "string",
    _Field.TYPE_BOOL: "bool",
    _Field.TYPE_INT32: "int32",
    _Field.TYPE_BYTES: "bytes",
}
_WELL_KNOWN = {
    ".google.protobuf.Struct": "struct",
    ".google.protobuf.Value": "value",
    ".google.protobuf.Timestamp": "timestamp",
}
_POLICY = Path(__file__).with_name("policy.toml")


@dataclass(frozen=True)
class Field:
    """A field. ``kind`` is its JSON form; for a map, ``kind`` and ``type`` are those of the values."""

    owner: str
    name: str
    json_name: str
    number: int
    kind: str  # string bool int32 bytes enum message struct value timestamp, or a type that is not known yet
    type: str  # the message or enum, "" for the other kinds
    shape: str  # one, many or map
    required: bool
    presence: bool
    oneof: str  # "" when in none

    @property
    def form(self) -> str:
        """The type in words, for the report of what changed."""
        word = self.type or self.kind
        return {"one": word, "many": f"repeated {word}", "map": f"map<string, {word}>"}[self.shape]


@dataclass(frozen=True)
class Message:
    """A message with its fields in the order of the schema."""

    name: str
    fields: tuple[Field, ...]

    @property
    def oneofs(self) -> dict[str, list[Field]]:
        """The real oneofs, each with its members."""
        found: dict[str, list[Field]] = {}
        for field in self.fields:
            if field.oneof:
                found.setdefault(field.oneof, []).append(field)
        return found


@dataclass(frozen=True)
class Route:
    """One google.api.http rule: a verb, a path template, and whether the rest of the request is the body."""

    verb: str
    template: str
    body: bool


@dataclass(frozen=True)
class Operation:
    """One rpc, with what ``policy.toml`` says of it; ``doc`` is its comment in the schema."""

    name: str
    doc: str
    request: str
    response: str
    streaming: bool
    path: str
    route: Route
    tenant_route: Route
    flag: str
    idempotent: bool


@dataclass(frozen=True)
class Schema:
    """The whole schema. ``enums`` maps each enum to its values by name."""

    messages: dict[str, Message]
    enums: dict[str, dict[str, int]]
    operations: tuple[Operation, ...]
    policy: dict[str, Any]


def load(descriptor_set: bytes) -> Schema:
    """``read``, with a check that the policy and the schema fit each other."""
    schema = read(descriptor_set)
    _check(schema)
    return schema


def read(descriptor_set: bytes) -> Schema:
    """Read the last file of a serialized FileDescriptorSet, the schema itself."""
    files = descriptor_pb2.FileDescriptorSet.FromString(descriptor_set)
    file = files.file[-1]
    policy = tomllib.loads(_POLICY.read_text(encoding="utf-8"))
    prefix = f".{file.package}."
    messages = {m.name: Message(m.name, tuple(_field(m, f, prefix) for f in m.field)) for m in file.message_type}
    enums = {e.name: {v.name: v.number for v in e.value} for e in file.enum_type}
    notes = comments(file)
    operations = tuple(_operation(s.name, m, prefix, policy, notes) for s in file.service for m in s.method)
    return Schema(messages, enums, operations, policy)


def _field(message: descriptor_pb2.DescriptorProto, field: _Field, prefix: str) -> Field:
    shape, value = "one", field
    if field.label == _Field.LABEL_REPEATED:
        shape = "many"
        for nested in message.nested_type:
            if nested.options.map_entry and field.type_name == f"{prefix}{message.name}.{nested.name}":
                shape, value = "map", nested.field[1]
                if nested.field[0].type != _Field.TYPE_STRING:
                    raise SystemExit(f"{message.name}.{field.name}: only maps with string keys are known")
    kind, type_ = _kind(value, prefix)
    behavior = field.options.Extensions[field_behavior_pb2.field_behavior]
    real_oneof = field.HasField("oneof_index") and not field.proto3_optional
    single_message = shape == "one" and field.type == _Field.TYPE_MESSAGE
    return Field(
        owner=message.name,
        name=field.name,
        json_name=field.json_name,
        number=field.number,
        kind=kind,
        type=type_,
        shape=shape,
        required=field_behavior_pb2.REQUIRED in behavior,
        presence=field.HasField("oneof_index") or single_message,
        oneof=message.oneof_decl[field.oneof_index].name if real_oneof else "",
    )


def _kind(field: _Field, prefix: str) -> tuple[str, str]:
    if field.type in _SCALARS:
        return _SCALARS[field.type], ""
    if field.type_name in _WELL_KNOWN:
        return _WELL_KNOWN[field.type_name], ""
    if field.type_name.startswith(prefix):
        kind = "enum" if field.type == _Field.TYPE_ENUM else "message"
        return kind, field.type_name.removeprefix(prefix)
    return field.type_name or _Field.Type.Name(field.type).removeprefix("TYPE_").lower(), ""


def _operation(service: str, method: Any, prefix: str, policy: dict[str, Any], notes: dict[str, str]) -> Operation:
    rule = method.options.Extensions[annotations_pb2.http]
    if len(rule.additional_bindings) != 1:
        raise SystemExit(f"{method.name}: expected a route, and one more with the tenant")
    route, tenant_route = _route(rule), _route(rule.additional_bindings[0])
    if not tenant_route.template.startswith("/{tenant}/"):
        raise SystemExit(f"{method.name}: the second route does not start with the tenant")
    flags = [name for name, flag in policy["flags"].items() if method.name in flag["operations"]]
    return Operation(
        name=method.name,
        doc=" ".join(notes.get(f"{service}.{method.name}", "").split()),
        request=method.input_type.removeprefix(prefix),
        response=method.output_type.removeprefix(prefix),
        streaming=method.server_streaming,
        # The wire path keeps the protocol's own package, whatever ours is called.
        path=f"/lf.a2a.v1.{service}/{method.name}",
        route=route,
        tenant_route=tenant_route,
        flag=flags[0] if flags else "",
        idempotent=method.name in policy["idempotent"]["operations"],
    )


def _route(rule: Any) -> Route:
    verb = rule.WhichOneof("pattern")
    # {id=*} is one segment (google.api.http), which {id} says as well.
    template = re.sub(r"\{(\w+)=\*\}", r"{\1}", getattr(rule, verb))
    if rule.body not in ("", "*"):
        raise SystemExit(f"{template}: only the whole request is known as a body")
    return Route(verb.upper(), template, rule.body == "*")


def _check(schema: Schema) -> None:
    """What an update may bring that the generators or the policy do not know yet must not pass unseen."""
    policy, messages = schema.policy, schema.messages
    known = {*_SCALARS.values(), *_WELL_KNOWN.values(), "message", "enum"}
    for field in (f for m in messages.values() for f in m.fields if f.kind not in known):
        raise SystemExit(f"{field.owner}.{field.name}: the readers know no JSON form of {field.kind} (CONTRIBUTING.md)")
    names = {operation.name for operation in schema.operations}
    named = [name for flag in policy["flags"].values() for name in flag["operations"]]
    unknown = {*named, *policy["idempotent"]["operations"]} - names
    unknown |= set(policy["flags"]) - {f.name for f in messages["AgentCapabilities"].fields}
    unknown |= set(policy["readers"]["never_hollow"]) - set(messages)
    required = {f"{f.owner}.{f.name}" for m in messages.values() for f in m.fields if f.required}
    unknown |= set(policy["required"]["may_be_default"]) - required
    if unknown:
        raise SystemExit(f"policy.toml names what the schema does not have: {', '.join(sorted(unknown))}")
