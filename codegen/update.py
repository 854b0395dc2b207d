"""``python -m codegen.update SRC``: take in a newer schema, and say what changed in meaning.

Facts come from ``SRC``, comments stay ours: what is new in the schema has none yet, and is listed to be described.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from google.protobuf import descriptor_pb2

from codegen import messages, render, schema
from codegen.changes import changes

ROOT = Path(__file__).resolve().parent.parent


def take_in(source: Path, target: Path) -> list[str]:
    """Rewrite ``target`` with the facts of ``source``; the result is what to tell."""
    old, new = messages.descriptor_set(target), messages.descriptor_set(source)
    old_file, new_file = (descriptor_pb2.FileDescriptorSet.FromString(s).file[-1] for s in (old, new))
    notes = render.comments(old_file)
    opening = render.head(target.read_text(encoding="utf-8"))
    told = changes(schema.read(old), schema.read(new)) or ["nothing changed in meaning"]
    target.write_text(render.render(new_file, notes, opening), encoding="utf-8")
    if missing := render.undescribed(new_file, notes):
        told.append(f"to be described in {target.name}, in our own words: {', '.join(missing)}")
    return told


def main() -> None:
    """Take ``SRC`` in and print what changed."""
    parser = argparse.ArgumentParser(prog="codegen.update", description=__doc__)
    parser.add_argument("source", type=Path, metavar="SRC", help="the newer a2a.proto")
    source = parser.parse_args().source
    if not source.is_file():
        raise SystemExit(f"there is no file {source}; say SRC=path/to/a2a.proto")
    print("\n".join(take_in(source, ROOT / "proto" / "a2a.proto")))
    print("next: proto/UPSTREAM (the version), codegen/policy.toml (flags, idempotency), CHANGELOG.md")


if __name__ == "__main__":
    main()
