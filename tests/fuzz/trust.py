"""What has to hold for any bytes where trust is decided: signed cards, key sets, and authorization servers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from a2a_discovery import CardError, FetchError, OAuthClient, TokenError, canonical_json, parse_card, verify_card
from a2a_discovery._canonical import canonical_form, read_document
from a2a_discovery._grants import Endpoints, Grant, read_device_code, read_endpoints, read_token
from a2a_discovery._key_sets import read_key_set
from a2a_discovery.policy import Url, parse_url
from tests.fuzz.texts import grown

URL: Final = "https://keys.test/.well-known/openid-configuration"
# RFC 7515, appendix A.3; nobody here has the private one.
KEY: Final = {
    "kty": "EC",
    "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
}
GRANT: Final = Grant(OAuthClient("id", "s"), "client_credentials", (), (Url("https", "keys.test", 443, ""),))


def signed_card(data: bytes) -> None:
    """A canonical form is its own canonical form and holds the same card; no signature is good by chance."""
    text = grown(data)
    try:
        once = canonical_json(text)
    except CardError as exc:
        assert str(exc)
        once = None
    if once is not None:
        assert canonical_json(once) == once
        assert _card(once) == _card(text)
        sdk = canonical_form(read_document(text, max_bytes=len(text)), "sdk")
        assert canonical_form(read_document(sdk, max_bytes=len(sdk)), "sdk") == sdk
    with suppress(CardError):
        verification = verify_card(text, KEY)
        assert verification.outcome != "verified" and not verification.accepted and verification.card is None
        assert all(entry.reason for entry in verification.signatures)


def _card(text: bytes) -> Any:
    try:
        card = parse_card(text, strict=False)
    except CardError:
        return None
    card.ClearField("signatures")
    return card


def answers(data: bytes) -> None:
    """Key sets, tokens, device codes and providers' documents: read, or an error of the library."""
    text = grown(data)
    with suppress(FetchError):
        keys = read_key_set(URL, text)
        with suppress(CardError):
            verify_card({"name": "n", "signatures": [_ENTRY]}, {"keys": list(keys)})
    readers: tuple[Callable[[], Any], ...] = (
        lambda: read_token(URL, 200, text, None),
        lambda: read_device_code(URL, 200, text),
        lambda: read_endpoints(URL, text, GRANT),
    )
    for read in readers:
        try:
            found = read()
        except TokenError as exc:
            assert str(exc)
        else:
            if isinstance(found, Endpoints):
                target = parse_url(found.token)
                assert (target.scheme, target.host.removesuffix("."), target.port) == ("https", "keys.test", 443)


# {"alg":"ES256","typ":"JOSE"}, and a signature of the right length.
_ENTRY: Final = {"protected": "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpPU0UifQ", "signature": "A" * 86}
