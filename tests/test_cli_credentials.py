"""Credentials on the command line: where they go, and that they are never told."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from a2a_discovery import protojson, types as t
from a2a_discovery.cli.credentials import check_destination
from a2a_discovery.cli.load import CommandError, ExitCode
from a2a_discovery.types import AgentInterface, SendMessageResponse
from tests.commands import cli
from tests.fake_agent import agent, answering, card, message
from tests.security.common import Agents, Tokens, api_key, bearer, demanding, oauth, one_interface
from tests.servers import Exchange, Server, certificate

pytestmark = pytest.mark.usefixtures("small_trust")

SECRET = "s3cret-token"
WAYS = {
    "bearer": (["--bearer", SECRET], "authorization", f"Bearer {SECRET}"),
    "key": (["--api-key", SECRET], "x-api-key", SECRET),
    "basic": (["--basic", f"u:{SECRET}"], "authorization", f"Basic {b64encode(f'u:{SECRET}'.encode()).decode()}"),
    "named key": (["--api-key", f"X-Team:{SECRET}:1"], "x-team", f"{SECRET}:1"),
}
ways = pytest.mark.parametrize(("args", "name", "value"), WAYS.values(), ids=WAYS)


@ways
def test_they_go_to_the_card_and_to_the_call(args: list[str], name: str, value: str) -> None:
    with agent(answering(result=message())) as server:
        done = cli("send", server.url, "x", *args, "--svc-param", "X-Other: 7")
    assert done.returncode == 0
    fetch, call = (exchange.headers for exchange in server.seen)
    assert (fetch[name], call[name]) == (value, value)
    assert ("x-other" in fetch, call["x-other"]) == (False, "7")
    assert SECRET not in done.stdout + done.stderr


@ways
@pytest.mark.parametrize(
    ("binding", "url"),
    [
        ("JSONRPC", "https://agent.invalid/rpc"),
        ("GRPC", "agent.invalid:443"),
        ("HTTP+JSON", "https://127.0.0.1.invalid"),
    ],
)
def test_they_go_to_no_other_host(args: list[str], name: str, value: str, binding: str, url: str) -> None:
    with agent(answering(), lambda _: card((binding, url))) as server:
        done = cli("send", server.url, "x", *args)
    assert (done.returncode, done.stdout) == (4, "")
    assert "the call was not made" in done.stderr
    assert done.stderr.count("\n") == 1
    assert SECRET not in done.stderr


@pytest.mark.parametrize("name", ["Authorization", "proxy-authorization", "Cookie"])
def test_a_service_parameter_may_be_a_credential(name: str) -> None:
    args = ["--svc-param", f"{name}:{SECRET}"]
    with agent(answering(result=message())) as server:
        assert cli("task", "get", server.url, "t", *args).returncode != 4
        assert name.lower() not in server.seen[0].headers
        assert server.seen[1].headers[name.lower()] == SECRET
    with agent(answering(), lambda _: card(("JSONRPC", "https://agent.invalid"))) as server:
        assert cli("send", server.url, "x", *args).returncode == 4


def test_without_credentials_another_host_may_be_called() -> None:
    with agent(answering(), lambda _: card(("JSONRPC", "https://agent.invalid"))) as server:
        assert cli("send", server.url, "x").returncode == 3


def test_a_redirect_elsewhere_gets_none() -> None:
    with (
        agent(answering(result=message())) as second,
        Server(lambda exchange: exchange.answer(302, b"", f"Location: {second.card_url}")) as first,
    ):
        cli("send", first.url, "x", "--bearer", SECRET)
    assert first.seen[0].headers["authorization"] == f"Bearer {SECRET}"
    assert "authorization" not in second.seen[0].headers


def test_they_are_not_sent_without_tls_where_the_card_had_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tls, trusted = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with (
        agent(answering(result=message())) as plain,
        agent(answering(), lambda _: card(("JSONRPC", f"{plain.url}/rpc")), tls=tls) as server,
    ):
        done, without = cli("send", server.url, "x", "--bearer", SECRET), cli("send", server.url, "x")
    assert (done.returncode, without.returncode) == (4, 0)
    assert "came with TLS" in done.stderr
    assert len(plain.seen) == 1


@pytest.mark.parametrize(
    ("asked", "binding", "url", "allowed"),
    [
        ("https://a.example/x.json", "JSONRPC", "https://A.example:8443/rpc", True),
        ("https://a.example/x.json", "GRPC", "a.example:50051", True),
        ("http://a.example/x.json", "HTTP+JSON", "https://a.example./rest", True),
        ("http://localhost:1/x.json", "GRPC", "127.0.0.1:2", True),
        ("https://a.example/x.json", "JSONRPC", "https://b.a.example/rpc", False),
        ("https://a.example/x.json", "GRPC", "http://a.example:50051", False),
        ("https://a.example/x.json", "GRPC", "localhost:50051", False),
    ],
)
def test_destinations(asked: str, binding: str, url: str, allowed: bool) -> None:
    interface = AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0")
    if allowed:
        check_destination(interface, asked)
    else:
        with pytest.raises(CommandError) as caught:
            check_destination(interface, asked)
        assert caught.value.code is ExitCode.CREDENTIALS


@pytest.mark.parametrize(
    "args",
    [
        ["--bearer", f"{SECRET}\r\nX-Evil: 1"],
        ["--bearer", ""],
        ["--bearer", f"{SECRET}é"],
        ["--api-key", f"{SECRET} x:y"],
        ["--api-key", f":{SECRET}"],
        ["--basic", SECRET],
        ["--basic", f":{SECRET}"],
        ["--basic", f"u:{SECRET}\n"],
        ["--basic", f"u:{SECRET}", "--bearer", SECRET],
        ["--oauth-client", f":{SECRET}"],
        ["--oauth-client", f"id:{SECRET}", "--token-origin", "login"],
        ["--token-origin", "https://login.test"],
        ["--api-key", "X-Key:"],
        ["--svc-param", f"Authorization {SECRET}"],
        ["--svc-param", f"Authorization:{SECRET}\x00"],
    ],
)
def test_what_cannot_be_a_header_is_refused_and_not_told(args: list[str]) -> None:
    done = cli("send", "a.invalid", "x", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert SECRET not in done.stderr


@pytest.mark.parametrize("name", ["X-bin", "x!y", "a2a-version", "Host", "content-length", "X-é"])
def test_a_service_parameter_that_cannot_be_one_is_named(name: str) -> None:
    done = cli("send", "a.invalid", "x", "--svc-param", f"{name}: {SECRET}")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert name in done.stderr and SECRET not in done.stderr


@pytest.mark.parametrize("card_too", [False, True])
def test_an_error_that_repeats_them_is_told_without_them(card_too: bool) -> None:
    def repeat(exchange: Exchange) -> None:
        told = exchange.headers["authorization"]
        exchange.answer(401, f"{told} is wrong".encode(), "Content-Type: text/plain", f"WWW-Authenticate: {told}")

    with Server(repeat) if card_too else agent(repeat) as server:
        done = cli("send", server.url, "x", "--bearer", SECRET)
    assert done.returncode == 4
    assert done.stderr.count("\n") <= 2
    assert SECRET not in done.stderr


def test_a_reply_is_told_as_it_is() -> None:
    with agent(answering(result=message("part"))) as server:
        done = cli("send", server.url, "x", "--api-key", "part", "-o", "json")
    assert protojson.loads(SendMessageResponse, done.stdout).message.parts[0].text == "part"


def demanding_agent(scheme: t.SecurityScheme) -> Agents:
    return Agents(lambda url: demanding({"s": scheme}, {"s": ["run"]}, made=one_interface(url)))


def test_the_card_says_where_they_stand() -> None:
    with demanding_agent(api_key("query", "k")) as server:
        done = cli("send", server.url, "x", "--api-key", SECRET)
        assert done.returncode == 0
        (exchange,) = server.called
    assert exchange.target == f"/rpc?k={SECRET}"
    assert "x-api-key" not in exchange.headers


def test_what_the_card_demands_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with demanding_agent(bearer()) as server:
        done = cli("send", server.url, "x")
        assert (done.returncode, done.stdout, server.called) == (4, "", [])
        assert "s: there is no credential for it" in done.stderr
        assert "--bearer" in done.stderr
        monkeypatch.setenv("A2A_DISCOVERY_BEARER", SECRET)
        assert cli("send", server.url, "x").returncode == 0
        assert server.called[0].headers["authorization"] == f"Bearer {SECRET}"


def test_an_oauth_client_has_a_token_made() -> None:
    with Tokens() as tokens, demanding_agent(oauth("client_credentials", token_url=tokens.token_url)) as server:
        args = ["--oauth-client", f"id:{SECRET}", "--token-origin", tokens.url]
        assert cli("send", server.url, "x", *args).returncode == 0
        assert server.called[0].headers["authorization"] == "Bearer token-1"
        tokens.answers = [(401, {"error": "invalid_client", "error_description": SECRET})]
        done = cli("send", server.url, "x", *args)
        assert (done.returncode, "invalid_client" in done.stderr, SECRET in done.stderr) == (4, True, False)
        # The secret is for the card's host, unless the person says otherwise.
        before = len(tokens.seen)
        assert cli("send", server.url, "x", *args[:2]).returncode == 4
        assert len(tokens.seen) == before


def test_a_person_is_shown_the_code() -> None:
    with Tokens() as tokens:
        flow = oauth("device_code", token_url=tokens.token_url, device_authorization_url=f"{tokens.url}/device")
        with demanding_agent(flow) as server:
            done = cli("send", server.url, "x", "--oauth-client", "id", "--token-origin", tokens.url)
    assert done.returncode == 0
    assert "open https://as.test/d and enter the code ABCD" in done.stderr
