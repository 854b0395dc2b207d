"""A card is fetched, and what goes along with the request."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery.errors import CardError, FetchError
from tests.resolver.common import CARD, PATH, failure, respond
from tests.servers import Server, World

pytestmark = pytest.mark.anyio


async def test_card(world: World) -> None:
    fields = ["Content-Type: application/json", "ETag: x", "Vary: a", "vary: b"]
    with Server(respond(200, CARD, *fields)) as server:
        async with world.resolver() as resolver:
            found = await resolver.resolve(f"127.0.0.1:{server.port}/a")
    assert found.data == CARD
    assert found.url == found.requested_url == f"{server.url}/a{PATH}"
    assert found.headers["etag"] == "x" and found.headers["vary"] == "a, b"
    assert found.redirects == ()
    assert found.card
    (exchange,) = server.seen
    assert exchange.target == f"/a{PATH}"
    assert exchange.head.startswith(b"GET ")
    assert exchange.headers == {
        "host": f"127.0.0.1:{server.port}",
        "accept": "application/json, application/a2a+json",
        "a2a-version": "1.0",
        "accept-encoding": "gzip",
        "user-agent": "a2a-discovery",
    }


async def test_values_are_immutable_and_quiet(world: World) -> None:
    with Server(respond()) as server:
        async with world.resolver() as resolver:
            document = await resolver.fetch(server.card_url)
    assert (document.status, document.body) == (200, CARD)
    assert "skills" not in repr(document) and "content-length" not in repr(document)
    with pytest.raises(TypeError):
        document.headers["etag"] = "y"
    with pytest.raises(AttributeError):
        document.body = b""


@pytest.mark.parametrize("content_type", ["application/a2a+json", "text/plain", "application/octet-stream", "junk;;"])
async def test_content_type_is_no_matter(world: World, content_type: str) -> None:
    with Server(respond(200, CARD, f"Content-Type: {content_type}")) as server:
        async with world.resolver() as resolver:
            assert (await resolver.resolve(server.url)).data == CARD


async def test_card_error_names_its_url(world: World) -> None:
    with Server(respond(200, b"[1]")) as server:
        async with world.resolver() as resolver:
            with pytest.raises(CardError) as caught:
                await resolver.resolve(server.url)
    assert caught.value.url == server.card_url


async def test_refused_reference(world: World) -> None:
    error = await failure(world, "https://user:s3cret@h.test", "credentials do not belong")
    assert "s3cret" not in f"{error} {error.url}"
    async with world.resolver() as resolver:
        with pytest.raises(FetchError, match="'file'"):
            await resolver.fetch("file:///etc/passwd")


async def test_tls(world: World, tls: tuple[ssl.SSLContext, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(respond(), tls=tls[0]) as server:
        await failure(world, server.url, "certificate of 127.0.0.1 is not trusted: self.signed")
        monkeypatch.setenv("SSL_CERT_FILE", str(tls[1]))
        async with world.resolver() as resolver:
            assert (await resolver.resolve(server.url)).data == CARD


async def test_own_headers(world: World) -> None:
    headers = {"Authorization": "Bearer t", "accept-encoding": "br", "Accept": "application/json"}
    with Server(respond()) as server:
        async with world.resolver(headers=headers) as resolver:
            headers.clear()
            await resolver.resolve(server.url)
    sent = server.seen[0].headers
    assert sent["authorization"] == "Bearer t"
    assert sent["accept"] == "application/json" and sent["accept-encoding"] == "gzip"


@pytest.mark.parametrize("headers", [{"X-Key": "s3cret\r\nX: y"}, {"X-Key": "s3cret\u20ac"}, {"X Key": "s3cret"}])
def test_bad_header_is_the_callers_fault(world: World, headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="is not valid HTTP") as caught:
        world.resolver(headers=headers)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": float("inf")}, {"connect_timeout": -1}])
def test_bad_time_limit(world: World, options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="seconds"):
        world.resolver(**options)


async def test_client_of_the_caller(world: World) -> None:
    defaults: dict[str, Any] = {
        "headers": {"X-Default": "d", "User-Agent": "mine"},
        "cookies": {"session": "c"},
        "params": {"key": "k"},
        "auth": ("user", "pw"),
    }
    with Server(respond(), keep_alive=True) as server:
        async with world.client(**defaults) as client:
            before = dict(client.headers)
            async with world.resolver(client, headers={"X-Own": "o"}) as resolver:
                await resolver.fetch(f"{server.url}/card?id=5")
            assert dict(client.headers) == before
            async with world.resolver(client) as again:
                await again.resolve(server.url)
        assert len(server.connections) == 1
    first, second = server.seen
    assert sorted(first.target.partition("?")[2].split("&")) == ["id=5", "key=k"]
    assert second.target == f"{PATH}?key=k"
    assert first.headers["x-own"] == "o" and "x-own" not in second.headers
    for sent in (first.headers, second.headers):
        assert sent["x-default"] == "d" and sent["user-agent"] == "mine" and sent["cookie"] == "session=c"
        assert sent["authorization"].startswith("Basic ") and sent["a2a-version"] == "1.0"
        assert sent["accept"] == "application/json, application/a2a+json" and sent["accept-encoding"] == "gzip"


async def test_no_cookies_of_our_own(world: World) -> None:
    with Server(respond(200, CARD, "Set-Cookie: a=b", "Set-Cookie: \x01;;=;expires=;domain")) as server:
        async with world.resolver() as resolver:
            await resolver.resolve(server.url)
            await resolver.resolve(server.url)
    assert "cookie" not in server.seen[1].headers


async def test_closed_client(world: World) -> None:
    async with world.client() as client:
        pass
    await failure(world, "https://h.test", "failed", client=client)
