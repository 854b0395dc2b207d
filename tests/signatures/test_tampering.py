"""Whatever is changed in a signed card: it fails, or what is returned is what was signed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from a2a_discovery import CardError, parse_card
from a2a_discovery._canonical import canonical_form
from a2a_discovery._schema import fields
from a2a_discovery.signatures import verify_card
from a2a_discovery.types import DESCRIPTOR
from tests.signatures.common import ED, document, signature

EMPTIES: tuple[Any, ...] = ({}, [], "", None)
NAMES = sorted(
    {
        name
        for m in DESCRIPTOR.message_types_by_name.values()
        for f in fields(m).values()
        for name in (f.json_name, f.name)
    }
    & {"iconUrl", "icon_url", "provider", "tenant", "security_schemes", "schemes", "required", "scopes", "extensions"}
    | {"name", "description", "url", "tags"}
)
RICH: dict[str, Any] = {
    **document(),
    "iconUrl": "",
    "futureField": {"empty": "", "list": [None, 1]},
    "security_requirements": [{"schemes": {"terminalKey": {"list": []}}}, {}],
}
RICH.pop("securityRequirements", None)
RICH["capabilities"]["extensions"].append(
    {"uri": "urn:x", "required": False, "params": {"p": "", "q": [{}], "n": None, "big": 2**60, "half": 0.5}}
)


def tamperings(value: Any) -> Iterator[Any]:
    """Every value with one change: at a place, something is exchanged, put in or removed."""
    if isinstance(value, dict):
        for key, inner in value.items():
            rest = {k: v for k, v in value.items() if k != key}
            yield rest
            yield {**rest, f"{key}x": inner}
            for changed in tamperings(inner):
                yield {**value, key: changed}
        for name in [n for n in ("", "x", *NAMES) if n not in value]:
            yield from ({**value, name: empty} for empty in EMPTIES)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield value[:i] + value[i + 1 :]
            for changed in tamperings(inner):
                yield [*value[:i], changed, *value[i + 1 :]]
        for i in range(len(value) + 1):
            yield from ([*value[:i], empty, *value[i:]] for empty in EMPTIES)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, str):
        yield from (value + "x", value[1:])
    elif isinstance(value, int | float):
        yield value + 1
    yield from (empty for empty in EMPTIES if empty != value)


@pytest.mark.parametrize("form", ["section-8.4.1", "sdk"])
def test_no_tampering_changes_the_card_that_is_returned(form: Any) -> None:
    entry = signature(RICH, ED, alg="EdDSA", header={"alg": "EdDSA"}, payload=canonical_form(RICH, form))
    original = {**copy.deepcopy(RICH), "signatures": [entry]}
    expected = parse_card(canonical_form(RICH, form))
    assert verify_card(original, ED).card == expected
    tried = returned = 0
    for changed in tamperings(original):
        tried += 1
        try:
            verification = verify_card(orjson.dumps(changed), ED)
        except CardError:
            continue
        if verification.outcome == "verified":
            returned += 1
            assert verification.card == expected, changed
    assert tried > 2500  # for each of the two forms
    assert 0 < returned < tried
