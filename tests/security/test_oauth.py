"""Tokens: had once, kept, renewed, and refused (RFC 6749, RFC 8628, OpenID Connect Discovery 1.0)."""

from __future__ import annotations

import base64
import json
import time
from functools import partial
from typing import Any

import pytest

import a2a_discovery._async.tokens as async_tokens
import a2a_discovery._sync.tokens as sync_tokens
from a2a_discovery import (
    A2AError,
    CredentialsRequiredError,
    CredentialStore,
    DeviceAuthorization,
    OAuthClient,
    TokenError,
)
from a2a_discovery._tokens import Token
from tests.agent.common import failure, reply
from tests.agent.grpc_server import GrpcServer
from tests.security.common import SECRET, Agents, Tokens, demanding, oauth, oidc, one_interface, tokens_and_agent
from tests.servers import Server, World

pytestmark = pytest.mark.anyio


def client_credentials(tokens: Tokens) -> Any:
    return oauth("client_credentials", token_url=tokens.token_url)


def device(tokens: Tokens) -> Any:
    return oauth("device_code", token_url=tokens.token_url, device_authorization_url=f"{tokens.url}/device")


def store(tokens: Tokens, **options: Any) -> CredentialStore:
    given = {"client_secret": SECRET, "token_origins": (tokens.url,), **options}
    return CredentialStore({"s": OAuthClient("the id", **given)})


def sent(agent: Agents) -> list[str]:
    return [exchange.headers.get("authorization", "") for exchange in agent.called]


def stale(credentials: CredentialStore, **changes: Any) -> None:
    """Make the tokens of a store expire, or be what ``changes`` says."""
    kept = credentials.tokens._tokens
    for way, token in list(kept.items()):
        fields = {"access_token": token.access_token, "refresh_token": token.refresh_token}
        kept[way] = Token(**{"expires": time.monotonic() - 1, **fields, **changes})


async def test_client_credentials(world: World) -> None:
    with tokens_and_agent(client_credentials, ("run", "read"), expires_in=3600) as (tokens, agent_server):
        async with world.discover(agent_server.url, credentials=store(tokens)) as agent:
            await agent.send_message("hi")
            [_ async for _ in agent.send_streaming_message("hi")]
        assert tokens.forms == [{"grant_type": "client_credentials", "scope": "run read"}]
        basic = base64.b64encode(f"the+id:{SECRET}".encode()).decode()
        assert tokens.seen[0].headers["authorization"] == f"Basic {basic}"
        assert sent(agent_server) == ["Bearer token-1"] * 2


async def test_how_the_client_says_who_it_is(world: World) -> None:
    with tokens_and_agent(client_credentials, ()) as (tokens, agent_server):
        options = {"secret_in_body": True, "scopes": ("all",), "parameters": {"audience": "https://x.test/&"}}
        async with world.discover(agent_server.url, credentials=store(tokens, **options)) as agent:
            await agent.send_message("hi")
        assert tokens.forms == [
            {
                "grant_type": "client_credentials",
                "scope": "all",
                "client_id": "the id",
                "client_secret": SECRET,
                "audience": "https://x.test/&",
            }
        ]
        assert "authorization" not in tokens.seen[0].headers


async def test_many_calls_and_agents_have_one_token(world: World) -> None:
    with tokens_and_agent(client_credentials) as (tokens, agent_server):
        shared = store(tokens)
        async with (
            world.discover(agent_server.url, credentials=shared) as one,
            world.discover(agent_server.url, credentials=shared) as other,
        ):
            await world.together([partial(agent.send_message, "hi") for agent in (one, other) for _ in range(10)])
        assert len(tokens.forms) == 1
        assert sent(agent_server) == ["Bearer token-1"] * 20


@pytest.mark.parametrize("lifetime", [3600, "3600", None])
async def test_a_token_is_kept_until_it_expires(world: World, lifetime: Any) -> None:
    with tokens_and_agent(client_credentials, expires_in=lifetime) as (tokens, agent_server):
        credentials = store(tokens)
        async with world.discover(agent_server.url, credentials=credentials) as agent:
            await agent.send_message("hi")
            await agent.send_message("hi")
            stale(credentials)
            await agent.send_message("hi")
        assert sent(agent_server) == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]


async def test_a_short_life_ends_a_little_earlier() -> None:
    from a2a_discovery._grants import read_token

    now = time.monotonic()
    for seconds, kept in ((3600, 3570), (100, 90)):
        body = json.dumps({"access_token": "t", "token_type": "bearer", "expires_in": seconds}).encode()
        expires = read_token("https://x.test", 200, body, None).expires
        assert expires is not None
        assert kept - 1 < expires - now < kept + 1


