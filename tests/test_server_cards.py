"""A card published over HTTP, asked for by a client of its own over a real connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import anyio
import httpx
import pytest

from a2a_discovery import CardError, protojson
from a2a_discovery.cli.samples import SAMPLES
from a2a_discovery.server import AgentHandler, asgi_app
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


PUBLISHED = datetime(2026, 3, 1, 12, 0, 0, 500_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("since", "status"),
    [
        ("Sun, 01 Mar 2026 12:00:00 GMT", 304),
        ("Sun, 01 Mar 2026 12:00:01 GMT", 304),
        ("Sunday, 01-Mar-26 12:00:00 GMT", 304),
        ("Sun, 01 Mar 2026 11:59:59 GMT", 200),
        ("yesterday", 200),
        ("", 200),
    ],
)
def test_if_modified_since(since: str, status: int) -> None:
    answer = _get(card_app(CARD, last_modified=PUBLISHED), {"If-Modified-Since": since})
    assert answer.status_code == status
    assert answer.headers["last-modified"] == "Sun, 01 Mar 2026 12:00:00 GMT"


def test_an_entity_tag_counts_before_a_date() -> None:
    app = card_app(CARD, last_modified=PUBLISHED)
    headers = {"If-None-Match": '"other"', "If-Modified-Since": "Sun, 01 Mar 2026 12:00:00 GMT"}
    assert _get(app, headers).status_code == 200
    headers["If-None-Match"] = _get(app).headers["etag"]
    headers["If-Modified-Since"] = "Sun, 01 Mar 2020 12:00:00 GMT"
    assert _get(app, headers).status_code == 304


def test_a_card_is_published_now_unless_it_is_said() -> None:
    said = parsedate_to_datetime(_get(CARD).headers["last-modified"])
    assert abs(datetime.now(UTC) - said) < timedelta(seconds=5)
    with pytest.raises(ValueError, match="time zone"):
        card_app(CARD, last_modified=datetime(2026, 3, 1))


def test_a_new_signature_changes_no_tag() -> None:
    signed = AgentCard()
    signed.CopyFrom(CARD)
    signed.signatures.add(protected="e30", signature="c2ln")
    answer = _get(signed)
    assert answer.headers["etag"] == _get(CARD).headers["etag"]
    assert "signatures" in answer.json()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"If-None-Match": "*"},
        {"If-Modified-Since": "Sun, 01 Mar 2026 12:00:00 GMT"},
        {"If-None-Match": '"x", W/"y"'},
    ],
)
def test_the_application_of_an_agent_answers_the_same(headers: dict[str, str]) -> None:
    one = _get(card_app(CARD, last_modified=PUBLISHED, max_age=7), headers)
    two = _get(asgi_app(CARD, AgentHandler(), last_modified=PUBLISHED, max_age=7), headers)
    assert (one.status_code, one.content, dict(one.headers)) == (two.status_code, two.content, dict(two.headers))


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


def _get(card_or_app: Any, headers: dict[str, str] | None = None) -> httpx.Response:
    app = card_app(card_or_app) if isinstance(card_or_app, AgentCard) else card_or_app

    async def get() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://testserver") as client:
            return await client.get(PATH, headers=headers)

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
