"""Catalogs over HTTP: what is asked, and with what."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from a2a_discovery import CardError, Catalog, FetchError, FetchTimeoutError, protojson
from a2a_discovery.policy import UrlPolicy
from tests.fake_agent import agent, answering, card, message
from tests.resolver.common import CARD, PATH, redirect, respond, site
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio

CATALOG_PATH = "/.well-known/ai-catalog.json"
CARD_TYPE = "application/a2a-agent-card+json"
CATALOG_TYPE = "application/ai-catalog+json"


def card_named(name: str) -> Callable[[Exchange], None]:
    return respond(200, json.dumps({**json.loads(CARD), "name": name}).encode())


def catalog(*urls: str | tuple[str, str]) -> Callable[[Exchange], None]:
    """A catalog of these cards' URLs, or pairs of type and URL."""
    pairs = [(CARD_TYPE, url) if isinstance(url, str) else url for url in urls]
    entries = [{"identifier": f"urn:{i}", "type": kind, "url": url} for i, (kind, url) in enumerate(pairs)]
    return respond(200, json.dumps({"specVersion": "1.0", "entries": entries}).encode())


def nested(url: str) -> tuple[str, str]:
    return CATALOG_TYPE, url


def names(found: Any) -> list[str]:
    return [entry.card.name for entry in found]


async def test_urls(world: World) -> None:
    pages = {f"/{i}.json": card_named(f"agent {i}") for i in range(40)}
    pages["/moved.json"] = redirect(302, "/7.json")
    pages["/bad.json"] = respond(200, b'{"name": 1}')
    with Server(site(pages)) as server:
        good = [f"{server.url}/{i}.json" for i in reversed(range(40))]
        wanted = [*good, f"{server.url}/none.json", "no host", f"{server.url}/bad.json", f"{server.url}/moved.json"]
        seen: list[tuple[int, int]] = []
        found = await world.catalog("urls", [*wanted, *good], progress=lambda *progress: seen.append(progress))
        assert len(server.seen) == len(wanted)
    assert names(found) == [*(f"agent {i}" for i in reversed(range(40))), "agent 7"]
    assert [e.reference for e in found] == [*good, wanted[-1]]
    assert found.entries[-1].url == f"{server.url}/7.json"
    assert [f.reference for f in found.failures] == wanted[40:43]
    missing, unread, bad = (f.error for f in found.failures)
    assert isinstance(missing, FetchError) and missing.status == 404 and isinstance(unread, FetchError)
    assert isinstance(bad, CardError) and bad.url == f"{server.url}/bad.json"
    assert seen == [(done, 44) for done in range(1, 45)]


async def test_spellings_of_a_reference_are_read_once(world: World) -> None:
    with Server(respond()) as server:
        found = await world.catalog(
            "urls", [server.url, f"{server.url}/#x", f"127.0.0.1:{server.port}", server.card_url]
        )
        assert len(server.seen) == 1 and [e.reference for e in found] == [server.url]
        assert len(await world.catalog("urls", server.url)) == 1


async def test_so_many_at_a_time(world: World) -> None:
    lock, now, most = threading.Lock(), 0, 0
    together = threading.Barrier(3)

    def handler(exchange: Exchange) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        together.wait(5)
        time.sleep(0.03)  # for others that should not be here yet
        with lock:
            now -= 1
        exchange.answer(200, CARD)

    with Server(handler) as server:
        urls = [f"{server.url}/{i}.json" for i in range(9)]
        assert len(await world.catalog("urls", urls, concurrency=3)) == 9
    assert most == 3


async def test_a_slow_card_spoils_no_other(world: World) -> None:
    pages = {"/slow.json": lambda exchange: exchange.stopped.wait(5), "/a.json": respond()}
    with Server(site(pages)) as server:
        async with world.resolver(timeout=0.2) as resolver:
            urls = [f"{server.url}/slow.json", f"{server.url}/a.json"]
            found = await world.catalog("urls", urls, resolver=resolver, concurrency=1)
    assert len(found) == 1 and isinstance(found.failures[0].error, FetchTimeoutError)


