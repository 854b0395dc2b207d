"""Descriptor -> ``proto/a2a.proto``: the facts of a schema with this project's comments, in one fixed layout."""

from __future__ import annotations

from typing import Any

from google.api import annotations_pb2, client_pb2, field_behavior_pb2
from google.protobuf import descriptor_pb2

_Field = descriptor_pb2.FieldDescriptorProto
_File = descriptor_pb2.FileDescriptorProto


def comments(file: _File) -> dict[str, str]:
    """The leading comment of each element, by its name: ``AgentCard``, ``AgentCard.name``, ``Role.ROLE_USER``."""
    found = {tuple(location.path): location.leading_comments for location in file.source_code_info.location}
    named: dict[str, str] = {}
    for path, name in _places(file):
        if text := found.get(path):
            named[name] = text
    return named


def head(source: str) -> str:
    """What stands above the first element of a schema's text: its opening comment, syntax, package and imports."""
    return source[: source.index("\nservice ")].rpartition("\n\n")[0]


def render(file: _File, notes: dict[str, str], opening: str) -> str:
    """The text of the schema; an element that ``notes`` does not know gets no comment."""
    lines = [opening, ""]
    for service in file.service:
        lines += [*_note(notes, service.name, ""), f"service {service.name} {{"]
        for i, method in enumerate(service.method):
            lines += [""] * (i > 0) + _method(method, file.package, notes, service.name)
        lines += ["}"]
    for message in file.message_type:
        lines += ["", *_note(notes, message.name, ""), f"message {message.name} {{"]
        lines += [*_fields(message, file.package, notes), "}"]
    for enum in file.enum_type:
        lines += ["", *_note(notes, enum.name, ""), f"enum {enum.name} {{"]
        for value in enum.value:
            lines += [*_note(notes, f"{enum.name}.{value.name}", "  "), f"  {value.name} = {value.number};"]
        lines += ["}"]
    return "\n".join([*lines, ""])


def undescribed(file: _File, notes: dict[str, str]) -> list[str]:
    """The elements that have no comment yet."""
    return [name for _, name in _places(file) if name not in notes]


def _places(file: _File) -> list[tuple[tuple[int, ...], str]]:
    """Each element's path in the descriptor's source info, and its name."""
    places: list[tuple[tuple[int, ...], str]] = []
    for i, service in enumerate(file.service):
        places.append(((6, i), service.name))
        places += [((6, i, 2, j), f"{service.name}.{m.name}") for j, m in enumerate(service.method)]
    for i, message in enumerate(file.message_type):
        places.append(((4, i), message.name))
        places += [((4, i, 2, j), f"{message.name}.{f.name}") for j, f in enumerate(message.field)]
    for i, enum in enumerate(file.enum_type):
        places.append(((5, i), enum.name))
        places += [((5, i, 2, j), f"{enum.name}.{v.name}") for j, v in enumerate(enum.value)]
    return places


def _note(notes: dict[str, str], name: str, indent: str) -> list[str]:
    return [f"{indent}//{line}".rstrip() for line in notes.get(name, "").splitlines()]


def _method(method: Any, package: str, notes: dict[str, str], service: str) -> list[str]:
    takes, gives = (_short(name, package) for name in (method.input_type, method.output_type))
    stream = "stream " if method.server_streaming else ""
    rule = method.options.Extensions[annotations_pb2.http]
    lines = [
        *_note(notes, f"{service}.{method.name}", "  "),
        f"  rpc {method.name}({takes}) returns ({stream}{gives}) {{",
    ]
    lines += ["    option (google.api.http) = {", *_rule(rule, "      ")]
    for more in rule.additional_bindings:
        lines += ["      additional_bindings {", *_rule(more, "        "), "      }"]
    lines += ["    };"]
    signatures = method.options.Extensions[client_pb2.method_signature]
    return [*lines, *(f'    option (google.api.method_signature) = "{s}";' for s in signatures), "  }"]


def _rule(rule: Any, indent: str) -> list[str]:
    verb = rule.WhichOneof("pattern")
    return [f'{indent}{verb}: "{getattr(rule, verb)}"', *([f'{indent}body: "{rule.body}"'] if rule.body else [])]


def _fields(message: descriptor_pb2.DescriptorProto, package: str, notes: dict[str, str]) -> list[str]:
    lines: list[str] = []
    opened = None
    for field in message.field:
        oneof = field.oneof_index if field.HasField("oneof_index") and not field.proto3_optional else None
        if opened is not None and oneof != opened:
            lines.append("  }")
        if oneof is not None and oneof != opened:
            lines.append(f"  oneof {message.oneof_decl[oneof].name} {{")
        opened = oneof
        indent = "  " if oneof is None else "    "
        lines += [*_note(notes, f"{message.name}.{field.name}", indent), f"{indent}{_field(message, field, package)};"]
    return [*lines, *(["  }"] if opened is not None else [])]


def _field(message: descriptor_pb2.DescriptorProto, field: _Field, package: str) -> str:
    entries = {f".{package}.{message.name}.{n.name}": n for n in message.nested_type if n.options.map_entry}
    if field.type_name in entries:
        key, value = entries[field.type_name].field
        form = f"map<{_type(key, package)}, {_type(value, package)}>"
    else:
        prefix = "repeated " if field.label == _Field.LABEL_REPEATED else "optional " if field.proto3_optional else ""
        form = prefix + _type(field, package)
    options = []
    if field_behavior_pb2.REQUIRED in field.options.Extensions[field_behavior_pb2.field_behavior]:
        options.append("(google.api.field_behavior) = REQUIRED")
    if field.options.deprecated:
        options.append("deprecated = true")
    return f"{form} {field.name} = {field.number}" + (f" [{', '.join(options)}]" if options else "")


def _type(field: _Field, package: str) -> str:
    return _short(field.type_name, package) if field.type_name else _Field.Type.Name(field.type)[5:].lower()


def _short(name: str, package: str) -> str:
    return name.removeprefix(f".{package}.").removeprefix(".")
