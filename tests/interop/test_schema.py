"""proto/a2a.proto states what the official descriptor states, and nothing else."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

from google.api import annotations_pb2, client_pb2, field_behavior_pb2
from google.protobuf import descriptor_pb2

from a2a_discovery._gen import a2a_pb2 as ours
from tests.interop.sdk import a2a_pb2 as official

PROTO = Path(__file__).parents[2] / "proto" / "a2a.proto"


def facts(descriptor: Any, package: str) -> descriptor_pb2.FileDescriptorProto:
    """The file with its package substituted; its options (they speak of other languages) and json_name left out."""
    file = descriptor_pb2.FileDescriptorProto()
    descriptor.CopyToProto(file)
    file = descriptor_pb2.FileDescriptorProto.FromString(file.SerializeToString())
    file.name, file.package = "a2a.proto", "lf.a2a.v1"
    file.ClearField("options")
    for message in file.message_type:
        for holder in (message, *message.nested_type):
            for field in holder.field:
                field.ClearField("json_name")  # a compiler leaves it out where it is the usual one
                field.type_name = field.type_name.replace(f".{package}.", ".lf.a2a.v1.")
    for service in file.service:
        for method in service.method:
            method.input_type = method.input_type.replace(f".{package}.", ".lf.a2a.v1.")
            method.output_type = method.output_type.replace(f".{package}.", ".lf.a2a.v1.")
    return file


OURS = facts(ours.DESCRIPTOR, "a2a_discovery.lf.a2a.v1")
OFFICIAL = facts(official.DESCRIPTOR, "lf.a2a.v1")


def test_whole_descriptor() -> None:
    assert OURS == OFFICIAL


def test_json_names() -> None:
    def names(descriptor: Any) -> dict[str, dict[str, str]]:
        return {m.name: {f.name: f.json_name for f in m.fields} for m in descriptor.message_types_by_name.values()}

    assert names(ours.DESCRIPTOR) == names(official.DESCRIPTOR)


def test_the_comparison_sees_the_annotations() -> None:
    """Unread extensions would compare as equal blanks."""
    card = next(m for m in OURS.message_type if m.name == "AgentCard")
    required = [f.name for f in card.field if f.options.Extensions[field_behavior_pb2.field_behavior]]
    assert len(required) == 8
    (service,) = OURS.service
    assert len(service.method) == 11
    for method in service.method:
        rule = method.options.Extensions[annotations_pb2.http]
        assert rule.additional_bindings[0].WhichOneof("pattern")
    assert ["id"] in [list(m.options.Extensions[client_pb2.method_signature]) for m in service.method]


def test_every_message_field_and_operation_has_a_comment_of_ours() -> None:
    lines = PROTO.read_text(encoding="utf-8").splitlines()
    for before, line in itertools.pairwise(lines):
        if re.match(r" *(message|enum|rpc|service) |.* = \d+( \[.*\])?;$", line) and "syntax" not in line:
            assert before.strip().startswith("//"), line
