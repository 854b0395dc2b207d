"""Signed cards between this library and the SDKs for Python and JavaScript, both ways."""

from __future__ import annotations

import copy
import json
import subprocess
import warnings
from typing import Any

import jwt
import pytest
from google.protobuf import json_format
from hypothesis import given

from a2a_discovery import parse_card, protojson
from a2a_discovery._canonical import canonical_form
from a2a_discovery.signatures import canonical_json, sign_card, verify_card
from a2a_discovery.types import AgentCard
from tests.interop.js_peer import FOLDER, installed
from tests.interop.peer import environment
from tests.interop.sdk import a2a_pb2 as official
from tests.signatures.common import CARD, EC, ED, document, jwks, public, some
from tests.strategies import arguments

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from a2a.utils import signing

FULL = CARD
"""A card with an empty list in it, which the SDKs do not sign."""

PLAIN = parse_card(canonical_form(document(), "sdk"))
"""A card without empty values: all forms agree."""

BARE = parse_card({k: v for k, v in protojson.to_dict(PLAIN).items() if not k.startswith("security")})
"""A card without security schemes, too."""

HEADER = {"alg": "ES256", "kid": "k1", "typ": "JOSE", "jku": "https://keys.test/jwks.json"}
KEYS = jwks(public(EC))


def theirs(card: AgentCard) -> Any:
    return official.AgentCard.FromString(card.SerializeToString())


def signed_in_python(card: AgentCard, header: Any = HEADER) -> bytes:
    made = signing.create_agent_card_signer(EC.as_pem(private=True), header)(theirs(card))
    return json_format.MessageToJson(made).encode()


def verified_in_python(card: AgentCard, key: Any = EC) -> bool:
    verifier = signing.create_signature_verifier(lambda kid, jku: jwt.PyJWK(public(key)), ["ES256", "EdDSA"])
    try:
        verifier(theirs(card))
    except signing.InvalidSignaturesError:
        return False
    return True


def in_javascript(*jobs: dict[str, Any]) -> list[Any]:
    command = [installed(), FOLDER / "signatures.mjs"]
    done = subprocess.run(
        command, input=json.dumps(jobs), capture_output=True, text=True, timeout=60, check=False, env=environment()
    )
    assert done.returncode == 0, done.stderr[-4000:]
    results: list[Any] = json.loads(done.stdout)
    return results


@pytest.mark.parametrize("card", [PLAIN, BARE], ids=["plain", "bare"])
def test_what_a2a_sdk_signs_is_verified_here(card: AgentCard) -> None:
    for header in (HEADER, {"alg": "ES256", "kid": "k1", "typ": None, "jku": None}):
        verification = verify_card(signed_in_python(card, header), KEYS)
        assert (verification.card, verification.form) == (card, "section-8.4.1")


def test_what_a2a_sdk_signs_of_a_card_with_empty_values_is_verified_in_its_own_form() -> None:
    data = signed_in_python(FULL)
    verification = verify_card(data, KEYS)
    assert (verification.card, verification.form) == (PLAIN, "sdk")
    changed = {**json.loads(data), "name": "Mallory"}
    assert verify_card(changed, KEYS).outcome == "invalid"


def test_what_is_signed_here_is_verified_by_a2a_sdk_where_the_forms_agree() -> None:
    assert verified_in_python(sign_card(PLAIN, EC, kid="k1"))
    assert verified_in_python(sign_card(PLAIN, ED, kid="k1", alg="EdDSA"), ED)
    assert verified_in_python(sign_card(sign_card(PLAIN, ED, kid="k0", alg="EdDSA"), EC, kid="k1"))
    assert not verified_in_python(sign_card(FULL, EC, kid="k1"))
    changed = sign_card(PLAIN, EC, kid="k1")
    changed.name = "Mallory"
    assert not verified_in_python(changed)


@some
@given(arguments(AgentCard.DESCRIPTOR))
def test_the_form_of_a2a_sdk(chosen: dict[str, Any]) -> None:
    card = AgentCard(**chosen)
    try:
        expected = signing._canonicalize_agent_card(theirs(card)).encode()
    except signing.CanonicalizationError:  # a whole number that is more than it signs
        return
    assert canonical_form(protojson.to_dict(card), "sdk") == (b"{}" if expected == b"null" else expected)


@pytest.mark.parametrize("typed", [False, True], ids=["JSON", "object"])
def test_with_the_javascript_sdk(typed: bool) -> None:
    """Its client and server hold cards as objects, whose security schemes it loses when it signs or verifies."""
    cards = {"full": FULL, "plain": PLAIN, "bare": BARE}
    sign = [
        {
            "op": "sign",
            "card": protojson.to_dict(card),
            "key": EC.as_dict(private=True),
            "header": HEADER,
            "typed": typed,
        }
        for card in cards.values()
    ]
    ours = {name: protojson.to_dict(sign_card(card, EC, kid="k1")) for name, card in cards.items()}
    ours["changed"] = {**copy.deepcopy(ours["bare"]), "name": "Mallory"}
    verify = [{"op": "verify", "card": card, "key": public(EC), "typed": typed} for card in ours.values()]
    *signatures, full, plain, bare, changed = in_javascript(*sign, *verify)
    found = [
        verify_card({**protojson.to_dict(card), "signatures": [signature]}, KEYS)
        for card, signature in zip(cards.values(), signatures, strict=True)
    ]
    assert [v.form for v in found] == [
        "js-sdk" if typed else "sdk",
        "js-sdk" if typed else "section-8.4.1",
        "section-8.4.1",
    ]
    without_schemes = parse_card(canonical_form(document(), "js-sdk"))
    assert found[0].card == found[1].card == (without_schemes if typed else PLAIN)
    assert found[2].card == BARE
    assert (full, plain, bare, changed) == (False, not typed, True, False)


def test_the_form_of_the_javascript_sdk() -> None:
    params = {
        "z": [1.5, -0.0, 1e21, 1e-7, 2**53 - 1, True, None, "", {}, []],
        "é": "\u2028\x7f\x1f",
        "\ufb33": 0,
        "😀": 1,
    }
    card = document()
    card["capabilities"]["extensions"][0]["params"] = params
    card |= {"iconUrl": "", "unknown": 1, "capabilities": card["capabilities"] | {"streaming": False}}
    as_json, as_object = in_javascript(*({"op": "canonical", "card": card, "typed": typed} for typed in (False, True)))
    assert canonical_form(card, "sdk") == as_json.encode()
    assert canonical_form(card, "js-sdk") == as_object.encode()
    assert canonical_json(card) != as_json.encode()