async def test_a_refresh_token_renews_it(world: World) -> None:
    with tokens_and_agent(client_credentials, refresh_token="r-1") as (tokens, agent_server):
        credentials = store(tokens)
        async with world.discover(agent_server.url, credentials=credentials) as agent:
            await agent.send_message("hi")
            stale(credentials)
            await agent.send_message("hi")
            # A server may take it back; then the grant itself is used again.
            stale(credentials)
            tokens.answers = [(400, {"error": "invalid_grant"})]
            await agent.send_message("hi")
            # One that came once is kept where a renewal brings none.
            stale(credentials)
            tokens.answers = [(200, {"access_token": "token-4", "refresh_token": 7})]
            await agent.send_message("hi")
            stale(credentials)
            await agent.send_message("hi")
        grants = [form["grant_type"] for form in tokens.forms]
        assert grants == [
            "client_credentials",
            "refresh_token",
            "refresh_token",
            "client_credentials",
            *["refresh_token"] * 2,
        ]
        assert tokens.forms[1]["refresh_token"] == tokens.forms[-1]["refresh_token"] == "r-1"
        assert sent(agent_server)[:4] == [f"Bearer token-{i}" for i in range(1, 5)]


@pytest.mark.parametrize("flow", ["authorization_code", "password"])
async def test_where_a_person_consented_elsewhere_the_refresh_token_does(world: World, flow: str) -> None:
    consent = {"authorization_url": "https://as.test/consent"} if flow == "authorization_code" else {}
    with tokens_and_agent(lambda tokens: oauth(flow, token_url=tokens.token_url, **consent)) as (tokens, agent_server):
        credentials = store(tokens, client_secret=None, refresh_token="r-0")
        async with world.discover(agent_server.url, credentials=credentials) as agent:
            await agent.send_message("hi")
            stale(credentials, refresh_token=None)
            tokens.answers = [(400, {"error": "invalid_grant"})]
            error, _ = await failure(agent, "SendMessage")
        assert tokens.forms[0] == {
            "grant_type": "refresh_token",
            "refresh_token": "r-0",
            "client_id": "the id",
            "scope": "run",
        }
        assert isinstance(error, TokenError)
        assert error.error == "invalid_grant"
        assert len(tokens.forms) == 2


async def test_a_rejected_token_is_renewed_once(world: World) -> None:
    with tokens_and_agent(client_credentials) as (tokens, agent_server):
        agent_server.refuses = lambda exchange: exchange.headers["authorization"] != "Bearer token-2"
        async with world.discover(agent_server.url, credentials=store(tokens)) as agent:
            await agent.send_message("hi")
            assert sent(agent_server) == ["Bearer token-1", "Bearer token-2"]
            agent_server.refuses = lambda exchange: exchange.headers["authorization"] != "Bearer token-3"
            assert len([event async for event in agent.send_streaming_message("hi")]) == 1
            agent_server.refuses = lambda _: True
            for operation in ("SendMessage", "SendStreamingMessage"):
                before = len(agent_server.called)
                error, _ = await failure(agent, operation)
                assert isinstance(error, A2AError)
                assert (error.http_status, error.challenge) == (401, 'Bearer error="invalid_token"')
                assert len(agent_server.called) == before + 2


async def test_many_calls_whose_token_was_rejected_renew_it_once(world: World) -> None:
    with tokens_and_agent(client_credentials) as (tokens, agent_server):
        credentials = store(tokens)
        async with world.discover(agent_server.url, credentials=credentials) as agent:
            await agent.send_message("hi")
            agent_server.refuses = lambda exchange: exchange.headers["authorization"] == "Bearer token-1"
            await world.together([lambda: agent.send_message("hi")] * 10)
        assert tokens.given == 2


