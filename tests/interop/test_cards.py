"""Cards over HTTP between this library and a2a-sdk, both ways."""

from __future__ import annotations

import warnings
from typing import Any

import anyio
import httpx
import pytest
from google.protobuf import json_format
from starlette.applications import Starlette

from a2a_discovery import inspect_card, parse_card, protojson, select_interface, sync
from a2a_discovery.server.cards import card_app
from tests.asgi import serving
from tests.cases import CASES
from tests.interop.sdk import a2a_pb2 as official

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from a2a.client import A2ACardResolver
    from a2a.server.routes import create_agent_card_routes

CARD = parse_card((CASES / "bench_card.json").read_bytes())


def theirs() -> Any:
    return official.AgentCard.FromString(CARD.SerializeToString())


@pytest.mark.parametrize("with_old_interface", [False, True], ids=["1.0", "1.0 and 0.3"])
def test_a_card_that_a2a_sdk_publishes_is_read_here(with_old_interface: bool) -> None:
    """Beside a 0.3 interface the SDK adds the names of 0.3 in every place; they change nothing."""
    card = theirs()
    if with_old_interface:
        card.supported_interfaces.add(url="https://old.test", protocol_binding="JSONRPC", protocol_version="0.3")
    with serving(Starlette(routes=create_agent_card_routes(card))) as url, sync.CardResolver() as resolver:
        found = resolver.resolve(url)
    assert found.card.SerializeToString(deterministic=True) == card.SerializeToString(deterministic=True)
    assert select_interface(found.card).interface == CARD.supported_interfaces[0]
    assert {p.rule for p in inspect_card(found.data).problems} == ({"legacy"} if with_old_interface else set())


def test_a_card_that_is_published_here_is_read_by_a2a_sdk() -> None:
    async def read(url: str) -> Any:
        async with httpx.AsyncClient(trust_env=False) as client:
            return await A2ACardResolver(client, url).get_agent_card()

    with serving(card_app(CARD)) as url:
        assert anyio.run(read, url) == theirs()


def test_documents_agree_with_json_format() -> None:
    assert protojson.to_dict(CARD) == json_format.MessageToDict(theirs())
