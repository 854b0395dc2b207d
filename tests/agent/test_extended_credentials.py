"""Who asks for the extended card says who that is (§3.1.11), and what its demands change."""

from __future__ import annotations

import pytest

from a2a_discovery import (
    ApiKey,
    BearerToken,
    CredentialsRequiredError,
    CredentialStore,
    OAuthClient,
)
from a2a_discovery.errors import (
    A2AError,
)
from tests.agent.cards import TOKEN, Host, agent_of, failing, store
from tests.agent.common import BINDINGS, GET
from tests.security.common import Tokens, api_key, bearer, demanding, oauth, requirement
from tests.servers import Server, World

pytestmark = pytest.mark.anyio

every = pytest.mark.parametrize("binding", BINDINGS)


@every
async def test_it_is_never_asked_for_anonymously(world: World, binding: str) -> None:
    with Host(binding) as host:
        for requirements in ([], [{}], [{}, {"token": ()}], [{"other": ()}, {}]):
            del host.public.security_requirements[:]
            host.public.security_requirements.extend(requirement(r) for r in requirements)
            async with agent_of(world, host) as agent:
                await agent.extended_card()
                assert host.calls.pop()[1]["authorization"] == f"Bearer {TOKEN}"
            for without in (None, CredentialStore(), CredentialStore({"unknown": BearerToken(TOKEN)})):
                async with agent_of(world, host, credentials=without) as agent:
                    error = await failing(agent, CredentialsRequiredError)
                    assert {"token": "there is no credential for it"} in [dict(a.missing) for a in error.alternatives]
                    assert [a.schemes for a in error.alternatives].count(("token",)) == 1
        assert not host.calls


@every
async def test_which_credential_is_taken(world: World, binding: str) -> None:
    with Host(binding) as host:
        for name in ("a", "z"):
            host.public.security_schemes[name].CopyFrom(api_key("header", f"X-{name}"))
        both = store(a=ApiKey("ka"), z=ApiKey("kz"))
        for requirements, sent in [
            ([{}, {"z": ()}], {"x-z": "kz"}),  # a requirement comes before what is only declared
            ([], {"x-a": "ka"}),
            ([{"undeclared": ()}, {}], {"x-a": "ka"}),
        ]:
            del host.public.security_requirements[:]
            host.public.security_requirements.extend(requirement(r) for r in requirements)
            async with agent_of(world, host, credentials=both) as agent:
                await agent.extended_card()
                _, params = host.calls.pop()
                assert {n: v for n, v in params.items() if n in ("x-a", "x-z", "authorization")} == sent
        # One that does not fit is none.
        async with agent_of(
            world, host, credentials=CredentialStore({"a": BearerToken("T"), "z": ApiKey("kz")})
        ) as agent:
            await agent.extended_card()
            assert host.calls.pop()[1]["x-z"] == "kz"
        # What the card demands of everybody is not replaced by what it only declares.
        del host.public.security_requirements[:]
        host.public.security_requirements.append(requirement({"z": (), "token": ()}))
        async with agent_of(world, host, credentials=CredentialStore({"a": ApiKey("ka")})) as agent:
            error = await failing(agent, CredentialsRequiredError)
            assert [set(a.schemes) for a in error.alternatives] == [{"z", "token"}]


@every
async def test_a_card_without_schemes_cannot_be_answered(world: World, binding: str) -> None:
    with Host(binding) as host:
        host.public = host.make(scheme=False)
        async with agent_of(world, host) as agent:
            error = await failing(agent, CredentialsRequiredError)
            assert error.alternatives == () and "declares no scheme" in str(error) and not host.calls


@every
async def test_what_the_caller_brings_is_not_looked_into(world: World, binding: str) -> None:
    with Host(binding) as host:
        own = {"service_params": {"X-Mine": "v"}}
        async with agent_of(world, host, credentials=None, **own) as agent:
            await agent.extended_card()
            assert host.calls.pop()[1]["x-mine"] == "v"
        if binding == "GRPC":
            async with (
                world.channel(host.url) as channel,
                agent_of(world, host, credentials=None, channel=channel) as agent,
            ):
                await agent.extended_card()
        else:
            async with (
                world.client(headers={"X-Mine": "c"}) as client,
                agent_of(world, host, credentials=None, client=client) as agent,
            ):
                await agent.extended_card()
                assert host.calls[-1][1]["x-mine"] == "c"
        # A store that cannot meet the card is no reason to go without.
        async with agent_of(world, host, credentials=CredentialStore(), **own) as agent:
            await failing(agent, CredentialsRequiredError)


@every
async def test_a_token_that_is_refused_is_made_anew_once(world: World, binding: str) -> None:
    with Host(binding) as host, Tokens() as tokens:
        host.public = demanding(
            {"s": oauth("client_credentials", token_url=tokens.token_url)}, {}, made=host.make(scheme=False)
        )
        login = CredentialStore({"s": OAuthClient("me", "secret", token_origins=(tokens.url,))})
        host.tokens = {"token-2"}
        async with agent_of(world, host, credentials=login) as agent:
            assert (await agent.extended_card()).skills[0].id == "hidden"
            assert host.asked() == 2 and tokens.given == 2
        host.tokens = {"never"}
        async with agent_of(world, host, credentials=login) as agent:
            error = await failing(agent, A2AError)
            assert error.http_status == 401 or error.grpc_status == "UNAUTHENTICATED"
            assert host.asked() == 4 and tokens.given == 3
            host.tokens = {"token-3", "token-4"}
            assert (await agent.extended_card()).skills[0].id == "hidden"


@every
async def test_the_new_demands_count_afterwards(world: World, binding: str) -> None:
    with Host(binding) as host:
        host.public = host.make()
        host.extended = demanding({"key": api_key("header", "X-Key")}, {"key": ()}, made=host.make())
        async with agent_of(world, host, credentials=store(key=ApiKey("k"))) as agent:
            await agent.get_task(GET)
            await agent.extended_card()
            await agent.get_task(GET)
            before, _, after = (params for _, params in host.calls)
            assert "x-key" not in before and after["x-key"] == "k" and "authorization" not in after
        async with agent_of(world, host) as agent:
            await agent.extended_card()
            with pytest.raises(CredentialsRequiredError):
                await agent.get_task(GET)


@every
async def test_credentials_stay_within_the_origin_of_the_public_card(world: World, binding: str) -> None:
    with Host(binding) as host, Server(lambda exchange: None, raw=True) as elsewhere:
        # Another port is another origin over HTTP, another host over gRPC.
        url = "agent.test:443" if binding == "GRPC" else elsewhere.url
        host.extended = demanding({"token": bearer()}, {"token": ()}, made=host.make())
        host.extended.supported_interfaces[0].url = url
        async with agent_of(world, host) as agent:
            await agent.extended_card()
            assert agent.interface.url == url
            with pytest.raises(CredentialsRequiredError) as caught:
                await agent.get_task(GET)
            assert "must not go to" in str(caught.value)
            assert not elsewhere.connections
