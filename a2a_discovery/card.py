"""JSON -> AgentCard, with every problem named at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from a2a_discovery import protojson
from a2a_discovery._advice import note_advice
from a2a_discovery._legacy import note_legacy
from a2a_discovery.errors import CardError
from a2a_discovery.policy import UrlPolicy
from a2a_discovery.problems import Findings, Problem
from a2a_discovery.types import AgentCard

MAX_CARD_BYTES = 16 * 1024 * 1024
"""The largest card that is read, in bytes."""

_SUBJECT = "AgentCard"


@dataclass(frozen=True, slots=True)
class CardReport:
    """What ``inspect_card`` found.

    Attributes:
        card: the card, or None when it is not valid.
        problems: errors and warnings, in the order in which they were found.
    """

    card: AgentCard | None
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that make the card invalid."""
        return tuple(p for p in self.problems if p.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The problems that do not."""
        return tuple(p for p in self.problems if p.severity == "warning")


def parse_card(data: bytes | str | Mapping[str, Any], *, strict: bool = True) -> AgentCard:
    """Read a card and prove it valid: its form (ProtoJSON), and that every REQUIRED field is there (§5.7).

    Args:
        data: JSON text in UTF-8, or the object decoded from it; at most 16 MiB of text.
        strict: False returns what could be read of a card that is not valid, as long as it is one JSON object;
            ``inspect_card`` tells what is wrong with it.

    Raises:
        CardError: the card is not valid; ``.problems`` names every problem at once.
    """
    document, text = protojson.decode(data, max_bytes=MAX_CARD_BYTES, subject=_SUBJECT)
    card = protojson.read(AgentCard, document, text, need=True)
    if card is not None:
        return card
    card, findings = _examine(document, text, UrlPolicy())
    if card is None or (strict and not findings.valid):
        raise CardError(findings.problems, subject=_SUBJECT)
    return card


def inspect_card(data: bytes | str | Mapping[str, Any], *, card_url: str | None = None) -> CardReport:
    """Read a card and say all that is wrong with it, warnings included; never raises on a bad card.

    Args:
        data: JSON text in UTF-8, or the object decoded from it; at most 16 MiB of text.
        card_url: the http or https URL that the card came from, which tells more about the URLs in it.

    Raises:
        ValueError: ``card_url`` is no such URL.
    """
    policy = UrlPolicy().within(card_url)
    try:
        document, text = protojson.decode(data, max_bytes=MAX_CARD_BYTES, subject=_SUBJECT)
    except CardError as exc:
        return CardReport(None, exc.problems)
    card, findings = _examine(document, text, policy)
    return CardReport(card if findings.valid else None, tuple(findings.problems))


def _examine(document: Any, text: bytes | None, policy: UrlPolicy) -> tuple[AgentCard | None, Findings]:
    findings = Findings()
    card = protojson.diagnose(AgentCard, document, text, findings, need=True)
    if card is not None and not findings.full("error"):
        note_legacy(document, findings)
        note_advice(document, findings, policy)
    return card, findings
