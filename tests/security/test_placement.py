"""Where each kind of credential stands in a call."""

from __future__ import annotations

import base64
import logging
import pickle
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from a2a_discovery import (
    A2AError,
    ApiKey,
    BasicCredentials,
    BearerToken,
    CredentialsRequiredError,
    CredentialStore,
    HttpCredentials,
    OAuthClient,
    TransportError,
    types as t,
)
from tests.agent.common import HTTP, call, failure, site
from tests.security.common import (
    SECRET,
    Agents,
    api_key,
    bearer,
    demanding,
    http,
    oauth,
    oidc,
    one_interface,
    requirement,
)
from tests.servers import World

HEADERS: dict[str, tuple[t.SecurityScheme, Any, str, str]] = {
    "bearer": (bearer(), BearerToken(SECRET), "authorization", f"Bearer {SECRET}"),
    "bearer, in any case": (http("bEARER"), BearerToken(SECRET), "authorization", f"Bearer {SECRET}"),
    "basic": (
        http("basic"),
        BasicCredentials("ü", SECRET),
        "authorization",
        "Basic " + base64.b64encode(f"ü:{SECRET}".encode()).decode(),
    ),
    "another scheme": (http("HOBA"), HttpCredentials(f'result="{SECRET}"'), "authorization", f'HOBA result="{SECRET}"'),
    "key in a header": (api_key("header"), ApiKey(SECRET), "x-key", SECRET),
    "key in a header, in capitals": (api_key("HEADER"), ApiKey(SECRET), "x-key", SECRET),
    "key in a cookie": (api_key("cookie", "sid"), ApiKey(SECRET), "cookie", f"sid={SECRET}"),
    "OAuth, token had elsewhere": (oauth("implicit"), BearerToken(SECRET), "authorization", f"Bearer {SECRET}"),
    "OpenID Connect, likewise": (oidc("https://x.test"), BearerToken(SECRET), "authorization", f"Bearer {SECRET}"),
}


@pytest.mark.anyio
@pytest.mark.parametrize(("scheme", "credential", "name", "value"), HEADERS.values(), ids=HEADERS)
@pytest.mark.parametrize("binding", [*HTTP, "GRPC"])
async def test_headers(
    world: World, binding: str, scheme: t.SecurityScheme, credential: Any, name: str, value: str
) -> None:
    with site(binding) as agent_site:
        made = demanding({"s": scheme}, made=agent_site.card())
        url = agent_site.url if "//" in agent_site.url else f"http://{agent_site.url}"
        store = CredentialStore({"s": credential}, origins=[url])
        async with world.agent(made, credentials=store) as agent:
            for operation in ("SendMessage", "SendStreamingMessage"):
                await call(agent, operation)
                assert agent_site.params()[name] == value


