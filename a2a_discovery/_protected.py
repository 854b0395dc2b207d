"""What a card's signatures say of themselves: the protected header of each (§8.4.2, RFC 7515 §4)."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from a2a_discovery._duplicates import has_duplicates
from a2a_discovery._frozen import frozen

_OKP: Final = frozenset(["Ed25519", "Ed448"])
KEY_TYPES: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "ES256": ("EC", frozenset(["P-256"])),
    "ES384": ("EC", frozenset(["P-384"])),
    "ES512": ("EC", frozenset(["P-521"])),
    "RS256": ("RSA", frozenset()),
    "RS384": ("RSA", frozenset()),
    "RS512": ("RSA", frozenset()),
    "PS256": ("RSA", frozenset()),
    "PS384": ("RSA", frozenset()),
    "PS512": ("RSA", frozenset()),
    "EdDSA": ("OKP", _OKP),
}
"""The algorithms that sign with a private and are checked with a public key: key type and curves of each."""

# A signature of an RSA key of 16,384 bits has 2,731 characters.
_LONGEST: Final = 8192
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]+")


class InvalidSignatureError(Exception):
    """A signature is none that could ever be verified; the message says why. It never leaves the library."""


@dataclass(frozen=True, slots=True)
class Jws:
    """One entry of ``signatures``, read but not checked.

    Attributes:
        protected: the protected header as it stands there, which is what is signed.
        header: the protected header decoded.
        signature: the signature's bytes.
    """

    protected: str
    header: Mapping[str, Any]
    signature: bytes

    @property
    def alg(self) -> str:
        """The algorithm."""
        return str(self.header["alg"])

    @property
    def kid(self) -> str | None:
        """What the key is called."""
        kid = self.header.get("kid")
        return None if kid is None else str(kid)

    def signed(self, payload: str) -> bytes:
        """The bytes that are signed (RFC 7515 §5.1), of a payload in base64url."""
        return f"{self.protected}.{payload}".encode()


def read_signature(entry: Any) -> Jws:
    """Read one entry of ``signatures``; its unprotected header is not looked at.

    Raises:
        InvalidSignatureError: it can never be verified.
    """
    protected = entry.get("protected") if isinstance(entry, Mapping) else None
    signature = decode_base64url(entry.get("signature") if isinstance(entry, Mapping) else None)
    decoded = decode_base64url(protected)
    if decoded is None or signature is None:
        raise InvalidSignatureError('it has no "protected" and "signature" in base64url')
    try:
        header = orjson.loads(decoded)
    except orjson.JSONDecodeError:
        header = None
    if not isinstance(header, dict) or has_duplicates(header, decoded):
        raise InvalidSignatureError("its protected header is no JSON object with each key once")
    _check_header(header)
    return Jws(str(protected), frozen(header), signature)


def write_header(alg: str, kid: str, jku: str | None) -> str:
    """A protected header (§8.4.2) in base64url."""
    header = {"alg": alg, "typ": "JOSE", "kid": kid}
    return encode_base64url(orjson.dumps(header if jku is None else {**header, "jku": jku}))


def decode_base64url(value: Any) -> bytes | None:
    """Base64url without padding (RFC 7515 §2), or None; neither empty nor long."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST or not _BASE64URL.fullmatch(value):
        return None
    return None if len(value) % 4 == 1 else base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))


def encode_base64url(data: bytes) -> str:
    """Base64url without padding (RFC 7515 §2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _check_header(header: Mapping[str, Any]) -> None:
    alg = header.get("alg")
    if not isinstance(alg, str):
        raise InvalidSignatureError('its protected header names no "alg"')
    if alg.lower() == "none" or alg.startswith("HS"):
        raise InvalidSignatureError("its algorithm is none that only the owner of a private key can use")
    for name in ("kid", "jku"):
        # null is what a2a-sdk writes when there is none.
        if not isinstance(header.get(name), str | None):
            raise InvalidSignatureError(f'its "{name}" is no string')
    if "crit" in header:
        raise InvalidSignatureError("it demands an extension that is not understood (crit, RFC 7515 §4.1.11)")
    if header.get("b64", True) is not True:
        raise InvalidSignatureError("its payload is not encoded (b64, RFC 7797)")
