"""``a2a-discovery catalog``: what it reads, finds, tells, and with which exit status."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import parse_card, protojson
from a2a_discovery.card import MAX_CARD_BYTES
from tests.commands import COMMAND, UNSAFE, cli, process
from tests.resolver.common import CARD, respond, site
from tests.servers import Server

pytestmark = pytest.mark.usefixtures("small_trust")

CARD_OBJECT = json.loads(CARD)
CATALOG_PATH = "/.well-known/ai-catalog.json"
CARD_TYPE = "application/a2a-agent-card+json"


def card(**changes: Any) -> dict[str, Any]:
    return {**CARD_OBJECT, **changes}


@pytest.fixture
def cards(tmp_path: Path) -> Path:
    """A directory of three cards, one of them bad."""
    directory = tmp_path / "cards"
    directory.mkdir()
    skill = {**CARD_OBJECT["skills"][0], "name": "Sweep", "tags": ["street"]}
    (directory / "a.json").write_text(json.dumps(card(name="Alpha")))
    (directory / "b.json").write_text(json.dumps(card(name="Beta", skills=[skill, *CARD_OBJECT["skills"]])))
    (directory / "c.json").write_text('{"name": 1}')
    return directory


def test_a_directory_is_listed(cards: Path) -> None:
    done = cli("catalog", "list", cards)
    assert done.returncode == 0
    places = [done.stdout.index(text) for text in ("Alpha 4.7.1", str(cards / "a.json"), "Beta", "Sweep  street")]
    assert places == sorted(places) and "Customs status" in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"a2a-discovery: {cards / 'c.json'}: AgentCard is not valid, ") and len(line) < 400


def test_json_holds_entries_and_failures(cards: Path) -> None:
    done = cli("catalog", "list", cards, "-o", "json")
    written = json.loads(done.stdout)
    assert list(written) == ["entries", "failures"]
    first = written["entries"][0]
    assert first["reference"] == str(cards / "a.json") and first["url"] is None and "verification" not in first
    assert first["card"] == protojson.to_dict(parse_card(json.dumps(card(name="Alpha"))))
    (failure,) = written["failures"]
    assert failure["reference"] == str(cards / "c.json") and "is not valid" in failure["error"]
    found = json.loads(cli("catalog", "find", cards, "-o", "json", "--tag", "street").stdout)
    (match,) = found["matches"]
    assert match["card"]["name"] == "Beta" and match["score"] == 1 and len(found["failures"]) == 1
    assert [skill["name"] for skill in match["skills"]] == ["Sweep"]


@pytest.mark.parametrize(
    ("criteria", "expected"),
    [
        (["--tag", "planning"], ["Alpha", "Beta"]),
        (["--tag", "planning", "--tag", "street"], []),
        (["--text", "sweep"], ["Beta"]),
        (["--text", "chain", "--text", "rail", "--tag", "street"], ["Beta"]),
        (["--accepts", "text/plain", "--produces", "application/pdf"], ["Beta", "Alpha"]),
        (["--produces", "image/png"], []),
        ([], ["Beta", "Alpha"]),
    ],
)
def test_find(cards: Path, criteria: list[str], expected: list[str]) -> None:
    done = cli("catalog", "find", cards, *criteria)
    assert [line.split()[0] for line in done.stdout.splitlines() if line and line[0] != " "] == expected
    assert done.returncode == (0 if expected else 1)
    assert ("none of the 2 agents has such a skill" in done.stderr) == (not expected)


def test_a_host_a_url_a_file_and_standard_input(tmp_path: Path) -> None:
    with Server(respond()) as server:
        document = {
            "specVersion": "1.0",
            "entries": [{"type": CARD_TYPE, "url": f"{server.url}/a", "displayName": "Shown"}],
        }
        listed = json.dumps(document).encode()
        server._handler = site({CATALOG_PATH: respond(200, listed), "/my.json": respond(200, listed), "/a": respond()})
        (tmp_path / "catalog.json").write_bytes(listed)
        (tmp_path / "list.json").write_text(json.dumps([f"{server.url}/a?.json", CARD_OBJECT]))
        for source in (f"127.0.0.1:{server.port}", f"{server.url}/my.json", tmp_path / "catalog.json"):
            done = cli("catalog", "list", source)
            assert done.returncode == 0 and done.stderr == ""
            assert done.stdout.startswith("Shown / Harbour Logistics Planner") and f"{server.url}/a\n" in done.stdout
        done = cli("catalog", "list", tmp_path / "list.json")
        assert done.returncode == 0 and "404" in done.stderr and "#/1" in done.stdout
        assert process("catalog", "list", "-", input=listed.decode()).returncode == 0


@pytest.mark.parametrize(
    ("source", "status", "reason"),
    [
        ("./none", 3, "there is no file ./none"),
        ("none.json", 3, "there is no file none.json"),
        ("no host", 2, "neither a host nor a URL"),
        ("127.0.0.1:1", 3, "nothing listens"),
        ("a\0b", 2, ""),
    ],
)
def test_nothing_there(source: str, status: int, reason: str) -> None:
    done = cli("catalog", "list", source)
    assert (done.returncode, done.stdout) == (status, "") and reason in done.stderr


def test_a_list_may_be_larger_than_a_card(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_bytes(b"[" + CARD + b" " * MAX_CARD_BYTES + b"]")
    assert cli("catalog", "list", tmp_path / "list.json").stdout.startswith("Harbour Logistics Planner")


def test_what_is_no_catalog(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_bytes(CARD)
    done = cli("catalog", "list", tmp_path / "card.json")
    assert done.returncode == 1 and "AI catalog is not valid" in done.stderr
    with Server(respond(401)) as server:
        assert cli("catalog", "list", server.url).returncode == 4
    with Server(lambda exchange: exchange.stopped.wait(5)) as server:
        assert cli("catalog", "find", server.url, "--timeout", "0.2").returncode == 5


def test_nothing_that_could_be_read_is_a_failure(tmp_path: Path) -> None:
    assert cli("catalog", "list", tmp_path).returncode == 0
    for number in range(30):
        (tmp_path / f"{number:02}.json").write_text("{")
    for command in ("list", "find"):
        done = cli("catalog", command, tmp_path)
        lines = done.stderr.splitlines()
        assert done.returncode == 3 and len(lines) == 22
        assert "00.json" in lines[0] and "and 10 more" in lines[-2] and "no card at all" in lines[-1]
    assert len(json.loads(cli("catalog", "list", tmp_path, "-o", "json").stdout)["failures"]) == 30


def test_policy(tmp_path: Path) -> None:
    with Server(respond()) as server:
        (tmp_path / "list.json").write_text(json.dumps([server.url]))
        for option in (["--deny-private"], ["--allow-host", "agent.test"]):
            done = cli("catalog", "list", tmp_path / "list.json", *option)
            assert done.returncode == 3 and "is not called" in done.stderr
        assert server.connections == []
        assert cli("catalog", "list", tmp_path / "list.json", "--allow-host", "127.0.0.1").returncode == 0
        assert cli("catalog", "list", tmp_path / "list.json", "--concurrency", "0").returncode == 2


def test_signatures(cards: Path, tmp_path: Path) -> None:
    jwk = pytest.importorskip("joserfc.jwk")
    from a2a_discovery import sign_card

    key = jwk.ECKey.generate_key("P-256")
    (cards / "b.json").write_bytes(protojson.dumps(sign_card(parse_card(CARD), key, kid="k")))
    keys = tmp_path / "keys.pem"
    keys.write_bytes(key.as_pem(private=False))
    done = cli("catalog", "list", cards, "--keys", keys, "-o", "json")
    written = json.loads(done.stdout)
    assert [entry["verification"]["outcome"] for entry in written["entries"]] == ["verified"]
    assert "is not signed" in written["failures"][0]["error"]
    assert cli("catalog", "list", cards, "--signatures", "require").returncode == 2
    keys.write_text("no keys")
    assert cli("catalog", "list", cards, "--keys", keys).returncode == 2


def test_nothing_steers_the_terminal(tmp_path: Path) -> None:
    unsafe = "".join(char for char in UNSAFE if char != "\udc80")
    skill = {**CARD_OBJECT["skills"][0], "name": f"s{unsafe}", "tags": [f"t{unsafe}"]}
    entries = [
        {"type": CARD_TYPE, "displayName": f"d{unsafe}", "data": card(name=f"n{unsafe}", skills=[skill])},
        {"type": CARD_TYPE, "identifier": f"i{unsafe}", "url": f"x{unsafe}"},
    ]
    (tmp_path / "list.json").write_text(json.dumps({"entries": entries}))
    (tmp_path / "other.json").write_text(json.dumps([f"x{unsafe}\nsecond line"]))
    for source in ("list.json", "other.json"):
        for arguments in (["list"], ["find", "--text", "chain"], ["list", "-o", "json"]):
            done = cli("catalog", arguments[0], tmp_path / source, *arguments[1:])
            assert not any(char in done.stdout + done.stderr for char in UNSAFE)
            assert len(done.stderr.splitlines()) <= 2


def test_a_bar_on_a_terminal_and_nowhere_else(cards: Path) -> None:
    assert "\x1b" not in process("catalog", "list", cards).stderr
    ours, theirs = pty.openpty()
    command = [*COMMAND, "catalog", "list", str(cards)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"}) as done:
        os.close(theirs)
        written = b""
        try:
            while data := os.read(ours, 65536):
                written += data
        except OSError:  # the other side is closed
            pass
        out = done.stdout.read() if done.stdout else b""
    os.close(ours)
    assert done.returncode == 0 and b"3/3" in written and b"\x1b" not in out
