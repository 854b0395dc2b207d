"""The public card as it changes, and what becomes of the extended one (§8.6, §13.3)."""

from __future__ import annotations

import threading
from contextlib import ExitStack, aclosing
from typing import Any

import anyio
import pytest

from a2a_discovery import CardError, FetchError
from tests.agent.cards import LIFE, Host, connected, ticking, warnings
from tests.agent.common import BINDINGS, GET, HTTP, eventually, interface
from tests.servers import World

pytestmark = pytest.mark.anyio

every = pytest.mark.parametrize("binding", BINDINGS)


@every
async def test_the_lifetime_decides(world: World, binding: str) -> None:
    with Host(binding) as host:
        async with connected(world, host) as (agent, clock):
            host.public = host.make("2", "new", "second")
            clock.now += LIFE - 0.1
            await agent.get_task(GET)
            assert host.fetched == 1 and agent.card.version == "1"
            clock.now += 0.1
            await agent.get_task(GET)
            assert host.fetched == 2 and agent.card == host.public
            assert agent.interface.tenant == "second" and agent.selection.index == 0
            assert host.calls[-1][1].get("tenant", "second") == "second", "the call that noticed goes by it already"
            await agent.get_task(GET)
            assert host.fetched == 2
            clock.now += LIFE
            host.public = host.make("3")
            events = [event async for event in agent.send_streaming_message("hi")]
            assert len(events) == 2 and host.fetched == 3 and agent.card.version == "3"


@every
async def test_the_same_version(world: World, binding: str) -> None:
    """Without an extended card, any difference counts; with one, it stays."""
    with Host(binding) as host:
        async with connected(world, host) as (agent, clock):
            before, selection = agent.card, agent.selection
            clock.now += LIFE
            await agent.get_task(GET)
            assert host.fetched == 2 and agent.card is before and agent.selection is selection
            host.public = host.make("1", "changed")
            clock.now += LIFE
            await agent.get_task(GET)
            assert agent.card == host.public
            extended = await agent.extended_card()
            host.public = host.make("1", "changed again")
            clock.now += LIFE
            await agent.get_task(GET)
            assert host.fetched == 4 and agent.card is extended and await agent.extended_card() is extended
            assert await agent.refresh_card() is extended and host.fetched == 5
            assert host.asked() == 1


@every
async def test_another_version_drops_the_extended_card(world: World, binding: str) -> None:
    with Host(binding) as host:
        async with connected(world, host) as (agent, clock):
            host.extended = host.make("1-extended", "hidden")
            await agent.extended_card()
            clock.now += LIFE
            await agent.get_task(GET)
            assert agent.card.version == "1-extended", "the versions of public cards are compared"
            host.public, host.extended = host.make("2"), host.make("2-extended", "hidden")
            clock.now += LIFE
            await agent.get_task(GET)
            assert agent.card == host.public
            assert (await agent.extended_card()).version == "2-extended" and host.asked() == 2
            await agent.get_task(GET)
            assert agent.card.version == "2-extended" and host.fetched == 3


@every
async def test_refresh_card(world: World, binding: str) -> None:
    with Host(binding) as host:
        async with connected(world, host) as (agent, clock):
            host.public = host.make("2")
            assert await agent.refresh_card() == host.public and agent.card == host.public
            assert host.fetched == 2 and not host.calls
            clock.now += LIFE - 1
            await agent.get_task(GET)
            assert host.fetched == 2
            clock.now += 1
            await agent.get_task(GET)
            assert host.fetched == 3, "its lifetime counts from then on"
            before = agent.card
            host.status = 503
            with pytest.raises(FetchError) as caught:
                await agent.refresh_card()
            assert caught.value.status == 503 and agent.card is before
            host.status = 200
            del host.public.skills[:]
            with pytest.raises(CardError):
                await agent.refresh_card()
            assert agent.card is before
            await agent.get_task(GET)