@pytest.mark.parametrize(
    ("status", "answer", "told"),
    [
        (401, {"error": "invalid_client", "error_description": SECRET}, "invalid_client"),
        (400, {"error": 7}, "status 400"),
        (500, b"<html>", "no JSON object"),
        (200, b"access_token=a&token_type=bearer", "no JSON object"),
        (200, [], "no JSON object"),
        (200, {}, "no access_token"),
        (200, {"access_token": ""}, "no access_token"),
        (200, {"access_token": ["a"]}, "no access_token"),
        (200, {"access_token": "a\r\nX: 1"}, "no access_token"),
        (200, {"access_token": "a b"}, "no access_token"),
        (200, {"access_token": "a", "token_type": "DPoP"}, "another type"),
        (200, {"access_token": "a", "token_type": 1}, "another type"),
        (200, {"access_token": "a", "error": "server_error"}, "server_error"),
        (302, b"", "no JSON object"),
        (200, b"x" * 2_000_000, "larger than the limit"),
    ],
)
async def test_what_is_no_token(world: World, status: int, answer: Any, told: str) -> None:
    with tokens_and_agent(client_credentials) as (tokens, agent_server):
        tokens.answers = [(status, answer)]
        async with world.discover(agent_server.url, credentials=store(tokens)) as agent:
            error, _ = await failure(agent, "SendMessage")
            assert isinstance(error, TokenError)
            assert told in str(error)
            assert error.url == tokens.token_url
            assert SECRET not in f"{error} {error!r} {vars(error)}"
            assert agent_server.called == []
            # The next call tries again.
            await agent.send_message("hi")


@pytest.mark.parametrize(
    "extra",
    [
        {"expires_in": -1},
        {"expires_in": "soon"},
        {"expires_in": "1e400"},
        {"expires_in": []},
        {"refresh_token": 7},
        {"scope": {}},
    ],
)
async def test_what_else_a_server_may_say(world: World, extra: dict[str, Any]) -> None:
    with tokens_and_agent(client_credentials, **extra) as (tokens, agent_server):
        async with world.discover(agent_server.url, credentials=store(tokens)) as agent:
            await agent.send_message("hi")
            await agent.send_message("hi")
        assert tokens.given == 1


async def test_no_authorization_server(world: World) -> None:
    with (
        Server(lambda exchange: None) as silent,
        Agents(
            lambda url: demanding({"s": oauth("client_credentials", token_url=silent.url)}, made=one_interface(url))
        ) as agent_server,
    ):
        credentials = CredentialStore({"s": OAuthClient("id", SECRET, token_origins=(silent.url,))})
        async with world.discover(agent_server.url, credentials=credentials) as agent:
            error, _ = await failure(agent, "SendMessage")
    assert isinstance(error, TokenError)
    assert error.status is None


async def test_a_slow_authorization_server_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (async_tokens, sync_tokens):
        monkeypatch.setattr(module, "_TIMEOUT", 0.3)
    with (
        Server(lambda exchange: exchange.drip(b"HTTP/1.1 200 OK\r\nX: ")) as slow,
        Agents(
            lambda url: demanding({"s": oauth("client_credentials", token_url=slow.url)}, made=one_interface(url))
        ) as agent_server,
    ):
        credentials = CredentialStore({"s": OAuthClient("id", SECRET, token_origins=(slow.url,))})
        async with world.discover(agent_server.url, credentials=credentials) as agent:
            error, _ = await failure(agent, "SendMessage")
    assert isinstance(error, TokenError)
    assert "within 0.3 s" in str(error)


