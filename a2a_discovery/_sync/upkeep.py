# Generated from a2a_discovery/_async/upkeep.py by codegen/sync.py; do not edit.
"""Which card an agent goes by: the public one as it changes, or the extended one in its place (§3.1.11, §13.3)."""

from __future__ import annotations

import logging
from datetime import datetime
from functools import partial
from itertools import count
from threading import Lock
from typing import Protocol

from a2a_discovery._sync.connections import Connections
from a2a_discovery._sync.resolver import CardResolver
from a2a_discovery._sync.sharing import once
from a2a_discovery._flights import Flights
from a2a_discovery.bindings.answers import CardDocument
from a2a_discovery.card import parse_card
from a2a_discovery.errors import A2ADiscoveryError, CardError
from a2a_discovery.fetched import ResolvedCard
from a2a_discovery.policy import parse_url
from a2a_discovery.types import AgentCard

_log = logging.getLogger("a2a_discovery")

PAUSE = 30.0
"""Seconds after which a card is asked for again that was not to be had."""

BREATH = 1.0
"""Seconds for which a card is good at the least: one that is not to be kept would be asked for before each call."""


class _Agent(Protocol):
    def _ask_for_card(self) -> tuple[CardDocument, str]: ...


class CardUpkeep:
    """Puts another card in force where there is one.

    Args:
        connections: have the card in force.
        resolver: resolves the public card anew; None when nobody does.
        found: what a resolver found as the public card, None when it is had from elsewhere.
        card_url: where the public card came from, None when that is not known.
    """

    def __init__(
        self,
        connections: Connections,
        resolver: CardResolver | None,
        found: ResolvedCard | None,
        card_url: str | None,
    ) -> None:
        self._connections = connections
        self._resolver = resolver
        self._reference, self._named_by, self._due = card_url, None, None
        if found is not None:
            # It is at the very URL that was asked for; whoever named that decides whom we trust.
            self._reference, self._named_by = found.requested_url, found.named_by or card_url
            self._due = _due(found.revalidate_at)
            self._pause(BREATH)
        self._lock = Lock()
        # What the card in force goes back to: this version of the public card, and the extended one if it is that.
        self._version = connections.current.card.version
        self._extended: AgentCard | None = None
        self._revalidating = Lock()
        self._begun = count(1)
        self._newest = 0
        self._flights: Flights[AgentCard] = Flights()

    @property
    def is_due(self) -> bool:
        """Whether the lifetime of the public card is over, and somebody can resolve it anew."""
        return (
            self._due is not None
            and self._resolver is not None
            and self._reference is not None
            and self._resolver.clock() >= self._due
        )

    def revalidate(self) -> None:
        """Resolve the public card anew where that is due, unless somebody does already; never fails."""
        if not self._revalidating.acquire(blocking=False):
            return
        try:
            if self.is_due:
                self._resolve(refresh=False)
        except Exception as exc:
            # A storage, a client or a key source of the caller's may raise anything, and no call is lost by that.
            status = getattr(exc, "status", None)
            told = type(exc).__name__ + ("" if status is None else f", status {status}")
            _log.warning("%s: the card could not be revalidated (%s); the one in force stays", self._place(), told)
            self._pause(PAUSE)
        finally:
            self._revalidating.release()

    def refresh(self) -> AgentCard:
        """Resolve the public card anew, and return the card in force then; see the agent's ``refresh_card``."""
        self._resolve(refresh=True)
        return self._connections.current.card

    def extended(self, agent: _Agent, *, refresh: bool) -> AgentCard:
        """The extended card, had once for all who wait; see the agent's ``extended_card``."""
        return once(self._flights, refresh, partial(self._ask, agent, refresh=refresh))

    def _ask(self, agent: _Agent, *, refresh: bool) -> AgentCard:
        if self._extended is not None and not refresh:
            return self._extended
        if self.is_due:
            self.revalidate()
        while True:
            version = self._version
            card = self._read(*agent._ask_for_card())
            with self._lock:
                # Where the public card changed meanwhile, the answer may belong to the one before.
                if self._version == version:
                    self._connections.use(card)
                    self._extended = self._connections.current.card
                    return self._extended

    def _read(self, document: CardDocument, url: str) -> AgentCard:
        if document.problems:
            raise CardError(document.problems, url=url)
        if self._resolver is not None:
            card, _ = self._resolver.read(document.value, url=url)
            return card
        try:
            return parse_card(document.value)
        except CardError as error:
            error.url = url
            raise

    def _resolve(self, *, refresh: bool) -> None:
        if self._resolver is None or self._reference is None:
            raise ValueError("to refresh a card, an agent needs a resolver and the card_url that the card came from")
        begun = next(self._begun)
        found = self._resolver.resolve(self._reference, refresh=refresh, named_by=self._named_by)
        with self._lock:
            # An answer that was asked for earlier may come later.
            if begun > self._newest:
                self._newest = begun
                self._take(found)

    def _take(self, found: ResolvedCard) -> None:
        self._due = _due(found.revalidate_at)
        self._pause(PAUSE if found.source == "stale" else BREATH)
        card = found.card
        if card.version == self._version and (self._extended is not None or card == self._connections.current.card):
            return
        try:
            self._connections.use(card)
        except A2ADiscoveryError as exc:
            told = " ".join(str(exc).split())
            _log.warning("%s: its new card cannot be used, and the one in force stays: %s", self._place(), told)
            return
        self._version, self._extended = card.version, None

    def _pause(self, seconds: float) -> None:
        """Let some time go by before the next try, where the lifetime is over."""
        if self._resolver is not None and self._due is not None:
            self._due = max(self._due, self._resolver.clock() + seconds)

    def _place(self) -> str:
        return "" if self._reference is None else parse_url(self._reference).without_query()


def _due(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