async def test_refresh_card_goes_past_the_cache_and_revalidation_does_not(world: World) -> None:
    with Host("JSONRPC") as host:
        asked = []
        async with world.resolver() as resolver:
            clock = ticking(resolver)
            real: Any = resolver if world.name == "async" else resolver.blocking
            resolve = real.resolve

            def noted(reference: str, **options: Any) -> Any:
                asked.append((reference, options))
                return resolve(reference, **options)

            found = await resolver.resolve(host.card_url)
            real.resolve = noted
            async with world.agent(found, resolver=resolver) as agent:
                await agent.refresh_card()
                clock.now += LIFE
                await agent.get_task(GET)
        assert [(reference, options["refresh"]) for reference, options in asked] == [
            (host.card_url, True),
            (host.card_url, False),
        ]


async def test_what_refresh_card_needs(world: World) -> None:
    with Host("JSONRPC") as host:
        async with world.resolver() as resolver:
            for options in ({}, {"card_url": host.card_url}, {"resolver": resolver}):
                async with world.agent(host.public, **options) as agent:
                    with pytest.raises(ValueError, match="resolver and the card_url"):
                        await agent.refresh_card()
            async with world.agent(host.public, resolver=resolver, card_url=host.web.url) as agent:
                host.public = host.make("2")
                assert (await agent.refresh_card()).version == "2"
            # The resolver is the caller's, and is open still.
            found = await resolver.resolve(host.web.url)
            for options in ({}, {"card_url": "http://127.0.0.1:1"}):
                async with world.agent(found, resolver=resolver, **options) as agent:
                    before = host.fetched
                    await agent.refresh_card()
                    assert host.fetched == before + 1, "it is where it was found"


async def test_without_a_lifetime_nobody_asks(world: World) -> None:
    with Host("JSONRPC") as host:
        async with world.resolver() as resolver:
            clock = ticking(resolver)
            async with world.agent(host.public, card_url=host.card_url, resolver=resolver) as agent:
                clock.now *= 2
                await agent.get_task(GET)
                assert host.fetched == 0
                await agent.refresh_card()
                clock.now += LIFE
                await agent.get_task(GET)
                assert host.fetched == 2, "that of the card that came counts"
            found = await resolver.resolve(host.card_url)
            async with world.agent(found) as agent:
                clock.now += LIFE
                await agent.get_task(GET)
                assert host.fetched == 3, "nobody can ask"


@every
async def test_others_go_on_while_one_asks(world: World, binding: str) -> None:
    """One call waits for the card, and the others for nothing."""
    with Host(binding) as host:
        async with connected(world, host) as (agent, clock):
            host.public = host.make("2")
            clock.now += LIFE
            go_on, waiting = threading.Event(), threading.Event()
            host.before_card = lambda: (waiting.set(), go_on.wait(5))
            order = []

            async def first() -> None:
                await agent.get_task(GET)
                order.append(("first", agent.card.version))

            async def others() -> None:
                await eventually(waiting.is_set)
                for _ in range(3):
                    await agent.get_task(GET)
                    order.append(("other", agent.card.version))
                go_on.set()

            await world.together([first, others])
            assert order == [("other", "1")] * 3 + [("first", "2")]
            assert host.fetched == 2


async def test_an_older_answer_does_not_replace_a_newer_one(world: World) -> None:
    with Host("JSONRPC") as host:
        async with connected(world, host) as (agent, _):
            go_on, waiting = threading.Event(), threading.Event()
            old, new = host.make("2"), host.make("3")
            host.public, host.before_card = old, lambda: (waiting.set(), go_on.wait(5))

            async def slow() -> None:
                assert (await agent.refresh_card()).version == "3"

            async def fast() -> None:
                await eventually(waiting.is_set)
                host.before_card, host.public = bool, new
                assert (await agent.refresh_card()).version == "3"
                go_on.set()

            await world.together([slow, fast])
            assert agent.card == new and host.fetched == 3


