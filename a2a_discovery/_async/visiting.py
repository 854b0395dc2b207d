"""One resolve of one card through the cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import hishel

from a2a_discovery._async.fetching import Answer
from a2a_discovery._async.storing import CardStore
from a2a_discovery._kept import KeptCard, Place, Profile, selecting, selection
from a2a_discovery.cache import CardCache, Plan
from a2a_discovery.errors import A2ADiscoveryError, FetchError
from a2a_discovery.policy import UrlRefusedError
from a2a_discovery.types import AgentCard
from a2a_discovery.verification import Verification

_BROKEN: Final = (500, 502, 503, 504)


class Reader(Protocol):
    """Reads and checks a card; raises A2ADiscoveryError."""

    async def __call__(
        self, data: bytes, *, strict: bool = True, url: str | None = None
    ) -> tuple[AgentCard, Verification | None]:
        """The card, and what became of its signatures."""
        ...


class CacheVisit:
    """Stands between the requests of one fetch and the cache, hop by hop: redirects are not kept.

    Args:
        cache: the cache.
        store: its storage, if there is one.
        profile: what cards have to have passed.
        read: reads and checks a card; raises what makes it unfit.
        place: gives the place of a request to a URL with header fields.
        refresh: whether the server is asked, however fresh a card is.
        revalidate: whether it is asked, however usable a stale card is.

    Attributes:
        hit: the card in the cache that answers.
        is_stale: whether its lifetime is over, so that a new one should be fetched meanwhile (RFC 5861 §3).
    """

    def __init__(
        self,
        cache: CardCache,
        store: CardStore | None,
        profile: Profile,
        read: Reader,
        place: Callable[[str, Mapping[str, str]], Place],
        *,
        refresh: bool,
        revalidate: bool,
    ) -> None:
        self._cache = cache
        self._store = store
        self._profile = profile
        self._read = read
        self._place_of = place
        self._refresh = refresh
        self._revalidate = revalidate
        self._place: Place | None = None
        self._plan: Plan | None = None
        self._known = True
        self.hit: KeptCard | None = None
        self.is_stale = False

    async def look(self, url: str, headers: Mapping[str, str]) -> Mapping[str, str] | None:
        """The conditions under which the server need not send the card again; None when nothing is to be asked."""
        further = {"Cache-Control": "no-cache"} if self._refresh else {}
        place = self._place = self._place_of(url, headers)
        plan = await self._planned(place, headers, further)
        if not self._known:
            self._plan = plan.without_conditions()
            return further
        self._plan = plan
        self.hit = plan.hit
        if plan.stale is not None and not self._revalidate:
            seconds = plan.stale.freshness.stale_while_revalidate
            self.is_stale = plan.stale.serves_stale(self._cache.clock(), seconds)
            self.hit = plan.stale if self.is_stale else None
        if self.hit is None:
            return {**plan.conditions, **further}
        if plan.hit is not None:
            self.hit.found_for.add(selection(headers))
        return None

    async def still_good(self, answer: Answer) -> bool:
        """Whether a card in the cache is the one that is not modified; it has the fields of ``answer`` then."""
        place, plan = self._visited()
        head = answer.head.headers
        card = self._cache.revalidated(plan, place, head, asked=answer.asked, answered=answer.answered)
        if card is None:
            self._known = False
            return False
        self._cache.keep(place, card)
        if self._store is not None and place.may_be_stored:
            await self._store.update(card)
        self.hit = card
        return True

    async def confirm(self) -> None:
        """Have the card in ``hit`` pass what cards have to pass; raises A2ADiscoveryError."""
        if self.hit is not None and self._profile not in self.hit.readings:
            self.hit.passed(self._profile, *await self._read(self.hit.body, url=self.hit.url))

    async def keep(self, answer: Answer, body: bytes, reading: tuple[AgentCard, Verification | None]) -> None:
        """Keep a card that was fetched and has passed, unless its server does not want that."""
        place, plan = self._visited()
        head = answer.head.headers
        card = self._cache.received(plan, place, head, body, asked=answer.asked, answered=answer.answered)
        store = self._store if place.may_be_stored else None
        if card is None:
            gone = [other.id for other in self._cache.at(place) if other.variant == selection(plan.request.headers)]
            self._cache.drop(place, gone)
        else:
            card.passed(self._profile, *reading)
            if store is not None:
                card = await store.save(place, card)
            gone = self._cache.keep(place, card)
        if store is not None:
            await store.remove(gone)

    def after(self, error: FetchError) -> KeptCard | None:
        """The stale card that may be used since a fetch ended with ``error`` (RFC 5861 §4)."""
        stale = None if self._plan is None else self._plan.stale
        if stale is None or isinstance(error.__cause__, UrlRefusedError):
            return None
        if error.status is not None and error.status not in _BROKEN:
            return None
        return stale if stale.serves_stale(self._cache.clock(), stale.freshness.stale_if_error) else None

    def _visited(self) -> tuple[Place, Plan]:
        assert self._place is not None
        assert self._plan is not None
        return self._place, self._plan

    async def _planned(self, place: Place, headers: Mapping[str, str], further: Mapping[str, str]) -> Plan:
        asked = {"Cache-Control": headers["cache-control"]} if "cache-control" in headers else {}
        fields = hishel.Headers({**selecting(headers), **asked, **further})
        request = hishel.Request("GET", place.url, fields)
        plan = self._cache.plan(request, await self._fit(self._cache.at(place)))
        if plan.hit is None and self._store is not None and place.may_be_stored:
            self._cache.add(place, await self._store.load(place))
            plan = self._cache.plan(request, await self._fit(self._cache.at(place)))
        return plan

    async def _fit(self, cards: tuple[KeptCard, ...]) -> list[KeptCard]:
        """Those that have passed what cards have to pass here; one that another resolver has kept is read now."""
        fit = []
        for card in cards:
            if self._profile not in card.readings:
                try:
                    card.passed(self._profile, *await self._read(card.body))
                except A2ADiscoveryError:
                    continue
            fit.append(card)
        return fit