@pytest.mark.anyio
@pytest.mark.parametrize("binding", HTTP)
async def test_query(world: World, binding: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    name, key = "k &", f"{SECRET}&x=1"
    with site(binding) as agent_site:
        made = demanding({"s": api_key("query", name)}, made=agent_site.card())
        made.supported_interfaces[0].url += "?own=1"
        store = CredentialStore({"s": ApiKey(key)}, origins=[agent_site.url])
        async with world.agent(made, credentials=store) as agent:
            for operation in ("SendMessage", "SendStreamingMessage", "ListTasks"):
                await call(agent, operation)
        async with world.client() as client, world.agent(made, credentials=store, client=client) as agent:
            await call(agent, "SendMessage")
        for exchange in agent_site.server.seen:  # type: ignore[union-attr]
            assert parse_qs(urlsplit(exchange.target).query) == {"own": ["1"], name: [key]}  # type: ignore[union-attr]
    assert len(agent_site.server.seen) == 4
    assert any("HTTP Request: POST" in record.getMessage() for record in caplog.records)
    assert SECRET not in caplog.text


@pytest.mark.anyio
async def test_a_query_key_is_not_told_by_an_error(world: World) -> None:
    made = demanding({"s": api_key("query")}, made=one_interface("http://127.0.0.1:9"))
    store = CredentialStore({"s": ApiKey(SECRET)}, origins=["http://127.0.0.1:9"])
    async with world.agent(made, credentials=store) as agent:
        error, _ = await failure(agent, "SendMessage")
    seen: BaseException | None = error
    assert isinstance(error, TransportError)
    while seen is not None:
        assert SECRET not in f"{seen} {seen!r} {vars(seen)}"
        seen = seen.__cause__ or seen.__context__


@pytest.mark.anyio
async def test_several_at_once(world: World) -> None:
    schemes = {"a": api_key("cookie", "a"), "b": api_key("cookie", "b"), "c": bearer(), "d": api_key("header")}
    store = CredentialStore({"a": ApiKey("1"), "b": ApiKey("2"), "c": BearerToken("3"), "d": ApiKey("4")})
    with Agents(lambda url: demanding(schemes, dict.fromkeys(schemes, ()), made=one_interface(url))) as server:
        async with world.discover(server.url, credentials=store) as agent:
            await agent.send_message("hi")
        (exchange,) = server.called
    headers = exchange.headers
    assert sorted(headers["cookie"].split("; ")) == ["a=1", "b=2"]
    assert (headers["authorization"], headers["x-key"]) == ("Bearer 3", "4")


@pytest.mark.anyio
async def test_what_the_caller_sets_for_one_call_wins(world: World) -> None:
    with Agents(lambda url: demanding({"s": bearer()}, made=one_interface(url))) as server:
        async with world.discover(server.url, credentials=CredentialStore({"s": BearerToken(SECRET)})) as agent:
            await agent.send_message("hi", service_params={"authorization": "Bearer other"})
        (exchange,) = server.called
    assert exchange.headers["authorization"] == "Bearer other"
    assert exchange.head.lower().count(b"authorization:") == 1


@pytest.mark.anyio
async def test_without_credentials_nothing_is_sent(world: World) -> None:
    with Agents(lambda url: demanding({"s": bearer()}, made=one_interface(url))) as server:
        async with world.discover(server.url) as agent:
            for operation in ("SendMessage", "SendStreamingMessage"):
                error, _ = await failure(agent, operation)
                assert isinstance(error, CredentialsRequiredError)
        assert server.called == []
        # Who brings a client or parameters of its own may have put some there.
        async with world.client() as client, world.discover(server.url, client=client) as agent:
            await agent.send_message("hi")
        async with world.discover(server.url, service_params={"X-Mine": "1"}) as agent:
            await agent.send_message("hi")
        assert len(server.called) == 2


@pytest.mark.anyio
async def test_a_skill_may_demand_what_the_card_does_not(world: World) -> None:
    def make(url: str) -> t.AgentCard:
        made = demanding({"s": bearer()}, {}, made=one_interface(url))
        del made.security_requirements[:]
        made.skills[0].security_requirements.append(requirement({"s": ()}))
        return made

    with Agents(make) as server:
        async with world.discover(server.url) as agent:
            await agent.send_message("hi")
            error, _ = await failure(agent, "SendMessage", skill="s")
            assert isinstance(error, CredentialsRequiredError)
        async with world.discover(server.url, credentials=CredentialStore({"s": BearerToken(SECRET)})) as agent:
            await agent.send_message("hi", skill="s")
    assert [exchange.headers.get("authorization") for exchange in server.called] == [None, f"Bearer {SECRET}"]


@pytest.mark.anyio
async def test_a_refusal_tells_what_is_asked_for(world: World) -> None:
    with Agents(lambda url: demanding({"s": bearer()}, made=one_interface(url)), refuses=lambda _: True) as server:
        async with world.discover(server.url, credentials=CredentialStore({"s": BearerToken(SECRET)})) as agent:
            error, _ = await failure(agent, "SendMessage")
    assert isinstance(error, A2AError)
    assert (error.http_status, error.challenge) == (401, 'Bearer error="invalid_token"')
    assert len(server.called) == 1
    assert SECRET not in f"{error} {error!r}"


@pytest.mark.parametrize(
    "credential",
    [
        ApiKey(SECRET),
        BearerToken(SECRET),
        BasicCredentials("u", SECRET),
        HttpCredentials(SECRET),
        OAuthClient("id", SECRET, refresh_token=SECRET, parameters={"p": SECRET}),
    ],
)
def test_no_credential_shows(credential: Any) -> None:
    store = CredentialStore({"s": credential})
    assert SECRET not in f"{credential!r} {credential} {store!r} {store.of('s')!r}"
    assert pickle.loads(pickle.dumps(credential)) == credential


@pytest.mark.parametrize(
    "make",
    [
        lambda: ApiKey("a\r\nb"),
        lambda: ApiKey(" "),
        lambda: BearerToken("a b"),
        lambda: BearerToken(""),
        lambda: BasicCredentials("a:b", "c"),
        lambda: BasicCredentials("a", "b\0"),
        lambda: HttpCredentials("ü"),
        lambda: CredentialStore({"s": ApiKey("k")}, origins=["agent.test"]),
        lambda: CredentialStore({"s": ApiKey("k")}, origins=[f"https://u:{SECRET}@agent.test"]),
        lambda: OAuthClient("id", "s", token_origins=("login.test",)),
    ],
)
def test_what_cannot_be_sent_is_refused_and_not_told(make: Any) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        make()
    assert SECRET not in str(caught.value)
