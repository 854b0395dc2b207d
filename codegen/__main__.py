"""``python -m codegen``: write everything that is generated; ``--check`` writes nothing and fails on any difference."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from codegen import dataclasses, messages, methods, operations, readers, required, schema, sync, writers

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto" / "a2a.proto"
PACKAGE = Path("a2a_discovery")
GENERATED = (PACKAGE / "_gen", PACKAGE / "_sync")


def generate() -> dict[Path, str]:
    """All that is generated: path below the root -> text, formatted."""
    descriptors = messages.descriptor_set(PROTO)
    model = schema.load(descriptors)
    texts = {
        "__init__.py": '"""All that `make gen` writes; nobody edits it."""\n',
        **messages.generate(PROTO),
        **dataclasses.generate(descriptors),
        "readers.py": readers.generate(model),
        "writers.py": writers.generate(model),
        "required.py": required.generate(model),
        "operations.py": operations.generate(model),
        "async_methods.py": methods.agent(model, blocking=False),
        "sync_methods.py": methods.agent(model, blocking=True),
        "handler.py": methods.handler(model),
    }
    files = {PACKAGE / "_gen" / name: text for name, text in texts.items()}
    files |= {path.relative_to(ROOT): text for path, text in sync.generate(ROOT).items()}
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        write(files, place)
        ruff = Path(sys.executable).with_name("ruff")
        subprocess.run([ruff, "format", "--quiet", "--config", ROOT / "pyproject.toml", place], check=True)
        return {path: (place / path).read_text(encoding="utf-8") for path in files}


def write(files: dict[Path, str], place: Path) -> None:
    """Write the files below ``place``."""
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text, encoding="utf-8")


def differences(files: dict[Path, str]) -> list[str]:
    """What stands in the tree otherwise than it is generated, or is not committed."""
    found = {p.relative_to(ROOT) for d in GENERATED for p in (ROOT / d).rglob("*") if p.is_file()}
    found = {path for path in found if "__pycache__" not in path.parts}
    lines = [f"not generated: {path}" for path in sorted(found - files.keys())]
    lines += [f"missing: {path}" for path in sorted(files.keys() - found)]
    shared = sorted(found & files.keys())
    lines += [f"differs: {path}" for path in shared if (ROOT / path).read_text(encoding="utf-8") != files[path]]
    command = ["git", "status", "--porcelain", "--untracked-files=all", "--", *map(str, GENERATED)]
    status = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return lines + [f"not committed: {line}" for line in status.splitlines()]


def main() -> None:
    """Generate; with ``--check``, only compare."""
    parser = argparse.ArgumentParser(prog="codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when the committed files are not what is generated")
    checking = parser.parse_args().check
    files = generate()
    if not checking:
        for directory in GENERATED:
            shutil.rmtree(ROOT / directory, ignore_errors=True)
        write(files, ROOT)
        print(f"wrote {len(files)} files from {PROTO.relative_to(ROOT)} and {PACKAGE / '_async'}")
    elif lines := differences(files):
        lines.insert(0, "the generated files are not what is committed; run `make gen` and commit:")
        raise SystemExit("\n".join(lines))


if __name__ == "__main__":
    main()
