"""Cards in a storage of hishel's: beyond the process, and never those of one caller."""

from __future__ import annotations

import logging
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import hishel
import pytest

from a2a_discovery._kept import Place
from a2a_discovery.cache import CardCache
from tests.cache.common import Clock, Site, Visitor, named
from tests.servers import Server, World

pytestmark = pytest.mark.anyio

FRESH = "Cache-Control: max-age=60"


@pytest.fixture
def storage(world: World, tmp_path: Path) -> Callable[[], Any]:
    """Makes storages over one file, as several processes have them."""
    if world.name == "async":
        pytest.importorskip("anysqlite")
    cls = hishel.AsyncSqliteStorage if world.name == "async" else hishel.SqliteStorage
    return lambda: cls(database_path=tmp_path / "cards.db")


@pytest.fixture(scope="module")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A Redis server of our own."""
    pytest.importorskip("redis")
    command = shutil.which("redis-server")
    if command is None:
        pytest.skip("there is no redis-server here")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path_factory.mktemp("redis"))]
    with subprocess.Popen([command, *options], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert any("Ready to accept connections" in line for line in server.stdout)
            yield port
        finally:
            server.terminate()
            server.stdout.close()


@pytest.fixture(params=["sqlite", "redis"])
def any_storage(world: World, request: pytest.FixtureRequest) -> Callable[[], Any]:
    """The same over each kind of storage."""
    if request.param == "sqlite":
        make: Callable[[], Any] = request.getfixturevalue("storage")
        return make
    port = request.getfixturevalue("redis_port")
    import redis
    from redis import asyncio as async_redis

    prefix = uuid4().hex
    if world.name == "async":
        return lambda: hishel.AsyncRedisStorage(async_redis.Redis(port=port), key_prefix=prefix)
    return lambda: hishel.RedisStorage(redis.Redis(port=port), key_prefix=prefix)


async def closed(storage: Any) -> None:
    closing = storage.close()
    if closing is not None:
        await closing


class Process:
    """What has no memory of what another one had."""

    def __init__(self, world: World, make: Any, server: Server, clock: Clock, **options: Any) -> None:
        self.storage = make()
        self.resolver = world.resolver(cache=CardCache(self.storage, clock=clock), **options)
        self.server = server

    async def __aenter__(self) -> Any:
        return Visitor(await self.resolver.__aenter__(), self.server, None, None, None)  # type: ignore[arg-type]

    async def __aexit__(self, *exc: Any) -> None:
        await self.resolver.__aexit__(*exc)
        await closed(self.storage)


async def test_another_process_has_it(world: World, any_storage: Any) -> None:
    clock = Clock()
    with Server(Site(clock, FRESH, "Age: 5", etag='"a"')) as server:
        async with Process(world, any_storage, server, clock) as first:
            assert await first.get() == ("network", "first")
        clock.now += 20
        async with Process(world, any_storage, server, clock) as second:
            found = await second.resolver.resolve(server.url)
            assert (found.source, found.card.name, found.age) == ("cache", "first", 25)
            assert "x-a2a-discovery-born" not in found.headers and found.data == named("first")
        clock.now += 35
        async with Process(world, any_storage, server, clock) as third:
            assert await third.get() == ("revalidated", "first")
            assert third.last["if-none-match"] == '"a"'
        clock.now += 50
        async with Process(world, any_storage, server, clock) as fourth:
            assert await fourth.get() == ("cache", "first")
        assert len(server.seen) == 2


async def test_a_new_card_takes_the_place_of_the_old_one(world: World, any_storage: Any, tmp_path: Path) -> None:
    clock = Clock()
    site = Site(clock, FRESH, etag='"a"')
    with Server(site) as server:
        for name in ("first", "second", "third"):
            site.name, site.etag = name, f'"{name}"'
            async with Process(world, any_storage, server, clock) as process:
                assert await process.get() == ("network", name)
            async with Process(world, any_storage, server, clock) as process:
                assert await process.get() == ("cache", name)
            clock.now += 60
    if not (tmp_path / "cards.db").exists():
        return
    with sqlite3.connect(tmp_path / "cards.db") as database:
        visible = database.execute("SELECT COUNT(*) FROM entries WHERE expires_at IS NULL").fetchone()
    database.close()
    assert visible == (1,)


async def test_a_process_that_runs_sees_what_another_has_revalidated(world: World, any_storage: Any) -> None:
    clock = Clock()
    with Server(Site(clock, FRESH, etag='"a"')) as server:
        async with (
            Process(world, any_storage, server, clock) as first,
            Process(world, any_storage, server, clock) as second,
        ):
            await first.get()
            assert (await second.get())[0] == "cache"
            clock.now += 60
            assert (await first.get())[0] == "revalidated"
            assert (await second.get())[0] == "cache"
            assert len(server.seen) == 2


@pytest.mark.parametrize("secret", [{"Authorization": "Bearer s3cret"}, {"X-API-Key": "s3cret"}])
async def test_a_callers_card_stays_in_memory(
    world: World, storage: Any, tmp_path: Path, secret: dict[str, str]
) -> None:
    clock = Clock()
    with Server(Site(clock, FRESH)) as server:
        for _ in range(2):
            async with Process(world, storage, server, clock, headers=secret) as process:
                assert (await process.get())[0] == "network"
                assert (await process.get())[0] == "cache"
    assert all(b"s3cret" not in file.read_bytes() for file in tmp_path.iterdir())


async def test_a_caller_is_not_answered_with_what_anybody_gets(world: World, storage: Any) -> None:
    clock = Clock()
    with Server(Site(clock, FRESH)) as server:
        async with Process(world, storage, server, clock) as process:
            await process.get()
        async with Process(world, storage, server, clock, headers={"Authorization": "Bearer s3cret"}) as process:
            assert (await process.get())[0] == "network"


async def test_a_query_may_be_a_secret_too(world: World, storage: Any, tmp_path: Path) -> None:
    clock = Clock()
    with Server(Site(clock, FRESH, "Set-Cookie: id=s3cret")) as server:
        async with Process(world, storage, server, clock) as process:
            await process.resolver.resolve(f"{server.url}/card.json?key=s3cret")
            await process.get()
    assert all(b"s3cret" not in file.read_bytes() for file in tmp_path.iterdir())


async def test_a_storage_alone_is_a_cache(world: World, any_storage: Any) -> None:
    with Server(lambda exchange: exchange.answer(200, named("first"), FRESH)) as server:
        for source in ("network", "cache"):
            kept = any_storage()
            async with world.resolver(cache=kept) as resolver:
                assert (await resolver.resolve(server.url)).source == source
            await closed(kept)


async def test_a_storage_that_fails_is_as_good_as_none(
    world: World, storage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    with Server(Site(clock, FRESH, etag='"a"')) as server, caplog.at_level(logging.WARNING):
        async with Process(world, storage, server, clock) as process:
            await closed(process.resolver._cached._cache.storage if world.name == "async" else _storage(process))
            assert (await process.get())[0] == "network"
            clock.now += 60
            assert (await process.get())[0] == "revalidated"
            assert (await process.get())[0] == "cache"
    assert "the storage of the card cache failed: RuntimeError" in caplog.text


def _storage(process: Visitor) -> Any:
    return process.resolver._resolver._cached._cache.storage


async def test_a_file_that_is_no_cache(world: World, storage: Any, tmp_path: Path) -> None:
    (tmp_path / "cards.db").write_bytes(b"not a database " * 1000)
    clock = Clock()
    with Server(Site(clock, FRESH)) as server:
        async with Process(world, storage, server, clock) as process:
            assert (await process.get())[0] == "network"


@pytest.mark.parametrize("newest_first", [True, False])
def test_the_newest_of_one_variant_counts(newest_first: bool) -> None:
    """Two processes may have stored one at the same time."""
    cache, place = CardCache(), Place("https://a.test/card.json", "", False)
    request = hishel.Request("GET", place.url, hishel.Headers({"accept": "x"}))
    older, newer = (cache.restored(uuid4(), request, place, {}, b"", moment) for moment in (1.0, 2.0))
    cache.add(place, [newer, older] if newest_first else [older, newer])
    assert cache.at(place) == (newer,)
    cache.add(place, [older])
    assert cache.at(place) == (newer,)


async def test_what_was_tampered_with_is_fetched(world: World, storage: Any, tmp_path: Path) -> None:
    clock = Clock()
    with Server(Site(clock, FRESH)) as server:
        async with Process(world, storage, server, clock) as process:
            await process.get()
        with sqlite3.connect(tmp_path / "cards.db") as database:
            database.execute("UPDATE streams SET chunk_data = ?", (b"{}",))
        database.close()
        async with Process(world, storage, server, clock) as process:
            assert await process.get() == ("network", "first")


def test_the_wrong_kind_of_storage(world: World, tmp_path: Path) -> None:
    pytest.importorskip("anysqlite")
    wrong = hishel.SqliteStorage if world.name == "async" else hishel.AsyncSqliteStorage
    with pytest.raises(TypeError, match=r"SqliteStorage is no .*BaseStorage of hishel's"):
        world.resolver(cache=wrong(database_path=tmp_path / "cards.db"))
