"""Signatures of agent cards (§8.4, RFC 7515, RFC 8785); needs the extra ``signing``.

A signature covers a canonical form of the card. What is returned of a verified card is read from these bytes, so that
nothing of it stands there that the signature does not cover.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from a2a_discovery import protojson
from a2a_discovery._canonical import canonical_form, read_document
from a2a_discovery._checking import Answer, CardCheck
from a2a_discovery._extras import require_signing
from a2a_discovery._protected import KEY_TYPES, Jws, encode_base64url, write_header
from a2a_discovery.card import MAX_CARD_BYTES
from a2a_discovery.dataclasses import as_message
from a2a_discovery.errors import A2ADiscoveryError
from a2a_discovery.policy import UrlRefusedError, parse_url
from a2a_discovery.types import AgentCard, AgentCardSignature
from a2a_discovery.validation import ensure_valid
from a2a_discovery.verification import SignaturePolicy, Verification

ALGORITHMS: Final = tuple(KEY_TYPES)
"""What is verified unless the caller says otherwise: all that sign with a private and are checked with a public key."""

KeySource: TypeAlias = Callable[[str | None, Mapping[str, Any]], Any]
"""Called with a signature's ``kid`` and its protected header; answers with keys, or None when it has none."""


def canonical_json(card: bytes | str | Mapping[str, Any] | AgentCard) -> bytes:
    """The bytes that a signature of ``card`` covers (§8.4.1, RFC 8785).

    Of the JSON as it was received: REQUIRED fields and those with presence stay as they are there, other fields that
    hold their default go, so do ``signatures`` and null; Structs and members that the schema does not know stay
    untouched. A message counts as the JSON that ``protojson.dumps`` writes.

    Args:
        card: JSON text in UTF-8, the object decoded from it, or a card; at most 16 MiB of text.

    Raises:
        CardError: it does not fit an AgentCard, or a key stands twice in an object.
        MissingExtraError: the extra ``signing`` is not installed.
    """
    document = protojson.to_dict(card) if isinstance(card, AgentCard) else card
    return canonical_form(read_document(document, max_bytes=MAX_CARD_BYTES))


def sign_card(card: Any, key: Any, *, kid: str, jku: str | None = None, alg: str = "ES256") -> AgentCard:
    """Sign a card (§8.4.2): a copy with one more signature, over the form of §8.4.1.

    Sign it once for each key while keys are exchanged; earlier signatures stay good.

    Args:
        card: the card, a message or a betterproto dataclass.
        key: the private key: PEM, a JWK (object or text), or a key of joserfc or cryptography.
        kid: what the key is called in the key set.
        jku: the URL of the key set, for verifiers that fetch it.
        alg: the algorithm, one of ``ALGORITHMS``.

    Raises:
        CardError: the card lacks a REQUIRED field, so that nobody would take it.
        ValueError: the algorithm, the key, ``kid`` or ``jku`` is not fit to sign.
        MissingExtraError: the extra ``signing`` is not installed.
    """
    message: AgentCard = as_message(card, AgentCard)
    ensure_valid(message)
    if alg not in KEY_TYPES:
        raise ValueError(f"{alg!r} does not sign cards; {', '.join(ALGORITHMS)} do")
    if not isinstance(kid, str) or not kid:
        raise ValueError("a verifier finds the key by its kid: give one")
    if jku is not None:
        try:
            parse_url(jku)
        except UrlRefusedError as exc:
            raise ValueError(f"jku is the URL of a key set: {exc}") from None
    payload = encode_base64url(canonical_json(message))
    from a2a_discovery import _jose

    jws = Jws(write_header(alg, kid, jku), {}, b"")
    signature = encode_base64url(_jose.sign(key, alg, jws.signed(payload)))
    signed = AgentCard()
    signed.CopyFrom(message)
    signed.signatures.append(AgentCardSignature(protected=jws.protected, signature=signature))
    return signed


def verify_card(
    data: bytes | str | Mapping[str, Any],
    keys: Any,
    *,
    algorithms: Iterable[str] = ALGORITHMS,
    policy: SignaturePolicy = "require",
) -> Verification:
    """Check the signatures of a card as it was received (§8.4.3); one good signature is enough.

    Args:
        data: JSON text in UTF-8, or the object decoded from it; at most 16 MiB of text. A message will not do: it no
            longer holds what the signature may cover.
        keys: the public keys that are trusted: a JWKS or JWK (object or text), PEM blocks, a key of joserfc or
            cryptography, or a callable that gives such (``KeySource``). None is ever taken from the card. A callable
            that raises makes the signature unverifiable.
        algorithms: those that are verified. ``none`` and the symmetric ones never are.
        policy: what ``.accepted`` says; ``"off"`` looks at no signature.

    Raises:
        CardError: the document is no card, or what its verified bytes hold is not a valid one.
        ValueError: ``keys`` or ``policy`` is not what it should be.
        MissingExtraError: the extra ``signing`` is not installed.
    """
    check, source = CardCheck(data, algorithms, policy), key_source(keys)
    return check.finish([_ask(source, jws) for jws in check.pending])


async def verify_card_async(
    data: bytes | str | Mapping[str, Any],
    keys: Any,
    *,
    algorithms: Iterable[str] = ALGORITHMS,
    policy: SignaturePolicy = "require",
) -> Verification:
    """What ``verify_card`` does, with ``keys`` that may also be a coroutine function, as a ``JwksResolver`` is."""
    check, source = CardCheck(data, algorithms, policy), key_source(keys)
    return check.finish([await _ask_async(source, jws) for jws in check.pending])


def key_source(keys: Any) -> KeySource:
    """``keys`` as a callable.

    Raises:
        ValueError: they are none.
        MissingExtraError: the extra ``signing`` is not installed.
    """
    require_signing()
    if callable(keys):
        source: KeySource = keys
        return source
    if keys is None:
        raise ValueError("signatures are checked against keys that are trusted: give keys")
    from a2a_discovery import _jose

    found = _jose.candidates(keys)
    return lambda _kid, _header: found


def _ask(source: KeySource, jws: Jws) -> Answer:
    try:
        found = source(jws.kid, jws.header)
        if inspect.isawaitable(found):
            if inspect.iscoroutine(found):
                found.close()
            return Answer((), "the key source is asynchronous: use verify_card_async")
    except Exception as exc:
        return _failed(exc)
    return Answer(found)


async def _ask_async(source: KeySource, jws: Jws) -> Answer:
    try:
        found: Awaitable[Any] | Any = source(jws.kid, jws.header)
        return Answer(await found if inspect.isawaitable(found) else found)
    except Exception as exc:
        return _failed(exc)


def _failed(exc: Exception) -> Answer:
    # What another's exception says may hold a secret.
    reason = str(exc) if isinstance(exc, A2ADiscoveryError) else type(exc).__name__
    return Answer((), f"the key source failed: {reason}")
