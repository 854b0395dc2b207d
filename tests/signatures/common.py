"""What the tests of signatures share: keys, a card, and signatures with any header."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, settings
from joserfc.jwk import ECKey, OKPKey

from a2a_discovery import _jose, parse_card, protojson
from a2a_discovery._protected import encode_base64url
from a2a_discovery.signatures import canonical_json
from tests.cases import CASES

CARD = parse_card((CASES / "bench_card.json").read_bytes())
EC = ECKey.generate_key("P-256")
ED = OKPKey.generate_key("Ed25519")
OTHER = ECKey.generate_key("P-256")


some = settings(
    max_examples=min(int(os.environ.get("PROPERTY_EXAMPLES", "150")), 150),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def document() -> dict[str, Any]:
    """The card as a JSON object, unsigned."""
    return protojson.to_dict(CARD)


def public(key: Any, kid: str | None = "k1", **parameters: Any) -> dict[str, Any]:
    """The key's JWK, without what is private."""
    jwk = {**key.as_dict(private=False), **parameters}
    jwk.pop("kid", None)
    return jwk if kid is None else {**jwk, "kid": kid}


def jwks(*keys: Mapping[str, Any]) -> dict[str, Any]:
    return {"keys": list(keys)}


def signature(
    card: Mapping[str, Any],
    key: Any = EC,
    *,
    alg: str = "ES256",
    header: Mapping[str, Any] | None = None,
    payload: bytes | None = None,
    raw_header: bytes | None = None,
) -> dict[str, Any]:
    """An entry of ``signatures`` over ``card``, by the words of RFC 7515 and with any protected header."""
    written = json.dumps({"alg": alg, "kid": "k1"} if header is None else header).encode()
    protected = encode_base64url(written if raw_header is None else raw_header)
    covered = encode_base64url(canonical_json(card) if payload is None else payload)
    made = _jose.sign(key, alg, f"{protected}.{covered}".encode())
    return {"protected": protected, "signature": encode_base64url(made)}


def signed(card: Mapping[str, Any] | None = None, *entries: Any, **options: Any) -> dict[str, Any]:
    """A card with one signature, or with these."""
    made = copy.deepcopy(dict(document() if card is None else card))
    return {**made, "signatures": list(entries) or [signature(made, **options)]}
