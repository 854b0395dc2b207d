"""Signed cards that are fetched, and their keys with them."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from a2a_discovery import (
    CardError,
    CardResolver,
    JwksResolver,
    MissingExtraError,
    ResolvedCard,
    SignatureError,
    canonical_json,
    sign_card,
    verify_card,
)
from a2a_discovery._key_sets import KeySetCache
from a2a_discovery.policy import parse_url
from tests.resolver.common import PATH, redirect, respond, site
from tests.servers import Exchange, Server, World
from tests.signatures.common import CARD, EC, OTHER, document, jwks, public, signature, signed

pytestmark = pytest.mark.anyio

KEYS = orjson.dumps(jwks(public(EC)))
JSON = "Content-Type: application/json"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("a2a_discovery._key_sets._now", made)
    return made


def by_jku(url: str, kid: str = "k1", key: Any = EC) -> dict[str, Any]:
    return signature(document(), key, header={"alg": "ES256", "kid": kid, "jku": url})


def asked(server: Server, path: str = "/jwks.json") -> int:
    return sum(exchange.target == path for exchange in server.seen)


@asynccontextmanager
async def agent(
    world: World, card: Callable[[str], Any], keys: Callable[[Exchange], Any] | None = None, **options: Any
) -> AsyncIterator[tuple[Server, Any]]:
    """A server that publishes what ``card`` makes of its URL, and keys; and a resolver that trusts these."""
    pages: dict[str, Callable[[Exchange], Any]] = {"/jwks.json": keys or respond(200, KEYS, JSON)}
    with Server(site(pages)) as server:
        pages[PATH] = respond(200, orjson.dumps(card(server.url)), JSON)
        origins = options.pop("origins", [server.url])
        async with (
            world.key_sets(origins, **options) as key_sets,
            world.resolver(signatures="require", keys=key_sets) as resolver,
        ):
            yield server, resolver


async def refused(resolver: Any, server: Server, match: str) -> SignatureError:
    with pytest.raises(SignatureError, match=match) as caught:
        await resolver.resolve(server.url)
    assert caught.value.url == server.card_url
    return caught.value


async def test_the_card_is_the_one_that_its_signature_covers(world: World) -> None:
    with Server(respond(200, orjson.dumps(signed()), JSON)) as server:
        async with world.resolver(signatures="require", keys=public(EC)) as resolver:
            found: ResolvedCard = await resolver.resolve(server.url)
        async with world.resolver() as resolver:
            plain: ResolvedCard = await resolver.resolve(server.url)
    assert found.card == CARD
    assert found.verification is not None
    assert found.verification.outcome == "verified"
    assert len(plain.card.signatures) == 1
    assert plain.verification is None


@pytest.mark.parametrize(
    ("card", "policy", "outcome"),
    [
        (document(), "require", "absent"),
        (signed() | {"name": "Mallory"}, "require", "invalid"),
        (signed() | {"name": "Mallory"}, "if-present", "invalid"),
        (signed(header={"alg": "ES256", "kid": "k2"}), "if-present", "unverifiable"),
    ],
)
async def test_what_the_policy_refuses(world: World, card: Any, policy: str, outcome: str) -> None:
    with Server(respond(200, orjson.dumps(card), JSON)) as server:
        async with world.resolver(signatures=policy, keys=public(EC)) as resolver:
            error = await refused(resolver, server, "not signed|no signature")
    assert error.verification.outcome == outcome


async def test_a_card_without_signature_is_taken_if_none_is_demanded(world: World) -> None:
    with Server(respond(200, orjson.dumps(document()), JSON)) as server:
        async with world.resolver(signatures="if-present", keys=public(EC)) as resolver:
            found = await resolver.resolve(server.url)
    assert found.card == CARD
    assert found.verification.outcome == "absent"


async def test_verified_bytes_that_are_no_valid_card(world: World) -> None:
    card = {k: v for k, v in document().items() if k != "skills"}
    with Server(respond(200, orjson.dumps(signed(card)), JSON)) as server:
        async with world.resolver(signatures="require", keys=public(EC)) as resolver:
            with pytest.raises(CardError, match="skills") as caught:
                await resolver.resolve(server.url, strict=False)
    assert caught.value.url == server.card_url


async def test_an_agent_of_a_signed_card(world: World) -> None:
    with Server(respond(200, orjson.dumps(signed()), JSON)) as server:
        async with world.discover(server.url, signatures="require", keys=public(EC)) as found:
            assert found.card == CARD
        with pytest.raises(SignatureError):
            async with world.discover(server.url, signatures="require", keys=public(OTHER)):
                pass


async def test_keys_are_fetched_from_where_the_signature_says_and_kept(world: World) -> None:
    async with agent(world, lambda url: signed(None, by_jku(f"{url}/jwks.json"))) as (server, resolver):
        for _ in range(3):
            assert (await resolver.resolve(server.url)).card == CARD
    assert asked(server) == 1


async def test_lookups_at_once_make_one_request(world: World) -> None:
    async with agent(world, lambda url: signed(None, by_jku(f"{url}/jwks.json"))) as (server, resolver):
        found = await world.together([lambda: resolver.resolve(server.url)] * 4)
    assert all(each.card == CARD for each in found)
    assert asked(server) == 1


@pytest.mark.parametrize("origins", [["https://keys.test"], ["http://127.0.0.1:1"], []])
async def test_a_key_set_of_another_origin_is_not_asked_for(world: World, origins: list[str]) -> None:
    async with agent(world, lambda url: signed(None, by_jku(f"{url}/jwks.json")), origins=origins) as (
        server,
        resolver,
    ):
        error = await refused(resolver, server, "no key sets of http://127.0.0.1:[0-9]+ are trusted")
    assert error.verification.outcome == "unverifiable"
    assert asked(server) == 0


@pytest.mark.parametrize(
    ("jku", "reason"),
    [
        ("http://keys.test/jwks.json", "TLS"),
        ("https://a:b@keys.test/", "user name"),
        ("ftp://keys.test/", "scheme"),
        ("jwks.json", "absolute"),
    ],
)
async def test_a_jku_that_must_not_be_called(world: World, jku: str, reason: str) -> None:
    async with agent(world, lambda _: signed(None, by_jku(jku)), origins=["http://keys.test"]) as (server, resolver):
        await refused(resolver, server, reason)


async def test_redirects_stay_within_the_origins(world: World) -> None:
    with Server(respond(200, KEYS, JSON)) as other:
        card = lambda url: signed(None, by_jku(f"{url}/jwks.json"))  # noqa: E731
        moved = redirect(302, f"{other.url}/jwks.json")
        async with agent(world, card, moved) as (server, resolver):
            await refused(resolver, server, "not followed: no key sets of")
        assert not other.seen
        async with world.key_sets([other.url, "https://unused.test"]) as keys:
            found = await _called(world, keys, "k1", {"jku": f"{other.url}/jwks.json"})
        assert [key["kid"] for key in found] == ["k1"]


async def _called(world: World, keys: Any, kid: str | None, header: Any) -> Any:
    return await keys(kid, header) if world.name == "async" else keys(kid, header)


@pytest.mark.parametrize(
    "answer",
    [
        respond(404),
        respond(200, b"<html>", "Content-Type: text/html"),
        respond(200, b"[]", JSON),
        respond(200, b'{"keys": {}}', JSON),
        respond(200, b"{", JSON),
        respond(200, b" " * 600_000, JSON),
        lambda exchange: exchange.connection.close(),
    ],
)
async def test_a_key_set_that_is_not_had_makes_the_signature_unverifiable(world: World, answer: Any) -> None:
    """And is not asked for again for a while, however many signatures name it."""
    entries = lambda url: [by_jku(f"{url}/jwks.json")] * 3  # noqa: E731
    async with agent(world, lambda url: signed(None, *entries(url)), answer) as (server, resolver):
        error = await refused(resolver, server, "the key source failed: .*jwks.json")
    assert [r.outcome for r in error.verification.signatures] == ["unverifiable"] * 3
    assert asked(server) == 1


async def test_a_signature_without_jku_has_no_key_there(world: World) -> None:
    async with agent(world, lambda _: signed()) as (server, resolver):
        await refused(resolver, server, "there is no key")


async def test_a_key_set_is_good_for_as_long_as_its_answer_says(world: World, clock: Clock) -> None:
    keys = respond(200, KEYS, JSON, "Cache-Control: public, max-age=100", "Age: 40")
    async with agent(world, lambda url: signed(None, by_jku(f"{url}/jwks.json")), keys) as (server, resolver):
        for now, requests in ((0, 1), (59, 1), (61, 2), (120, 2)):
            clock.now = 1000.0 + now
            assert (await resolver.resolve(server.url)).card == CARD
            assert asked(server) == requests


async def test_a_key_that_is_not_in_a_kept_set_has_it_fetched_again_but_not_often(world: World, clock: Clock) -> None:
    sets = [jwks(public(OTHER, "k0")), jwks(public(EC))]

    def keys(exchange: Exchange) -> None:
        respond(200, orjson.dumps(sets[min(clock.now > 1020, 1)]), JSON)(exchange)

    async with agent(world, lambda url: signed(None, by_jku(f"{url}/jwks.json")), keys) as (server, resolver):
        for now, requests in ((0, 1), (9, 1), (11, 2), (20, 2)):
            clock.now = 1000.0 + now
            await refused(resolver, server, "there is no key")
            assert asked(server) == requests
        clock.now = 1022.0
        assert (await resolver.resolve(server.url)).card == CARD
        assert asked(server) == 3


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({}, 300),
        ({"cache-control": "max-age=60"}, 60),
        ({"cache-control": 'private, max-age="60", must-revalidate'}, 60),
        ({"cache-control": "max-age=60", "age": "15"}, 45),
        ({"cache-control": "max-age=60", "age": "x"}, 60),
        ({"cache-control": "MAX-AGE=60"}, 60),
        ({"cache-control": "x-max-age=60"}, 300),
        ({"cache-control": "max-age=999999999"}, 86400),
        ({"cache-control": "max-age=1"}, 10),
        ({"cache-control": "no-store"}, 10),
        ({"cache-control": "no-cache, max-age=60"}, 10),
        ({"cache-control": "max-age=-1"}, 300),
    ],
    ids=str,
)
async def test_lifetimes(clock: Clock, fields: dict[str, str], seconds: int) -> None:
    cache, url = KeySetCache(300.0, 10.0), parse_url("https://a.test/")
    cache.put(url, ({"kty": "EC", "kid": "k"},), fields)
    clock.now += seconds - 1
    assert cache.get(url, "k") is not None
    clock.now += 2
    assert cache.get(url, "k") is None


async def test_an_origin_that_cannot_be_reached_is_left_alone_for_a_while(world: World, clock: Clock) -> None:
    """However many URLs of it a card names: each try may take as long as the limit."""
    tries = 0

    def down(exchange: Exchange) -> None:
        nonlocal tries
        tries += 1
        exchange.connection.close()

    with Server(down) as other:
        entries = [by_jku(f"{other.url}/{i}") for i in range(5)]
        async with agent(world, lambda _: signed(None, *entries), origins=[other.url]) as (server, resolver):
            await refused(resolver, server, "the key source failed")
            assert tries == 1
            clock.now += 11
            await refused(resolver, server, "the key source failed")
            assert tries == 2


async def test_many_urls_do_not_fill_the_memory() -> None:
    cache = KeySetCache(300.0, 10.0)
    urls = [parse_url(f"https://a.test/{i}") for i in range(70)]
    for url in urls:
        cache.put(url, (), {})
    assert [cache.get(url, None) is not None for url in urls] == [False] * 6 + [True] * 64


@pytest.mark.parametrize(
    "options", [{"signatures": "require"}, {"signatures": "always"}, {"signatures": "if-present", "keys": "x"}]
)
async def test_arguments_that_fit_nothing(world: World, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"key|policy|PEM"):
        world.resolver(**options)


@pytest.mark.parametrize("options", [{"origins": ["keys.test"]}, {"pause": 0.0}, {"lifetime": float("nan")}])
async def test_arguments_of_key_sets_that_fit_nothing(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"origin|seconds"):
        JwksResolver(**{"origins": "https://keys.test"} | options)


@pytest.mark.parametrize("missing", ["joserfc", "rfc8785"])
async def test_without_the_extra_its_name_is_told(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    uses: list[Callable[[], Any]] = [
        lambda: canonical_json("{}"),
        lambda: sign_card(CARD, EC, kid="k"),
        lambda: verify_card("{}", public(EC)),
        lambda: CardResolver(signatures="require", keys=public(EC)),
    ]
    for use in uses:
        with pytest.raises(MissingExtraError, match=r"a2a-discovery\[signing\]"):
            use()
    CardResolver()
