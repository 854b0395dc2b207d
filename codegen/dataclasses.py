"""Descriptor -> ``_gen/betterproto``: the same messages as betterproto classes, for those who prefer dataclasses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from google.protobuf import descriptor_pb2
from google.protobuf.compiler import plugin_pb2

_SCHEMA = "schema.proto"
_KEPT = ("google/protobuf/struct.proto", "google/protobuf/timestamp.proto")


def generate(descriptor_set: bytes) -> dict[str, str]:
    """The betterproto package: path below ``_gen`` -> text."""
    files = descriptor_pb2.FileDescriptorSet.FromString(descriptor_set)
    request = plugin_pb2.CodeGeneratorRequest(parameter="client_generation=none", file_to_generate=[*_KEPT, _SCHEMA])
    for file in files.file[:-1]:
        if file.name in _KEPT:
            # Only the comments of the schema are ours; the plugin wants the field to be there all the same.
            file.source_code_info.CopyFrom(descriptor_pb2.SourceCodeInfo())
            request.proto_file.append(file)
    request.proto_file.append(_without_service(files.file[-1]))
    response = plugin_pb2.CodeGeneratorResponse.FromString(_run(request.SerializeToString()))
    if response.error:
        raise SystemExit(response.error)
    texts = {f"betterproto/{file.name}": _lossless(file.content) for file in response.file}
    return {name: text for name, text in texts.items() if name.endswith(".py")}


def _without_service(schema: descriptor_pb2.FileDescriptorProto) -> descriptor_pb2.FileDescriptorProto:
    """The messages alone: neither the service nor its annotations, which would bring in protobuf's own descriptors."""
    package = schema.package
    messages = descriptor_pb2.FileDescriptorProto()
    messages.CopyFrom(schema)
    messages.ClearField("service")
    del messages.dependency[:]
    messages.dependency.extend(_KEPT)
    messages.name, messages.package = _SCHEMA, "a2a"
    for message in messages.message_type:
        for holder in (message, *message.nested_type):
            for field in holder.field:
                field.type_name = field.type_name.replace(f".{package}.", ".a2a.")
                field.ClearField("options")
    return messages


def _run(request: bytes) -> bytes:
    # The plugin, and the ruff that it calls, stand beside this interpreter.
    tools = Path(sys.executable).parent
    path = os.pathsep.join([str(tools), os.environ.get("PATH", "")])
    plugin = tools / "protoc-gen-python_betterproto2"
    done = subprocess.run([plugin], input=request, env={**os.environ, "PATH": path}, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    return done.stdout


def _lossless(text: str) -> str:
    """Keep Timestamp as the message that is on the wire: the datetime that the compiler offers drops nanoseconds."""
    unwrap = re.compile(
        r'"datetime\.datetime \| None" = (betterproto2\.field\(\s*[0-9]+,\s*betterproto2\.TYPE_MESSAGE,\s*)'
        r"unwrap=lambda: (\w+)\.Timestamp,\s*"
    )
    return unwrap.sub(r'"\2.Timestamp | None" = \1', text)
