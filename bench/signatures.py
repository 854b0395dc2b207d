"""Signed cards: this library and a2a-sdk, from the bytes received to a verified card."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import jwt
from google.protobuf.json_format import MessageToJson
from joserfc.jwk import ECKey

from a2a_discovery import verify_card
from bench.table import compare

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its generated code is older than the protobuf runtime
    from a2a.client.card_resolver import parse_agent_card
    from a2a.utils.signing import create_agent_card_signer, create_signature_verifier

CARD = Path(__file__).resolve().parent.parent / "tests" / "cases" / "bench_card.json"


def main() -> None:
    """The bench card as a2a-sdk signs it, which is the slower of the forms here: that of §8.4.1 is tried before it."""
    key = ECKey.generate_key("P-256")
    theirs = jwt.PyJWK({**key.as_dict(private=False), "alg": "ES256"})
    signer = create_agent_card_signer(
        key.as_pem(private=True), {"alg": "ES256", "kid": "k", "typ": "JOSE", "jku": None}
    )
    data = MessageToJson(signer(parse_agent_card(json.loads(CARD.read_bytes())))).encode()
    verify = create_signature_verifier(lambda _kid, _jku: theirs, ["ES256"])
    assert verify_card(data, key).form == "sdk"
    compare(
        "verify: bench card, bytes to verified card",
        lambda: verify_card(data, key),
        lambda: verify(parse_agent_card(json.loads(data))),
        goal=3,
    )
