"""Keys and signatures of JOSE (RFC 7515, 7517, 7518, 8037); imported only once a signature is made or checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

import orjson
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from joserfc.jwa import JWS_ALGORITHMS
from joserfc.jwk import ECKey, KeySet, OKPKey, RSAKey

from a2a_discovery._protected import KEY_TYPES, decode_base64url

Key: TypeAlias = ECKey | RSAKey | OKPKey
Candidate: TypeAlias = Key | Mapping[str, Any]
"""A key, or a JWK that is imported when it is tried; ``.get`` gives the parameters of both."""

_MOST_KEYS: Final = 16  # that are tried for one signature

_RSA_BITS: Final = range(2048, 16385)  # RFC 7518 §3.3, and what OpenSSL takes
_PEM: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)
_PUBLIC: Final = ("kty", "crv", "x", "y", "n", "e")
_PRIVATE: Final = (*_PUBLIC, "d", "p", "q", "dp", "dq", "qi")
_NATIVE: Final[tuple[tuple[tuple[type, ...], Any], ...]] = (
    ((ec.EllipticCurvePublicKey, ec.EllipticCurvePrivateKey), ECKey),
    ((rsa.RSAPublicKey, rsa.RSAPrivateKey), RSAKey),
    ((ed25519.Ed25519PublicKey, ed25519.Ed25519PrivateKey, ed448.Ed448PublicKey, ed448.Ed448PrivateKey), OKPKey),
)
# joserfc's registry would warn of EdDSA, whose name RFC 9864 finds too vague.
_ALGORITHMS: Final[Mapping[str, Any]] = {model.name: model for model in JWS_ALGORITHMS}


class KeyUnreadableError(ValueError):
    """This is no key; it never leaves the library but as a ValueError for the caller's own key."""


def candidates(material: Any) -> tuple[Candidate, ...]:
    """The keys in a JWKS, a JWK, PEM blocks, JSON text of the first two, a key of joserfc or cryptography, or several.

    Raises:
        KeyUnreadableError: it is none of these.
    """
    if material is None:
        return ()
    if isinstance(material, KeySet):
        return tuple(key for key in material.keys if isinstance(key, Key))
    if isinstance(material, Key):
        return (material,)
    if isinstance(material, str | bytes | bytearray):
        return _read_text(material.encode() if isinstance(material, str) else bytes(material))
    if isinstance(material, Mapping):
        keys = material.get("keys")
        if isinstance(keys, list | tuple):
            # What is no key, or of an unknown kind, is passed over (RFC 7517 §5).
            return tuple(key for key in keys if isinstance(key, Mapping) and "kty" in key)
        if "kty" in material:
            return (material,)
        raise KeyUnreadableError('a JWKS has "keys", a JWK has "kty"; this has neither')
    if isinstance(material, list | tuple):
        return tuple(key for part in material for key in candidates(part))
    return (_from_native(material),)


def usable(found: tuple[Candidate, ...], alg: str, kid: str | None) -> list[Key]:
    """Those of the keys that check ``alg`` and are, or may be, called ``kid``; at most 16."""
    fits = [key for key in found if (kid is None or key.get("kid") in (None, kid)) and _is_for(key, alg, "verify")]
    return [key for x in fits[:_MOST_KEYS] if (key := _imported(x, _PUBLIC)) is not None]


def verifies(key: Key, alg: str, signed: bytes, signature: bytes) -> bool:
    """Whether ``signature`` is the key's, over ``signed``."""
    try:
        return bool(_ALGORITHMS[alg].verify(signed, signature, key))
    except Exception:
        # Whatever joserfc and cryptography say of bytes that are no signature.
        return False


