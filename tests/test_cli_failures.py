"""What the calling commands say, and how they exit, when an agent is not well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from a2a_discovery import protojson
from a2a_discovery.types import SendMessageResponse, StreamResponse
from tests.commands import UNSAFE, cli, process
from tests.fake_agent import JSON, agent, answering, card, message, response, status, streaming, task
from tests.servers import Exchange, Server

pytestmark = pytest.mark.usefixtures("small_trust")

EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp.exe\u2066\u2028\x7f[bold red]\r\na2a-discovery: spoofed"


def test_an_error_of_the_protocol_has_name_code_and_fields() -> None:
    violations = [{"field": "message.parts", "description": "there are none"}, {"description": "no"}]
    data = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]
    with agent(answering(error={"code": -32602, "message": "wrong", "data": data})) as server:
        done = cli("send", server.url, "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "a2a-discovery: INVALID_PARAMS (-32602): wrong",
        "  message.parts: there are none",
        "  the request: no",
    ]


def test_what_the_message_says_already_is_not_told_again() -> None:
    violations = [{"field": "pageToken", "description": "not one"}, {"field": "pageSize", "description": "too large"}]
    data = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]
    with agent(answering(error={"code": -32602, "message": "pageToken: not one", "data": data})) as server:
        done = cli("task", "list", server.url)
    assert done.stderr.splitlines() == [
        "a2a-discovery: INVALID_PARAMS (-32602): pageToken: not one",
        "  pageSize: too large",
    ]


@pytest.mark.parametrize("command", ["get", "cancel", "subscribe"])
def test_a_task_without_an_id_is_a_usage_error(command: str) -> None:
    done = cli("task", command, "a.invalid", "")
    assert (done.returncode, done.stdout) == (2, "")
    assert "empty" in done.stderr


def test_a_refusal_by_the_card_sends_nothing() -> None:
    with agent(answering(), lambda url: card(("JSONRPC", url), streaming=False)) as server:
        done = cli("send", server.url, "x", "--stream")
    assert done.returncode == 1
    assert "UnsupportedOperationError (-32004)" in done.stderr
    assert "nothing was sent" in done.stderr
    assert len(server.seen) == 1, "the card alone"


@pytest.mark.parametrize("state", ["FAILED", "REJECTED"])
@pytest.mark.parametrize("args", [[], ["--stream"]])
def test_a_task_that_failed_is_shown_and_exits_with_1(state: str, args: list[str]) -> None:
    answers = streaming(task("WORKING"), status(state)) if args else answering(result=task(state))
    with agent(answers) as server:
        done = cli("send", server.url, "x", *args)
    assert done.returncode == 1
    assert f"TASK_STATE_{state}" in done.stdout
    assert done.stderr == f"a2a-discovery: task t-1 ended in TASK_STATE_{state}\n"


@pytest.mark.parametrize("state", ["COMPLETED", "CANCELED", "INPUT_REQUIRED"])
def test_other_ends_of_a_task_are_no_failure(state: str) -> None:
    with agent(answering(result={**task(state)["task"]})) as server:
        assert cli("task", "get", server.url, "t-1").returncode == 0


def test_an_invalid_card_is_told_of_like_by_card_get() -> None:
    with Server(lambda exchange: exchange.answer(200, b'{"name": "x"}', JSON)) as server:
        called, got = cli("send", server.url, "x"), cli("card", "get", server.url)
    assert (called.returncode, called.stderr) == (1, got.stderr)


def test_a_closed_port_and_a_broken_answer_are_unreachable() -> None:
    with agent(answering()) as closed:
        pass
    with agent(lambda exchange: exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")) as server:
        broken = cli("send", server.url, "x")
        with agent(answering(), lambda _: card(("JSONRPC", f"{closed.url}/rpc"))) as other:
            unreachable = cli("send", other.url, "x")
    assert (broken.returncode, unreachable.returncode) == (3, 3)
    assert broken.stderr.startswith(f"a2a-discovery: {server.url}/rpc: ")
    assert "nothing listens" in unreachable.stderr
    assert cli("send", closed.url, "x").returncode == 3


def test_no_interface_that_is_spoken_is_no_card() -> None:
    with agent(answering()) as server:
        done = cli("send", server.url, "x", "--transport", "grpc", "--transport", "http+json")
    assert done.returncode == 3
    assert "[0] its binding is 'JSONRPC', and this client speaks GRPC, HTTP+JSON" in done.stderr


@pytest.mark.parametrize("code", [401, 403, 407])
def test_a_status_that_asks_for_credentials(code: int) -> None:
    def refuse(exchange: Exchange) -> None:
        exchange.answer(code, b"", "WWW-Authenticate: Bearer realm=tests")

    with agent(refuse) as server:
        called, streamed = cli("send", server.url, "x"), cli("send", server.url, "x", "--stream")
    with Server(refuse) as server:
        fetched = cli("task", "get", server.url, "t-1")
    assert (called.returncode, streamed.returncode, fetched.returncode) == (4, 4, 4)
    assert "it asks for: Bearer realm=tests" in called.stderr


@contextmanager
def grpc_agent(answer: Callable[[Any], None]) -> Iterator[Server]:
    """A card over HTTP whose one interface is a gRPC server; ``answer`` gets the context of each call."""

    class Calls(grpc.GenericRpcHandler):
        def service(self, details: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(lambda _, context: answer(context))

    with ThreadPoolExecutor(1) as pool:
        rpc = grpc.server(pool, handlers=[Calls()])
        port = rpc.add_insecure_port("127.0.0.1:0")
        rpc.start()
        with agent(answering(), lambda _: card(("GRPC", f"127.0.0.1:{port}"))) as server:
            yield server
        rpc.stop(0).wait()


@pytest.mark.parametrize("name", ["UNAUTHENTICATED", "PERMISSION_DENIED"])
def test_a_grpc_status_that_asks_for_credentials(name: str) -> None:
    with grpc_agent(lambda context: context.abort(grpc.StatusCode[name], "who are you?")) as server:
        done = cli("send", server.url, "x")
    assert done.returncode == 4
    assert f"{name} (" in done.stderr
    assert "who are you?" in done.stderr


def test_a_card_that_never_comes_is_a_timeout() -> None:
    with Server(lambda exchange: exchange.stopped.wait(10) and None) as server:
        done = cli("send", server.url, "x", "--timeout", "0.4")
    assert (done.returncode, done.stdout) == (5, "")


@pytest.mark.parametrize("output", ["json", "text"])
def test_a_stream_that_breaks_shows_its_events_and_then_the_error(output: str) -> None:
    with agent(streaming(task("WORKING"), status("WORKING"))) as server:
        done = cli("send", server.url, "x", "--stream", "-o", output)
    assert done.returncode == 3
    assert done.stdout.count("TASK_STATE_WORKING") == 2
    if output == "json":
        assert [protojson.loads(StreamResponse, line).WhichOneof("payload") for line in done.stdout.splitlines()] == [
            "task",
            "status_update",
        ]
    assert "of task t-1 in TASK_STATE_WORKING ended too early" in done.stderr
    assert done.stderr.count("\n") == 1


def evil_task() -> dict[str, Any]:
    parts = [
        {"text": EVIL, "filename": EVIL, "mediaType": EVIL},
        {"data": {EVIL: EVIL}},
        {"raw": "AAA=", "filename": EVIL},
        {"url": EVIL},
    ]
    said = {"messageId": EVIL, "contextId": EVIL, "taskId": EVIL, "role": "ROLE_AGENT", "parts": parts}
    artifact = {"artifactId": EVIL, "name": EVIL, "description": EVIL, "parts": parts}
    state = {"state": "TASK_STATE_FAILED", "message": said}
    return {"id": EVIL, "contextId": EVIL, "status": state, "artifacts": [artifact], "history": [said]}


@pytest.mark.parametrize("args", [[], ["-o", "json"], ["--stream"], ["--stream", "-o", "json"]])
def test_an_answer_cannot_steer_the_terminal(args: list[str]) -> None:
    results = [{"task": evil_task()}, {"message": evil_task()["status"]["message"]}]
    answers = streaming(*results) if "--stream" in args else answering(result=results[0])
    with agent(answers) as server:
        done = cli("send", server.url, "x", *args)
    assert [c for c in UNSAFE if c in done.stdout + done.stderr] == []
    assert "owned" in done.stdout
    assert not any(line.startswith("a2a-discovery: spoofed") for line in (done.stdout + done.stderr).splitlines())
    if args == ["-o", "json"]:
        assert protojson.to_dict(protojson.loads(SendMessageResponse, done.stdout)) == results[0]


def test_the_end_of_a_stream_cannot_steer_the_terminal() -> None:
    with agent(streaming({"task": {**evil_task(), "status": {"state": "TASK_STATE_WORKING"}}})) as server:
        done = cli("send", server.url, "x", "--stream")
    assert done.returncode == 3
    assert [c for c in UNSAFE if c in done.stderr] == []
    assert done.stderr.count("\n") == 1


def test_a_list_cannot_steer_the_terminal() -> None:
    result = {"tasks": [evil_task()], "nextPageToken": EVIL, "pageSize": 1, "totalSize": 2}
    with agent(answering(result=result)) as server:
        done = cli("task", "list", server.url)
    assert done.returncode == 0
    assert [c for c in UNSAFE if c in done.stdout] == []


def test_an_error_cannot_steer_the_terminal() -> None:
    violation = {"fieldViolations": [{"field": EVIL, "description": EVIL}]}
    with agent(answering(error={"code": -32602, "message": EVIL * 1000, "data": [violation]})) as server:
        done = cli("send", server.url, "x")
    assert done.returncode == 1
    assert [c for c in UNSAFE if c in done.stderr] == []
    assert len(done.stderr.splitlines()) == 2
    assert len(done.stderr) < 10_000


def test_a_reply_that_lacks_something_is_shown_with_a_warning() -> None:
    with agent(answering(result={"message": {"messageId": "m", "parts": [{"text": "hi"}]}})) as server:
        done = cli("send", server.url, "x")
    assert done.returncode == 0
    assert done.stderr.startswith(
        "a2a-discovery: warning: the answer to SendMessage lacks REQUIRED fields: message.role"
    )


@pytest.mark.parametrize("order", [["jsonrpc", "http+json"], ["http+json", "JSONRPC"], ["grpc", "http+json"]])
def test_the_first_transport_named_that_the_card_has_is_used(order: list[str]) -> None:
    def answer(exchange: Exchange) -> None:
        body = response(result=message("by rpc")) if exchange.target == "/rpc" else protojson.dumps(rest)
        exchange.answer(200, body, JSON)

    rest = protojson.loads(SendMessageResponse, message("by rest"))
    interfaces = [("JSONRPC", "/rpc"), ("HTTP+JSON", "/rest")]
    with agent(answer, lambda url: card(*((binding, url + path) for binding, path in interfaces))) as server:
        named = [arg for name in order for arg in ("--transport", name)]
        done, by_card = cli("send", server.url, "x", *named), cli("send", server.url, "x")
    assert ("by rpc" if order[0] == "jsonrpc" else "by rest") in done.stdout
    assert "by rpc" in by_card.stdout


def test_a_transport_that_is_not_installed_gives_way_to_the_next_one_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("a2a_discovery.interfaces.find_spec", lambda name: None)
    with agent(answering(result=message()), lambda url: card(("GRPC", "127.0.0.1:9"), ("JSONRPC", url))) as server:
        done = cli("send", server.url, "x", "--transport", "grpc", "--transport", "jsonrpc")
    assert done.returncode == 0


@pytest.mark.parametrize(
    "args",
    [
        ["send", "a.example"],
        ["send", "a.example", ""],
        ["send", "ftp://a.example", "x"],
        ["send", "card.json", "x"],
        ["send", "a.example", "x", "--transport", "soap"],
        ["send", "a.example", "x", "--timeout", "0"],
        ["send", "a.example", "x", "--data", "{"],
        ["send", "a.example", "x", "--file", "/no/such/file"],
        ["send", "a.example", "x", "--svc-param", "no colon"],
        ["send", "a.example", "x", "--svc-param", "a b:c"],
        ["send", "a.example", "x", "--svc-param", "content-type:text/plain"],
        ["task", "list", "a.example", "--state", "asleep"],
        ["task", "list", "a.example", "--limit", "0"],
        ["task", "get", "a.example"],
        ["task"],
    ],
)
def test_usage(args: list[str]) -> None:
    done = cli(*args)
    assert done.returncode == 2
    assert done.stderr or args == ["task"]


@pytest.mark.parametrize("args", [["send", "a.example", "\udcff"], ["task", "get", "a.example", "\udcff"]])
def test_what_is_no_text_is_not_sent(args: list[str]) -> None:
    done = cli(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no text in UTF-8" in done.stderr


def test_standard_input_has_to_be_text(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"\xff")
    with (tmp_path / "input").open("rb") as stdin:
        done = process("send", "a.invalid", "-", stdin=stdin)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no text in UTF-8" in done.stderr
