"""Agents whose card is given, instead of the host that has it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from a2a_discovery import (
    AgentCard,
    BearerToken,
    CardError,
    CredentialStore,
    FetchError,
    NoSupportedInterfaceError,
    SignatureError,
    UrlPolicy,
    protojson,
)
from a2a_discovery.dataclasses import to_dataclass
from tests.agent.cards import Host
from tests.servers import World
from tests.signatures.common import EC, jwks, public, signed

pytestmark = pytest.mark.anyio


def a_file(card: AgentCard, folder: Path) -> Path:
    path = folder / "card.json"
    path.write_bytes(protojson.dumps(card))
    return path


FORMS: dict[str, Callable[[AgentCard, Path], Any]] = {
    "file": a_file,
    "bytes": lambda card, _: protojson.dumps(card),
    "bytearray": lambda card, _: bytearray(protojson.dumps(card)),
    "dict": lambda card, _: protojson.to_dict(card),
    "message": lambda card, _: card,
    "dataclass": lambda card, _: to_dataclass(card),
}
forms = pytest.mark.parametrize("form", FORMS)


@forms
async def test_a_card_that_is_given_is_called_without_a_fetch(world: World, form: str, tmp_path: Path) -> None:
    if form == "dataclass":
        pytest.importorskip("betterproto2")
    with Host("JSONRPC") as host:
        async with world.discover(FORMS[form](host.public, tmp_path)) as agent:
            assert agent.card == host.public
            await agent.send_message("hello")
        assert host.fetched == 0 and len(host.calls) == 1


@forms
async def test_a_card_that_is_given_is_checked(world: World, form: str, tmp_path: Path) -> None:
    if form == "dataclass":
        pytest.importorskip("betterproto2")
    with Host("JSONRPC") as host:
        host.public.ClearField("skills")
        with pytest.raises(CardError) as caught:
            async with world.discover(FORMS[form](host.public, tmp_path), card_url=host.card_url):
                pass
        assert [problem.path for problem in caught.value.problems] == ["skills"]
        assert caught.value.url == host.card_url


async def test_what_a_resolver_found(world: World) -> None:
    with Host("JSONRPC") as host:
        async with world.resolver() as resolver:
            found = await resolver.resolve(host.card_url)
        async with world.discover(found) as agent:
            await agent.send_message("hello")
        assert host.fetched == 1


async def test_where_a_card_came_from_decides_whom_we_trust(world: World) -> None:
    store = CredentialStore({"token": BearerToken("T")})
    with Host("JSONRPC") as host:
        for card_url, sent in [(None, None), ("https://elsewhere.test/c.json", None), (host.card_url, "Bearer T")]:
            async with world.discover(host.make(), card_url=card_url, credentials=store) as agent:
                await agent.send_message("hello")
            assert host.calls[-1][1].get("authorization") == sent
        with pytest.raises(NoSupportedInterfaceError, match="same_origin"):
            async with world.discover(
                host.make(), card_url="https://elsewhere.test/c.json", policy=UrlPolicy(same_origin=True)
            ):
                pass


async def test_the_signature_policy_holds(world: World) -> None:
    good, keys = signed(), jwks(public(EC))
    async with world.discover(orjson.dumps(good), signatures="require", keys=keys) as agent:
        assert agent.card.name == good["name"]
    with pytest.raises(SignatureError):
        async with world.discover({**good, "name": "Mallory"}, signatures="require", keys=keys):
            pass


async def test_a_given_card_is_asked_for_anew_where_it_came_from(world: World) -> None:
    with Host("JSONRPC") as host:
        async with world.discover(host.make(), card_url=host.card_url) as agent:
            await agent.send_message("hello")
            assert host.fetched == 0
            host.public = host.make(version="2")
            assert (await agent.refresh_card()).version == "2"


@pytest.mark.parametrize("name", ["none.json", ".", "text.json"])
async def test_files_that_are_no_cards(world: World, name: str, tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("no JSON")
    with pytest.raises(CardError if name == "text.json" else FetchError, match=r"cannot be read|JSON"):
        async with world.discover(tmp_path / name):
            pass


@pytest.mark.parametrize("card", [7, None, object(), ["a"]])
async def test_what_is_no_card(world: World, card: Any) -> None:
    with pytest.raises(TypeError):
        async with world.discover(card):
            pass


async def test_a_reference_says_itself_where_it_is(world: World) -> None:
    with pytest.raises(ValueError, match="says itself where the card is"):
        async with world.discover("agent.test", card_url="https://agent.test/card.json"):
            pass
