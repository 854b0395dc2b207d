"""No credential goes to an origin that it is not meant for."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import (
    ApiKey,
    BasicCredentials,
    BearerToken,
    CredentialsRequiredError,
    CredentialStore,
    HttpCredentials,
    OAuthClient,
    TokenError,
    UrlPolicy,
    types as t,
)
from a2a_discovery.policy import parse_grpc_address, parse_url
from a2a_discovery.security import ScopedCredential, read_origin
from tests.agent.common import HTTP, failure, site
from tests.lookup import INSIDE, PUBLIC, call_loopback_public, looked_up
from tests.security.common import SECRET, Agents, Tokens, api_key, bearer, demanding, http, oauth, oidc, one_interface
from tests.servers import Server, World, certificate

KINDS: dict[str, tuple[t.SecurityScheme, Any]] = {
    "bearer": (bearer(), BearerToken(SECRET)),
    "basic": (http("basic"), BasicCredentials("u", SECRET)),
    "other": (http("HOBA"), HttpCredentials(SECRET)),
    "header": (api_key("header"), ApiKey(SECRET)),
    "query": (api_key("query"), ApiKey(SECRET)),
    "cookie": (api_key("cookie"), ApiKey(SECRET)),
}
kinds = pytest.mark.parametrize(("scheme", "credential"), KINDS.values(), ids=KINDS)


def told(server: Server) -> bytes:
    """All that came, as it came."""
    return b"".join(exchange.head + exchange.body for exchange in server.seen)


@pytest.mark.anyio
@pytest.mark.parametrize("binding", HTTP)
@kinds
async def test_none_goes_to_a_foreign_interface(
    world: World, binding: str, scheme: t.SecurityScheme, credential: Any
) -> None:
    with (
        site(binding) as foreign,
        Agents(lambda _: demanding({"s": scheme}, made=foreign.card())) as server,
    ):
        async with world.discover(server.url, credentials=CredentialStore({"s": credential})) as agent:
            for operation in ("SendMessage", "SendStreamingMessage"):
                error, _ = await failure(agent, operation)
                assert isinstance(error, CredentialsRequiredError)
                assert "must not go to" in str(error)
        assert foreign.server.seen == []
        # Its owner may say that it goes there.
        store = CredentialStore({"s": credential}, origins=[foreign.url])
        async with world.discover(server.url, credentials=store) as agent:
            await agent.send_message("hi")
        assert len(foreign.server.seen) == 1
        assert SECRET.encode() not in told(server)


@pytest.mark.anyio
@kinds
async def test_none_follows_a_redirect(world: World, scheme: t.SecurityScheme, credential: Any) -> None:
    with (
        Agents(lambda url: demanding({"s": scheme}, made=one_interface(url))) as second,
        Server(lambda e: e.answer(302, b"", f"Location: {second.card_url}")) as first,
    ):
        async with world.discover(first.url, credentials=CredentialStore({"s": credential})) as agent:
            error, _ = await failure(agent, "SendMessage")
        assert isinstance(error, CredentialsRequiredError)
        assert second.called == []
        assert SECRET.encode() not in told(first) + told(second)


@pytest.mark.anyio
async def test_an_interface_that_redirects_gets_no_follower(world: World) -> None:
    with (
        Server(lambda e: e.answer(200)) as foreign,
        Server(lambda e: (e.read_body(), e.answer(307, b"", f"Location: {foreign.url}/rpc"))) as server,
    ):
        made = demanding({"s": bearer()}, made=one_interface(server.url))
        store = CredentialStore({"s": BearerToken(SECRET)})
        async with world.agent(made, card_url=server.card_url, credentials=store) as agent:
            await failure(agent, "SendMessage")
        assert (len(server.seen), foreign.seen) == (1, [])


@pytest.mark.anyio
async def test_a_fallback_takes_none_along(world: World) -> None:
    with site("HTTP+JSON") as foreign, Agents(lambda url: made_of(url, foreign.url)) as server:
        store = CredentialStore({"s": BearerToken(SECRET)}, origins=["http://127.0.0.1:9"])
        async with world.discover(server.url, credentials=store, fallback=True) as agent:
            error, _ = await failure(agent, "SendMessage")
        assert isinstance(error, CredentialsRequiredError)
        assert foreign.server.seen == []


def made_of(_: str, foreign: str) -> t.AgentCard:
    made = demanding({"s": bearer()}, made=one_interface("http://127.0.0.1:9"))
    made.supported_interfaces.add(url=foreign, protocol_binding="HTTP+JSON", protocol_version="1.0")
    return made


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["token", "refresh", "device", "document", "in the document", "redirect"])
async def test_no_secret_goes_to_a_foreign_authorization_server(world: World, where: str) -> None:
    with ExitStack() as stack:
        foreign, own = stack.enter_context(Tokens()), stack.enter_context(Tokens())
        shown: list[Any] = []
        client = OAuthClient(
            "id", SECRET, token_origins=(own.url,), on_device_code=shown.append if where == "device" else None
        )
        scheme = {
            "token": lambda: oauth("client_credentials", token_url=foreign.token_url),
            "refresh": lambda: oauth("client_credentials", token_url=own.token_url, refresh_url=foreign.token_url),
            "device": lambda: oauth(
                "device_code", token_url=own.token_url, device_authorization_url=f"{foreign.url}/device"
            ),
            "document": lambda: oidc(foreign.discovery_url),
            "in the document": lambda: oidc(own.discovery_url),
            "redirect": lambda: oauth("client_credentials", token_url=f"{redirecting.url}/token"),
        }
        own.document = {"issuer": own.url, "token_endpoint": foreign.token_url}
        if where == "redirect":
            redirecting = stack.enter_context(
                Server(lambda e: (e.read_body(), e.answer(307, b"", f"Location: {foreign.token_url}")))
            )
            client = OAuthClient("id", SECRET, token_origins=(redirecting.url,))
        server = stack.enter_context(Agents(lambda url: demanding({"s": scheme[where]()}, made=one_interface(url))))
        async with world.discover(server.url, credentials=CredentialStore({"s": client})) as agent:
            await failure(agent, "SendMessage")
        assert server.called == []
        assert foreign.seen == []
        assert shown == []


@pytest.mark.anyio
async def test_a_card_of_unknown_origin_gets_none_unless_told(world: World) -> None:
    with Agents(lambda url: one_interface(url)) as server:
        made = demanding({"s": bearer()}, made=one_interface(server.url))
        async with world.agent(made, credentials=CredentialStore({"s": BearerToken(SECRET)})) as agent:
            error, _ = await failure(agent, "SendMessage")
        assert "card_url" in str(error)
        store = CredentialStore({"s": BearerToken(SECRET)}, origins=[server.url])
        async with world.agent(made, credentials=store) as agent:
            await agent.send_message("hi")
        assert len(server.called) == 1


@pytest.mark.anyio
async def test_several_origins_have_their_own(world: World) -> None:
    store = CredentialStore()
    with Agents(make_bearer) as one, Agents(make_bearer) as other:
        store.add("s", BearerToken("for-one"), origins=[one.url])
        store.add("s", BearerToken("for-other"), origins=[other.url])
        for server, token in ((other, "for-other"), (one, "for-one")):
            async with world.discover(server.url, credentials=store) as agent:
                await agent.send_message("hi")
            assert server.called[0].headers["authorization"] == f"Bearer {token}"


def make_bearer(url: str) -> t.AgentCard:
    return demanding({"s": bearer()}, made=one_interface(url))


@pytest.mark.parametrize(
    ("origin", "binding", "url", "allowed"),
    [
        ("https://a.test", "JSONRPC", "https://A.test:443/rpc?x", True),
        ("https://a.test/any/path", "JSONRPC", "https://a.test./rpc", True),
        ("https://a.test", "JSONRPC", "https://a.test:8443/rpc", False),
        ("https://a.test", "JSONRPC", "http://a.test:443/rpc", False),
        ("https://a.test", "JSONRPC", "https://b.a.test/rpc", False),
        ("http://localhost:1", "HTTP+JSON", "http://127.0.0.1:1", True),
        ("http://localhost:1", "HTTP+JSON", "http://127.0.0.1:2", False),
        ("https://a.test:50051", "GRPC", "a.test:50051", True),
        ("https://a.test", "GRPC", "a.test:50051", False),
    ],
)
def test_origins(origin: str, binding: str, url: str, allowed: bool) -> None:
    target = parse_grpc_address(url)[0] if binding == "GRPC" else parse_url(url)
    scoped = ScopedCredential(ApiKey("k"), (read_origin(origin),))
    assert scoped.may_go_to(target, binding, None) is allowed
    if binding != "GRPC":
        assert ScopedCredential(ApiKey("k"), None).may_go_to(target, binding, parse_url(origin)) is allowed


@pytest.mark.parametrize(
    ("card", "address", "allowed"),
    [
        ("https://a.test", "a.test:50051", True),
        ("https://a.test", "http://a.test:50051", False),
        ("https://a.test", "b.test:50051", False),
        ("http://localhost:1", "127.0.0.1:2", True),
        ("https://a.test", "localhost:2", False),
    ],
)
def test_grpc_is_at_another_port_of_the_cards_host(card: str, address: str, allowed: bool) -> None:
    scoped = ScopedCredential(ApiKey("k"), None)
    assert scoped.may_go_to(parse_grpc_address(address)[0], "GRPC", parse_url(card)) is allowed


@pytest.mark.anyio
async def test_none_goes_without_tls_where_the_card_had_it(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls, trusted = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with (
        Agents(make_bearer) as plain,
        Agents(lambda _: make_bearer(plain.url), tls=tls) as server,
    ):
        async with world.discover(server.url, credentials=CredentialStore({"s": BearerToken(SECRET)})) as agent:
            await failure(agent, "SendMessage")
        assert plain.called == []


@pytest.mark.anyio
@pytest.mark.parametrize("answers", [[[INSIDE]], [[PUBLIC], [INSIDE]]])
@pytest.mark.parametrize("kind", ["oauth", "oidc"])
async def test_no_secret_goes_where_a_policy_denies(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: str, answers: list[list[str]]
) -> None:
    call_loopback_public(monkeypatch)
    with socket.create_server((INSIDE, 0)) as inside:
        named = f"http://agent.test:{inside.getsockname()[1]}"
        document = f"{named}/.well-known/openid-configuration"
        scheme = oauth("client_credentials", token_url=f"{named}/token") if kind == "oauth" else oidc(document)
        with Agents(lambda url: demanding({"s": scheme}, made=one_interface(url))) as server:
            looked_up(monkeypatch, *answers)
            store = CredentialStore({"s": OAuthClient("id", SECRET, token_origins=(named,))})
            policy = UrlPolicy(deny_private=True, allow_http=True)
            async with world.discover(server.url, credentials=store, policy=policy) as agent:
                error, _ = await failure(agent, "SendMessage")
        assert isinstance(error, TokenError)
        assert "a loopback address" in str(error)
        inside.settimeout(0)
        with suppress(BlockingIOError):
            connection, _ = inside.accept()
            assert connection.recv(100) == b""
            connection.close()