async def test_cancellation_leaves_no_task() -> None:
    arrived = threading.Event()

    def handler(exchange: Exchange) -> None:
        arrived.set()
        exchange.stopped.wait(5)

    with Server(handler) as server:
        before = asyncio.all_tasks()
        reading = asyncio.create_task(Catalog.from_urls([f"{server.url}/{i}.json" for i in range(50)]))
        while not arrived.is_set():
            await asyncio.sleep(0.01)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert asyncio.all_tasks() == before


async def test_the_catalog_of_a_host(world: World) -> None:
    with Server(respond()) as server:
        pages = {
            CATALOG_PATH: catalog(f"{server.url}/a", f"{server.url}/b?x", f"{server.url}/none", f"{server.url}/a#2"),
            "/a": card_named("a"),
            "/b?x": card_named("b"),
        }
        server._handler = site(pages)
        found = await world.catalog("ai_catalog", f"127.0.0.1:{server.port}")
        assert [exchange.target for exchange in server.seen].count("/a") == 1
    assert [(e.card.name, e.identifier, e.url) for e in found] == [
        ("a", "urn:0", f"{server.url}/a"),
        ("b", "urn:1", f"{server.url}/b?x"),
    ]
    (failure,) = found.failures
    assert failure.identifier == "urn:2" and failure.reference == f"{server.url}/none"
    assert isinstance(failure.error, FetchError) and failure.error.status == 404


@pytest.mark.parametrize(
    ("answer", "kind"), [(respond(404), FetchError), (respond(200, b"[]"), CardError), (respond(200, b"x"), CardError)]
)
async def test_no_catalog(world: World, answer: Callable[[Exchange], None], kind: type[Exception]) -> None:
    with Server(answer) as server:
        with pytest.raises(kind) as caught:
            await world.catalog("ai_catalog", server.url)
        assert caught.value.url == f"{server.url}{CATALOG_PATH}"  # type: ignore[attr-defined]
    with pytest.raises(FetchError):
        await world.catalog("ai_catalog", "no host")


async def test_nested_and_cyclic_catalogs(world: World) -> None:
    with Server(respond()) as server:
        url = server.url
        server._handler = site(
            {
                CATALOG_PATH: catalog(
                    f"{url}/a", nested(f"{url}/1"), nested(f"{url}/none"), nested(f"{url}/old"), f"{url}/d"
                ),
                "/1": catalog(nested(f"{url}{CATALOG_PATH}"), nested(f"{url}/2"), f"{url}/b", f"{url}/a"),
                "/2": catalog(nested(f"{url}/1"), nested(f"{url}/3"), f"{url}/c"),
                "/3": catalog(nested(f"{url}/4"), f"{url}/e"),
                "/4": catalog(f"{url}/f"),
                "/old": respond(200, b'{"specVersion": "2.0", "entries": []}'),
                **{f"/{name}": card_named(name) for name in "abcdef"},
            }
        )
        found = await world.catalog("ai_catalog", url)
        asked = [exchange.target for exchange in server.seen]
    assert names(found) == ["a", "e", "c", "b", "d"]
    assert sorted(asked) == sorted(set(asked)) and "/4" not in asked
    assert [f.reference for f in found.failures] == [f"{url}/4", f"{url}/none", f"{url}/old"]
    assert "nested deeper" in str(found.failures[0].error) and "2.0" in str(found.failures[2].error)
    assert found.failures[2].error.url == f"{url}/old"


async def test_a_document_and_where_it_came_from(world: World) -> None:
    with Server(respond()) as server, Server(respond()) as base:
        entries = [{"type": CARD_TYPE, "url": f"{server.url}/a"}]
        async with world.resolver(headers={"X-Key": "s3cret"}) as resolver:
            document = {"entries": entries}
            await world.catalog("ai_catalog", document, resolver=resolver, base_url=base.url)
            await world.catalog("ai_catalog", json.dumps(document).encode(), resolver=resolver, base_url=server.url)
            await world.catalog("ai_catalog", document, resolver=resolver)
    assert [exchange.headers.get("x-key") for exchange in server.seen] == [None, "s3cret", "s3cret"]
    with pytest.raises(ValueError, match="base_url"):
        await world.catalog("ai_catalog", document, base_url="x")


