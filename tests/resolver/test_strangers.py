"""Where a fetch may lead: one origin, certain hosts, public addresses."""

from __future__ import annotations

import queue
from pathlib import Path
from typing import Any

import httpx
import pytest

from a2a_discovery.errors import FetchError
from a2a_discovery.policy import UrlPolicy
from tests.lookup import INSIDE, LOOPBACK, PUBLIC, call_loopback_public, looked_up
from tests.resolver.common import CARD, failure, redirect, respond, site
from tests.servers import Server, World

pytestmark = pytest.mark.anyio

PRIVATE = UrlPolicy(deny_private=True, allow_http=True)


@pytest.mark.parametrize("own_client", [True, False])
@pytest.mark.parametrize(
    ("answers", "connections"),
    [
        ([[LOOPBACK]], 0),
        ([[PUBLIC, LOOPBACK]], 0),
        ([[PUBLIC], [LOOPBACK]], 1),
        ([[PUBLIC], ["::ffff:127.0.0.1"]], 1),
    ],
)
async def test_a_name_of_a_private_address(
    world: World, monkeypatch: pytest.MonkeyPatch, own_client: bool, answers: list[list[str]], connections: int
) -> None:
    looked_up(monkeypatch, *answers)
    with Server(respond()) as server:
        url = f"http://agent.test:{server.port}/a.json"
        if own_client:
            error = await failure(world, url, "loopback address.*deny_private", policy=PRIVATE)
        else:
            async with world.client() as client:
                error = await failure(world, url, "loopback address.*deny_private", policy=PRIVATE, client=client)
        assert (error.url, error.status) == (url, None)
        # The system connects before the server's thread knows.
        assert len(server.connections) <= connections and server.seen == []


async def test_nothing_is_sent_before_tls_either(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up(monkeypatch, [PUBLIC], [LOOPBACK])
    came: queue.Queue[bytes] = queue.Queue()
    with Server(lambda exchange: came.put(exchange.connection.recv(1)), raw=True) as server:
        await failure(world, f"https://agent.test:{server.port}", "loopback", policy=UrlPolicy(deny_private=True))
        assert came.get(timeout=5) == b""


@pytest.mark.parametrize("host", [LOOPBACK, "localhost", "[::1]", "[::ffff:127.0.0.1]"])
async def test_a_private_address_is_not_asked(world: World, host: str) -> None:
    with Server(respond()) as server:
        await failure(world, f"http://{host}:{server.port}/a.json", "it is not called.*loopback", policy=PRIVATE)
        assert server.connections == []


async def test_every_hop_is_looked_at(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    call_loopback_public(monkeypatch)
    lookup = looked_up(monkeypatch, [LOOPBACK])
    lookup.answers["inside.test"] = [[INSIDE]]
    with Server(lambda exchange: site(pages)(exchange)) as server:
        base = f"agent.test:{server.port}"
        pages = {
            "/a.json": redirect(302, "/b.json"),
            "/b.json": respond(),
            "/in.json": redirect(302, f"http://inside.test:{server.port}/x.json"),
            "/meta.json": redirect(302, "http://169.254.169.254/latest"),
        }
        async with world.resolver(policy=PRIVATE) as resolver:
            found = await resolver.resolve(f"http://{base}/a.json")
        assert found.data == CARD and lookup.asked == ["agent.test"] * 4
        for path, reason in [
            ("in", "inside.test is at 127.0.0.9"),
            ("meta", "metadata"),
        ]:
            error = await failure(world, f"http://{base}/{path}.json", reason, policy=PRIVATE)
            assert len(error.redirects) == (0 if path == "meta" else 1)
        assert [e.target for e in server.seen] == ["/a.json", "/b.json", "/in.json", "/meta.json"]


async def test_names_that_are_not_found(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up(monkeypatch, [])
    await failure(world, "https://agent.test", "agent.test cannot be resolved", policy=PRIVATE)


async def test_proxies_of_the_environment_are_left_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    call_loopback_public(monkeypatch)
    looked_up(monkeypatch, [LOOPBACK])
    with Server(respond()) as server, Server(respond(404)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        async with world.resolver(policy=PRIVATE) as resolver:
            assert (await resolver.resolve(f"http://agent.test:{server.port}/a.json")).data == CARD
        assert proxy.connections == []


async def test_a_proxy_of_the_callers_client(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up(monkeypatch, [PUBLIC])
    with Server(respond()) as proxy:
        async with world.client(proxy=proxy.url) as client:
            await failure(world, "http://agent.test/a.json", "127.0.0.1 is a loopback", policy=PRIVATE, client=client)
        assert proxy.connections == []
        call_loopback_public(monkeypatch)
        looked_up(monkeypatch, [INSIDE])
        for url in ("http://agent.test/a.json", "https://agent.test/a.json"):
            async with world.client(proxy=proxy.url) as client:
                await failure(world, url, "agent.test is at 127.0.0.9", policy=PRIVATE, client=client)
        assert proxy.seen == []


@pytest.mark.parametrize(("answer", "requests"), [(LOOPBACK, 1), (PUBLIC, 2)])
async def test_a_connection_that_the_callers_client_has_open(
    world: World, monkeypatch: pytest.MonkeyPatch, answer: str, requests: int
) -> None:
    lookup = looked_up(monkeypatch, [LOOPBACK])
    with Server(respond(), keep_alive=True) as server:
        url = f"http://agent.test:{server.port}/a.json"
        async with world.client() as client:
            async with world.resolver(client) as resolver:
                await resolver.resolve(url)
            # With another answer it is too late to send nothing, since nobody tells which connection will be taken.
            lookup.answers["agent.test"] = [[answer]]
            await failure(world, url, "agent.test is at 127.0.0.1", policy=PRIVATE, client=client)
        assert len(server.connections) == 1 and len(server.seen) == requests


async def test_a_socket_file_is_not_public(world: World, tmp_path: Path) -> None:
    transport: Any = (httpx.AsyncHTTPTransport if world.name == "async" else httpx.HTTPTransport)(
        uds=str(tmp_path / "s")
    )
    async with world.client(transport=transport) as client:
        await failure(world, "http://agent.test/a.json", "socket of this machine", policy=PRIVATE, client=client)


async def test_a_transport_that_makes_no_connections(world: World) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=CARD))
    async with world.client(transport=transport) as client, world.resolver(client, policy=PRIVATE) as resolver:
        assert (await resolver.resolve("https://agent.test")).data == CARD


async def test_one_origin_and_certain_hosts(world: World) -> None:
    with Server(respond()) as other, Server(lambda exchange: site(pages)(exchange)) as server:
        pages = {
            "/a.json": redirect(302, "/b.json"),
            "/b.json": respond(),
            "/c.json": redirect(302, f"{other.url}/x.json"),
        }
        for policy, reason in [
            (UrlPolicy(same_origin=True), f"it leaves {server.url}, and same_origin"),
            (UrlPolicy(allow_hosts=[f"127.0.0.1:{server.port}"]), "allow_hosts"),
        ]:
            async with world.resolver(policy=policy) as resolver:
                assert (await resolver.resolve(f"{server.url}/a.json")).url == f"{server.url}/b.json"
            await failure(world, f"{server.url}/c.json", reason, policy=policy)
        for policy in (
            UrlPolicy(allow_hosts=["a.test"]),
            UrlPolicy(same_origin=True).within("https://a.test/card.json"),
        ):
            seen = len(server.seen)
            with pytest.raises(FetchError, match="it is not called"):
                async with world.resolver(policy=policy) as resolver:
                    await resolver.fetch(f"{server.url}/b.json")
            assert len(server.seen) == seen
        assert other.connections == []
