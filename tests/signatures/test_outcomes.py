"""What becomes of a card, by its signatures (§8.4.3)."""

from __future__ import annotations

import base64
import copy
import hashlib
import hmac
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, strategies as st

from a2a_discovery import CardError, SignatureError, inspect_card, parse_card, protojson
from a2a_discovery._canonical import canonical_form, read_document
from a2a_discovery.dataclasses import to_dataclass
from a2a_discovery.signatures import sign_card, verify_card
from a2a_discovery.verification import SignatureResult
from tests.signatures.common import CARD, EC, ED, OTHER, document, jwks, public, signature, signed, some
from tests.strategies import damaged, json_values

KEYS = jwks(public(EC))


def result(card: Any, keys: Any = KEYS, **options: Any) -> SignatureResult:
    """What became of the card's only signature, which is the outcome of the card too."""
    verification = verify_card(card, keys, **options)
    (only,) = verification.signatures
    assert verification.outcome == only.outcome
    assert (verification.card is None) == (only.outcome != "verified") == (only.form is None) == bool(only.reason)
    return only


def test_a_signed_card_is_verified_and_read_without_its_signatures() -> None:
    card = sign_card(CARD, EC, kid="k1", jku="https://keys.test/jwks.json")
    verification = verify_card(protojson.dumps(card), KEYS)
    assert (verification.outcome, verification.accepted, verification.form) == ("verified", True, "section-8.4.1")
    assert verification.card == CARD
    assert verification.signatures == (SignatureResult(0, "verified", "", "ES256", "k1", "section-8.4.1"),)
    header = json.loads(base64.urlsafe_b64decode(card.signatures[0].protected + "=="))
    assert header == {"alg": "ES256", "typ": "JOSE", "kid": "k1", "jku": "https://keys.test/jwks.json"}


def test_the_card_that_is_signed_is_a_copy_with_one_more_signature() -> None:
    first = sign_card(CARD, EC, kid="old")
    second = sign_card(first, ED.as_pem(private=True), kid="new", alg="EdDSA")
    assert [len(c.signatures) for c in (CARD, first, second)] == [0, 1, 2]
    data = protojson.dumps(second)
    for keys in (public(EC, "old"), public(ED, "new")):
        outcomes = {r.kid: r.outcome for r in verify_card(data, keys).signatures}
        assert outcomes == {"old": "unverifiable", "new": "unverifiable"} | {keys["kid"]: "verified"}
    both = verify_card(data, jwks(public(EC, "old"), public(ED, "new")))
    assert [r.outcome for r in both.signatures] == ["verified", "verified"]


def test_one_good_signature_among_broken_ones_is_enough() -> None:
    good = signature(document())
    broken = [{**good, "signature": good["signature"][::-1]}, {}, 7, {"protected": "e30", "signature": "AA"}]
    verification = verify_card(signed(None, *broken, good, signature(document(), header={"alg": "ES256"})), KEYS)
    assert [r.outcome for r in verification.signatures] == [*["invalid"] * 4, "verified", "verified"]
    assert [r.index for r in verification.signatures] == [*range(6)]
    assert verification.card == CARD


@pytest.mark.parametrize(
    ("outcome", "accepted"),
    [
        ("verified", {"require", "if-present", "off"}),
        ("absent", {"if-present", "off"}),
        ("invalid", {"off"}),
        ("unverifiable", {"off"}),
    ],
)
def test_the_policy_says_what_is_accepted(outcome: str, accepted: set[str]) -> None:
    cards: dict[str, Any] = {
        "verified": signed(),
        "absent": document(),
        "invalid": signed() | {"name": "Mallory"},
        "unverifiable": signed(header={"alg": "ES256", "kid": "k2"}),
    }
    for policy in ("require", "if-present", "off"):
        verification = verify_card(cards[outcome], KEYS, policy=policy)  # type: ignore[arg-type]
        assert verification.accepted == (policy in accepted)
        looked_at = policy != "off" or outcome == "absent"
        assert verification.outcome == (outcome if looked_at else "unverifiable")


@pytest.mark.parametrize("signatures", [None, []])
def test_null_and_none_at_all_are_absent(signatures: Any) -> None:
    assert verify_card(document() | {"signatures": signatures}, KEYS).outcome == "absent"