def sign(material: Any, alg: str, signed: bytes) -> bytes:
    """A signature by the one private key in ``material``.

    Raises:
        KeyUnreadableError: there is no such key, or it is not made for ``alg``.
    """
    found = candidates(material)
    if len(found) != 1:
        raise KeyUnreadableError(f"one private key signs, and here are {len(found)}")
    if not _is_for(found[0], alg, "sign"):
        raise KeyUnreadableError(f"the key is not made to sign with {alg}")
    key = _imported(found[0], _PRIVATE)
    if key is None or not key.is_private:
        raise KeyUnreadableError("a private key signs, and this is none")
    signature: bytes = _ALGORITHMS[alg].sign(signed, key)
    return signature


def _imported(candidate: Candidate, parameters: tuple[str, ...]) -> Key | None:
    """The key itself, of the parameters that are named alone: the others are looked at already, or are not to be."""
    if not isinstance(candidate, Mapping):
        return candidate
    jwk = {name: candidate[name] for name in parameters if name in candidate}
    if not all(isinstance(value, str) for value in jwk.values()):
        return None
    return _public_key(tuple(jwk.items())) if parameters is _PUBLIC else _import(jwk)


@lru_cache(maxsize=256)
def _public_key(jwk: tuple[tuple[str, str], ...]) -> Key | None:
    # To check that a point is on its curve takes longer than to check a signature.
    return _import(dict(jwk))


def _import(jwk: dict[str, Any]) -> Key | None:
    importers: dict[str, Callable[[Any], Key]] = {
        "EC": ECKey.import_key,
        "RSA": RSAKey.import_key,
        "OKP": OKPKey.import_key,
    }
    try:
        return importers[jwk["kty"]](jwk)
    except Exception:
        # Whatever joserfc and cryptography say of a key that a server sent.
        return None


def _is_for(key: Candidate, alg: str, operation: str) -> bool:
    key_type, curves = KEY_TYPES[alg]
    operations = key.get("key_ops")
    named = key.get("alg")
    return (
        key.get("kty") == key_type
        and (not curves or any(key.get("crv") == curve for curve in curves))
        and (key_type != "RSA" or _bits(key) in _RSA_BITS)
        # Another name for EdDSA with one of its curves (RFC 9864 §2.2).
        and (named is None or named == alg or (alg == "EdDSA" and named == key.get("crv")))
        and key.get("use") in (None, "sig")
        and (operations is None or (isinstance(operations, list | tuple) and operation in operations))
    )


def _bits(key: Candidate) -> int:
    if not isinstance(key, Mapping):
        return key.raw_value.key_size if isinstance(key, RSAKey) else 0
    modulus = decode_base64url(key.get("n"))
    return 0 if modulus is None else int.from_bytes(modulus).bit_length()


def _read_text(text: bytes) -> tuple[Candidate, ...]:
    if text.lstrip().startswith(b"{"):
        try:
            document = orjson.loads(text)
        except orjson.JSONDecodeError as exc:
            raise KeyUnreadableError("this is neither a JWKS nor a JWK: it is not JSON") from exc
        return candidates(document)
    blocks = list(_PEM.finditer(text))
    if not blocks:
        raise KeyUnreadableError("this is neither a JWKS nor a JWK nor PEM")
    try:
        return tuple(_from_native(_read_pem(block[1], block[0])) for block in blocks)
    except KeyUnreadableError:
        raise
    except Exception as exc:
        raise KeyUnreadableError("this PEM cannot be read; a private key in it must not be encrypted") from exc


def _read_pem(label: bytes, block: bytes) -> Any:
    if label == b"CERTIFICATE":
        return x509.load_pem_x509_certificate(block).public_key()
    if label.endswith(b"PRIVATE KEY"):
        return serialization.load_pem_private_key(block, password=None)
    return serialization.load_pem_public_key(block)


def _from_native(native: Any) -> Key:
    for types, key_class in _NATIVE:
        if isinstance(native, types):
            key: Key = key_class(native, native)
            return key
    raise KeyUnreadableError(f"{type(native).__name__} is no key for signatures: EC, RSA, Ed25519 and Ed448 keys are")
