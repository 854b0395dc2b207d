"""The card endpoints of both SDKs through the cache: what they send with a card, and what their 304 does."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.applications import Starlette

from a2a_discovery import sync
from a2a_discovery.cache import CardCache
from tests.asgi import serving
from tests.cache.common import Clock
from tests.interop.js_peer import js_server
from tests.interop.sdk import a2a_pb2 as official
from tests.interop.test_signatures import EC, KEYS, PLAIN, theirs

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from a2a.server.routes import create_agent_card_routes
    from a2a.utils import signing

DAY = 86_400


@contextmanager
def resolving(**options: Any) -> Iterator[tuple[sync.CardResolver, Clock]]:
    clock = Clock()
    # Their Date goes by the clock of the machine: to one that is slow they are never old.
    clock.now = time.time() - 10 * DAY
    with sync.CardResolver(cache=CardCache(clock=clock), **options) as resolver:
        yield resolver, clock


@pytest.mark.parametrize(("cache_control", "lifetime"), [(None, 300), ("public, max-age=60", 60)])
def test_a2a_sdk(cache_control: str | None, lifetime: int) -> None:
    card = theirs(PLAIN)
    routes = create_agent_card_routes(card, cache_control=cache_control)
    with serving(Starlette(routes=routes)) as url, resolving() as (resolver, clock):
        found = resolver.resolve(url)
        assert found.headers["etag"].startswith('W/"')
        clock.now += lifetime - 1
        assert resolver.resolve(url).source == "cache"
        clock.now += 1
        assert resolver.resolve(url).source == "revalidated"
        card.version = "2.0.0"
        assert resolver.resolve(url).card.version == PLAIN.version
        found = resolver.resolve(url, refresh=True)
        assert (found.source, found.card.version) == ("network", "2.0.0")


def test_a_card_that_a2a_sdk_signs_anew_for_each_answer() -> None:
    """Its ETag leaves the signatures out, so the one that is there stays good."""
    signer = signing.create_agent_card_signer(EC.as_pem(private=True), {"alg": "ES256", "kid": "k1"})

    async def modify(card: Any) -> Any:
        return signer(official.AgentCard.FromString(card.SerializeToString()))

    routes = create_agent_card_routes(theirs(PLAIN), card_modifier=modify, cache_control="max-age=60")
    with serving(Starlette(routes=routes)) as url, resolving(signatures="require", keys=KEYS) as (resolver, clock):
        for source in ("network", "cache", "revalidated", "cache"):
            found = resolver.resolve(url)
            assert (found.source, found.card) == (source, PLAIN)
            assert found.verification is not None and found.verification.outcome == "verified"
            clock.now += DAY if source == "cache" else 0


def test_a_card_that_a2a_js_sdk_signs_anew_for_each_answer() -> None:
    """Its ETag is another one each time: a revalidation brings the whole card, which is verified and kept."""
    etags = set()
    key = json.dumps(EC.as_dict(private=True))
    with js_server(key=key) as peer, resolving(signatures="require", keys=KEYS) as (resolver, clock):
        for _ in range(3):
            found = resolver.resolve(f"{peer.url}/signed")
            assert found.source == "network" and found.verification is not None
            assert found.verification.outcome == "verified"
            assert resolver.resolve(f"{peer.url}/signed").source == "cache"
            etags.add(found.headers["etag"])
            clock.now += DAY
    assert len(etags) == 3


def test_a2a_js_sdk() -> None:
    with js_server() as peer, resolving() as (resolver, clock):
        found = resolver.resolve(peer.url)
        assert found.source == "network" and found.headers["cache-control"] == "public, max-age=3600"
        clock.now += 3599
        assert resolver.resolve(peer.url).source == "cache"
        clock.now += 1
        again = resolver.resolve(peer.url)
        assert again.source == "revalidated" and again.card == found.card
