"""The sample agents: their cards, and the server that serves them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from a2a_discovery import BearerToken, CredentialStore, Support, inspect_card, protojson, select_interface
from a2a_discovery.capabilities import refusal
from a2a_discovery.cli.samples import SAMPLES
from a2a_discovery.sync import CardResolver, discover
from a2a_discovery.types import AgentCard, TaskState

COMMAND = [sys.executable, "-m", "a2a_discovery.cli", "demo-server"]


def sample(name: str) -> AgentCard:
    return SAMPLES[name]("http://localhost:41241", "127.0.0.1:41250")


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_card_has_no_problem_at_all(name: str) -> None:
    report = inspect_card(protojson.dumps(sample(name)))
    assert report.problems == ()
    assert report.card == sample(name)


def test_test_runner() -> None:
    card = sample("test-runner")
    assert [i.protocol_binding for i in card.supported_interfaces] == ["JSONRPC", "HTTP+JSON"]
    assert card.capabilities.streaming
    assert [skill.id for skill in card.skills] == ["run-tests"]


def test_code_reviewer_narrows_its_input_modes() -> None:
    card = sample("code-reviewer")
    (skill,) = card.skills
    assert skill.id == "review-diff"
    assert list(skill.input_modes) == ["text/x-diff", "text/plain"] != list(card.default_input_modes)


def test_deployer_demands_a_bearer_token_and_has_a_tenant() -> None:
    card = sample("deployer")
    (requirement,) = card.security_requirements
    (name,) = requirement.schemes
    assert card.security_schemes[name].http_auth_security_scheme.scheme == "Bearer"
    assert refusal(card, "GetExtendedAgentCard") is None
    assert [(i.protocol_binding, i.tenant) for i in card.supported_interfaces] == [
        ("JSONRPC", "payments"),
        ("HTTP+JSON", "payments"),
        ("GRPC", "payments"),
    ]
    assert select_interface(card).interface.tenant == "payments"


def test_without_an_address_there_is_no_grpc_entry() -> None:
    card = SAMPLES["deployer"]("http://localhost:41241")
    assert "GRPC" not in [i.protocol_binding for i in card.supported_interfaces]


@contextmanager
def demo_server(*args: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    command = [*COMMAND, *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, dict(process.stdout.readline().split() for _ in SAMPLES)
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_serves_each_card_until_a_signal(number: signal.Signals) -> None:
    with demo_server("--port", "0") as (process, agents):
        assert list(agents) == list(SAMPLES)
        with CardResolver() as resolver:
            for name, url in agents.items():
                card = resolver.resolve(url).card
                address = next((i.url for i in card.supported_interfaces if i.protocol_binding == "GRPC"), "")
                assert card == SAMPLES[name](url, address)
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
        assert (process.returncode, out, err) == (0, "", "")


def test_the_agents_work() -> None:
    with demo_server("--port", "0") as (_, agents):
        for binding in ("JSONRPC", "HTTP+JSON", "GRPC"):
            with discover(
                agents["deployer"],
                support=Support(bindings={binding: ["1.0"]}),
                credentials=CredentialStore({"deployToken": BearerToken("demo")}),
            ) as agent:
                task = agent.send_message("Deploy payments-api 4.2.0 to staging").task
                assert task.status.message.parts[0].text == "Deployed for tenant payments"
                asked = agent.send_message("Deploy payments-api 4.2.0 to production").task
                assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
                assert "freeze" in [skill.id for skill in agent.get_extended_agent_card().skills]
        with discover(agents["test-runner"]) as agent:
            events = [event.WhichOneof("payload") for event in agent.send_streaming_message("Run the unit tests")]
            assert events == ["task", "status_update", *["artifact_update"] * 4, "status_update"]
        with discover(agents["code-reviewer"]) as agent:
            assert agent.send_message("one\ntwo").message.parts[0].text.startswith("Read 2 lines")


def test_localhost_answers_by_either_address() -> None:
    with demo_server("--port", "0") as (_, agents):
        port = httpx.URL(agents["deployer"]).port
        hosts = ["127.0.0.1", *(["[::1]"] if has_ipv6_loopback() else [])]
        for host in hosts:
            answer = httpx.get(f"http://{host}:{port}/.well-known/agent-card.json", trust_env=False)
            assert answer.json()["name"] == "Deployer"


def has_ipv6_loopback() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def test_ports_are_consecutive() -> None:
    first = next(port for port in range(41300, 60000, 3) if all(map(is_free, range(port, port + 3))))
    with demo_server("--port", str(first)) as (_, agents):
        assert [httpx.URL(url).port for url in agents.values()] == [first, first + 1, first + 2]


def is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def test_a_port_in_use_is_one_message() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run([*COMMAND, "--port", str(port)], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr == f"a2a-discovery: port {port} is in use: stop what listens there, or choose others with --port\n"
    )


def test_the_demo_runs() -> None:
    demo = Path(__file__).parents[1] / "examples" / "demo.py"
    done = subprocess.run(
        [sys.executable, str(demo)],
        capture_output=True,
        text=True,
        timeout=30,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "passed over   [0] its binding is 'JSONRPC'" in done.stdout
    assert "chosen        [1] HTTP+JSON at http://localhost:" in done.stdout
    assert "allowed       SendMessage, SendStreamingMessage, " in done.stdout
    assert "PushNotificationNotSupportedError (-32003)" in done.stdout
    assert "answer        TASK_STATE_COMPLETED: 3 tests passed" in done.stdout
    assert done.stdout.count("  event         ") >= 3
    assert "UNSUPPORTED_OPERATION, -32004); nothing was sent" in done.stdout
    seen = [line.split()[0] for line in done.stdout.splitlines() if line.endswith("the agent saw tenant payments")]
    assert seen == ["JSONRPC", "HTTP+JSON", "GRPC"]
    assert "supportedInterfaces: this REQUIRED field is missing" in done.stdout
