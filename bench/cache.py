"""A card in the cache beside a card that is fetched over loopback."""

from __future__ import annotations

import asyncio
import tempfile
import warnings
from pathlib import Path
from statistics import median

import hishel
import httpx

from a2a_discovery import CardCache, CardResolver, sync
from bench.calls import canned
from bench.table import Sides, async_seconds, compare, compare_async, conclude, report, seconds

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its generated code is older than the protobuf runtime
    from a2a.client import A2ACardResolver

MOST_MICROSECONDS = 20
ROUNDS = 30


async def _fresh(url: str) -> None:
    async with CardResolver() as without, CardResolver(cache=CardCache()) as cached:
        await cached.resolve(url), await without.resolve(url)
        pairs: Sides = [
            (
                await async_seconds(lambda: cached.resolve(url), 1000),
                await async_seconds(lambda: without.resolve(url), 10),
            )
            for _ in range(ROUNDS)
        ]
    _conclude("async", pairs)
    async with CardResolver() as ours, httpx.AsyncClient(trust_env=False) as client:
        theirs = A2ACardResolver(client, url)
        await compare_async(
            "fetch, read and check; a2a-sdk, unchecked",
            lambda: ours.resolve(url),
            lambda: theirs.get_agent_card(),
            goal=0.0,
            repeat=10,
        )


def _fresh_sync(url: str) -> None:
    with sync.CardResolver() as without, sync.CardResolver(cache=CardCache()) as cached:
        cached.resolve(url), without.resolve(url)
        pairs = [
            (seconds(lambda: cached.resolve(url), 1000), seconds(lambda: without.resolve(url), 10))
            for _ in range(ROUNDS)
        ]
    _conclude("sync", pairs)


def _stored(url: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        storage = hishel.SqliteStorage(database_path=Path(directory) / "cards.db")
        with sync.CardResolver(cache=storage) as resolver:
            resolver.resolve(url)

        def found() -> None:
            with sync.CardResolver(cache=storage) as resolver:
                assert resolver.resolve(url).source == "cache"

        def fetched() -> None:
            with sync.CardResolver() as resolver:
                resolver.resolve(url)

        compare("a card in SQLite, new process; fetch", found, fetched, goal=0.0, repeat=1, rounds=10)
        storage.close()


def _conclude(world: str, pairs: Sides) -> None:
    conclude(f"fresh in the cache, {world}; fetch", pairs, goal=200)
    hit = median(ours for ours, _ in pairs) * 1e6
    report(
        f"fresh in the cache, {world}; limit", f"{hit:9.1f} µs", f"{MOST_MICROSECONDS} µs", MOST_MICROSECONDS / hit, 1
    )


def main() -> None:
    """Hits of both worlds, and one from a storage."""
    with canned() as (http, _):
        url = http.removesuffix("/rpc")
        asyncio.run(_fresh(url))
        _fresh_sync(url)
        _stored(url)
