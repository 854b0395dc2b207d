"""Only type-checked, never run: what a caller sees of the public names."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import a2a_discovery
from a2a_discovery import (
    Agent,
    AgentCard,
    AsyncAgent,
    CardResolver,
    Catalog,
    CatalogEntry,
    CatalogFailure,
    JwksResolver,
    Match,
    Problem,
    ResolvedCard,
    Selection,
    SignatureResult,
    Verification,
    protojson,
    types,
)


async def fetching(resolver: CardResolver) -> None:
    found = await resolver.resolve("agent.test")
    assert_type(found, ResolvedCard)
    assert_type(found.card, AgentCard)
    with a2a_discovery.sync.CardResolver() as blocking:
        assert_type(blocking.resolve("agent.test"), ResolvedCard)


async def cataloguing(urls: list[str]) -> None:
    catalog = await Catalog.from_urls(urls, progress=lambda done, total: done < total)
    assert_type(catalog, Catalog)
    assert_type(catalog.failures, tuple[CatalogFailure, ...])
    assert_type([entry.card for entry in catalog], list[AgentCard])
    assert_type(catalog.find(tags=["x"]), list[Match])
    results = [a2a_discovery.fetch_card(url) for url in urls]
    assert_type(results, list[CatalogEntry | CatalogFailure])
    assert_type(a2a_discovery.sync.Catalog.of(results), a2a_discovery.sync.Catalog)
    assert_type(a2a_discovery.sync.Catalog.from_directory("cards"), a2a_discovery.sync.Catalog)


async def calling(resolver: CardResolver) -> None:
    async with AsyncAgent(await resolver.resolve("agent.test"), resolver=resolver) as agent:
        assert_type(await agent.extended_card(refresh=True), AgentCard)
        assert_type(await agent.refresh_card(), AgentCard)
    with a2a_discovery.sync.CardResolver() as blocking, Agent(types.AgentCard(), resolver=blocking) as blocking_agent:
        assert_type(blocking_agent.extended_card(), AgentCard)
        assert_type(blocking_agent.refresh_card(), AgentCard)


def reading(data: bytes) -> None:
    card = a2a_discovery.parse_card(data)
    assert_type(card, AgentCard)
    assert_type(card.supported_interfaces[0].url, str)
    assert_type(a2a_discovery.inspect_card(data).card, AgentCard | None)
    assert_type(protojson.loads(types.Task, data), types.Task)
    assert_type(protojson.dumps(card), bytes)
    assert_type(a2a_discovery.validate(card), list[Problem])


def choosing(card: AgentCard) -> None:
    selection = a2a_discovery.select_interface(card, a2a_discovery.Support({"JSONRPC": ["1.0"]}))
    assert_type(selection, Selection)
    request = types.SendMessageRequest(message=types.Message(message_id="m", role=types.ROLE_USER))
    assert_type(a2a_discovery.with_tenant(request, selection.interface), types.SendMessageRequest)


async def finding(card: AgentCard, agent: a2a_discovery.AsyncAgent, message: types.Message) -> None:
    assert_type(
        a2a_discovery.find_skills(card, tags="code", text="diff", accepts=["text/plain"]), list[types.AgentSkill]
    )
    assert_type(a2a_discovery.check_parts(card, message, skill="review"), list[Problem])
    assert_type(await agent.send_message(Path("a.png"), skill="review", check_parts=True), types.SendMessageResponse)
    await agent.send_message(["text", b"bytes", Path("a.png"), types.Part(text="text")])


async def signing(card: AgentCard, data: bytes, key: dict[str, str]) -> None:
    assert_type(a2a_discovery.canonical_json(data), bytes)
    assert_type(a2a_discovery.sign_card(card, key, kid="k", alg="EdDSA"), AgentCard)
    verification = a2a_discovery.verify_card(data, lambda kid, header: key, policy="if-present")
    assert_type(verification, Verification)
    assert_type(verification.card, AgentCard | None)
    assert_type(verification.signatures, tuple[SignatureResult, ...])
    async with JwksResolver(["https://keys.test"]) as keys, CardResolver(signatures="require", keys=keys) as resolver:
        assert_type((await resolver.resolve("agent.test")).verification, Verification | None)
    assert_type(await a2a_discovery.verify_card_async(data, keys), Verification)
