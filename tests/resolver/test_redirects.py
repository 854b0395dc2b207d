"""Redirects: which are followed, and what travels with them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from a2a_discovery.policy import UrlPolicy
from tests.resolver.common import CARD, PATH, failure, redirect, respond, site
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect(world: World, status: int) -> None:
    pages = {"/a.json": redirect(status, "b/c.json?x=1#f"), "/b/c.json?x=1": respond()}
    with Server(site(pages)) as server:
        async with world.resolver(headers={"Authorization": "Bearer t"}) as resolver:
            found = await resolver.resolve(f"{server.url}/a.json")
    assert found.url == f"{server.url}/b/c.json?x=1"
    assert found.requested_url == f"{server.url}/a.json"
    assert found.redirects == (f"{server.url}/a.json",)
    assert [e.headers["authorization"] for e in server.seen] == ["Bearer t"] * 2


@pytest.mark.parametrize("status", [300, 304, 305, 306])
async def test_other_3xx_is_not_followed(world: World, status: int) -> None:
    with Server(redirect(status, "/b.json")) as server:
        error = await failure(world, server.url, "only 200")
    assert error.status == status and len(server.seen) == 1


async def test_redirect_limit(world: World) -> None:
    def hop(exchange: Exchange) -> None:
        number = int(exchange.target.strip("/.json"))
        (respond() if number == 5 else redirect(302, f"/{number + 1}.json"))(exchange)

    with Server(hop) as server:
        async with world.resolver() as resolver:
            assert len((await resolver.resolve(f"{server.url}/0.json")).redirects) == 5
        error = await failure(world, f"{server.url}/-1.json", "after 5 redirects")
    assert error.url == f"{server.url}/4.json"
    assert error.redirects == tuple(f"{server.url}/{n}.json" for n in range(-1, 4))
    assert error.status == 302


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        (None, "without a Location"),
        ("http://[::1", "cannot be read"),
        ("http://h.test/a b", "not followed"),
        ("http://h.test:x/", "not followed|cannot be read"),
        ("https://user:s3cret@h.test/", "credentials"),
        ("//user:s3cret@h.test/", "credentials"),
        ("ftp://h.test/", "'ftp'"),
        ("javascript:alert(1)", "'javascript'|cannot be read"),
        ("https://xn--a.test/", "Location that cannot be read"),
        ("https://\u2177.test/", "(?i)location that cannot be read|no valid host name"),
        ("https://" + "a" * 70 + ".test/", "no valid host name|cannot be resolved|no name that can be looked up"),
        ("https:///x", "not followed|cannot be read"),
        ("http://0.0.0.0/", "listen on"),
        ("http://h.test/", "TLS"),
        ("\xff\xfe", "404"),
    ],
)
async def test_bad_location(world: World, location: str | None, reason: str) -> None:
    def handler(exchange: Exchange) -> None:
        if exchange.target != PATH:
            exchange.answer(404)
            return
        field = b"" if location is None else b"Location: " + location.encode(errors="surrogateescape") + b"\r\n"
        exchange.send(b"HTTP/1.1 302 Found\r\n", field, b"Content-Length: 0\r\n\r\n")

    with Server(handler) as server:
        error = await failure(world, server.url, reason)
    assert "s3cret" not in str(error)


async def test_plain_http_where_it_was_asked_for(world: World) -> None:
    def pages(request: httpx.Request) -> httpx.Response:
        match str(request.url):
            case "http://h.test/a.json":
                return httpx.Response(302, headers={"Location": "/b.json"})
            case "http://h.test/b.json" | "http://other.test/b.json":
                return httpx.Response(200, content=CARD)
            case _:
                return httpx.Response(302, headers={"Location": "http://other.test/b.json"})

    async with world.client(transport=httpx.MockTransport(pages)) as client:
        async with world.resolver(client) as resolver:
            assert (await resolver.resolve("http://h.test/a.json")).data == CARD
        await failure(world, "http://h.test/c.json", "has to be called with TLS", client=client)
        await failure(world, "https://h.test/c.json", "leaves https", client=client)
        open_policy = UrlPolicy(allow_http=True)
        await failure(world, "https://h.test/c.json", "leaves https", client=client, policy=open_policy)
        async with world.resolver(client, policy=open_policy) as resolver:
            assert (await resolver.resolve("http://h.test/c.json")).url == "http://other.test/b.json"


@pytest.mark.parametrize("own_client", [True, False])
async def test_credentials_stay_at_their_origin(world: World, own_client: bool) -> None:
    with Server(site({"/c.json": respond()}), keep_alive=True) as home, Server(respond()) as foreign:
        home._handler = site(
            {
                "/a.json": redirect(302, "/b.json"),
                "/a.json?key=k": redirect(302, "/b.json"),
                "/b.json": redirect(302, f"{foreign.url}/x.json"),
                "/b.json?key=k": redirect(302, f"{foreign.url}/x.json"),
                "/c.json": respond(),
            }
        )
        foreign._handler = respond(302, b"", f"Location: {home.url}/c.json", "Set-Cookie: evil=1")
        options: dict[str, Any] = {"headers": {"Authorization": "Bearer s3cret", "X-Key": "s3cret"}}
        if own_client:
            async with world.resolver(**options) as resolver:
                found = await resolver.resolve(f"{home.url}/a.json")
        else:
            defaults: dict[str, Any] = {
                "headers": {"X-Default": "s3cret"},
                "cookies": {"session": "s3cret"},
                "params": {"key": "k"},
                "auth": ("user", "s3cret"),
            }
            async with world.client(**defaults) as client, world.resolver(client, **options) as resolver:
                found = await resolver.resolve(f"{home.url}/a.json")
    assert found.url == f"{home.url}/c.json" and len(found.redirects) == 3
    first, second, away, back = *home.seen[:2], *foreign.seen, home.seen[2]
    for exchange in (first, second):
        assert b"s3cret" in exchange.head and exchange.headers["x-key"] == "s3cret"
    neutral = {"host", "accept", "a2a-version", "accept-encoding", "user-agent"}
    for exchange in (away, back):
        assert set(exchange.headers) == neutral and "key=k" not in exchange.target
