"""RFC 9111 §4.2 and §5: for how long a card is fresh, and how old it is."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from a2a_discovery._freshness import Freshness, born, directives
from tests.cache.common import NOON, Clock, visiting
from tests.servers import World

pytestmark = pytest.mark.anyio

CLOCK = Clock()


@pytest.mark.parametrize(
    ("fields", "lifetime"),
    [
        (["Cache-Control: max-age=60"], 60),  # §5.2.2.1
        (["Cache-Control: MAX-AGE = 60"], 60),
        (['Cache-Control: max-age="60"'], 60),
        (["Cache-Control: public", "Cache-Control: max-age=60"], 60),
        (["Cache-Control: max-age=60, max-age=600"], 60),  # §4.2.1: the first
        (["Cache-Control: max-age=60, s-maxage=600"], 60),  # §5.2.2.10: for shared caches
        (["Cache-Control: s-maxage=600"], 300),
        (["Cache-Control: max-age=60", f"Expires: {CLOCK.date(600)}"], 60),  # §5.3: max-age is before Expires
        ([f"Expires: {CLOCK.date(60)}"], 60),  # §5.3
        (["Cache-Control: public"], 300),
        (["X-Nothing: said"], 300),  # the default
        ([f"Last-Modified: {CLOCK.date(-10_000_000)}"], 300),  # no heuristic of its own (§4.2.2)
        (['Cache-Control: no-cache="set-cookie", max-age=60'], 60),  # §5.2.2.4: about a field
        (['Cache-Control: community="a, max-age=5", max-age=60'], 60),
    ],
)
async def test_lifetime(world: World, fields: list[str], lifetime: int) -> None:
    async with visiting(world, *fields) as visitor:
        found = await visitor.resolver.resolve(visitor.server.url)
        assert found.revalidate_at == datetime.fromtimestamp(NOON + lifetime, UTC)
        visitor.clock.now += lifetime - 0.5
        assert (await visitor.get())[0] == "cache"
        visitor.clock.now += 0.5
        assert (await visitor.get())[0] == "network"


@pytest.mark.parametrize(
    "field",
    [
        "Cache-Control: max-age=0",
        "Cache-Control: max-age=-1",
        "Cache-Control: max-age=1.5",
        "Cache-Control: max-age=soon",
        "Cache-Control: max-age",
        "Cache-Control: no-cache",  # §5.2.2.4
        "Cache-Control: no-cache, max-age=60",
        "Expires: 0",
        "Expires: tomorrow",
        f"Expires: {CLOCK.date(-60)}",
    ],
)
async def test_stale_at_once(world: World, field: str) -> None:
    async with visiting(world, field, etag='"a"') as visitor:
        found = await visitor.resolver.resolve(visitor.server.url)
        assert found.revalidate_at == datetime.fromtimestamp(NOON, UTC)
        assert await visitor.get() == ("revalidated", "first")
        assert visitor.last["if-none-match"] == '"a"'


async def test_the_callers_default(world: World) -> None:
    async with visiting(world, default_lifetime=10) as visitor:
        await visitor.get()
        visitor.clock.now += 9
        assert (await visitor.get())[0] == "cache"
        visitor.clock.now += 1
        assert (await visitor.get())[0] == "network"


async def test_the_longest_lifetime_ends(world: World) -> None:  # §1.2.2
    async with visiting(world, "Cache-Control: max-age=99999999999", etag='"a"') as visitor:
        await visitor.get()
        visitor.clock.now += 2**31 - 2
        assert (await visitor.get())[0] == "cache"
        visitor.clock.now += 1
        assert (await visitor.get())[0] == "revalidated"


async def test_age(world: World) -> None:  # §4.2.3, §5.1
    async with visiting(world, "Cache-Control: max-age=60", "Age: 50, 7") as visitor:
        found = await visitor.resolver.resolve(visitor.server.url)
        assert found.age == 50 and found.revalidate_at == datetime.fromtimestamp(NOON + 10, UTC)
        visitor.clock.now += 9
        found = await visitor.resolver.resolve(visitor.server.url)
        assert (found.source, found.age) == ("cache", 59)
        visitor.clock.now += 1
        assert (await visitor.get())[0] == "network"


async def test_an_age_that_is_no_number_is_none(world: World) -> None:
    async with visiting(world, "Cache-Control: max-age=60", "Age: old") as visitor:
        assert (await visitor.resolver.resolve(visitor.server.url)).age == 0


async def test_a_date_in_the_past_makes_older(world: World) -> None:  # §4.2.3: apparent_age
    async with visiting(world, "Cache-Control: max-age=60") as visitor:
        visitor.site.dated = False
        visitor.site.fields += (f"Date: {visitor.clock.date(-45)}",)
        assert (await visitor.resolver.resolve(visitor.server.url)).age == 45
        visitor.clock.now += 15
        assert (await visitor.get())[0] == "network"


@pytest.mark.parametrize("date", ["Date: yesterday", f"Date: {CLOCK.date(100)}", "X-No: date"])
async def test_a_date_that_tells_nothing(world: World, date: str) -> None:
    async with visiting(world, "Cache-Control: max-age=60", date) as visitor:
        visitor.site.dated = False
        assert (await visitor.resolver.resolve(visitor.server.url)).age == 0
        visitor.clock.now += 59
        assert (await visitor.get())[0] == "cache"


async def test_expires_counts_from_the_date(world: World) -> None:
    """By the server's clock, which is 30 s late: the card is fresh for 60 s, of which 30 s seem to be over."""
    async with visiting(world, f"Expires: {CLOCK.date(30)}", f"Date: {CLOCK.date(-30)}") as visitor:
        visitor.site.dated = False
        found = await visitor.resolver.resolve(visitor.server.url)
        assert (found.age, found.revalidate_at) == (30, datetime.fromtimestamp(NOON + 30, UTC))