def test_the_best_signature_makes_the_outcome() -> None:
    invalid, unverifiable = signature(document(), OTHER), signature(document(), header={"alg": "ES256", "kid": "k2"})
    assert verify_card(signed(None, invalid, unverifiable), KEYS).outcome == "unverifiable"
    assert verify_card(signed(None, invalid, invalid), KEYS).outcome == "invalid"


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"kid": "k1"}, "alg"),
        ({"alg": 7}, "alg"),
        ({"alg": "none"}, "private key"),
        ({"alg": "NONE"}, "private key"),
        ({"alg": "HS256", "kid": "k1"}, "private key"),
        ({"alg": "ES256", "kid": "k1", "crit": ["exp"], "exp": 1}, "crit"),
        ({"alg": "ES256", "kid": "k1", "crit": []}, "crit"),
        ({"alg": "ES256", "kid": "k1", "crit": ["b64"], "b64": False}, "crit"),
        ({"alg": "ES256", "kid": "k1", "b64": False}, "b64"),
        ({"alg": "ES256", "kid": 1}, "kid"),
        ({"alg": "ES256", "jku": ["https://a.test"]}, "jku"),
    ],
)
def test_a_header_that_no_key_would_help(header: dict[str, Any], reason: str) -> None:
    found = result(signed(header=header), algorithms=["ES256", "HS256", "none"])
    assert found.outcome == "invalid"
    assert reason in found.reason


@pytest.mark.parametrize("header", [{"kid": None, "jku": None}, {"typ": None}, {"kid": "k1", "x": [1], "typ": "JWT"}])
def test_a_header_that_is_odd_but_says_enough(header: dict[str, Any]) -> None:
    assert result(signed(header={"alg": "ES256"} | header)).outcome == "verified"


@pytest.mark.parametrize("raw", [b"[]", b"{", b'{"alg":"ES256","alg":"ES256"}', b"\xff", b"null"])
def test_a_header_that_is_no_json_object(raw: bytes) -> None:
    assert result(signed(raw_header=raw)).outcome == "invalid"


@pytest.mark.parametrize("entry", [None, 7, [], {}, {"protected": "", "signature": ""}, {"protected": "e30"}, "x"])
def test_an_entry_that_is_no_signature(entry: Any) -> None:
    assert result(signed(None, entry)).outcome == "invalid"


@pytest.mark.parametrize("change", [lambda s: s + "=", lambda s: " " + s, lambda s: s + "A" * 9000, lambda s: s[:-1]])
def test_a_signature_that_is_not_plain_base64url(change: Any) -> None:
    good = signature(document())
    assert result(signed(None, {**good, "signature": change(good["signature"])})).outcome == "invalid"


def test_a_public_key_is_never_taken_for_a_shared_secret() -> None:
    """The oldest forgery: HMAC with the public key as it is published (RFC 8725 §2.1)."""
    pem = EC.as_pem(private=False)
    forged = signature(document(), header={"alg": "HS256", "kid": "k1"})
    signed_bytes = f"{forged['protected']}.".encode() + base64.urlsafe_b64encode(b"{}").rstrip(b"=")
    mac = hmac.new(pem, signed_bytes, hashlib.sha256).digest()
    forged["signature"] = base64.urlsafe_b64encode(mac).rstrip(b"=").decode()
    for keys in (pem, {"keys": [{"kty": "oct", "kid": "k1", "k": "c2VjcmV0"}]}):
        assert result(signed(None, forged), keys, algorithms=["HS256"]).outcome == "invalid"


@pytest.mark.parametrize("name", ["jwk", "x5c", "x5u"])
def test_a_key_in_the_header_is_no_key(name: str) -> None:
    value = {"jwk": public(OTHER), "x5c": ["MIIB"], "x5u": "https://evil.test/cert"}[name]
    found = result(signed(key=OTHER, header={"alg": "ES256", "kid": "k1", name: value}))
    assert found.outcome == "invalid"
    assert result(signed(header={"alg": "ES256", "kid": "k1", name: value})).outcome == "verified"


def test_the_unprotected_header_says_nothing() -> None:
    good = signature(document())
    header = {"alg": "none", "kid": "k2", "crit": ["x"], "jku": "https://evil.test"}
    assert result(signed(None, {**good, "header": header})).outcome == "verified"
    naked = signature(document(), header={"kid": "k1"})
    assert result(signed(None, {**naked, "header": {"alg": "ES256"}})).outcome == "invalid"


def test_only_the_algorithms_of_the_caller_are_verified() -> None:
    assert result(signed(), algorithms=["EdDSA", "RS256"]).outcome == "unverifiable"
    assert result(signed(), algorithms="ES256").outcome == "verified"
    assert result(signed(header={"alg": "ML-DSA-65", "kid": "k1"})).outcome == "unverifiable"


