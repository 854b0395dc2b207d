"""RFC 5861: a stale card while a new one is fetched, or where none is to be had."""

from __future__ import annotations

import asyncio

import pytest

from a2a_discovery import CardError, FetchError, UrlPolicy
from a2a_discovery.cache import CardCache
from tests.cache.common import Clock, Site, Visitor, visiting
from tests.lookup import INSIDE, LOOPBACK, call_loopback_public, looked_up
from tests.servers import Server, World

pytestmark = pytest.mark.anyio

WHILE = "Cache-Control: max-age=60, stale-while-revalidate=30"
IF_ERROR = "Cache-Control: max-age=60, stale-if-error=600"


async def until_asked(visitor: Visitor, times: int) -> None:
    for _ in range(200):
        if visitor.asked >= times:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{visitor.asked} requests, not {times}")


async def until_found(visitor: Visitor, wanted: tuple[str, str]) -> None:
    for _ in range(200):
        if await visitor.get() == wanted:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"never {wanted}")


async def test_while_revalidating(world: World) -> None:  # §3
    async with visiting(world, WHILE, etag='"a"') as visitor:
        await visitor.get()
        visitor.site.name, visitor.site.etag = "second", '"b"'
        visitor.clock.now += 89
        visitor.site.wait.clear()
        for _ in range(20):
            assert await visitor.get() == ("stale", "first")
        await until_asked(visitor, 2)
        visitor.site.wait.set()
        await until_found(visitor, ("cache", "second"))
        assert visitor.asked == 2 and visitor.last["if-none-match"] == '"a"'


async def test_no_longer_than_allowed(world: World) -> None:
    async with visiting(world, WHILE) as visitor:
        await visitor.get()
        visitor.site.name = "second"
        visitor.clock.now += 90
        assert await visitor.get() == ("network", "second")


async def test_a_failure_meanwhile_is_not_the_callers(world: World) -> None:
    async with visiting(world, WHILE) as visitor:
        await visitor.get()
        visitor.clock.now += 60
        visitor.site.status = 500
        assert await visitor.get() == ("stale", "first")
        await until_asked(visitor, 2)
        visitor.site.status, visitor.site.name = 200, "second"
        await until_found(visitor, ("cache", "second"))


async def test_what_is_closed_asks_no_more(world: World) -> None:
    async with visiting(world, WHILE) as visitor:
        await visitor.get()
        visitor.clock.now += 60
        visitor.site.wait.clear()
        assert (await visitor.get())[0] == "stale"
        if world.name == "sync":
            visitor.site.wait.set()  # a thread cannot be ended


async def test_refresh_waits(world: World) -> None:
    async with visiting(world, WHILE) as visitor:
        await visitor.get()
        visitor.clock.now += 60
        visitor.site.name = "second"
        assert await visitor.get(refresh=True) == ("network", "second")


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_if_error(world: World, status: int) -> None:  # §4
    async with visiting(world, IF_ERROR, etag='"a"') as visitor:
        await visitor.get()
        visitor.site.status = status
        visitor.clock.now += 659
        for asked in (2, 3):
            assert await visitor.get() == ("stale", "first")
            assert visitor.asked == asked
        visitor.clock.now += 1
        with pytest.raises(FetchError, match=str(status)):
            await visitor.get()
        visitor.site.status = 200
        assert await visitor.get() == ("revalidated", "first")


async def test_if_there_is_no_server(world: World) -> None:
    clock = Clock()
    async with world.resolver(cache=CardCache(clock=clock)) as resolver:
        with Server(Site(clock, IF_ERROR)) as server:
            await resolver.resolve(server.url)
        clock.now += 60
        found = await resolver.resolve(server.url)
        assert (found.source, found.card.name, found.age) == ("stale", "first", 60)
        with pytest.raises(FetchError, match="refused"):
            await resolver.resolve(server.url, refresh=True)


async def test_not_where_the_server_must_not_be_asked(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    call_loopback_public(monkeypatch)
    looked_up(monkeypatch, [LOOPBACK], [LOOPBACK], [INSIDE])
    clock = Clock()
    policy = UrlPolicy(deny_private=True, allow_http=True)
    with Server(Site(clock, IF_ERROR)) as server:
        async with world.resolver(cache=CardCache(clock=clock), policy=policy) as resolver:
            url = f"http://agent.test:{server.port}"
            await resolver.resolve(url)
            clock.now += 60
            for _ in range(2):
                with pytest.raises(FetchError, match="it is not called"):
                    await resolver.resolve(url)


@pytest.mark.parametrize("status", [401, 404, 410, 429])
async def test_other_errors_count(world: World, status: int) -> None:
    async with visiting(world, IF_ERROR) as visitor:
        await visitor.get()
        visitor.clock.now += 60
        visitor.site.status = status
        with pytest.raises(FetchError, match=str(status)):
            await visitor.get()


async def test_a_bad_card_counts(world: World) -> None:
    async with visiting(world, IF_ERROR) as visitor:
        await visitor.get()
        visitor.clock.now += 60
        visitor.site.body = b"{}"
        with pytest.raises(CardError):
            await visitor.get()


@pytest.mark.parametrize("directive", ["must-revalidate", "no-cache"])  # RFC 9111 §5.2.2.2, §5.2.2.4
async def test_not_where_it_is_forbidden(world: World, directive: str) -> None:
    said = f"Cache-Control: max-age=60, stale-while-revalidate=600, stale-if-error=600, {directive}"
    async with visiting(world, said) as visitor:
        await visitor.get()
        visitor.clock.now += 60
        visitor.site.status = 503
        with pytest.raises(FetchError, match="503"):
            await visitor.get()


async def test_nor_where_nobody_allowed_it(world: World) -> None:  # RFC 9111 §4.2.4
    async with visiting(world, "Cache-Control: max-age=60") as visitor:
        await visitor.get()
        visitor.clock.now += 60
        visitor.site.status = 503
        with pytest.raises(FetchError, match="503"):
            await visitor.get()