async def test_a_person_consents_on_another_device(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def async_sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(async_tokens, "async_sleep", async_sleep)
    monkeypatch.setattr(sync_tokens, "sync_sleep", slept.append)
    shown: list[DeviceAuthorization] = []
    with tokens_and_agent(device) as (tokens, agent_server):
        tokens.answers = [(400, {"error": "authorization_pending"}), (400, {"error": "slow_down"})]
        options = {"client_secret": None, "on_device_code": shown.append}
        async with world.discover(agent_server.url, credentials=store(tokens, **options)) as agent:
            await agent.send_message("hi")
            await agent.send_message("hi")
        assert shown == [DeviceAuthorization("ABCD", "https://as.test/d", None, 60.0)]
        assert slept == [0.01, 0.01, 5.01]
        assert tokens.forms == [
            {"client_id": "the id", "scope": "run"},
            *[
                {
                    "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
                    "device_code": "dev-1",
                    "client_id": "the id",
                }
            ]
            * 3,
        ]
        assert sent(agent_server) == ["Bearer token-1"] * 2


async def test_a_coroutine_function_may_show_the_code() -> None:
    shown = []

    async def show(code: DeviceAuthorization) -> None:
        shown.append(code.user_code)

    with tokens_and_agent(device) as (tokens, agent_server):
        async with World("async").discover(agent_server.url, credentials=store(tokens, on_device_code=show)) as agent:
            await agent.send_message("hi")
    assert shown == ["ABCD"]


@pytest.mark.parametrize(
    ("fields", "answer", "error"),
    [
        ({}, {"error": "access_denied"}, "access_denied"),
        ({"expires_in": 0.03}, {"error": "authorization_pending"}, "expired_token"),
        ({"device_code": 7}, None, ""),
        ({"expires_in": None}, None, ""),
        ({"error": "invalid_scope"}, None, "invalid_scope"),
    ],
)
async def test_nobody_consents(world: World, fields: dict[str, Any], answer: Any, error: str) -> None:
    with tokens_and_agent(device, device=fields) as (tokens, agent_server):
        tokens.answers = [(400, answer)] * 5
        options = {"client_secret": None, "on_device_code": lambda code: None}
        async with world.discover(agent_server.url, credentials=store(tokens, **options)) as agent:
            caught, _ = await failure(agent, "SendMessage")
        assert isinstance(caught, TokenError)
        assert caught.error == error
        assert agent_server.called == []


async def test_openid_connect(world: World) -> None:
    with tokens_and_agent(lambda tokens: oidc(tokens.discovery_url)) as (tokens, agent_server):
        async with world.discover(agent_server.url, credentials=store(tokens)) as agent:
            await agent.send_message("hi")
        assert tokens.forms == [{"grant_type": "client_credentials", "scope": "run"}]
        options = {"client_secret": None, "on_device_code": lambda code: None}
        async with world.discover(agent_server.url, credentials=store(tokens, **options)) as agent:
            await agent.send_message("hi")
        assert sent(agent_server) == ["Bearer token-1", "Bearer token-2"]


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"issuer": "https://other.test", "token_endpoint": "https://other.test/t"}, "another issuer"),
        ({"issuer": "{url}"}, "no token_endpoint"),
        ({"issuer": 7, "token_endpoint": "x"}, "no issuer"),
        ({"issuer": "{url}", "token_endpoint": "/token"}, "cannot be called"),
    ],
)
async def test_what_is_no_provider(world: World, document: dict[str, Any], told: str) -> None:
    with tokens_and_agent(lambda tokens: oidc(tokens.discovery_url)) as (tokens, agent_server):
        tokens.document = {k: v.replace("{url}", tokens.url) if isinstance(v, str) else v for k, v in document.items()}
        async with world.discover(agent_server.url, credentials=store(tokens)) as agent:
            error, _ = await failure(agent, "SendMessage")
        assert isinstance(error, TokenError)
        assert told in str(error)
        assert tokens.forms == []


async def test_the_first_alternative_that_can_be_met_may_be_a_later_one(world: World) -> None:
    with (
        Tokens() as tokens,
        Agents(
            lambda url: demanding({"none": device(tokens), "s": client_credentials(tokens)}, made=one_interface(url))
        ) as agent_server,
    ):
        async with world.discover(agent_server.url, credentials=store(tokens)) as agent:
            await agent.send_message("hi")
        async with world.discover(agent_server.url, credentials=CredentialStore()) as agent:
            error, _ = await failure(agent, "SendMessage")
        assert isinstance(error, CredentialsRequiredError)
        assert [unmet.schemes for unmet in error.alternatives] == [("none",), ("s",)]
        assert sent(agent_server) == ["Bearer token-1"]


async def test_over_grpc_a_rejected_token_is_renewed_too(world: World) -> None:
    import grpc

    accepted = ["Bearer token-2"]

    def answer(name: str, request: Any, context: Any) -> Any:
        metadata = {m.key: m.value for m in context.invocation_metadata()}
        if metadata["authorization"] not in accepted:
            context.set_trailing_metadata([("www-authenticate", "Bearer")])
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")
        return [reply(name)] if name == "SendStreamingMessage" else reply(name)

    with Tokens() as tokens, GrpcServer(answer) as server:
        made = demanding({"s": client_credentials(tokens)}, made=one_interface(f"http://{server.url}", "GRPC"))
        async with world.agent(made, card_url="http://127.0.0.1", credentials=store(tokens)) as agent:
            await agent.send_message("hi")
            accepted[:] = ["Bearer token-3"]
            assert len([event async for event in agent.send_streaming_message("hi")]) == 1
            accepted.clear()
            error, _ = await failure(agent, "SendMessage")
        assert isinstance(error, A2AError)
        assert (error.grpc_status, error.challenge) == ("UNAUTHENTICATED", "Bearer")
        assert [metadata["authorization"] for _, _, metadata in server.seen] == [
            *["Bearer token-1", "Bearer token-2"],
            *["Bearer token-2", "Bearer token-3"],
            *["Bearer token-3", "Bearer token-4"],
        ]
