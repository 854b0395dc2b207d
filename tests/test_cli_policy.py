"""Where the command line lets a card lead."""

from __future__ import annotations

from pathlib import Path

import pytest

from a2a_discovery import protojson
from tests.commands import cli
from tests.fake_agent import JSON, agent, answering, card
from tests.lookup import LOOPBACK, looked_up
from tests.servers import Server, certificate

pytestmark = pytest.mark.usefixtures("small_trust")

TASK = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}


@pytest.mark.parametrize("command", [["card", "get"], ["card", "check"], ["task", "get"], ["send"]])
def test_nothing_private_is_asked(command: list[str]) -> None:
    with agent(answering(result=TASK)) as server:
        arguments = [] if command[0] == "card" else ["t"]
        done = cli(*command, server.url, *arguments, "--deny-private")
        assert done.returncode == 3 and "127.0.0.1 is a loopback address" in done.stderr
        done = cli(*command, server.url, *arguments, "--allow-host", "*.agent.test", "--allow-host", "agent.test:1")
        assert done.returncode == 3 and "allow_hosts" in done.stderr
        assert server.connections == []


def test_an_agent_stays_where_its_card_came_from() -> None:
    with agent(answering(result=TASK)) as elsewhere:
        both = [("JSONRPC", f"{elsewhere.url}/rpc")]
        with agent(answering(result=TASK), lambda origin: card(*both, ("JSONRPC", f"{origin}/rpc"))) as server:
            for option in (["--same-origin"], ["--allow-host", f"127.0.0.1:{server.port}"]):
                done = cli("task", "get", server.url, "t", *option)
                assert (done.returncode, done.stderr) == (0, "")
        with agent(answering(), lambda origin: card(*both)) as server:
            done = cli("task", "get", server.url, "t", "--same-origin")
            assert done.returncode == 3 and "and same_origin is asked for" in done.stderr
        assert elsewhere.connections == []


def test_no_host_to_allow() -> None:
    for command in (["card", "get", "localhost:1"], ["send", "localhost:1", "hi"]):
        done = cli(*command, "--allow-host", "https://a.test")
        assert done.returncode == 2 and "--allow-host" in done.stderr


def test_a_card_is_checked_for_where_it_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up(monkeypatch, [LOOPBACK])
    context, trusted = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    data = protojson.dumps(card(("JSONRPC", "http://agent.test/rpc")))
    with Server(lambda exchange: exchange.answer(200, data, JSON), tls=context) as server:
        done = cli("card", "check", f"https://agent.test:{server.port}")
    assert done.returncode == 0 and "X-Forwarded-Proto" in " ".join(done.stdout.split())
