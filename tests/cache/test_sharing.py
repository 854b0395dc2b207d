"""Who is answered with whose card (RFC 9111 §2, §3.5, §4.1), and how many are asked for at once."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest

from a2a_discovery import CardError, CardResolver, FetchError, SignatureError, UrlPolicy
from a2a_discovery.cache import CardCache
from tests.cache.common import Clock, Site, Visitor, named, visiting
from tests.lookup import LOOPBACK, looked_up
from tests.resolver.common import redirect
from tests.servers import Exchange, Server, World
from tests.signatures.common import EC, OTHER, document, jwks, public, signed

pytestmark = pytest.mark.anyio

FRESH = "Cache-Control: max-age=60"


def by_header(name: str, *fields: str) -> Any:
    """Answers with a card that is named after a header field of the request."""
    return lambda exchange: exchange.answer(200, named(exchange.headers.get(name, "nobody")), FRESH, *fields)


@pytest.mark.parametrize("name", ["authorization", "x-api-key", "cookie", "x-tenant"])
async def test_a_card_is_its_callers(world: World, name: str) -> None:  # §3.5
    cache = CardCache()
    with Server(by_header(name)) as server:
        for value in ("ann", "ben", None, "ann"):
            headers = {} if value is None else {name: value}
            async with world.resolver(cache=cache, headers=headers) as resolver:
                found = await resolver.resolve(server.url)
                assert found.card.name == (value or "nobody")
        assert found.source == "cache" and len(server.seen) == 3


async def test_a_clients_own_headers_count(world: World) -> None:
    cache = CardCache()
    with Server(by_header("authorization")) as server:
        async with world.client() as client, world.resolver(client, cache=cache) as resolver:
            for value in ("ann", "ben"):
                client.headers["Authorization"] = value
                for _ in range(2):
                    found = await resolver.resolve(server.url)
                    assert found.card.name == value
            assert found.source == "cache"
        assert len(server.seen) == 2


async def test_what_a_client_adds_unseen_counts(world: World) -> None:
    cache = CardCache()
    with Server(by_header("authorization")) as server:
        async with world.client(auth=("ann", "1")) as ann, world.client(auth=("ben", "2")) as ben:
            names = set()
            for client in (ann, ben, ann):
                async with world.resolver(client, cache=cache) as resolver:
                    names.add((await resolver.resolve(server.url)).card.name)
        assert len(names) == len(server.seen) == 2


async def test_credentials_are_no_reason_at_another_origin(world: World) -> None:
    cache = CardCache()
    with Server(by_header("authorization")) as there, Server(lambda exchange: moved(exchange)) as server:
        moved = redirect(302, there.card_url)
        for value in ("ann", "ben"):
            async with world.resolver(cache=cache, headers={"Authorization": value}) as resolver:
                assert (await resolver.resolve(server.url)).card.name == "nobody"
        assert (len(server.seen), len(there.seen)) == (2, 1)


@pytest.mark.parametrize("name", ["Accept", "A2A-Version", "Accept-Language"])
async def test_vary(world: World, name: str) -> None:  # §4.1
    cache = CardCache()
    with Server(by_header(name.lower(), f"Vary: {name}")) as server:
        for value in ("1.0", "2.0", "1.0", "2.0"):
            async with world.resolver(cache=cache, headers={name: value}) as resolver:
                assert (await resolver.resolve(server.url)).card.name == value
        assert len(server.seen) == 2 and len(cache) == 1


async def test_without_vary_what_is_wanted_does_not_matter(world: World) -> None:
    cache = CardCache()
    with Server(by_header("accept-language")) as server:
        for value in ("en", "de"):
            async with world.resolver(cache=cache, headers={"Accept-Language": value}) as resolver:
                assert (await resolver.resolve(server.url)).card.name == "en"
        assert len(server.seen) == 1


async def test_vary_on_everything(world: World) -> None:
    async with visiting(world, FRESH, "Vary: *", etag='"a"') as visitor:
        await visitor.get()
        assert (await visitor.get())[0] == "revalidated"


async def test_many_variants_are_bounded(world: World) -> None:
    cache = CardCache()
    with Server(by_header("accept-language", "Vary: Accept-Language")) as server:
        for number in range(20):
            async with world.resolver(cache=cache, headers={"Accept-Language": f"x-{number}"}) as resolver:
                await resolver.resolve(server.url)
    (place,) = cache._kept
    assert len(cache.at(place)) == 8


async def test_the_longest_unused_goes(world: World) -> None:
    cache = CardCache(max_entries=2)
    with Server(lambda exchange: exchange.answer(200, named(exchange.target), FRESH)) as server:
        async with world.resolver(cache=cache) as resolver:
            for path in "abacab":
                await resolver.resolve(f"{server.url}/{path}.json")
        assert len(cache) == 2
        assert [seen.target[1] for seen in server.seen] == ["a", "b", "c", "b"]


@pytest.mark.parametrize("options", [{"max_entries": 0}, {"default_lifetime": -1}])
def test_senseless_caches(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="room for 1 entry"):
        CardCache(**options)  # type: ignore[arg-type]


async def test_what_is_done_to_a_card_is_not_done_to_the_next(world: World) -> None:
    async with visiting(world, FRESH) as visitor:
        for source in ("network", "cache", "cache"):
            found = await visitor.resolver.resolve(visitor.server.url)
            assert (found.source, found.card.name) == (source, "first")
            found.card.name = "changed"
            del found.card.skills[:]


async def test_signed_cards_are_checked_for_each_who_asks(world: World) -> None:
    cache, clock = CardCache(), Clock()
    site = Site(clock, FRESH)
    site.dated = False
    site.body = orjson.dumps(signed())
    keys, wrong = jwks(public(EC)), jwks(public(OTHER))
    with Server(site) as server:
        async with (
            world.resolver(cache=cache) as anybody,
            world.resolver(cache=cache, signatures="require", keys=keys) as careful,
            world.resolver(cache=cache, signatures="require", keys=wrong) as mistaken,
        ):
            assert (await anybody.resolve(server.url)).verification is None
            for _ in range(2):
                found = await careful.resolve(server.url)
                assert found.source == "cache" and found.verification.outcome == "verified"
                assert found.card is found.verification.card and not found.card.signatures
                found.card.name = "changed"
            assert len(server.seen) == 1
            for asked in (2, 3):
                with pytest.raises(SignatureError):
                    await mistaken.resolve(server.url)
                assert len(server.seen) == asked
            assert (await anybody.resolve(server.url)).card.signatures
            assert (await careful.resolve(server.url)).source == "cache"
    assert len(server.seen) == 3


async def test_a_key_that_is_called_back_counts_no_more(world: World) -> None:
    """At the next revalidation, though the card has not changed."""
    clock = Clock()
    site = Site(clock, FRESH, etag='"a"')
    site.body = orjson.dumps(signed())
    trusted = [jwks(public(EC))]
    with Server(site) as server:
        async with world.resolver(
            cache=CardCache(clock=clock), signatures="require", keys=lambda _kid, _header: trusted[0]
        ) as resolver:
            for source in ("network", "cache", "revalidated"):
                assert (await resolver.resolve(server.url)).source == source
                clock.now += 60 if source == "cache" else 0
            trusted[0] = jwks(public(OTHER))
            assert (await resolver.resolve(server.url)).source == "cache"
            clock.now += 60
            for _ in range(2):
                with pytest.raises(SignatureError):
                    await resolver.resolve(server.url)
            trusted[0] = jwks(public(EC))
            assert (await resolver.resolve(server.url)).source == "cache"


async def test_resolvers_that_come_and_go_leave_little(world: World) -> None:
    cache = CardCache()
    with Server(lambda exchange: exchange.answer(200, orjson.dumps(signed()), FRESH)) as server:
        for _ in range(20):
            async with world.resolver(cache=cache, signatures="require", keys=jwks(public(EC))) as resolver:
                await resolver.resolve(server.url)
        (place,) = cache._kept
        assert len(cache.at(place)[0].readings) == 16 and len(server.seen) == 1


async def test_a_card_that_is_not_signed_is_never_kept_where_it_has_to_be(world: World) -> None:
    cache = CardCache()
    with Server(lambda exchange: exchange.answer(200, orjson.dumps(document()), FRESH)) as server:
        async with world.resolver(cache=cache, signatures="require", keys=jwks(public(EC))) as resolver:
            for _ in range(2):
                with pytest.raises(SignatureError):
                    await resolver.resolve(server.url)
    assert len(cache) == 0 and len(server.seen) == 2


async def test_private_addresses_are_no_ones_who_denies_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up(monkeypatch, [LOOPBACK])
    cache = CardCache()
    with Server(by_header("x")) as server:
        url = f"http://agent.test:{server.port}"
        async with world.resolver(cache=cache) as resolver:
            await resolver.resolve(url)
        async with world.resolver(cache=cache, policy=UrlPolicy(deny_private=True)) as careful:
            with pytest.raises(FetchError, match="loopback"):
                await careful.resolve(url)


def together(visitor: Visitor, count: int) -> Callable[[Awaitable[Any]], Awaitable[Any]]:
    """Lets the server answer once ``count`` have asked, and the last of them has had its time to join the others."""
    began = itertools.count(1)
    visitor.site.wait.clear()

    async def ask(call: Awaitable[Any]) -> Any:
        if next(began) == count:
            threading.Timer(0.2, visitor.site.wait.set).start()
        return await call

    return ask


@pytest.mark.parametrize("fields", [(FRESH,), ("Cache-Control: no-store",)])
async def test_one_request_for_all_who_ask_at_once(world: World, fields: tuple[str, ...]) -> None:
    async with visiting(world, *fields) as visitor:
        ask = together(visitor, 100)
        found = await world.together([lambda: ask(visitor.resolver.resolve(visitor.server.url))] * 100)
        assert visitor.asked == 1
        assert {(one.source, one.card.name) for one in found} == {("network", "first")}
        assert len({id(one.card) for one in found}) == 100


async def test_one_failure_for_all_who_ask_at_once(world: World) -> None:
    async def caught(visitor: Any) -> CardError:
        with pytest.raises(CardError) as raised:
            await visitor.resolver.resolve(visitor.server.url)
        return raised.value

    async with visiting(world) as visitor:
        visitor.site.body = b"{}"
        ask = together(visitor, 20)
        errors = await world.together([lambda: ask(caught(visitor))] * 20)
        assert visitor.asked == 1
        assert len({id(error) for error in errors}) == 20
        assert {str(error) for error in errors} == {str(errors[0])} and errors[0].url == visitor.server.card_url
        visitor.site.body = None
        assert (await visitor.get())[0] == "network"


async def test_who_is_cancelled_leaves_the_others(world: World) -> None:
    if world.name == "sync":
        return  # threads are not cancelled
    async with visiting(world, FRESH) as visitor:
        visitor.site.wait.clear()
        tasks = [asyncio.create_task(visitor.resolver.resolve(visitor.server.url)) for _ in range(3)]
        await asyncio.sleep(0.1)
        tasks[0].cancel()
        await asyncio.sleep(0.05)
        visitor.site.wait.set()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        assert [(await task).card.name for task in tasks[1:]] == ["first"] * 2
        assert visitor.asked == 2 and await visitor.get() == ("cache", "first")


def test_event_loops_share_a_cache() -> None:
    cache = CardCache()

    async def ask(url: str) -> str:
        async with CardResolver(cache=cache) as resolver:
            return (await resolver.resolve(url)).source

    with Server(by_header("x")) as server:
        assert [asyncio.run(ask(server.url)) for _ in range(3)] == ["network", "cache", "cache"]


async def test_discover_takes_a_cache(world: World) -> None:
    cache = CardCache()
    with Server(by_header("x")) as server:
        for _ in range(2):
            async with world.discover(server.url, cache=cache) as agent:
                assert agent.card.name == "nobody"
        assert len(server.seen) == 1


@pytest.mark.parametrize("cache", [{}, "cards.db", object()])
def test_what_is_no_cache(world: World, cache: Any) -> None:
    with pytest.raises(TypeError, match=r"no .*Storage of hishel's"):
        world.resolver(cache=cache)


async def test_a_reference_that_is_none(world: World) -> None:
    async with world.resolver(cache=CardCache()) as resolver:
        for _ in range(2):
            with pytest.raises(FetchError, match="no reference"):
                await resolver.resolve("/x")


async def test_what_is_named_by_another_document(world: World) -> None:
    """Credentials are the catalog's origin's, and so is the card that they bring."""
    cache = CardCache()

    def answer(exchange: Exchange) -> None:
        exchange.answer(200, named(exchange.headers.get("authorization", "nobody")), FRESH)

    with Server(answer) as server, Server(answer) as other:
        async with world.resolver(cache=cache, headers={"Authorization": "ann"}) as resolver:
            assert (await resolver.resolve(server.card_url, named_by=other.url)).card.name == "nobody"
            assert (await resolver.resolve(server.card_url, named_by=server.url)).card.name == "ann"
            assert (await resolver.resolve(server.url)).card.name == "ann"
            assert (await resolver.resolve(server.card_url, named_by=other.url)).card.name == "nobody"
            # What a document names is the card's own URL.
            assert (await resolver.resolve(server.url, named_by=server.url)).url == server.url
    assert len(server.seen) == 3