async def test_credentials_stay_at_the_origin_that_was_asked(world: World) -> None:
    with Server(respond()) as home, Server(respond()) as foreign:
        home._handler = site(
            {
                CATALOG_PATH: catalog(
                    f"{home.url}/own",
                    f"{foreign.url}/card",
                    f"{foreign.url}/card.json",
                    nested(f"{foreign.url}/list"),
                    nested(f"{home.url}/moved"),
                ),
                "/moved": redirect(302, f"{foreign.url}/elsewhere"),
                **dict.fromkeys(["/own", "/picked", "/chosen"], respond()),
            }
        )
        foreign._handler = site(
            {
                "/list": catalog(f"{foreign.url}/self.json", f"{home.url}/picked"),
                "/elsewhere": catalog(f"{foreign.url}/again", f"{home.url}/chosen"),
                **dict.fromkeys(["/card", "/card.json", "/self.json", "/again"], respond()),
            }
        )
        async with world.resolver(headers={"X-Key": "s3cret"}) as resolver:
            found = await world.catalog("ai_catalog", home.url, resolver=resolver)
    assert len(found) == 7 and not found.failures
    told = {exchange.target for exchange in home.seen if "x-key" in exchange.headers}
    assert told == {CATALOG_PATH, "/own", "/moved"}
    assert len(foreign.seen) == 6 and not any(b"s3cret" in exchange.head for exchange in foreign.seen)


async def test_a_host_that_has_its_catalog_elsewhere_gives_no_credentials_there(world: World) -> None:
    with Server(respond()) as home, Server(respond()) as foreign:
        home._handler = site({CATALOG_PATH: redirect(302, f"{foreign.url}/list"), "/card": respond()})
        foreign._handler = site({"/list": catalog(f"{foreign.url}/card", f"{home.url}/card"), "/card": respond()})
        async with world.resolver(headers={"X-Key": "s3cret"}) as resolver:
            assert len(await world.catalog("ai_catalog", home.url, resolver=resolver)) == 2
    assert [exchange.headers.get("x-key") for exchange in home.seen] == ["s3cret", None]
    assert len(foreign.seen) == 2 and not any(b"s3cret" in exchange.head for exchange in foreign.seen)


async def test_policy_and_redirects(world: World) -> None:
    with Server(respond()) as home, Server(respond()) as foreign:
        pages = {
            CATALOG_PATH: catalog(
                f"{home.url}/a", f"{foreign.url}/b", "http://h.test/c", f"{home.url}/d", f"{home.url}/e"
            ),
            "/a": respond(),
            "/d": redirect(302, f"{foreign.url}/b"),
            "/e": redirect(302, "/a"),
        }
        home._handler = site(pages)
        async with world.resolver(policy=UrlPolicy(same_origin=True)) as resolver:
            found = await world.catalog("ai_catalog", home.url, resolver=resolver)
        assert [e.url for e in found] == [f"{home.url}/a"] * 2
        assert foreign.seen == []
        told = [str(f.error) for f in found.failures]
        assert "same_origin" in told[0] and "TLS" in told[1] and "same_origin" in told[2]
        async with world.resolver(policy=UrlPolicy(allow_hosts=[f"127.0.0.1:{home.port}"])) as resolver:
            found = await world.catalog("ai_catalog", home.url, resolver=resolver)
            assert len(found.failures) == 3 and "allow_hosts" in str(found.failures[0].error)
            with pytest.raises(FetchError, match="allow_hosts"):
                await world.catalog("ai_catalog", foreign.url, resolver=resolver)
        found = await world.catalog("ai_catalog", home.url)
        assert len(found) == 4 and len(found.failures) == 1


