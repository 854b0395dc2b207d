"""What checking a card's signatures brings (§8.4.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from a2a_discovery.types import AgentCard

Outcome: TypeAlias = Literal["verified", "unverifiable", "absent", "invalid"]
"""``unverifiable``: nobody can tell with the keys and algorithms at hand; ``invalid``: no key would help."""

SignaturePolicy: TypeAlias = Literal["require", "if-present", "off"]
"""``require`` takes verified cards only, ``if-present`` those without a signature too, ``off`` looks at none."""

Form: TypeAlias = Literal["section-8.4.1", "sdk", "js-sdk"]
"""The canonical form that a signature covers: that of §8.4.1; the one that the Python and JavaScript SDKs sign, without
anything that is empty; or that without ``securitySchemes`` too, which the JavaScript SDK loses in its own objects."""


@dataclass(frozen=True, slots=True)
class SignatureResult:
    """What became of one signature.

    Attributes:
        index: its place in ``signatures``.
        outcome: verified, unverifiable or invalid.
        reason: why it is not verified; empty when it is.
        alg: its algorithm, None when that cannot be read.
        kid: what it calls its key, None when it does not.
        form: the canonical form that it covers, None unless it is verified.
    """

    index: int
    outcome: Outcome
    reason: str
    alg: str | None = None
    kid: str | None = None
    form: Form | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of a card's signatures.

    Attributes:
        outcome: ``verified`` when one signature is; ``absent`` when there is none; ``unverifiable`` when one at least
            could not be checked; ``invalid`` otherwise.
        signatures: each of them, in the card's order; of very many, the first 32.
        card: the card that the verified bytes hold, without signatures; None unless verified.
        policy: the policy that ``accepted`` goes by.
    """

    outcome: Outcome
    signatures: tuple[SignatureResult, ...]
    card: AgentCard | None = field(repr=False)
    policy: SignaturePolicy

    @property
    def accepted(self) -> bool:
        """Whether the policy takes the card."""
        taken = {"require": ("verified",), "if-present": ("verified", "absent")}.get(self.policy)
        return taken is None or self.outcome in taken

    @property
    def form(self) -> Form | None:
        """The canonical form that the card was read from, the one that holds most; None unless verified."""
        found = {s.form for s in self.signatures}
        return next((form for form in get_args(Form) if form in found), None)


def checked_policy(policy: SignaturePolicy) -> SignaturePolicy:
    """``policy`` itself; raises ValueError when there is no such policy."""
    if policy not in get_args(SignaturePolicy):
        raise ValueError(f"{policy!r} is no policy of signatures: {', '.join(get_args(SignaturePolicy))} are")
    return policy
