"""A public card that cannot be had, or not be used: the one in force stays, and the log says so."""

from __future__ import annotations

from typing import Any

import pytest

from a2a_discovery import SignatureError, sign_card
from a2a_discovery.cache import CardCache
from tests.agent.cards import LIFE, TOKEN, Clock, Host, connected, ticking, warnings
from tests.agent.common import BINDINGS, GET
from tests.servers import World
from tests.signatures.common import EC, public

pytestmark = pytest.mark.anyio

every = pytest.mark.parametrize("binding", BINDINGS)


@every
async def test_a_failure_is_a_warning_and_a_pause(world: World, binding: str, caplog: pytest.LogCaptureFixture) -> None:
    with Host(binding) as host:
        secret = "s3cret-Value"
        async with connected(world, host, {"headers": {"Authorization": f"Bearer {secret}"}}) as (agent, clock):
            before = agent.card
            clock.now += LIFE
            host.status = 503
            await agent.get_task(GET)
            (told,) = warnings(caplog)
            assert "503" in told and host.card_url in told and secret not in told and TOKEN not in told
            await agent.get_task(GET)
            clock.now += 29.9
            await agent.get_task(GET)
            assert host.fetched == 2 and not warnings(caplog) and agent.card is before
            clock.now += 0.1
            host.status = 200
            del host.public.skills[:]
            await agent.get_task(GET)
            assert host.fetched == 3 and "CardError" in warnings(caplog)[0] and agent.card is before
            clock.now += 30
            host.public = host.make("2")
            await agent.get_task(GET)
            assert host.fetched == 4 and agent.card == host.public and not warnings(caplog)


async def test_what_the_log_does_not_hold(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A key in the query of the card's URL, and what a key source of the caller's says."""
    with Host("JSONRPC") as host:
        host.public = sign_card(host.public, EC, kid="k1")
        answers: list[Any] = [public(EC)]

        def keys(kid: str | None, header: Any) -> Any:
            return answers[0]

        async with world.resolver(signatures="require", keys=keys) as resolver:
            clock = ticking(resolver)
            found = await resolver.resolve(f"{host.card_url}?key=s3cret")
            async with world.agent(found, resolver=resolver) as agent:
                for status, kind in [(404, "FetchError"), (200, "SignatureError")]:
                    clock.now += LIFE
                    host.status, answers[0] = status, None
                    await agent.get_task(GET)
                    (told,) = warnings(caplog)
                    assert kind in told and "s3cret" not in told and "?" not in told
                with pytest.raises(SignatureError):
                    await agent.refresh_card()


async def test_whatever_a_resolver_raises_no_call_is_lost(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with Host("JSONRPC") as host:
        async with world.resolver() as resolver:
            clock = ticking(resolver)
            found = await resolver.resolve(host.card_url)

            def broken(reference: str, **options: Any) -> Any:
                raise OSError("the storage with the key s3cret is gone")

            (resolver if world.name == "async" else resolver.blocking).resolve = broken  # type: ignore[attr-defined]
            async with world.agent(found, resolver=resolver) as agent:
                clock.now += LIFE
                await agent.get_task(GET)
                (told,) = warnings(caplog)
                assert "OSError" in told and "s3cret" not in told


@every
async def test_a_card_that_cannot_be_used_is_passed_over(
    world: World, binding: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Host(binding) as host:
        async with connected(world, host) as (agent, clock):
            extended, selection = await agent.extended_card(), agent.selection
            host.public = host.make("2")
            host.public.supported_interfaces[0].protocol_version = "7.0"
            clock.now += LIFE
            await agent.get_task(GET)
            (told,) = warnings(caplog)
            assert "7.0" in told and "\n" not in told
            assert agent.card is extended
            assert await agent.refresh_card() is extended and len(warnings(caplog)) == 1
            assert agent.selection.index == selection.index and await agent.extended_card() is extended
            # It is looked at again when its lifetime is over, and counts as new still.
            clock.now += LIFE
            host.public = host.make("2")
            await agent.get_task(GET)
            assert agent.card == host.public


async def test_a_card_that_is_stale_is_not_asked_for_with_each_call(world: World) -> None:
    """The cache may give an old card where the server has none (RFC 5861): that is a failure like any other."""
    clock = Clock()
    with Host("JSONRPC") as host:
        host.cache_control = "max-age=60, stale-if-error=3600"
        async with world.resolver(cache=CardCache(clock=clock)) as resolver:
            found = await resolver.resolve(host.card_url)
            async with world.agent(found, resolver=resolver) as agent:
                clock.now += LIFE
                host.status = 503
                for _ in range(3):
                    await agent.get_task(GET)
                assert host.fetched == 2
                clock.now += 30
                host.status, host.public = 200, host.make("2")
                await agent.get_task(GET)
                assert host.fetched == 3 and agent.card == host.public
