"""The check of a card's signatures, between asking for keys and the outcome; no I/O here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

import orjson

from a2a_discovery._canonical import CanonicalCard, read_document, refusal
from a2a_discovery._protected import KEY_TYPES, InvalidSignatureError, Jws, encode_base64url, read_signature
from a2a_discovery.card import MAX_CARD_BYTES, parse_card
from a2a_discovery.errors import CardError
from a2a_discovery.types import AgentCard
from a2a_discovery.verification import Form, Outcome, SignaturePolicy, SignatureResult, Verification, checked_policy

_MOST_SIGNATURES: Final = 32
_FORMS: Final[tuple[Form, ...]] = get_args(Form)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a key source had for a signature: keys, or the reason why there are none."""

    material: Any
    failure: str = ""


class CardCheck:
    """One check of one card.

    Args:
        data: the card as it was received.
        algorithms: those that are verified.
        policy: what the outcome is held against.

    Raises:
        CardError: the document is no card.
        ValueError: there is no such policy.

    Attributes:
        pending: the signatures that keys are needed for, in the card's order.
    """

    def __init__(
        self, data: bytes | str | Mapping[str, Any], algorithms: Iterable[str], policy: SignaturePolicy
    ) -> None:
        self._policy = checked_policy(policy)
        self._algorithms = {algorithms} if isinstance(algorithms, str) else set(algorithms)
        self._document = read_document(data, max_bytes=MAX_CARD_BYTES)
        self._canonical = CanonicalCard(self._document)
        self._payloads: dict[Form, bytes] = {}
        self._encoded: dict[Form, str | None] = {}
        self._results: list[SignatureResult] = []
        self._pending: dict[int, Jws] = {}
        for index, entry in enumerate(self._entries()):
            if index == _MOST_SIGNATURES:
                self._note(index, "unverifiable", f"only the first {_MOST_SIGNATURES} signatures are looked at")
                break
            self._read(index, entry)

    @property
    def pending(self) -> tuple[Jws, ...]:
        return tuple(self._pending.values())

    def finish(self, answers: Sequence[Answer]) -> Verification:
        """The outcome, by what the key source had for each of ``pending``.

        Raises:
            CardError: the verified bytes hold no valid card.
        """
        for (index, jws), answer in zip(self._pending.items(), answers, strict=True):
            self._judge(index, jws, answer)
        results = tuple(sorted(self._results, key=lambda result: result.index))
        found = {result.outcome for result in results}
        ranked: tuple[Outcome, ...] = ("verified", "unverifiable", "invalid")
        outcome: Outcome = next((x for x in ranked if x in found), "absent")
        verification = Verification(outcome, results, None, self._policy)
        form = verification.form
        return verification if form is None else replace(verification, card=self._card(form))

    def _entries(self) -> Sequence[Any]:
        entries = self._document.get("signatures")
        if entries is None:
            return ()
        if not isinstance(entries, list | tuple):
            raise refusal(self._document, None)
        return entries

    def _read(self, index: int, entry: Any) -> None:
        if self._policy == "off":
            self._note(index, "unverifiable", "the policy is not to look at it")
            return
        try:
            jws = read_signature(entry)
        except InvalidSignatureError as exc:
            self._note(index, "invalid", str(exc))
            return
        if jws.alg not in self._algorithms or jws.alg not in KEY_TYPES:
            self._note(index, "unverifiable", "its algorithm is not one that is verified here", jws)
            return
        self._pending[index] = jws

    def _judge(self, index: int, jws: Jws, answer: Answer) -> None:
        from a2a_discovery import _jose

        try:
            keys = _jose.usable(_jose.candidates(answer.material), jws.alg, jws.kid)
        except _jose.KeyUnreadableError as exc:
            answer, keys = Answer((), f"the key source gave no key: {exc}"), []
        if not keys:
            self._note(index, "unverifiable", answer.failure or "there is no key for its kid and algorithm", jws)
            return
        for form in _FORMS:
            payload = self._payload(form)
            if payload is None:
                continue
            signed = jws.signed(payload)
            if any(_jose.verifies(key, jws.alg, signed, jws.signature) for key in keys):
                self._note(index, "verified", "", jws, form)
                return
        self._note(index, "invalid", "no key that may have made it has made it for this card", jws)

    def _payload(self, form: Form) -> str | None:
        """What a signature of ``form`` covers, in base64url; None where that is no other than an earlier form."""
        if form not in self._encoded:
            payload = self._canonical.form(form)
            self._encoded[form] = None if payload in self._payloads.values() else encode_base64url(payload)
            self._payloads[form] = payload
        return self._encoded[form]

    def _card(self, form: Form) -> AgentCard:
        try:
            return parse_card(orjson.loads(self._payloads[form]))
        except CardError as exc:
            if form == "section-8.4.1":
                raise
            note = "; the SDK that signed the card left out what is empty, so it is not covered by the signature"
            problems = [replace(p, message=p.message + note) if p.rule == "required" else p for p in exc.problems]
            raise CardError(problems) from None

    def _note(
        self, index: int, outcome: Outcome, reason: str, jws: Jws | None = None, form: Form | None = None
    ) -> None:
        alg, kid = (None, None) if jws is None else (jws.alg, jws.kid)
        self._results.append(SignatureResult(index, outcome, reason, alg, kid, form))
