"""RFC 9111 §3: what may be kept."""

from __future__ import annotations

import json

import pytest

from a2a_discovery import CardError, FetchError, UrlPolicy
from tests.cache.common import named, visiting
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio


async def test_a_fresh_card_is_not_asked_for(world: World) -> None:
    async with visiting(world, "Cache-Control: max-age=60") as visitor:
        assert await visitor.get() == ("network", "first")
        visitor.site.name = "second"
        for _ in range(3):
            assert await visitor.get() == ("cache", "first")
        assert visitor.asked == 1


async def test_no_store(world: World) -> None:  # §5.2.2.5
    async with visiting(world, "Cache-Control: no-store, max-age=60", etag='"a"') as visitor:
        await visitor.get()
        visitor.site.name = "second"
        assert await visitor.get() == ("network", "second")
        assert "if-none-match" not in visitor.last and len(visitor.cache) == 0


async def test_no_store_ends_what_was_kept(world: World) -> None:
    async with visiting(world, "Cache-Control: max-age=60", etag='"a"') as visitor:
        await visitor.get()
        visitor.clock.now += 61
        visitor.site.fields, visitor.site.etag = ("Cache-Control: no-store",), '"b"'
        await visitor.get()
        assert len(visitor.cache) == 0


async def test_private_may_be_kept(world: World) -> None:  # §5.2.2.7
    async with visiting(world, "Cache-Control: private, max-age=60") as visitor:
        await visitor.get()
        assert (await visitor.get())[0] == "cache"


@pytest.mark.parametrize("status", [203, 206, 301, 404, 410, 500])
async def test_other_statuses_are_not_kept(world: World, status: int) -> None:
    async with visiting(world, "Cache-Control: max-age=60", f"Location: /{status}") as visitor:
        visitor.site.status = status
        for _ in range(2):
            with pytest.raises(FetchError):
                await visitor.get()
        assert len(visitor.cache) == 0
        visitor.site.status = 200
        assert await visitor.get() == ("network", "first")


@pytest.mark.parametrize("body", [b"{}", b"[]", b"", b"{", json.dumps({"name": "x"}).encode()])
async def test_a_bad_card_is_not_kept(world: World, body: bytes) -> None:
    async with visiting(world, "Cache-Control: max-age=60") as visitor:
        visitor.site.body = body
        for asked in (1, 2):
            with pytest.raises(CardError):
                await visitor.get()
            assert visitor.asked == asked
        assert len(visitor.cache) == 0


async def test_a_bad_card_does_not_replace_a_good_one(world: World) -> None:
    async with visiting(world, "Cache-Control: max-age=60", etag='"a"') as visitor:
        await visitor.get()
        visitor.clock.now += 61
        visitor.site.body, visitor.site.etag = b"{}", '"b"'
        for _ in range(2):
            with pytest.raises(CardError):
                await visitor.get()
            assert visitor.last["if-none-match"] == '"a"'
        visitor.site.etag = '"a"'
        assert await visitor.get() == ("revalidated", "first")


async def test_a_card_taken_with_its_problems_is_not_kept(world: World) -> None:
    async with visiting(world, "Cache-Control: max-age=60") as visitor:
        visitor.site.body = b'{"name": "bad"}'
        assert await visitor.get(strict=False) == ("network", "bad")
        assert len(visitor.cache) == 0
        visitor.site.body = None
        assert await visitor.get(strict=False) == ("network", "first")
        assert await visitor.get(strict=False) == await visitor.get() == ("cache", "first")


async def test_a_refused_redirect_is_refused_again(world: World) -> None:
    def elsewhere(exchange: Exchange) -> None:
        exchange.answer(302, b"", "Location: http://other.test/card.json")

    with Server(elsewhere) as server:
        async with world.resolver(cache=_new_cache(), policy=UrlPolicy(same_origin=True)) as resolver:
            for asked in (1, 2):
                with pytest.raises(FetchError, match="redirects to"):
                    await resolver.resolve(server.url)
                assert len(server.seen) == asked


async def test_redirects_are_not_kept_their_target_is(world: World) -> None:
    def site(exchange: Exchange) -> None:
        if exchange.target == "/card.json":
            exchange.answer(200, named("there"), "Cache-Control: max-age=60")
        else:
            exchange.answer(307, b"", "Location: /card.json", "Cache-Control: max-age=60")

    with Server(site) as server:
        async with world.resolver(cache=_new_cache()) as resolver:
            for _ in range(2):
                found = await resolver.resolve(server.url)
                assert found.redirects == (server.card_url,) and found.url == f"{server.url}/card.json"
                assert found.requested_url == server.card_url
            assert found.source == "cache"
            assert (await resolver.resolve(f"{server.url}/card.json")).source == "cache"
        assert [seen.target for seen in server.seen].count("/card.json") == 1
        assert len(server.seen) == 3


def _new_cache() -> object:
    from a2a_discovery.cache import CardCache

    return CardCache()
