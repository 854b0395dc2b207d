"""Whose keys count: in which forms they are given, and which of them are tried."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey

from a2a_discovery import CardError, protojson
from a2a_discovery.signatures import ALGORITHMS, sign_card, verify_card, verify_card_async
from a2a_discovery.types import AgentCard
from tests.servers import certificate
from tests.signatures.common import CARD, EC, ED, OTHER, document, jwks, public, signature, signed

RSA = RSAKey.generate_key(2048)
KEYS: dict[str, Any] = {
    "ES256": EC,
    "ES384": ECKey.generate_key("P-384"),
    "ES512": ECKey.generate_key("P-521"),
    "EdDSA": ED,
} | {f"{family}S{size}": RSA for family in "RP" for size in (256, 384, 512)}


def outcome(card: Any, keys: Any, **options: Any) -> str:
    return verify_card(card, keys, **options).outcome


@pytest.mark.parametrize("alg", ALGORITHMS)
def test_algorithms(alg: str) -> None:
    """Without a warning, too."""
    data = protojson.dumps(sign_card(CARD, KEYS[alg].as_dict(private=True), kid="k1", alg=alg))
    assert outcome(data, jwks(public(KEYS[alg]))) == "verified"
    assert outcome(data, jwks(public(type(KEYS[alg]).generate_key()))) in ("invalid", "unverifiable")


def test_ed448() -> None:
    key = OKPKey.generate_key("Ed448")
    assert outcome(protojson.dumps(sign_card(CARD, key, kid="k1", alg="EdDSA")), public(key)) == "verified"


FORMS: dict[str, Any] = {
    "JWKS": jwks(public(OTHER, "k2"), public(EC)),
    "JWKS as text": json.dumps(jwks(public(EC))),
    "JWKS as bytes": json.dumps(jwks(public(EC))).encode(),
    "JWK": public(EC),
    "JWK without kid": public(EC, None),
    "PEM": EC.as_pem(private=False),
    "PEM as text": EC.as_pem(private=False).decode(),
    "two PEM blocks": OTHER.as_pem(private=False) + b"\n" + EC.as_pem(private=False),
    "private PEM": EC.as_pem(private=True),
    "joserfc": EC,
    "joserfc set": KeySet([ECKey.import_key(public(EC)), OctKey.generate_key(256)]),
    "cryptography": EC.public_key,
    "several": [public(OTHER), EC.as_pem(private=False)],
    "callable": lambda kid, header: public(EC) if (kid, header["alg"]) == ("k1", "ES256") else None,
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_keys(form: str) -> None:
    assert outcome(signed(), FORMS[form]) == "verified"
    assert outcome(signed(key=ECKey.generate_key("P-256")), FORMS[form]) == "invalid"


def test_a_certificate_holds_a_key(tmp_path: Any) -> None:
    _, file = certificate(tmp_path)
    assert outcome(signed(), file.read_bytes() + EC.as_pem(private=False)) == "verified"


@pytest.mark.parametrize(
    "keys", [b"", "x", "{", {"kid": "k1"}, 7, None, b"-----BEGIN PUBLIC KEY-----\nAA\n-----END PUBLIC KEY-----"]
)
def test_what_is_no_key_is_a_value_error(keys: Any) -> None:
    with pytest.raises(ValueError, match=r"key|JWK|PEM"):
        verify_card(signed(), keys)


@pytest.mark.parametrize(
    "key",
    [
        public(EC, "k2"),
        public(EC, use="enc"),
        public(EC, alg="ES384"),
        public(EC, key_ops=["sign"]),
        public(EC, key_ops="verify"),
        public(ED),
        public(KEYS["ES384"]),
        public(RSA),
        {**public(EC), "x": 7},
        {**public(EC), "x": "AA"},
        {**public(EC), "crv": ["P-256"]},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "k1"},
        {"kty": "AKP", "kid": "k1"},
        {},
    ],
    ids=str,
)
def test_a_key_that_is_not_made_for_it_is_not_tried(key: Any) -> None:
    assert outcome(signed(), jwks(key)) == "unverifiable"
    assert outcome(signed(), jwks(key, "no key", public(EC))) == "verified"  # type: ignore[arg-type]


@pytest.mark.parametrize("parameters", [{"use": "sig"}, {"alg": "ES256"}, {"key_ops": ["verify"]}])
def test_a_key_that_is_made_for_it(parameters: dict[str, Any]) -> None:
    assert outcome(signed(), jwks(public(EC, **parameters))) == "verified"


def test_a_short_rsa_key_is_not_tried_and_nothing_warns() -> None:
    """RFC 7518 §3.3: 2,048 bits or more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        short = RSAKey.import_key(rsa.generate_private_key(public_exponent=65537, key_size=1024))  # noqa: S505
    made = signature(document(), RSA, alg="RS256", header={"alg": "RS256", "kid": "k1"})
    for keys in (jwks(public(short)), short.as_pem(private=False), short):
        assert outcome(signed(None, made), keys) == "unverifiable"
    with pytest.raises(ValueError, match="RS256"):
        sign_card(CARD, short, kid="k1", alg="RS256")