async def test_expires_without_a_date(world: World) -> None:
    async with visiting(world, f"Expires: {CLOCK.date(60)}") as visitor:
        visitor.site.dated = False
        found = await visitor.resolver.resolve(visitor.server.url)
        assert found.revalidate_at == datetime.fromtimestamp(NOON + 60, UTC)


async def test_a_clock_set_back(world: World) -> None:
    async with visiting(world, "Cache-Control: max-age=60") as visitor:
        await visitor.get()
        visitor.clock.now -= 1000
        found = await visitor.resolver.resolve(visitor.server.url)
        assert (found.source, found.age) == ("cache", 0)


async def test_without_a_cache_the_card_tells_its_lifetime_too(world: World) -> None:
    async with visiting(world, "Cache-Control: max-age=60", "Age: 50") as visitor, world.resolver() as resolver:
        visitor.site.dated = False
        found = await resolver.resolve(visitor.server.url)
        assert found.source == "network" and 50 <= found.age < 55
        assert found.revalidate_at is not None and 0 < (found.revalidate_at - datetime.now(UTC)).total_seconds() <= 10


@given(st.text() | st.from_regex(r'[a-z-]{1,9}(="?[0-9a-z, \\]*"?)?(, ?[a-z-]+)*', fullmatch=True))
def test_any_cache_control_is_read(value: str) -> None:
    assert all(name == name.lower() for name in directives(value))
    freshness = Freshness.read({"cache-control": value}, NOON, 300)
    assert 0 <= freshness.lifetime < 2**31
    assert directives(freshness.as_cache_control())["max-age"] == str(freshness.lifetime)


@given(st.text(), st.text(), st.text())
def test_any_dates_are_read(date: str, age: str, expires: str) -> None:
    headers = {"date": date, "age": age, "expires": expires}
    moment = born(headers, NOON, NOON + 1)
    assert moment <= NOON
    Freshness.read(headers, NOON, 300).ends(moment)


@pytest.mark.parametrize("date", ["Mon, 01 Jan 0001 00:00:00 +2359", "Fri, 31 Dec 9999 23:59:59 -2359"])
def test_dates_at_the_ends_of_time(date: str) -> None:
    headers = {"date": date, "expires": date}
    Freshness.read(headers, NOON, 300).ends(born(headers, NOON, NOON))


def test_the_age_includes_the_time_of_the_answer() -> None:  # §4.2.3: response_delay
    assert born({"age": "10"}, NOON - 5, NOON) == NOON - 15
