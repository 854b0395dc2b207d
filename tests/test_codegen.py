"""The build step: taking in a newer schema, and the check for drift. Runs in the environment of the tools."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROTO = (ROOT / "proto" / "a2a.proto").read_text(encoding="utf-8")
TOOLS = os.environ.get("CODEGEN_PYTHON")

pytestmark = pytest.mark.skipif(TOOLS is None, reason="`make test` names the interpreter that has the tools")


def run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    assert TOOLS is not None
    return subprocess.run([ROOT / TOOLS, *command], capture_output=True, text=True, check=False, cwd=cwd)


def take_in(tmp_path: Path, newer: str) -> tuple[list[str], str]:
    source, target = tmp_path / "newer.proto", tmp_path / "a2a.proto"
    source.write_text(newer, encoding="utf-8")
    target.write_text(PROTO, encoding="utf-8")
    script = "import sys; from pathlib import Path; from codegen.update import take_in; print(*take_in(*map(Path, sys.argv[1:])), sep='\\n')"
    done = run("-c", script, str(source), str(target))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), target.read_text(encoding="utf-8")


def without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.strip().startswith("//"))


def test_the_same_schema_changes_nothing(tmp_path: Path) -> None:
    assert take_in(tmp_path, without_comments(PROTO)) == (["nothing changed in meaning"], PROTO)


def test_what_changed_in_meaning_is_told(tmp_path: Path) -> None:
    newer = without_comments(PROTO)
    for old, new in (
        ("  optional string icon_url = 14;", "  optional string icon_url = 14;\n  int64 age = 15;"),
        ("  string tenant = 3;", "  string tenant = 3 [(google.api.field_behavior) = REQUIRED];"),
        ("  repeated string examples = 5;\n", ""),
        ("  ROLE_AGENT = 2;", "  ROLE_AGENT = 2;\n  ROLE_SYSTEM = 3;"),
        ("message StringList {", "message Extra {\n  string a = 1;\n}\n\nmessage StringList {"),
        ("rpc CancelTask(", "rpc PauseTask("),
        ("  bool append = 4;", "  string append = 4;"),
        ("returns (stream StreamResponse)", "returns (StreamResponse)"),
    ):
        assert old in newer
        newer = newer.replace(old, new)
    told, text = take_in(tmp_path, newer)
    assert told == [
        "field of AgentCard new: age",
        "field of AgentInterface changed: tenant: is REQUIRED now",
        "field of AgentSkill gone: examples",
        "field of TaskArtifactUpdateEvent changed: append: type bool -> string",
        "message new: Extra",
        "operation changed: SendStreamingMessage: streaming True -> none",
        "operation changed: SubscribeToTask: streaming True -> none",
        "operation gone: CancelTask",
        "operation new: PauseTask",
        "value of Role new: ROLE_SYSTEM",
        "to be described in a2a.proto, in our own words: "
        "A2AService.PauseTask, AgentCard.age, Extra, Extra.a, Role.ROLE_SYSTEM",
    ]
    assert without_comments(text).split() == newer.split()
    assert "// What a client reads before its first message (§4.4.1)." in text


def test_what_the_generators_cannot_do_yet_stops_them(tmp_path: Path) -> None:
    newer = tmp_path / "newer.proto"
    newer.write_text(PROTO.replace("  bool append = 4;", "  int64 append = 4;"), encoding="utf-8")
    script = "import sys; from pathlib import Path; from codegen import messages, schema; schema.load(messages.descriptor_set(Path(sys.argv[1])))"
    done = run("-c", script, str(newer))
    assert done.returncode == 1
    assert "TaskArtifactUpdateEvent.append" in done.stderr


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of its own that holds what the generators need, all of it committed."""
    root = tmp_path_factory.mktemp("clone")
    tracked = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in tracked.stdout.decode().splitlines():
        if name.split("/")[0] in ("a2a_discovery", "codegen", "proto", "pyproject.toml", ".gitignore"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes((ROOT / name).read_bytes())
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@t.test", "commit", "-qm", "t"],
    ):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root


def test_a_clean_tree_has_no_drift(clone: Path) -> None:
    done = run("-m", "codegen", "--check", cwd=clone)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name", ["a2a_discovery/_gen/readers.py", "a2a_discovery/_gen/stray.py", "a2a_discovery/_sync/resolver.py"]
)
def test_drift_is_seen(clone: Path, name: str) -> None:
    with (clone / name).open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    for _ in range(2):  # looking changes nothing
        done = run("-m", "codegen", "--check", cwd=clone)
        assert done.returncode == 1
        assert name in done.stderr
    assert run("-m", "codegen", cwd=clone).returncode == 0
    assert run("-m", "codegen", "--check", cwd=clone).returncode == 0


def test_a_schema_that_was_not_generated_is_drift(clone: Path) -> None:
    proto = clone / "proto" / "a2a.proto"
    before = proto.read_text(encoding="utf-8")
    proto.write_text(
        before.replace("  string filename = 6;", "  string filename = 6;\n  string mood = 8;"), encoding="utf-8"
    )
    done = run("-m", "codegen", "--check", cwd=clone)
    proto.write_text(before, encoding="utf-8")
    run("-m", "codegen", cwd=clone)
    assert done.returncode == 1
    assert "a2a_discovery/_gen/a2a_pb2.py" in done.stderr
