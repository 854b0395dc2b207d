"""RFC 9111 §4.3: what is asked about a stale card, and what the answers mean."""

from __future__ import annotations

import pytest

from a2a_discovery import FetchError
from tests.cache.common import Clock, visiting
from tests.servers import World

pytestmark = pytest.mark.anyio

MODIFIED = Clock().date(-1000)


@pytest.mark.parametrize("etag", ['"a"', 'W/"a"'])
async def test_etag(world: World, etag: str) -> None:  # §4.3.1; RFC 9110 §8.8.3: echoed as it is
    async with visiting(world, "Cache-Control: max-age=60", etag=etag) as visitor:
        await visitor.get()
        visitor.clock.now += 60
        assert await visitor.get() == ("revalidated", "first")
        assert visitor.last["if-none-match"] == etag
        visitor.clock.now += 59
        assert await visitor.get() == ("cache", "first")
        assert visitor.asked == 2


async def test_last_modified(world: World) -> None:
    async with visiting(world, "Cache-Control: max-age=60", modified=MODIFIED) as visitor:
        await visitor.get()
        visitor.clock.now += 60
        assert await visitor.get() == ("revalidated", "first")
        assert visitor.last["if-modified-since"] == MODIFIED and "if-none-match" not in visitor.last


async def test_both_are_sent_and_the_etag_decides(world: World) -> None:  # RFC 9110 §13.1.3
    async with visiting(world, "Cache-Control: max-age=60", etag='"a"', modified=MODIFIED) as visitor:
        await visitor.get()
        visitor.clock.now += 60
        visitor.site.name, visitor.site.etag = "second", '"b"'
        assert await visitor.get() == ("network", "second")
        assert (visitor.last["if-none-match"], visitor.last["if-modified-since"]) == ('"a"', MODIFIED)


@pytest.mark.parametrize("etag", ['"ä"', '"\xff"', '"\x80'])
async def test_a_validator_that_cannot_be_echoed(world: World, etag: str) -> None:
    async with visiting(world, "Cache-Control: max-age=60", f"ETag: {etag}") as visitor:
        await visitor.get()
        visitor.clock.now += 60
        assert (await visitor.get())[0] == "network"
        assert "if-none-match" not in visitor.last


async def test_without_validators_the_card_is_fetched(world: World) -> None:
    async with visiting(world, "Cache-Control: max-age=60") as visitor:
        await visitor.get()
        visitor.clock.now += 60
        assert (await visitor.get())[0] == "network"
        assert not {"if-none-match", "if-modified-since"} & visitor.last.keys()


async def test_304_updates_the_fields(world: World) -> None:  # §4.3.4
    async with visiting(world, "Cache-Control: max-age=60", "X-Kept: yes", "X-New: no", etag='"a"') as visitor:
        await visitor.get()
        visitor.clock.now += 60
        visitor.site.fields_of_304 = ("Cache-Control: max-age=600", "X-New: yes", f"Date: {visitor.clock.date()}")
        found = await visitor.resolver.resolve(visitor.server.url)
        assert (found.headers["x-kept"], found.headers["x-new"]) == ("yes", "yes")
        assert found.headers["cache-control"] == "max-age=600" and found.headers["etag"] == '"a"'
        visitor.clock.now += 599
        assert (await visitor.get())[0] == "cache"
        visitor.clock.now += 1
        assert (await visitor.get())[0] == "revalidated"


async def test_304_without_fields_counts_from_now(world: World) -> None:
    async with visiting(world, "Cache-Control: max-age=60", "Age: 30", etag='"a"') as visitor:
        await visitor.get()
        visitor.clock.now += 1000
        visitor.site.fields_of_304 = ()
        found = await visitor.resolver.resolve(visitor.server.url)
        assert (found.source, found.age) == ("revalidated", 0)
        assert "age" not in found.headers and "date" not in found.headers
        visitor.clock.now += 59
        assert (await visitor.get())[0] == "cache"


async def test_304_does_not_make_an_old_expires_last(world: World) -> None:
    clock = Clock()
    async with visiting(world, f"Expires: {clock.date(60)}", etag='"a"') as visitor:
        await visitor.get()
        visitor.clock.now += 60
        visitor.site.fields_of_304 = (f"Date: {visitor.clock.date()}",)
        assert (await visitor.get())[0] == "revalidated"
        assert (await visitor.get())[0] == "revalidated"


async def test_304_that_fits_nothing_is_asked_again(world: World) -> None:  # §4.3.4
    async with visiting(world, "Cache-Control: max-age=60", etag='"a"') as visitor:
        await visitor.get()
        visitor.clock.now += 60
        visitor.site.fields_of_304 = ('ETag: "z"',)
        visitor.site.name = "second"
        assert await visitor.get() == ("network", "second")
        assert visitor.asked == 3 and "if-none-match" not in visitor.last


@pytest.mark.parametrize("refresh", [False, True])
async def test_304_to_an_unconditional_request_is_an_error(world: World, refresh: bool) -> None:
    async with visiting(world, "Cache-Control: max-age=60") as visitor:
        visitor.site.status = 304
        with pytest.raises(FetchError, match="304"):
            await visitor.get(refresh=refresh)


async def test_refresh_asks_end_to_end(world: World) -> None:  # §5.2.1.4
    async with visiting(world, "Cache-Control: max-age=60", etag='"a"') as visitor:
        await visitor.get()
        assert await visitor.get(refresh=True) == ("revalidated", "first")
        assert (visitor.last["cache-control"], visitor.last["if-none-match"]) == ("no-cache", '"a"')
        visitor.site.name, visitor.site.etag = "second", '"b"'
        assert await visitor.get(refresh=True) == ("network", "second")
        assert await visitor.get() == ("cache", "second")
        assert visitor.asked == 3


async def test_a_caller_who_always_asks(world: World) -> None:
    async with visiting(
        world, "Cache-Control: max-age=60", etag='"a"', headers={"Cache-Control": "no-cache"}
    ) as visitor:
        for source in ("network", "revalidated", "revalidated"):
            assert (await visitor.get())[0] == source


async def test_an_etag_that_changes_each_time(world: World) -> None:
    """As that of a card which its server signs anew for each answer."""
    async with visiting(world, "Cache-Control: max-age=60", etag='"0"') as visitor:
        for turn in range(1, 4):
            assert (await visitor.get())[0] == "network"
            assert (await visitor.get())[0] == "cache"
            visitor.site.etag = f'"{turn}"'
            visitor.clock.now += 60
        assert len(visitor.cache.at(next(iter(visitor.cache._kept)))) == 1


async def test_a_good_card_survives_a_server_that_fails(world: World) -> None:
    async with visiting(world, "Cache-Control: max-age=60", etag='"a"') as visitor:
        await visitor.get()
        visitor.clock.now += 60
        visitor.site.status = 500
        for _ in range(2):
            with pytest.raises(FetchError, match="500"):
                await visitor.get()
        visitor.site.status = 200
        assert await visitor.get() == ("revalidated", "first")
