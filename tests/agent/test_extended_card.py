"""The card that an agent shows to those it knows, and its place (§3.1.11, §13.3)."""

from __future__ import annotations

import threading
from contextlib import aclosing
from typing import Any

import grpc
import pytest

from a2a_discovery import (
    BearerToken,
    CredentialsRequiredError,
    CredentialStore,
    NoSupportedInterfaceError,
    UrlPolicy,
    protojson,
    types as t,
)
from a2a_discovery.errors import (
    A2AError,
    CallTimeoutError,
    ExtendedAgentCardNotConfiguredError,
    ExtensionSupportRequiredError,
    TransportError,
    UnsupportedOperationError,
)
from tests.agent.cards import EXTENDED, TOKEN, Host, agent_of, failing
from tests.agent.common import BINDINGS, GET, call, eventually, interface
from tests.servers import World

pytestmark = pytest.mark.anyio

every = pytest.mark.parametrize("binding", BINDINGS)


@every
async def test_it_takes_the_place_of_the_public_card(world: World, binding: str) -> None:
    with Host(binding) as host:
        host.public = host.make(tenant="billing")
        host.extended = host.make(skill="hidden", tenant="shipping")
        del host.extended.capabilities.extensions[:]
        host.extended.capabilities.streaming = False
        async with agent_of(world, host) as agent:
            found = await agent.extended_card()
            assert found == host.extended and agent.card is found
            assert not agent.allows("SendStreamingMessage") and agent.interface.tenant == "shipping"
            name, params = host.calls[0]
            assert (name, params["authorization"], params["a2a-version"]) == (EXTENDED, f"Bearer {TOKEN}", "1.0")
            await agent.get_task(GET)
            assert host.asked() == 1 and len(host.calls) == 2
        if binding == "GRPC":
            assert [p["tenant"] for _, p in host.calls] == ["billing", "shipping"]
        if binding == "HTTP+JSON":
            assert [e.target for e in host.web.seen] == ["/billing/extendedAgentCard", "/shipping/tasks/t"]


@every
async def test_the_second_call_makes_no_request(world: World, binding: str) -> None:
    with Host(binding) as host:
        async with agent_of(world, host) as agent:
            first = await agent.extended_card()
            assert await agent.extended_card() is first and host.asked() == 1
            host.extended = host.make(skill="another")
            assert (await agent.extended_card(refresh=True)).skills[0].id == "another"
            assert agent.card.skills[0].id == "another" and host.asked() == 2
            assert (await agent.extended_card()).skills[0].id == "another" and host.asked() == 2


@every
@pytest.mark.parametrize("refresh", [False, True])
@pytest.mark.parametrize("good", [True, False])
async def test_calls_at_once_make_one_request(world: World, binding: str, *, refresh: bool, good: bool) -> None:
    with Host(binding) as host:
        go_on = threading.Event()
        host.hold = lambda: go_on.wait(5)
        if not good:
            host.extended = [grpc.StatusCode.PERMISSION_DENIED, host.extended]
        async with agent_of(world, host) as agent:

            async def ask() -> Any:
                try:
                    return await agent.extended_card(refresh=refresh)
                except A2AError as exc:
                    return exc

            async def release() -> None:
                await eventually(lambda: host.asked())
                threading.Timer(0.1, go_on.set).start()

            *found, _ = await world.together([ask, ask, ask, release])
            assert host.asked() == 1
            if good:
                assert all(card is agent.card for card in found)
            else:
                assert all(isinstance(error, A2AError) for error in found) and len({id(e) for e in found}) == 3
                assert agent.card == host.public
                assert (await agent.extended_card()).skills[0].id == "hidden"


@every
async def test_without_the_flag_nothing_is_sent(world: World, binding: str) -> None:
    with Host(binding) as host:
        host.public.capabilities.extended_agent_card = False
        async with agent_of(world, host) as agent:
            error = await failing(agent, UnsupportedOperationError)
            assert error.local and "extendedAgentCard" in str(error)
            assert not host.calls


@every
async def test_the_flag_of_the_card_in_force_counts(world: World, binding: str) -> None:
    with Host(binding) as host:
        host.extended.capabilities.extended_agent_card = False
        async with agent_of(world, host) as agent:
            kept = await agent.extended_card()
            assert (await failing(agent, UnsupportedOperationError, refresh=True)).local
            assert await agent.extended_card() is kept and host.asked() == 1


@every
async def test_a_required_extension_is_demanded_first(world: World, binding: str) -> None:
    needed = t.AgentExtension(uri="https://x.test/needed", required=True)
    with Host(binding) as host:
        host.public.capabilities.extensions.append(needed)
        async with agent_of(world, host) as agent:
            assert (await failing(agent, ExtensionSupportRequiredError)).local and not host.calls
        async with agent_of(world, host, extensions=[needed.uri]) as agent:
            await agent.extended_card()
            assert host.calls[0][1]["a2a-extensions"] == needed.uri


