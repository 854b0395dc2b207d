"""An extended card is checked as one that is fetched, signatures included (§5.7, §8.4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from a2a_discovery import (
    CardError,
    SignatureError,
    protojson,
    sign_card,
)
from tests.agent.cards import Host, agent_of, failing, store
from tests.agent.common import BINDINGS, HTTP
from tests.servers import World
from tests.signatures.common import EC, OTHER, public, signature

pytestmark = pytest.mark.anyio

every = pytest.mark.parametrize("binding", BINDINGS)
over_json = pytest.mark.parametrize("binding", HTTP)


@every
@pytest.mark.parametrize(
    ("change", "path", "rule"),
    [
        (lambda card: card.pop("name"), "name", "required"),
        (lambda card: card.update(skills=[]), "skills", "required"),
        (lambda card: card["skills"][0].pop("tags"), "skills[0].tags", "required"),
    ],
)
async def test_a_bad_card_is_not_taken(
    world: World, binding: str, change: Callable[[Any], object], path: str, rule: str
) -> None:
    with Host(binding) as host:
        bad = protojson.to_dict(host.extended)
        change(bad)
        host.extended = [bad, bad, host.extended]
        async with agent_of(world, host) as agent, world.resolver() as resolver:
            error = await failing(agent, CardError)
            assert error.url == host.url and (path, rule) in [(p.path, p.rule) for p in error.problems]
            async with agent_of(world, host, resolver=resolver) as resolving:
                assert (await failing(resolving, CardError)).url == host.url
            assert (await agent.extended_card()).skills[0].id == "hidden"


@over_json
async def test_what_only_json_can_show(world: World, binding: str) -> None:
    with Host(binding) as host:
        good = json.dumps(protojson.to_dict(host.extended))
        for bad, path, rule in [
            (good.replace('"skills": [{', '"skills": [{"id": "x", '), "skills[0].id", "duplicate"),
            (f'{{"x": {{"a": 1, "a": 1}}, {good[1:]}', "x.a", "duplicate"),
            (good.replace('"version": "1"', '"version": 1'), "version", "type"),
            ("[]", "", "type"),
            ("null", "", "type"),
            (json.dumps(good), "", "type"),
        ]:
            host.extended = [bad, bad, good]
            async with agent_of(world, host) as agent, world.resolver() as resolver:
                error = await failing(agent, CardError)
                assert (path, rule) in [(p.path, p.rule) for p in error.problems] and error.url == host.url
                async with agent_of(world, host, resolver=resolver) as resolving:
                    await failing(resolving, CardError)
                assert (await agent.extended_card()).skills[0].id == "hidden"
        host.extended = f'{{"later": [1], {good[1:]}'
        async with agent_of(world, host) as agent:
            assert (await agent.extended_card()).skills[0].id == "hidden"


async def test_a_result_that_stands_twice_is_no_card(world: World) -> None:
    with Host("JSONRPC") as host:
        good = json.dumps(protojson.to_dict(host.extended))
        host.extended = f'{good}, "result": {good}'
        async with agent_of(world, host) as agent:
            error = await failing(agent, CardError)
            assert [(p.path, p.rule) for p in error.problems] == [("", "duplicate")]


@every
async def test_signatures(world: World, binding: str) -> None:
    with Host(binding) as host:
        unsigned = host.make(skill="hidden")
        host.public = sign_card(host.public, EC, kid="k1")
        strict = {"signatures": "require", "keys": public(EC)}
        async with world.resolver(**strict) as resolver, agent_of(world, host, resolver=resolver) as agent:
            for bad, outcome in [
                (unsigned, "absent"),
                (sign_card(unsigned, OTHER, kid="k1"), "invalid"),
                (sign_card(unsigned, OTHER, kid="other"), "unverifiable"),
            ]:
                host.extended = bad
                error = await failing(agent, SignatureError)
                assert (error.verification.outcome, error.url) == (outcome, host.url)
            host.extended = sign_card(unsigned, EC, kid="k1")
            found = await agent.extended_card()
            assert found == unsigned, "the card that the verified bytes hold"
        # Without a resolver nothing is looked at, and "if-present" takes what has none.
        host.extended = sign_card(unsigned, OTHER, kid="k1")
        async with agent_of(world, host) as agent:
            assert (await agent.extended_card()).skills[0].id == "hidden"
        async with (
            world.resolver(signatures="if-present", keys=public(EC)) as resolver,
            agent_of(world, host, resolver=resolver) as agent,
        ):
            await failing(agent, SignatureError)
            host.extended = unsigned
            await agent.extended_card()


@over_json
async def test_a_signature_covers_members_that_no_message_holds(world: World, binding: str) -> None:
    with Host(binding) as host:
        later = {**protojson.to_dict(host.extended), "later": {"kept": [1, 2.5, "x"]}}
        host.extended = {**later, "signatures": [signature(later)]}
        async with (
            world.resolver(signatures="require", keys=public(EC)) as resolver,
            agent_of(world, host, resolver=resolver) as agent,
        ):
            assert (await agent.extended_card()).skills[0].id == "hidden"
            host.extended["later"]["kept"].append("forged")
            assert (await failing(agent, SignatureError, refresh=True)).verification.outcome == "invalid"


@every
async def test_discover_holds_the_extended_card_to_its_policy(world: World, binding: str) -> None:
    with Host(binding) as host:
        unsigned = host.extended
        host.public = sign_card(host.public, EC, kid="k1")
        async with world.discover(host.card_url, signatures="require", keys=public(EC), credentials=store()) as agent:
            await failing(agent, SignatureError)
            host.extended = sign_card(unsigned, EC, kid="k1")
            assert await agent.extended_card() == unsigned