def serving(pages: dict[str, Callable[[Exchange], None]], **options: Any) -> Server:
    """An agent with further pages."""

    def answer(exchange: Exchange) -> None:
        pages.get(exchange.target, answering(result=message()) if exchange.verb == "POST" else respond(404))(exchange)

    return agent(answer, **options)


async def test_discover_takes_the_first_agent_that_can_be_used(world: World) -> None:
    pages: dict[str, Callable[[Exchange], None]] = {}
    with serving(pages) as server, agent(answering(result=message())) as other:
        unusable = json.dumps({**json.loads(CARD), "supportedInterfaces": [{"url": "http://h.test/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]})  # fmt: skip
        pages["/unusable"] = respond(200, unusable.encode())
        pages[CATALOG_PATH] = catalog(f"{server.url}/none", f"{server.url}/unusable", other.card_url, server.card_url)
        async with world.discover(server.url, catalog=True) as found:
            assert found.interface.url == f"{other.url}/rpc"
            await found.send_message("hi")
        assert server.seen[-1].target == "/unusable"  # those behind the first one are not asked
        async with world.discover(server.url) as found:
            assert found.interface.url == f"{server.url}/rpc"
        before = len(server.seen)
        async with world.discover(server.card_url, catalog=True) as found:
            assert found.interface.url == f"{server.url}/rpc"
        assert len(server.seen) == before + 1
        assert [exchange.target for exchange in server.seen].count(CATALOG_PATH) == 1


@pytest.mark.parametrize(
    "answer",
    [
        respond(404),
        respond(200, b"<html>"),
        respond(200, b"not JSON"),
        respond(200, b'{"specVersion": "1.0", "entries": []}'),
        respond(200, b'{"specVersion": "1.0", "entries": [{"type": "application/a2a-agent-card+json", "data": {}}]}'),
        lambda exchange: exchange.reset(),
    ],
)
async def test_discover_without_a_catalog(world: World, answer: Callable[[Exchange], None]) -> None:
    with serving({CATALOG_PATH: answer}) as server:
        async with world.discover(server.url, catalog=True) as found:
            assert found.interface.url == f"{server.url}/rpc"
        assert [exchange.target for exchange in server.seen] == [CATALOG_PATH, PATH]


async def test_discover_trusts_the_host_that_was_asked(world: World) -> None:
    from a2a_discovery import ApiKey, CredentialsRequiredError, CredentialStore
    from a2a_discovery.types import APIKeySecurityScheme, SecurityRequirement, SecurityScheme, StringList

    def secured(origin: str) -> Any:
        made = card(("JSONRPC", f"{origin}/rpc"))
        scheme = APIKeySecurityScheme(location="header", name="X-Key")
        made.security_schemes["key"].CopyFrom(SecurityScheme(api_key_security_scheme=scheme))
        made.security_requirements.append(SecurityRequirement(schemes={"key": StringList()}))
        return made

    pages: dict[str, Callable[[Exchange], None]] = {}
    with serving(pages) as server, agent(answering(result=message()), secured) as other:
        pages[CATALOG_PATH] = catalog(other.card_url)
        store = CredentialStore({"key": ApiKey("s3cret")})
        async with world.discover(server.url, catalog=True, credentials=store) as found:
            assert found.interface.url == f"{other.url}/rpc"
            with pytest.raises(CredentialsRequiredError, match="must not go to"):
                await found.send_message("hi")
        assert not any(b"s3cret" in exchange.head for exchange in [*server.seen, *other.seen])
        leaving = protojson.dumps(card(("JSONRPC", f"{other.url}/rpc")))
        staying = protojson.dumps(card(("JSONRPC", f"{server.url}/second")))
        pages |= {"/leaving": respond(200, leaving), "/staying": respond(200, staying)}
        pages[CATALOG_PATH] = catalog(other.card_url, f"{server.url}/leaving", f"{server.url}/staying")
        policy = UrlPolicy(same_origin=True)
        async with world.discover(server.url, catalog=True, policy=policy) as found:
            assert found.interface.url == f"{server.url}/second"
