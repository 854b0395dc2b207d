"""Where a public card is revalidated: through a cache, and where a catalog named it."""

from __future__ import annotations

import json

import pytest

from a2a_discovery import CardError, protojson
from a2a_discovery.cache import CardCache
from tests.agent.cards import LIFE, TOKEN, Clock, Host, store
from tests.agent.common import GET
from tests.servers import World

pytestmark = pytest.mark.anyio


async def test_the_cache_of_the_resolver_decides(world: World) -> None:
    """What one agent had revalidated, the other one does not ask for again."""
    clock = Clock()
    with Host("JSONRPC") as host:
        async with world.resolver(cache=CardCache(clock=clock)) as resolver:
            found = await resolver.resolve(host.card_url)
            async with (
                world.agent(found, resolver=resolver) as one,
                world.agent(found, resolver=resolver) as other,
            ):
                host.public = host.make("2")
                clock.now += LIFE
                await one.get_task(GET)
                await other.get_task(GET)
                assert one.card == other.card == host.public and host.fetched == 2
                host.public = host.make("3")
                assert (await one.refresh_card()).version == "3" and host.fetched == 3


async def test_an_extended_card_is_in_no_cache(world: World) -> None:
    with Host("JSONRPC") as host:
        async with world.resolver(cache=CardCache()) as resolver:
            found = await resolver.resolve(host.card_url)
            async with world.agent(found, resolver=resolver, credentials=store()) as agent:
                await agent.extended_card()
            assert (await resolver.resolve(host.card_url)).card == host.public and host.fetched == 1
            assert (await resolver.resolve(host.url)).card == host.public


async def test_a_card_that_a_catalog_names(world: World) -> None:
    """It is at the very URL, and no credentials go there but those of the catalog's own origin."""
    with Host("JSONRPC") as host, Host("JSONRPC") as catalog:
        secret = {"Authorization": f"Bearer {TOKEN}"}
        url = f"{host.web.url}/agent-card.json/of/one"
        for origin, sent in [(catalog, False), (host, True)]:
            async with world.resolver(headers=secret) as resolver:
                named_by = f"{origin.web.url}/catalog"
                found = (await resolver.resolve(url, named_by=named_by)).but(named_by=named_by)
                async with world.agent(found, resolver=resolver) as agent:
                    await agent.refresh_card()
                    seen = host.web.seen[-1]
                    assert seen.target == "/agent-card.json/of/one"
                    assert (seen.headers.get("authorization") == secret["Authorization"]) is sent


async def test_discover_through_a_catalog(world: World) -> None:
    with Host("JSONRPC") as host, Host("JSONRPC") as asked:
        url = f"{host.web.url}/agent-card.json/of/one"
        entry = {"identifier": "urn:x", "displayName": "X", "type": "application/a2a-agent-card+json"}
        for where, kind in [({"url": url}, None), ({"data": protojson.to_dict(host.public)}, CardError)]:
            asked.catalog = json.dumps({"specVersion": "1.0", "entries": [{**entry, **where}]})
            async with world.discover(asked.web.url, catalog=True, headers={"X-Secret": "s3cret"}) as agent:
                assert agent.interface.url == host.url
                if kind is None:
                    host.public = host.make("2")
                    assert (await agent.refresh_card()).version == "2"
                else:
                    before = agent.card
                    with pytest.raises(kind):
                        await agent.refresh_card()
                    assert agent.card is before
        assert asked.fetched == 0, "another agent's card takes no place"
        assert host.fetched == 2 and not any(b"s3cret" in exchange.head for exchange in host.web.seen)


async def test_a_card_that_anothers_catalog_names(world: World) -> None:
    """Who is asked names another catalog, and that one a URL of who is asked: it does not get its credentials."""
    with Host("JSONRPC") as asked, Host("JSONRPC") as other:
        nested = {"identifier": "urn:o", "displayName": "O", "type": "application/ai-catalog+json"}
        named = {"identifier": "urn:x", "displayName": "X", "type": "application/a2a-agent-card+json"}
        there = f"{other.web.url}/.well-known/ai-catalog.json"
        asked.catalog = json.dumps({"specVersion": "1.0", "entries": [{**nested, "url": there}]})
        other.catalog = json.dumps({"specVersion": "1.0", "entries": [{**named, "url": asked.card_url}]})
        async with world.discover(asked.web.url, catalog=True, headers={"X-Secret": "s3cret"}) as agent:
            await agent.refresh_card()
        cards = [exchange for exchange in asked.web.seen if "agent-card.json" in exchange.target]
        assert len(cards) == 2 and not any(b"s3cret" in exchange.head for exchange in cards)
