"""A card published over HTTP, asked for by a client of its own over a real connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import pytest

from a2a_discovery import CardError, protojson
from a2a_discovery.cli.samples import SAMPLES
from a2a_discovery.server.cards import card_app
from a2a_discovery.types import AgentCard
from tests.asgi import serving

CARD = SAMPLES["test-runner"]("http://localhost:41241")
PATH = "/.well-known/agent-card.json"


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with serving(card_app(CARD)) as url, httpx.Client(base_url=url, trust_env=False) as client:
        yield client


def test_get(client: httpx.Client) -> None:
    answer = client.get(PATH)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "max-age=300"
    assert answer.json() == protojson.to_dict(CARD)


def test_head_has_the_same_fields_and_no_body(client: httpx.Client) -> None:
    head, get = client.head(PATH), client.get(PATH)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("content-type", "content-length", "etag", "cache-control"):
        assert head.headers[name] == get.headers[name]


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', "*", '"a,b" , W/{}'])
def test_not_modified(client: httpx.Client, form: str) -> None:
    etag = client.get(PATH).headers["etag"]
    answer = client.get(PATH, headers={"If-None-Match": form.format(etag)})
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["etag"] == etag
    assert answer.headers["cache-control"] == "max-age=300"


@pytest.mark.parametrize("tag", ['"other"', "", "nonsense", '"*"'])
def test_modified(client: httpx.Client, tag: str) -> None:
    assert client.get(PATH, headers={"If-None-Match": tag}).status_code == 200


def test_an_etag_follows_the_bytes() -> None:
    other = AgentCard()
    other.CopyFrom(CARD)
    other.version = "9"
    assert len({_get(card).headers["etag"] for card in (CARD, CARD, other)}) == 2


def test_the_bytes_are_the_same_in_every_process() -> None:
    card = AgentCard()
    card.CopyFrom(CARD)
    for name in "qwertyuiop":
        card.security_schemes[name].mtls_security_scheme.description = name
    # Protobuf's maps have an order of their own in each process.
    assert list(json.loads(_get(card).content)["securitySchemes"]) == sorted("qwertyuiop")


def _get(card_or_app: Any) -> httpx.Response:
    app = card_app(card_or_app) if isinstance(card_or_app, AgentCard) else card_or_app

    async def get() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://testserver") as client:
            return await client.get(PATH)

    return anyio.run(get)


def test_other_methods_and_paths(client: httpx.Client) -> None:
    assert client.post(PATH).status_code == 405
    assert client.get("/").status_code == 404


def test_an_invalid_card_is_not_published() -> None:
    with pytest.raises(CardError) as caught:
        card_app(AgentCard(name="Half a card"))
    assert "description" in [p.path for p in caught.value.problems]


def test_later_changes_are_not_published() -> None:
    card = AgentCard()
    card.CopyFrom(CARD)
    app = card_app(card)
    card.name = "Changed"
    assert _get(app).json()["name"] == CARD.name