@every
async def test_the_url_policy_stays(world: World, binding: str) -> None:
    with Host(binding) as host:
        host.extended.supported_interfaces[0].url = "other.test:443" if binding == "GRPC" else "https://other.test/rpc"
        async with agent_of(world, host, policy=UrlPolicy(same_origin=True)) as agent:
            selection = agent.selection
            error = await failing(agent, NoSupportedInterfaceError)
            assert "same_origin" in str(error) and agent.selection is selection
            await agent.get_task(GET)
            # Another interface, where one may be called, does.
            host.extended.supported_interfaces.append(interface(binding, host.url, "second"))
            await agent.extended_card()
            assert (agent.selection.index, agent.interface.tenant) == (1, "second")
            await agent.get_task(GET)


@every
async def test_a_stream_under_way_goes_on_where_it_began(world: World, binding: str) -> None:
    other_binding = "HTTP+JSON" if binding == "GRPC" else "GRPC"
    with Host(binding) as host, Host(other_binding) as other:
        go_on = threading.Event()
        host.between = lambda: go_on.wait(5)
        host.extended.supported_interfaces[0].CopyFrom(interface(other_binding, other.url))
        async with agent_of(world, host, credentials=CredentialStore({"token": BearerToken(TOKEN)})) as agent:
            async with aclosing(agent.send_streaming_message("hi")) as events:
                seen = [await anext(events)]
                await agent.extended_card()
                assert agent.interface.url == other.url
                go_on.set()
                seen += [event async for event in events]
            assert [event.WhichOneof("payload") for event in seen] == ["task", "status_update"]
            assert not other.calls and agent.interface.url == other.url


@every
async def test_errors_and_silence_then_a_card(world: World, binding: str) -> None:
    with Host(binding) as host:
        release = threading.Event()
        host.extended = [grpc.StatusCode.PERMISSION_DENIED, host.extended]
        async with agent_of(world, host, timeout=0.2) as agent:
            error = await failing(agent, A2AError)
            assert error.http_status == 403 or error.grpc_status == "PERMISSION_DENIED"
            host.hold = lambda: release.wait(5)
            error = await failing(agent, CallTimeoutError)
            assert error.phase == "unary"
            release.set()
            host.hold = bool
            assert (await agent.extended_card()).skills[0].id == "hidden"


@every
async def test_an_agent_that_is_busy_is_asked_again(world: World, binding: str) -> None:
    """Retries and fallback are those of any call."""
    with Host(binding) as host, Host("JSONRPC") as other:
        host.public.supported_interfaces[0].url = "127.0.0.1:1" if binding == "GRPC" else "http://127.0.0.1:1"
        host.public.supported_interfaces.append(interface("JSONRPC", other.url))
        other.extended = host.make(skill="hidden")
        anywhere = CredentialStore({"token": BearerToken(TOKEN)}, origins=["http://127.0.0.1:1", other.web.url])
        async with agent_of(world, host, fallback=True, credentials=anywhere) as agent:
            await agent.extended_card()
            # The extended card is selected from anew: what could not be reached once is tried again.
            assert other.asked() == 1 and agent.selection.index == 0 and agent.interface.url == host.url


@every
async def test_the_generated_method_only_reads(world: World, binding: str) -> None:
    with Host(binding) as host:
        async with agent_of(world, host, credentials=None) as agent:
            assert await agent.get_extended_agent_card() == host.extended
            assert agent.card == host.public and "authorization" not in host.calls[0][1]
            assert isinstance(await failing(agent, CredentialsRequiredError), CredentialsRequiredError)


@every
async def test_nothing_is_listening(world: World, binding: str) -> None:
    host = Host(binding)
    with host:
        pass
    async with agent_of(world, host) as agent:
        error = await failing(agent, TransportError)
        assert not error.sent or binding == "GRPC"


async def test_an_error_of_the_protocol(world: World) -> None:
    with Host("JSONRPC") as host:
        host.extended = '{}, "error": {"code": -32007, "message": "none"}'
        async with agent_of(world, host) as agent:
            await failing(agent, ExtendedAgentCardNotConfiguredError)


@every
async def test_the_callers_card_is_not_changed(world: World, binding: str) -> None:
    with Host(binding) as host:
        given, before = host.public, protojson.dumps(host.public)
        async with agent_of(world, host) as agent:
            await agent.extended_card()
            assert protojson.dumps(given) == before and agent.card is not given
            assert await call(agent, "GetTask")
