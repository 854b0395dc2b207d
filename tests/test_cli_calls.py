"""The commands that call an agent, against a2a-sdk's server over the three bindings."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from a2a_discovery import protojson
from a2a_discovery.types import ListTasksResponse, SendMessageResponse, StreamResponse, Task, TaskState
from tests.commands import COMMAND, cli
from tests.interop.peer import EXTENSION, Peer, environment
from tests.interop.sdk_server import sdk_server

pytestmark = pytest.mark.usefixtures("small_trust")

BINDINGS = ["jsonrpc", "http+json", "grpc"]
bindings = pytest.mark.parametrize("binding", BINDINGS)


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    with sdk_server(tenant="acme", slow=20.0) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "grpc_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def sent(peer: Peer, text: str, *args: str | Path) -> Task:
    done = cli("send", peer.url, text, "-o", "json", *args)
    assert (done.returncode, done.stderr) == (0, "")
    return protojson.loads(SendMessageResponse, done.stdout).task


def working(peer: Peer, binding: str = "jsonrpc") -> str:
    """The id of a task that stays at work."""
    done = cli("send", peer.url, "slow", "--stream", "--timeout", "0.3", "-o", "json", "--transport", binding)
    return protojson.loads(StreamResponse, done.stdout.splitlines()[0]).task.id


@bindings
def test_a_message_is_answered_with_a_message(peer: Peer, binding: str) -> None:
    done = cli("send", peer.url, "message: Grüße", "--transport", binding, "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    reply = protojson.loads(SendMessageResponse, done.stdout)
    assert reply.message.parts[0].text == "Grüße"
    assert reply.message.message_id


def test_people_see_ids_state_and_texts(peer: Peer) -> None:
    done = cli("send", peer.url, "task: forty-two")
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[0] for row in rows[:3]] == ["task", "context", "state"]
    assert rows[2][1] == "TASK_STATE_COMPLETED"
    assert "forty-two" in done.stdout
    shown = cli("task", "get", peer.url, rows[0][1], "-o", "json")
    assert protojson.loads(Task, shown.stdout).context_id == rows[1][1]


def test_people_see_the_id_of_a_message(peer: Peer) -> None:
    done = cli("send", peer.url, "message: hello")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ["message", "context", "agent"]
    assert rows[2][1] == "hello"


@bindings
def test_a_stream_is_json_lines(peer: Peer, binding: str) -> None:
    done = cli("send", peer.url, "task: x", "--stream", "--transport", binding, "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    events = [protojson.loads(StreamResponse, line) for line in done.stdout.splitlines()]
    assert [event.WhichOneof("payload") for event in events] == [
        "task",
        "status_update",
        "artifact_update",
        "artifact_update",
        "status_update",
    ]
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED


def test_a_stream_for_people_names_ids_once_and_each_state(peer: Peer) -> None:
    done = cli("send", peer.url, "task: the rest", "--stream")
    assert done.returncode == 0
    labels = [line.split()[0] for line in done.stdout.splitlines()]
    assert (labels.count("task"), labels.count("context"), labels.count("state")) == (1, 1, 3)
    assert "continued" in done.stdout
    assert done.stdout.index("part one") < done.stdout.index("the rest", done.stdout.index("part one"))


def test_standard_input_files_and_data_are_parts(peer: Peer, tmp_path: Path) -> None:
    note = tmp_path / "note.json"
    note.write_bytes(b"\x00\xff")
    with subprocess.Popen(
        [*COMMAND, "send", peer.url, "-", "--file", note, "--data", '{"a": [1, null]}', "-o", "json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        out, _ = process.communicate("task: from a pipe\n", timeout=20)
    parts = protojson.loads(SendMessageResponse, out).task.history[0].parts
    assert parts[0].text == "task: from a pipe"
    assert (parts[1].raw, parts[1].filename, parts[1].media_type) == (b"\x00\xff", "note.json", "application/json")
    assert protojson.to_dict(parts[2])["data"] == {"a": [1, None]}


def test_a_task_is_continued(peer: Peer) -> None:
    asked = sent(peer, "ask")
    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    ended = sent(peer, "task: done", "--task", asked.id, "--context", asked.context_id)
    assert (ended.id, ended.status.state) == (asked.id, TaskState.TASK_STATE_COMPLETED)


def test_tenant_service_parameters_and_extensions_go_along(peer: Peer) -> None:
    done = cli("send", peer.url, "headers", "--extension", EXTENSION, "--extension", "urn:other", "-o", "json")
    seen = json.loads(protojson.loads(SendMessageResponse, done.stdout).message.parts[0].text)
    assert seen["tenant"] == "acme"
    assert seen["extensions"] == [EXTENSION]
    assert done.stderr.count("\n") == 1
    assert "the card does not list the extension 'urn:other'" in done.stderr


@pytest.mark.parametrize("binding", ["http+json", "grpc"])
def test_tasks_are_listed_in_pages(peer: Peer, binding: str) -> None:
    context = sent(peer, "task: one").context_id
    sent(peer, "ask", "--context", context)
    sent(peer, "ask", "--context", context)
    args = ["task", "list", peer.url, "--transport", binding, "--context", context, "--state", "input-required"]
    done = cli(*args, "--limit", "1", "--history", "0", "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    first = protojson.loads(ListTasksResponse, done.stdout)
    assert [(t.status.state, len(t.history)) for t in first.tasks] == [(TaskState.TASK_STATE_INPUT_REQUIRED, 0)]
    assert first.total_size == 2
    done = cli(*args, "--page-token", first.next_page_token)
    assert done.returncode == 0
    assert first.tasks[0].id not in done.stdout
    assert "1 of 2 tasks" in done.stdout


def test_artifacts_are_listed_when_asked_for(peer: Peer) -> None:
    context = sent(peer, "task: artful").context_id
    listed = [cli("task", "list", peer.url, "--context", context, *more).stdout for more in ([], ["--artifacts"])]
    assert ["part one" in text for text in listed] == [False, True]


@bindings
def test_a_task_is_watched_and_canceled(peer: Peer, binding: str) -> None:
    task_id = working(peer, binding)
    with subprocess.Popen(
        [*COMMAND, "task", "subscribe", peer.url, task_id, "-o", "json", "--transport", binding],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stdout
        first = protojson.loads(StreamResponse, process.stdout.readline())
        canceled = cli("task", "cancel", peer.url, task_id, "-o", "json", "--transport", binding)
        rest, _ = process.communicate(timeout=20)
    assert first.task.id == task_id
    assert protojson.loads(Task, canceled.stdout).status.state == TaskState.TASK_STATE_CANCELED
    last = protojson.loads(StreamResponse, rest.splitlines()[-1])
    assert last.status_update.status.state == TaskState.TASK_STATE_CANCELED
    assert (process.returncode, canceled.returncode) == (0, 0)


@pytest.mark.parametrize(("command", "binding"), [*zip(["get", "cancel", "subscribe"], BINDINGS, strict=True)])
def test_an_unknown_task(peer: Peer, command: str, binding: str) -> None:
    done = cli("task", command, peer.url, "nope", "--transport", binding)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("a2a-discovery: TaskNotFoundError (-32001): ")


@bindings
def test_an_error_inside_a_stream_comes_after_its_events(peer: Peer, binding: str) -> None:
    done = cli("send", peer.url, "break", "--stream", "-o", "json", "--transport", binding)
    assert done.returncode == 1
    assert protojson.loads(StreamResponse, done.stdout.splitlines()[0]).task.id
    assert done.stderr == "a2a-discovery: UnsupportedOperationError (-32004): broken on request\n"


@pytest.mark.parametrize("binding", ["jsonrpc", "grpc"])
def test_an_interrupt_ends_a_stream_quietly(peer: Peer, binding: str) -> None:
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        [*COMMAND, "send", peer.url, "slow", "--stream", "--transport", binding],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heard,
        env=environment(),
    ) as process:
        assert process.stdout
        assert process.stdout.readline().split()[0] == "task"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (130, "")


def test_a_reader_that_has_gone_ends_a_stream_quietly(peer: Peer) -> None:
    script = f"'{sys.executable}' -m a2a_discovery.cli send '{peer.url}' 'task: x' --stream | head -n 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30, env=environment())
    assert (done.stdout.split()[0], done.stderr) == ("task", "")


def test_the_time_for_an_answer_is_limited(peer: Peer) -> None:
    done = cli("send", peer.url, "slow", "--timeout", "0.6")
    assert (done.returncode, done.stdout) == (5, "")
    assert "0.6 s" in done.stderr


@bindings
def test_the_silence_of_a_stream_is_limited(peer: Peer, binding: str) -> None:
    done = cli("send", peer.url, "slow", "--stream", "--timeout", "0.6", "--transport", binding)
    assert done.returncode == 5
    assert "TASK_STATE_WORKING" in done.stdout
    assert "silent for 0.6 s" in done.stderr
