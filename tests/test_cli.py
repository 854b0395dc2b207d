"""The command line as its user meets it: a process with arguments, streams and an exit status."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import inspect_card, parse_card, protojson
from tests.commands import COMMAND, UNSAFE, cli, process
from tests.servers import Exchange, Server

BENCH_CARD = Path(__file__).parent / "cases" / "bench_card.json"
CARD = BENCH_CARD.read_bytes()
JSON = "Content-Type: application/json"


def changed_card(**changes: Any) -> bytes:
    return json.dumps({k: v for k, v in {**json.loads(CARD), **changes}.items() if v is not None}).encode()


def answering(*args: Any) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(*args)


@pytest.fixture
def bad_card(tmp_path: Path) -> Path:
    path = tmp_path / "bad.json"
    path.write_bytes(changed_card(name=None, version=7, defaultInputModes=["text"]))
    return path


@pytest.fixture
def odd_card(tmp_path: Path) -> Path:
    """Valid, with one warning."""
    path = tmp_path / "odd.json"
    path.write_bytes(changed_card(defaultInputModes=["text"]))
    return path


def test_a_card_over_http_is_drawn_in_four_groups() -> None:
    with Server(answering(200, CARD, JSON)) as server:
        done = process("card", "get", server.url)
    assert (done.returncode, done.stderr) == (0, "")
    places = [
        done.stdout.index(title) for title in ("WHO IT IS", "WHERE TO REACH IT", "WHAT IT DEMANDS", "WHAT IT OFFERS")
    ]
    assert places == sorted(places)
    assert server.card_url in done.stdout


def test_the_option_is_the_same_as_the_argument() -> None:
    assert cli("card", "get", "-a", BENCH_CARD).stdout == cli("card", "get", BENCH_CARD).stdout != ""


def test_json_is_the_card_itself() -> None:
    done = cli("card", "get", BENCH_CARD, "-o", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == protojson.to_dict(parse_card(CARD))
    assert list(json.loads(done.stdout))[:3] == ["name", "description", "supportedInterfaces"]


def test_standard_input_is_read() -> None:
    with BENCH_CARD.open("rb") as file:
        done = process("card", "get", "-", "-o", "json", stdin=file)
    assert json.loads(done.stdout)["name"] == "Harbour Logistics Planner"


def test_a_valid_card_checks_clean() -> None:
    done = cli("card", "check", BENCH_CARD)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{BENCH_CARD}: valid, no problems\n", "")


def test_warnings_are_counted_by_get_and_do_not_fail_check(odd_card: Path) -> None:
    got, checked = cli("card", "get", odd_card, "-o", "json"), cli("card", "check", odd_card)
    assert (got.returncode, checked.returncode) == (0, 0)
    assert got.stderr == f"1 warning: `a2a-discovery card check {odd_card}` lists all that is to mend\n"
    assert json.loads(got.stdout)["defaultInputModes"] == ["text"]
    assert "defaultInputModes[0]" in checked.stdout
    assert "RFC 6838" in checked.stdout


def test_a_bad_card_fails_get_with_its_problems(bad_card: Path) -> None:
    done = process("card", "get", bad_card)
    assert (done.returncode, done.stdout) == (1, "")
    assert "not valid, 2 errors" in done.stderr
    assert "  name: this REQUIRED field is missing" in done.stderr
    assert "  version: found the number 7" in done.stderr


def test_check_names_path_rule_source_and_how_to_mend(bad_card: Path) -> None:
    done = cli("card", "check", bad_card)
    assert done.returncode == 1
    for problem in inspect_card(bad_card.read_bytes()).problems:
        block = f"{problem.severity:<7} {problem.path}\n        {problem.message}\n        rule {problem.rule}, source {problem.source}\n"
        assert block in done.stdout


def test_check_as_json_is_the_list_of_problems(bad_card: Path) -> None:
    done = cli("card", "check", bad_card, "--output", "json")
    problems = inspect_card(bad_card.read_bytes()).problems
    assert done.returncode == 1
    assert json.loads(done.stdout) == [
        {"path": p.path, "rule": p.rule, "severity": p.severity, "message": p.message, "source": p.source}
        for p in problems
    ]


def test_a_login_page_is_no_card() -> None:
    def login(exchange: Exchange) -> None:
        if exchange.target == "/login":
            exchange.answer(200, b"<!doctype html><title>Sign in</title>", "Content-Type: text/html")
        else:
            exchange.answer(302, b"", "Location: /login")

    with Server(login) as server:
        done = cli("card", "get", server.url)
    assert (done.returncode, done.stdout) == (3, "")
    assert "perhaps a login page" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["get", "check"])
@pytest.mark.parametrize(("status", "code"), [(401, 4), (403, 4), (404, 3), (500, 3)])
def test_a_status_decides_the_exit_status(command: str, status: int, code: int) -> None:
    with Server(answering(status, b"no", "Content-Type: text/plain")) as server:
        done = cli("card", command, server.url)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"a2a-discovery: {server.card_url}: ")


def test_a_missing_host_is_unreachable() -> None:
    done = process("card", "get", "no-such-host.invalid")
    assert done.returncode == 3
    assert "no-such-host.invalid" in done.stderr


def test_a_closed_port_is_unreachable() -> None:
    with Server(answering(200, CARD, JSON)) as server:
        url = server.url
    done = cli("card", "get", url)
    assert done.returncode == 3
    assert "nothing listens" in done.stderr


def test_a_server_that_never_answers_is_a_timeout() -> None:
    with Server(lambda exchange: exchange.stopped.wait(10) and None) as server:
        done = process("card", "get", server.url, "--timeout", "0.5")
    assert done.returncode == 5
    assert "0.5 s" in done.stderr


@pytest.mark.parametrize("name", ["no/such/card.json", "/no/such/card", "card.json"])
def test_a_file_that_does_not_exist_is_no_card(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("card", "get", name)
    assert (done.returncode, done.stderr) == (3, f"a2a-discovery: there is no file {name}\n")


def test_exit_status_of_a_process() -> None:
    assert process("card", "get").returncode == 2
    with Server(answering(401, b"", "WWW-Authenticate: Bearer")) as server:
        assert process("card", "get", server.url).returncode == 4


@pytest.mark.parametrize(
    "args",
    [
        ["card", "get"],
        ["card", "check", "a.example", "-a", "b.example"],
        ["card", "get", "ftp://agent.example"],
        ["card", "get", "a.example", "--timeout", "nan"],
        ["card", "get", "a.example", "-o", "yaml"],
        ["cards"],
        [],
    ],
)
def test_usage(args: list[str]) -> None:
    done = cli(*args)
    assert done.returncode == 2
    assert done.stderr or not args


def test_version_and_help() -> None:
    assert process("--version").stdout.startswith("a2a-discovery 0.")
    assert "\x1b" not in process("card", "get", "--help", env={**os.environ, "FORCE_COLOR": "1"}).stdout


def hostile_card(tmp_path: Path) -> Path:
    evil = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp.exe\u2066\u2028\x7f[bold red]\r\nallowed"
    skill = {"id": evil, "name": evil, "description": evil, "tags": [evil], "examples": [evil]}
    interface = {"url": "https://a.example/", "protocolBinding": evil, "protocolVersion": "1.0", "tenant": evil}
    extensions = [{"uri": evil, "required": True, "params": {evil: evil}}]
    card = changed_card(
        name=evil,
        description=evil,
        supportedInterfaces=[interface],
        skills=[skill],
        capabilities={"extensions": extensions},
        securitySchemes={evil: {"httpAuthSecurityScheme": {"scheme": evil}}},
        securityRequirements=[{"schemes": {evil: {"list": [evil]}}}],
    )
    path = tmp_path / "hostile.json"
    path.write_bytes(card)
    return path


@pytest.mark.parametrize("args", [["get"], ["check"], ["get", "-o", "json"], ["check", "-o", "json"]])
def test_a_card_cannot_steer_the_terminal(args: list[str], tmp_path: Path) -> None:
    done = cli("card", *args, hostile_card(tmp_path))
    assert done.returncode == 0
    assert [c for c in UNSAFE if c in done.stdout + done.stderr] == []
    if args == ["get"]:
        assert "\\x1b[2J" in done.stdout
        assert "[bold red]" in done.stdout, "card text is no markup"
    if args == ["get", "-o", "json"]:
        assert json.loads(done.stdout) == json.loads(protojson.dumps(parse_card(hostile_card(tmp_path).read_bytes())))


def test_a_bad_card_cannot_steer_the_terminal_either(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(changed_card(securitySchemes={"\x1b[2J\x9b": 5}))
    done = cli("card", "get", path)
    assert done.returncode == 1
    assert [c for c in UNSAFE if c in done.stderr] == []


def in_terminal(*args: str | Path, **environment: str) -> str:
    """What a terminal of 80 columns receives."""
    master, slave = pty.openpty()
    os.set_inheritable(slave, True)
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    env |= {"TERM": "xterm-256color", "COLUMNS": "80"} | environment
    with subprocess.Popen([*COMMAND, *map(str, args)], stdin=slave, stdout=slave, stderr=slave, env=env) as process:
        os.close(slave)
        received = b""
        try:
            while chunk := os.read(master, 65536):
                received += chunk
        except OSError:  # the other side is closed
            pass
        os.close(master)
    assert process.returncode == 0
    return received.decode()


def test_a_terminal_gets_colour_and_a_pipe_gets_none() -> None:
    assert "\x1b[1;36m" in in_terminal("card", "get", BENCH_CARD)
    assert (
        "\x1b" not in process("card", "get", BENCH_CARD, env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": "40"}).stdout
    )


def test_no_color_is_honoured() -> None:
    received = in_terminal("card", "get", BENCH_CARD, NO_COLOR="1")
    assert "\x1b[1;36m" not in received
    assert "\x1b[1m" in received, "bold is no colour"


def test_a_pipe_is_as_wide_whatever_the_terminal() -> None:
    narrow = process("card", "get", BENCH_CARD, env={**os.environ, "COLUMNS": "40"})
    wide = process("card", "get", BENCH_CARD, env={**os.environ, "COLUMNS": "300"})
    assert narrow.stdout == wide.stdout


def test_an_encoding_that_lacks_characters_is_served() -> None:
    text = process("card", "get", BENCH_CARD, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert text.returncode == 0
    assert text.stdout.isascii()
    assert "> supportedInterfaces[0]" in text.stdout


def test_json_in_another_encoding_is_still_json(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_bytes(changed_card(name="Škoda 🚗 – émile"))
    done = process("card", "get", "-o", "json", path, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert done.stdout.isascii()
    assert json.loads(done.stdout)["name"] == "Škoda 🚗 – émile"


def test_a_closed_pipe_ends_quietly() -> None:
    script = f"'{sys.executable}' -m a2a_discovery.cli card get '{BENCH_CARD}' | head -n 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == ("Harbour Logistics Planner 4.7.1\n", "")


def test_an_interrupt_ends_quietly() -> None:
    with Server(lambda exchange: exchange.stopped.wait(10) and None) as server:
        command = [*COMMAND, "card", "get", server.url]
        # Whoever runs the tests in the background has the signal ignored, and its children too.
        heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard
        ) as process:
            while not server.seen:
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (130, "", "")


@pytest.mark.parametrize(
    ("args", "status"),
    [
        ("get 127.0.0.1:9 2>/dev/full", 3),
        ("get 'x y' 2>/dev/full", 2),
        (f"get '{BENCH_CARD}' >/dev/null 2>/dev/full", 0),
        ("check - 0>/dev/null", 3),
    ],
)
def test_the_exit_status_counts_even_where_nothing_can_be_said(args: str, status: int) -> None:
    script = f"'{sys.executable}' -m a2a_discovery.cli card {args}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30)
    assert (done.returncode, "Traceback" in done.stderr) == (status, False)


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", ">/dev/full"])
def test_streams_that_are_closed_or_full(closed: str) -> None:
    reference = "-" if closed == "<&-" else f"'{BENCH_CARD}'"
    script = f"'{sys.executable}' -m a2a_discovery.cli card get {reference} {closed}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30)
    assert done.returncode == {"<&-": 3, ">/dev/full": 1}.get(closed, 0)
    assert len(done.stderr.splitlines()) == (closed in ("<&-", ">/dev/full"))
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("missing", "args", "extra"),
    [
        ("typer", ["card", "get", "x"], "cli"),
        ("rich", ["--version"], "cli"),
        ("uvicorn", ["demo-server"], "server"),
    ],
)
def test_a_missing_extra_is_named(missing: str, args: list[str], extra: str) -> None:
    script = f"""
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Block())
sys.argv = ["a2a-discovery", *{args!r}]
from a2a_discovery.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert f"pip install 'a2a-discovery[{extra}]'" in done.stderr