def test_another_name_for_eddsa() -> None:
    made = signed(key=ED, alg="EdDSA", header={"alg": "EdDSA", "kid": "k1"})
    assert outcome(made, public(ED, alg="Ed25519")) == "verified"
    assert outcome(made, public(ED, alg="Ed448")) == "unverifiable"


def test_without_a_kid_those_that_fit_are_tried_16_at_most() -> None:
    made = signed(header={"alg": "ES256"})
    others = [public(OTHER, f"o{i}") for i in range(15)]
    assert outcome(made, jwks(*[public(ED)] * 20, *others, public(EC, "x"))) == "verified"
    assert outcome(made, jwks(*others, public(OTHER), public(EC, "x"))) == "invalid"
    assert outcome(signed(), jwks(public(OTHER), public(EC))) == "verified"  # two of one name


def test_a_source_that_fails_makes_the_signature_unverifiable() -> None:
    def source(kid: str | None, header: Any) -> Any:
        if kid == "down":
            raise RuntimeError("password=secret")
        return {"nothing": 1} if kid == "odd" else public(EC)

    entries = [signature(document(), header={"alg": "ES256", "kid": kid}) for kid in ("down", "odd")]
    verification = verify_card(signed(None, *entries), source)
    assert [r.outcome for r in verification.signatures] == ["unverifiable"] * 2
    assert "RuntimeError" in verification.signatures[0].reason
    assert "secret" not in str(verification)
    assert verify_card(signed(None, *entries, signature(document())), source).card == CARD


def test_what_the_source_is_told_cannot_be_changed() -> None:
    def source(kid: str | None, header: Any) -> Any:
        header["alg"] = "none"

    assert "TypeError" in verify_card(signed(), source).signatures[0].reason


@pytest.mark.anyio
async def test_a_source_may_be_asynchronous() -> None:
    async def source(kid: str | None, header: Any) -> Any:
        return public(EC)

    async def failing(kid: str | None, header: Any) -> Any:
        raise RuntimeError

    assert (await verify_card_async(signed(), source)).card == CARD
    assert (await verify_card_async(signed(), public(EC))).card == CARD
    assert (await verify_card_async(signed(), failing)).outcome == "unverifiable"
    (found,) = verify_card(signed(), source).signatures
    assert (found.outcome, "verify_card_async" in found.reason) == ("unverifiable", True)


@pytest.mark.parametrize(
    "options",
    [
        {"alg": "HS256"},
        {"alg": "none"},
        {"alg": "ES384"},
        {"kid": ""},
        {"kid": None},
        {"jku": "keys.json"},
        {"key": public(EC)},
        {"key": "x"},
        {"key": [EC, OTHER]},
        {"key": {**EC.as_dict(private=True), "use": "enc"}},
        {"key": b"-----BEGIN PRIVATE KEY-----\nAA\n-----END PRIVATE KEY-----"},
    ],
    ids=str,
)
def test_what_cannot_sign_is_a_value_error(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        sign_card(CARD, **{"key": EC, "kid": "k1"} | options)


def test_a_card_that_nobody_would_take_is_not_signed() -> None:
    with pytest.raises(CardError, match="description"):
        sign_card(AgentCard(name="A"), EC, kid="k1")