def test_at_most_32_signatures_are_looked_at() -> None:
    bad = {**signature(document()), "signature": "AA"}
    verification = verify_card(signed(None, *[bad] * 32, signature(document()), bad), KEYS)
    assert verification.outcome == "unverifiable"
    assert len(verification.signatures) == 33
    assert "32" in verification.signatures[32].reason


def test_unknown_members_are_covered() -> None:
    card = {**document(), "futureField": {"a": [1, "", None]}}
    assert result(signed(card)).outcome == "verified"
    changed = signed(card) | {"futureField": {"a": [1, "", None, {}]}}
    assert result(changed).outcome == "invalid"


def test_what_the_sdks_sign_is_verified_and_no_more_is_returned() -> None:
    """An empty alternative is not covered by their form, so it is not returned."""
    made = signed(payload=canonical_form(document(), "sdk"))
    received = {**copy.deepcopy(made), "futureField": 1}
    received["capabilities"]["extensions"][0]["params"]["free"] = {"of": "", "charge": [None]}
    verification = verify_card(received, KEYS)
    assert (verification.outcome, verification.form) == ("verified", "sdk")
    assert verification.card == parse_card(canonical_form(document(), "sdk"))
    assert len(verification.card.security_requirements) == len(CARD.security_requirements) - 1
    assert "free" not in verification.card.capabilities.extensions[0].params
    both = verify_card(signed(None, *made["signatures"], signature(document())), KEYS)
    assert [r.form for r in both.signatures] == ["sdk", "section-8.4.1"]
    assert both.card == CARD


def test_a_required_field_that_is_empty_is_not_covered_by_the_form_of_the_sdks() -> None:
    card = document() | {"capabilities": {}}
    with pytest.raises(CardError, match=r"capabilities: .*left out what is empty"):
        verify_card(signed(card, payload=canonical_form(card, "sdk")), KEYS)
    assert result(signed(card)).outcome == "verified"


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"name": 7}', b'{"signatures": {}}', b'{"a": 1, "a": 1}'])
def test_what_is_no_card_is_a_card_error(data: bytes) -> None:
    with pytest.raises(CardError):
        verify_card(data, KEYS)


def test_verified_bytes_that_are_no_valid_card_are_a_card_error() -> None:
    card = document()
    del card["name"]
    with pytest.raises(CardError, match="name"):
        verify_card(signed(card), KEYS)


@some
@given(st.lists(json_values | st.fixed_dictionaries({"protected": json_values, "signature": json_values}), max_size=4))
def test_whatever_stands_in_signatures_nothing_is_raised(entries: list[Any]) -> None:
    verification = verify_card({**document(), "signatures": entries}, KEYS)
    assert verification.outcome == ("invalid" if entries else "absent")
    assert verify_card({**document(), "signatures": [*entries, signature(document())]}, KEYS).card == CARD


@some
@given(
    st.just(document()).flatmap(damaged),
    st.just(document()).flatmap(damaged).flatmap(damaged),
    st.sampled_from(["section-8.4.1", "sdk", "js-sdk"]),
)
def test_a_damaged_card_is_verified_as_it_was_signed_or_not_at_all(first: Any, second: Any, form: Any) -> None:
    for made in (first, second):
        try:
            payload = canonical_form(read_document(made, max_bytes=2**20), form)
            verification = verify_card(signed(made, signature({}, payload=payload)), EC)
        except CardError:
            # A deeply nested member that the schema does not know, or a card that was damaged.
            assert inspect_card(made).errors or form != "section-8.4.1"
        else:
            assert verification.card == parse_card(payload)


def test_a_dataclass_is_signed_too() -> None:
    card = sign_card(to_dataclass(CARD), EC, kid="k1")
    assert result(protojson.to_dict(card)).outcome == "verified"


@pytest.mark.parametrize("policy", ["always", "", None])
def test_a_policy_that_is_none(policy: Any) -> None:
    with pytest.raises(ValueError, match="require"):
        verify_card(document(), KEYS, policy=policy)


def test_the_error_says_why_for_each_signature() -> None:
    verification = verify_card(signed(None, {}, signature(document(), OTHER)), KEYS)
    error = SignatureError(verification, url="https://a.test/card.json")
    assert [*map(str.strip, str(error).splitlines())][1].startswith("[0] invalid: it has no")
    assert "https://a.test/card.json" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (again.verification, again.url, str(again)) == (verification, error.url, str(error))
    absent = SignatureError(verify_card(document(), KEYS))
    assert str(absent) == "the card is not signed"
