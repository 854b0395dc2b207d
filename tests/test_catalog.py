"""Many cards without a network: directories, searches, and the records themselves."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import pickle
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import (
    AgentCard,
    CardError,
    CardResolver,
    Catalog,
    CatalogEntry,
    CatalogFailure,
    FetchError,
    fetch_card,
    parse_card,
    sync,
)
from a2a_discovery._concurrency import async_each, sync_each
from a2a_discovery.card import MAX_CARD_BYTES
from a2a_discovery.types import AgentSkill
from tests.resolver.common import CARD, respond
from tests.servers import Server, World

CARD_OBJECT = json.loads(CARD)


@pytest.fixture(params=["async", "sync"])
def world(request: pytest.FixtureRequest) -> World:
    return World(request.param)


@pytest.fixture(autouse=True)
def no_needless_certificates(small_trust: None) -> None:
    """Each resolver reads those that are trusted."""


def named(name: str) -> bytes:
    return json.dumps({**CARD_OBJECT, "name": name}).encode()


def names(catalog: Any) -> list[str]:
    return [entry.card.name for entry in catalog]


@pytest.mark.anyio
async def test_a_directory(world: World, tmp_path: Path) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    for path in ("b/c/1.json", "b/2.json", "a.json", "b.json", "b/readme.txt", ".hidden.json", ".git/x.json"):
        (tmp_path / path).write_bytes(named(path))
    catalog = await world.catalog("directory", tmp_path)
    assert names(catalog) == ["a.json", "b/2.json", "b/c/1.json", "b.json"] and catalog.failures == ()
    assert [e.reference for e in catalog] == [str(tmp_path / name) for name in names(catalog)]
    assert {(e.url, e.identifier, e.verification) for e in catalog} == {(None, None, None)}
    assert len(catalog) == 4 and "4 cards, 0 failures" in repr(catalog)
    single = await world.catalog("directory", str(tmp_path), pattern="b.*")
    assert names(single) == ["b.json"]
    assert names(await world.catalog("directory", tmp_path, pattern="*.txt")) == ["b/readme.txt"]


@pytest.mark.anyio
async def test_three_hundred_cards_and_one_bad(world: World, tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number:03}.json").write_bytes(named(f"agent {number}"))
    (tmp_path / "123.json").write_bytes(b'{"name": 1}')
    seen: list[tuple[int, int]] = []
    catalog = await world.catalog("directory", tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert names(catalog) == [f"agent {number}" for number in range(300) if number != 123]
    (failure,) = catalog.failures
    assert failure.reference.endswith("123.json") and isinstance(failure.error, CardError)
    assert seen == [(done, 300) for done in range(1, 301)]


@pytest.mark.anyio
async def test_files_that_cannot_be_read(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "good.json").write_bytes(CARD)
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "gone.json").symlink_to("nowhere")
    (tmp_path / "here").symlink_to(".")
    os.mkfifo(tmp_path / "pipe.json")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(MAX_CARD_BYTES + 100)
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def closed(path: Any) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    catalog = await world.catalog("directory", tmp_path)
    assert [e.reference for e in catalog] == [str(tmp_path / "good.json")]
    told = {Path(failure.reference).name: failure.error for failure in catalog.failures}
    assert list(told) == ["closed", "gone.json", "large.json", "loop.json", "pipe.json"]
    assert "Permission denied" in str(told["closed"]) and "Too many levels" in str(told["loop.json"])
    assert "no regular file" in str(told["pipe.json"]) and "No such file" in str(told["gone.json"])
    assert isinstance(told["large.json"], CardError) and told["large.json"].problems[0].rule == "size"
    gone = told["gone.json"]
    assert isinstance(gone, FetchError) and gone.url == (tmp_path / "gone.json").as_uri()


@pytest.mark.anyio
async def test_no_directory(world: World, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await world.catalog("directory", tmp_path / "none")
    (tmp_path / "file").write_bytes(CARD)
    with pytest.raises(NotADirectoryError):
        await world.catalog("directory", tmp_path / "file")


@pytest.mark.anyio
async def test_other_tasks_go_on_while_a_directory_is_read(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"{number}.json").write_bytes(CARD)
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(turn())
    await Catalog.from_directory(tmp_path, concurrency=1)
    other.cancel()
    assert turns >= 50


@pytest.mark.anyio
@pytest.mark.parametrize("concurrency", [0, -1])
async def test_nothing_at_a_time(world: World, concurrency: int) -> None:
    with pytest.raises(ValueError, match="concurrency"):
        await world.catalog("json", [], concurrency=concurrency)


@pytest.mark.anyio
async def test_a_failure_keeps_no_document(world: World) -> None:
    catalog = await world.catalog("json", [{"name": "x" * 1000}])
    (failure,) = catalog.failures
    links = [failure.error, failure.error.__cause__, failure.error.__context__]
    assert [link.__traceback__ for link in links if link] == [None] * len([link for link in links if link])


def card(*skills: AgentSkill, name: str = "A") -> AgentCard:
    made = parse_card(CARD)
    made.name = name
    del made.skills[:]
    made.skills.extend(skills)
    return made


def skill(name: str = "S", description: str = "D", **members: Any) -> AgentSkill:
    return AgentSkill(id=name, name=name, description=description, tags=members.pop("tags", ["t"]), **members)


def catalog_of(*cards: AgentCard) -> Catalog:
    return Catalog.of(CatalogEntry(card.name, card) for card in cards)


def test_more_fitting_skills_come_first_and_ties_keep_the_order() -> None:
    one, two = skill("One", tags=["x"]), skill("Two", tags=["x", "y"])
    catalog = catalog_of(
        card(one, name="a"), card(skill(), name="none"), card(one, two, skill(), name="b"), card(two, name="c")
    )
    matches = catalog.find(tags=["x"])
    assert [(m.entry.card.name, m.score, [s.name for s in m.skills]) for m in matches] == [
        ("b", 2, ["One", "Two"]),
        ("a", 1, ["One"]),
        ("c", 1, ["Two"]),
    ]
    assert [m.entry.card.name for m in catalog.find(tags=iter(["x", "y"]))] == ["b", "c"]
    assert [m.entry.card.name for m in catalog.find(tags="y")] == ["b", "c"]
    assert catalog.find(tags=["z"]) == []


def test_words_in_a_name_or_tag_count_more_than_in_a_description() -> None:
    catalog = catalog_of(
        card(skill(description="plans a move"), name="described"),
        card(skill(description="a move", tags=["Planning"]), name="tagged"),
        card(skill("Plan a MOVE"), name="named"),
    )
    matches = catalog.find(text="plan move")
    assert [(m.entry.card.name, m.score) for m in matches] == [("named", 3), ("tagged", 2), ("described", 1)]


def test_modes() -> None:
    takes = skill(input_modes=["image/png"], output_modes=["text/csv"])
    catalog = catalog_of(card(takes, name="a"), card(skill(), name="b"))
    assert [m.entry.card.name for m in catalog.find(accepts=["image/png"])] == ["a"]
    assert [m.entry.card.name for m in catalog.find(produces=["text/csv"], accepts=["image/png"])] == ["a"]
    assert [m.entry.card.name for m in catalog.find(produces=["application/pdf"])] == ["b"]


def test_records_are_frozen_and_survive_copying_and_pickling() -> None:
    found = sync.Catalog.from_json([CARD_OBJECT, {"name": 1}, "http://127.0.0.1:1/", "no host"])
    assert len(found.entries) == 1 and len(found.failures) == 3
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert again.entries == found.entries and type(again) is sync.Catalog
        assert [str(f.error) for f in again.failures] == [str(f.error) for f in found.failures]
    (match,) = found.find(tags=["planning"])
    assert pickle.loads(pickle.dumps(match)) == match
    for record in (found, found.entries[0], found.failures[0], match):
        with pytest.raises(AttributeError):
            setattr(record, fields(record)[0].name, None)


def test_what_the_caller_passes_in_is_not_changed() -> None:
    given = [copy.deepcopy(CARD_OBJECT)]
    sync.Catalog.from_json(given)
    document = {"entries": [{"type": "application/a2a-agent-card+json", "data": given[0]}]}
    sync.Catalog.from_ai_catalog(document)
    assert document["entries"][0]["data"] == CARD_OBJECT == given[0]


def test_fetch_card_in_other_processes() -> None:
    with Server(respond()) as server, Server(respond(404)) as lost:
        references = [server.url, lost.url, "no host", server.url]
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            results = list(pool.map(fetch_card, references))
        assert results[0] == fetch_card(server.url, headers={"X-Key": "k"}, timeout=5)
        assert server.seen[-1].headers["x-key"] == "k"
    catalog = Catalog.of(results)
    assert [entry.url for entry in catalog] == [server.card_url] * 2 and catalog.entries[0].card == parse_card(CARD)
    assert [type(failure) for failure in catalog.failures] == [CatalogFailure] * 2
    assert isinstance(catalog.failures[0].error, FetchError) and catalog.failures[0].error.status == 404


def test_fetch_card_tells_of_useless_options() -> None:
    with pytest.raises(ValueError, match="timeout"):
        fetch_card("h.test", timeout=0)


@pytest.mark.anyio
async def test_a_card_that_is_not_signed_as_demanded_is_a_failure(world: World) -> None:
    key = pytest.importorskip("joserfc.jwk").ECKey.generate_key("P-256")
    from a2a_discovery import protojson, sign_card

    signed = protojson.to_dict(sign_card(parse_card(CARD), key, kid="k"))
    async with world.resolver(signatures="require", keys=key) as resolver:
        catalog = await world.catalog("json", [CARD_OBJECT, signed], resolver=resolver)
    (entry,), (failure,) = catalog.entries, catalog.failures
    assert entry.verification.outcome == "verified" and entry.reference == "#/1"
    assert "is not signed" in str(failure.error)


async def _each(world: World, call: Callable[[int], Any], items: list[int], limit: int) -> list[Any]:
    if world.name == "sync":
        return sync_each(call, items, limit=limit)

    async def asynchronous(item: int) -> Any:
        await asyncio.sleep(0)
        return call(item)

    return await async_each(asynchronous, items, limit=limit)


@pytest.mark.anyio
async def test_each_keeps_the_order_and_raises_what_was_raised(world: World) -> None:
    assert await _each(world, lambda item: item * 2, [3, 1, 2], 2) == [6, 2, 4]
    assert await _each(world, lambda item: item, [], 2) == []
    done = []

    def call(item: int) -> None:
        time.sleep(0.001)
        done.append(item)
        if item == 3:
            raise KeyError(item)

    with pytest.raises(KeyError):
        await _each(world, call, list(range(500)), 2)
    assert len(done) < 500


@pytest.mark.anyio
async def test_an_error_of_the_caller_s_own_is_raised(world: World) -> None:
    def progress(done: int, total: int) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await world.catalog("json", [CARD_OBJECT] * 3, progress=progress)


@pytest.mark.anyio
async def test_a_resolver_of_the_caller_s_stays_open() -> None:
    with Server(respond()) as server:
        async with CardResolver() as resolver:
            for _ in range(2):
                assert len(await Catalog.from_urls([server.url], resolver=resolver)) == 1
