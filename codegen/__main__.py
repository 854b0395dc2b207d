"""``python -m codegen``: write everything that is generated; ``--check`` fails when that changes anything."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from codegen import dataclasses, messages, operations, readers, required, schema, sync, writers

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "a2a_discovery"
GENERATED = (PACKAGE / "_gen", PACKAGE / "_sync")


def generate() -> None:
    """Write ``_gen`` and ``_sync`` anew, nothing older left in them."""
    proto = ROOT / "proto" / "a2a.proto"
    descriptors = messages.descriptor_set(proto)
    model = schema.load(descriptors)
    files = {
        "__init__.py": '"""All that `make gen` writes; nobody edits it."""\n',
        **messages.generate(proto),
        **dataclasses.generate(descriptors),
        "readers.py": readers.generate(model),
        "writers.py": writers.generate(model),
        "required.py": required.generate(model),
        "operations.py": operations.generate(model),
    }
    for directory in GENERATED:
        shutil.rmtree(directory, ignore_errors=True)
    generated = {PACKAGE / "_gen" / name: text for name, text in files.items()} | sync.generate(ROOT)
    for target, text in generated.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    ruff = Path(sys.executable).with_name("ruff")
    subprocess.run([ruff, "format", "--quiet", *GENERATED], cwd=ROOT, check=True)
    print(f"wrote {len(generated)} files from {proto.relative_to(ROOT)} and a2a_discovery/_async")


def drift() -> str:
    """What git sees changed or untracked in the generated folders."""
    command = ["git", "status", "--porcelain", "--untracked-files=all", "--", *map(str, GENERATED)]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Generate; with ``--check``, demand that nothing changed."""
    parser = argparse.ArgumentParser(prog="codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when the committed files are not what is generated")
    checking = parser.parse_args().check
    generate()
    if checking and (changed := drift()):
        raise SystemExit(f"the generated files have drifted; run `make gen` and commit:\n{changed}")


if __name__ == "__main__":
    main()