@every
async def test_an_extended_card_that_was_asked_for_before_the_change(world: World, binding: str) -> None:
    """It may belong to the version before, so it is asked for again."""
    with Host(binding) as host:
        async with connected(world, host) as (agent, _):
            go_on, waiting = threading.Event(), threading.Event()
            host.hold = lambda: (waiting.set(), go_on.wait(5))
            host.extended = [host.make("1", "old"), host.make("2", "new")]

            async def ask() -> None:
                assert (await agent.extended_card()).skills[0].id == "new"

            async def change() -> None:
                await eventually(waiting.is_set)
                host.public = host.make("2")
                assert (await agent.refresh_card()).version == "2"
                go_on.set()

            await world.together([ask, change])
            assert agent.card.skills[0].id == "new" and host.asked() == 2


@every
async def test_a_call_for_the_extended_card_revalidates_first(world: World, binding: str) -> None:
    with Host(binding) as host:
        async with connected(world, host) as (agent, clock):
            await agent.extended_card()
            clock.now += LIFE
            host.public, host.extended = host.make("2"), host.make("2", "new")
            assert (await agent.extended_card()).skills[0].id == "hidden" and host.fetched == 1, "no request at all"
            assert (await agent.extended_card(refresh=True)).skills[0].id == "new"
            assert host.fetched == 2 and host.asked() == 2


@every
async def test_a_stream_under_way_goes_on(world: World, binding: str) -> None:
    with Host(binding) as host, Host("HTTP+JSON") as other:
        go_on = threading.Event()
        host.between = lambda: go_on.wait(5)
        async with connected(world, host) as (agent, clock):
            async with aclosing(agent.send_streaming_message("hi")) as events:
                seen = [await anext(events)]
                host.public = host.make("2")
                host.public.supported_interfaces[0].CopyFrom(interface("HTTP+JSON", other.url))
                clock.now += LIFE
                await agent.get_task(GET)
                assert [name for name, _ in other.calls] == ["GetTask"]
                go_on.set()
                seen += [event async for event in events]
            assert len(seen) == 2


@pytest.mark.parametrize("binding", HTTP)
async def test_a_server_that_starts_anew_with_another_card(
    world: World, binding: str, caplog: pytest.LogCaptureFixture
) -> None:
    """On the same port, while calls run: none is lost, and the new card is seen at the next revalidation."""
    with ExitStack() as first, ExitStack() as second:
        host = first.enter_context(Host(binding))
        again = []
        async with connected(world, host, retries=4) as (agent, clock):
            extended = await agent.extended_card()
            first.close()
            clock.now += LIFE
            done = []

            async def calling() -> None:
                await agent.get_task(GET)
                done.append(agent.card)

            async def starting() -> None:
                await anyio.sleep(0.05)
                made = Host(binding, port=host.web.port)
                made.public, made.extended = made.make("2"), made.make("2", "new")
                again.append(second.enter_context(made))

            await world.together([calling, calling, calling, starting])
            (anew,) = again
            assert done == [extended] * 3
            assert len(warnings(caplog)) == 1, "the card was asked for in vain"
            clock.now += 30
            await world.together([calling] * 3)
            assert agent.card == anew.public and len(anew.calls) == 6 and anew.fetched == 1
            assert (await agent.extended_card()).skills[0].id == "new"


async def test_discover_revalidates_through_its_own_resolver(world: World) -> None:
    with Host("JSONRPC") as host:
        async with world.discover(host.web.url) as agent:
            host.public = host.make("2")
            assert (await agent.refresh_card()).version == "2" and host.fetched == 2


@pytest.mark.parametrize("said", ["no-cache", "no-store", "max-age=0"])
async def test_a_card_that_is_not_to_be_kept_is_asked_for_once_a_second(world: World, said: str) -> None:
    with Host("JSONRPC") as host:
        host.cache_control = said
        async with connected(world, host) as (agent, clock):
            for fetched in (1, 2, 3):
                for _ in range(3):
                    await agent.get_task(GET)
                    assert host.fetched == fetched
                clock.now += 1
