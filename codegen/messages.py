"""``proto/a2a.proto`` -> message classes and their stubs, and the descriptor that the other steps read."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

# The SDK of the protocol's authors registers file "a2a.proto" and package "lf.a2a.v1" in protobuf's default pool. Under
# names of our own, both can live in one process; the file's place also makes protoc's imports right.
PACKAGE = "lf.a2a.v1"
OWN_PACKAGE = f"a2a_discovery.{PACKAGE}"
STAGED = "a2a_discovery/_gen/a2a.proto"


def descriptor_set(proto: Path) -> bytes:
    """Compile a schema, renamed to our package, to a FileDescriptorSet that ends in it; comments are included."""
    with tempfile.TemporaryDirectory() as directory:
        staged = _stage(proto, Path(directory))
        out = Path(directory) / "schema.pb"
        _protoc(staged, "--include_imports", "--include_source_info", f"--descriptor_set_out={out}")
        return out.read_bytes()


def generate(proto: Path) -> dict[str, str]:
    """The message classes and their stubs: path below ``_gen`` -> text."""
    with tempfile.TemporaryDirectory() as directory:
        staged = _stage(proto, Path(directory))
        out = Path(directory) / "out"
        out.mkdir()
        _protoc(staged, f"--python_out={out}", f"--pyi_out={out}")
        package = (out / STAGED).parent
        return {name: (package / name).read_text(encoding="utf-8") for name in ("a2a_pb2.py", "a2a_pb2.pyi")}


def _stage(proto: Path, directory: Path) -> Path:
    text, count = re.subn(
        rf"^package {re.escape(PACKAGE)};", f"package {OWN_PACKAGE};", proto.read_text(encoding="utf-8"), flags=re.M
    )
    if count != 1:
        raise SystemExit(f"{proto}: expected one line 'package {PACKAGE};'")
    staged = directory / STAGED
    staged.parent.mkdir(parents=True)
    staged.write_text(text, encoding="utf-8")
    return directory


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{package} is not installed (codegen/requirements.txt)")
    return Path(spec.submodule_search_locations[0])


def _protoc(root: Path, *options: str) -> None:
    includes = (root, _folder("google.api").parents[1], _folder("grpc_tools") / "_proto")
    command = [sys.executable, "-m", "grpc_tools.protoc", *(f"-I{path}" for path in includes), *options, STAGED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.replace(f"{root}/", ""))
