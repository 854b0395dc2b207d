"""Cards as HTTP documents that are kept (§8.6, RFC 9111); hishel's state machine decides what may be done with them."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import formatdate
from threading import Lock
from typing import Any, Final, TypeAlias, assert_never
from uuid import UUID, uuid4
from weakref import WeakKeyDictionary

import hishel

from a2a_discovery._flights import Flights
from a2a_discovery._freshness import DEFAULT_LIFETIME, Freshness, born
from a2a_discovery._kept import UNSIGNED, KeptCard, Place

_PRIVATE: Final = hishel.CacheOptions(shared=False)
_STALE_TOO: Final = hishel.CacheOptions(shared=False, allow_stale=True)
_MOST_VARIANTS: Final = 8

Storage: TypeAlias = hishel.AsyncBaseStorage | hishel.BaseStorage
"""A storage of hishel's: an async one for async code, another one for blocking code."""


class CardCache:
    """Keeps cards in memory, and where there is a ``storage``, beyond the process; may be shared by resolvers.

    A card that is fresh costs neither a request nor its reading. Kept are only cards that passed every check of the
    resolver that fetched them; a resolver with other ``keys`` or another ``signatures`` checks them anew. A card that
    was fetched with one credential is not found with another, and never gets into the storage.

    Args:
        storage: a SQLite or Redis storage of hishel's, which stays open. Its contents are trusted like the program.
        max_entries: how many cards are kept in memory; the one whose last use is longest ago goes first.
        default_lifetime: whole seconds for which a card is fresh whose server does not say.
        clock: gives the Unix time.

    Raises:
        ValueError: a number is below its least: 1 entry, 0 seconds.
    """

    def __init__(
        self,
        storage: Storage | None = None,
        *,
        max_entries: int = 1000,
        default_lifetime: int = DEFAULT_LIFETIME,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if max_entries < 1 or default_lifetime < 0:
            raise ValueError("a cache has room for 1 entry at least, and a default lifetime of at least 0 seconds")
        self.storage = storage
        self.clock = clock
        self.flights: Flights[Any] = Flights()
        self._max_entries = max_entries
        self.default_lifetime = int(default_lifetime)
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._under_way: set[UUID] = set()
        self._lock = Lock()
        self._kept: OrderedDict[Place, tuple[KeptCard, ...]] = OrderedDict()

    def __len__(self) -> int:
        """How many places have cards in memory."""
        return len(self._kept)

    def name_of(self, client: Any) -> str:
        """A name for an HTTP client that no other one has had."""
        with self._lock:
            return self._names.setdefault(client, uuid4().hex)

    def begin(self, name: UUID) -> bool:
        """Whether nobody is at work to revalidate a card yet; whoever asked is, until ``end``."""
        with self._lock:
            first = name not in self._under_way
            self._under_way.add(name)
            return first

    def end(self, name: UUID) -> None:
        """The work that ``begin`` allowed is done."""
        with self._lock:
            self._under_way.discard(name)

    def fresh(self, place: Place, selection: str, now: float) -> KeptCard | None:
        """A card that was found fresh before for ``selection``, and is so still."""
        for card in self._kept.get(place, ()):
            if now < card.fresh_until and selection in card.found_for:
                self._touch(place)
                return card
        return None

    def at(self, place: Place) -> tuple[KeptCard, ...]:
        """What is kept at ``place`` in memory: variants (RFC 9111 §4.1), fresh or not."""
        self._touch(place)
        return self._kept.get(place, ())

    def plan(self, request: hishel.Request, cards: Sequence[KeptCard]) -> Plan:
        """What is to be done to answer ``request``, to which ``cards`` are what there is."""
        now = self.clock()
        entries = [_as_aged(card, now) for card in cards]
        by_id = {card.id: card for card in cards}
        state = hishel.IdleClient(options=_PRIVATE).next(request, entries)
        match state:
            case hishel.FromCache():
                return Plan(state, by_id[state.entry.id])
            case hishel.NeedRevalidation():
                # The state machine ages what it sees by the clock of the machine, and merges what it saw.
                old = [_as_received(by_id[entry.id]) for entry in state.revalidating_entries]
                stale = hishel.IdleClient(options=_STALE_TOO).next(request, entries)
                usable = by_id[stale.entry.id] if isinstance(stale, hishel.FromCache) else None
                return Plan(replace(state, revalidating_entries=old), None, usable)
            case hishel.CacheMiss():
                return Plan(state)
        assert_never(state)

    def received(
        self, plan: Plan, place: Place, headers: Mapping[str, str], body: bytes, *, asked: float, answered: float
    ) -> KeptCard | None:
        """The card of an answer with status 200, if it may be kept; whoever has read and checked it calls ``keep``."""
        state = plan.after(200, headers)
        if not isinstance(state, hishel.StoreAndUse):
            return None
        return self.restored(
            uuid4(), plan.request, place, dict(state.response.headers), body, born(headers, asked, answered)
        )

    def revalidated(
        self, plan: Plan, place: Place, headers: Mapping[str, str], *, asked: float, answered: float
    ) -> KeptCard | None:
        """The card that a 304 says is still good, with the fields of the 304; None when it fits none (§4.3.4).

        Its signatures have to be checked anew: keys may have been called back.
        """
        state = plan.after(304, headers)
        if not isinstance(state, hishel.NeedToBeUpdated):
            return None
        entry = state.next().entry
        old = next((card for card in self.at(place) if card.id == entry.id), None)
        if old is None:
            return None
        # Those of the old answer that tell its time are not true of the new one.
        gone = {"age", "date"} - headers.keys()
        merged = {name: value for name, value in entry.response.headers.items() if name not in gone}
        moment = born(headers, asked, answered)
        updated = self.restored(old.id, old.request, place, merged, old.body, moment)
        if UNSIGNED in old.readings:
            updated.passed(UNSIGNED, old.readings[UNSIGNED].card, None)
        return updated

    def restored(
        self,
        name: UUID,
        request: hishel.Request,
        place: Place,
        headers: Mapping[str, str],
        body: bytes,
        moment: float,
    ) -> KeptCard:
        """A card with what its header fields say of its use; its age counts from ``moment`` (Unix time)."""
        freshness = Freshness.read(headers, moment, self.default_lifetime)
        return KeptCard(
            name,
            request,
            place.url,
            headers,
            body,
            born=moment,
            freshness=freshness,
            fresh_until=moment + freshness.lifetime,
            revalidate_at=freshness.ends(moment),
        )

    def keep(self, place: Place, card: KeptCard) -> list[UUID]:
        """Keep ``card``, as the newest at ``place``; the ids of those whose place it takes."""
        with self._lock:
            gone, others = [], []
            for other in self._kept.get(place, ()):
                if other.id == card.id or other.variant == card.variant:
                    gone.append(other.id)
                else:
                    others.append(other)
            self._kept[place] = (card, *others)[:_MOST_VARIANTS]
            self._kept.move_to_end(place)
            while len(self._kept) > self._max_entries:
                self._kept.popitem(last=False)
        return [name for name in gone if name != card.id]

    def add(self, place: Place, cards: Iterable[KeptCard]) -> None:
        """Keep those of ``cards`` that are newer than what is kept in their place."""
        for card in cards:
            if all(other.born < card.born for other in self.at(place) if other.variant == card.variant):
                self.keep(place, card)

    def _touch(self, place: Place) -> None:
        try:  # noqa: SIM105 - a hit has to be short
            self._kept.move_to_end(place)
        except KeyError:
            pass

    def drop(self, place: Place, ids: Iterable[UUID]) -> None:
        """Forget what has one of ``ids``."""
        gone = set(ids)
        with self._lock:
            left = tuple(card for card in self._kept.get(place, ()) if card.id not in gone)
            if left:
                self._kept[place] = left
            else:
                self._kept.pop(place, None)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done to answer one request.

    Attributes:
        state: where hishel's state machine is.
        hit: the card to answer with, None when the server has to be asked.
        stale: a card that may be used past its lifetime, within the limits that it states itself.
    """

    state: hishel.FromCache | hishel.NeedRevalidation | hishel.CacheMiss
    hit: KeptCard | None = None
    stale: KeptCard | None = None

    @property
    def request(self) -> hishel.Request:
        """The request that is to be answered, without conditions."""
        if isinstance(self.state, hishel.NeedRevalidation):
            return self.state.original_request
        assert isinstance(self.state, hishel.CacheMiss)
        return self.state.request

    @property
    def conditions(self) -> dict[str, str]:
        """The header fields that make the request a conditional one (RFC 9110 §13.1)."""
        if not isinstance(self.state, hishel.NeedRevalidation):
            return {}
        headers = self.state.request.headers
        names = [name for name in ("If-None-Match", "If-Modified-Since") if name in headers]
        # Of others it is not known in which encoding they came.
        return {name: headers[name] for name in names if headers[name].isascii()}

    def without_conditions(self) -> Plan:
        """The plan to fetch the whole card, whatever there is."""
        return Plan(hishel.CacheMiss(request=self.request, options=_PRIVATE))

    def after(self, status: int, headers: Mapping[str, str]) -> hishel.AnyState:
        """What an answer leads to; what it makes useless goes when something takes its place."""
        assert not isinstance(self.state, hishel.FromCache)
        state: hishel.AnyState = self.state.next(hishel.Response(status, hishel.Headers(headers)))
        while isinstance(state, hishel.InvalidateEntries):
            state = state.next()
        return state


def _as_received(card: KeptCard) -> hishel.Entry:
    return hishel.Entry(card.id, card.request, hishel.Response(200, hishel.Headers(card.headers)))


def _as_aged(card: KeptCard, now: float) -> hishel.Entry:
    """The card with an age and a lifetime that the state machine reads as RFC 9111 §4.2 does, by its own clock.

    It reads neither Age nor our clock, and knows a heuristic of its own.
    """
    fields = {
        **card.headers,
        "date": formatdate(int(time.time()) - int(card.age(now)), usegmt=True),
        "cache-control": card.freshness.as_cache_control(),
    }
    return hishel.Entry(card.id, card.request, hishel.Response(200, hishel.Headers(fields)))
