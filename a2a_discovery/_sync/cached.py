# Generated from a2a_discovery/_async/cached.py by codegen/sync.py; do not edit.
"""Cards through the cache: found there, revalidated, or fetched once for all who ask at the same time."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Final
from uuid import UUID

from a2a_discovery._sync.fetching import Answer, Fetcher
from a2a_discovery._sync.sharing import once
from a2a_discovery._sync.storing import CardStore
from a2a_discovery._sync.visiting import CacheVisit, Reader
from a2a_discovery._background import SyncBackground
from a2a_discovery._kept import KeptCard, Place, Profile, selection
from a2a_discovery._redirects import RedirectChain
from a2a_discovery.cache import CardCache, Storage
from a2a_discovery.errors import A2ADiscoveryError, CardError, FetchError
from a2a_discovery.fetched import CardSource, FetchedDocument, ResolvedCard
from a2a_discovery.types import AgentCard

_log = logging.getLogger("a2a_discovery")

_KNOWN_REFERENCES: Final = 1024


@dataclass(frozen=True, slots=True)
class _Spot:
    """What a reference comes to: where its card is kept, and what selects among variants."""

    place: Place
    selection: str


class CachedCards:
    """Resolves references through ``cache``.

    Args:
        cache: the cache, or a storage for one.
        fetcher: fetches what is not there.
        client: the client that was passed in, if one was: what it adds to a request is not all to be seen.
        read: reads and checks cards.
        profile: stands for what ``read`` checks.
        deny_private: whether only public addresses are asked.

    Raises:
        TypeError: the storage is none, or one for the other kind of code.
    """

    def __init__(
        self,
        cache: CardCache | Storage,
        fetcher: Fetcher,
        client: Any,
        read: Reader,
        profile: Profile,
        *,
        deny_private: bool,
    ) -> None:
        self._cache = cache if isinstance(cache, CardCache) else CardCache(cache)
        self._store = None if self._cache.storage is None else CardStore(self._cache.storage, self._cache)
        self._fetcher = fetcher
        self._client = "" if client is None else self._cache.name_of(client)
        self._read = read
        self._profile = profile
        self._deny_private = deny_private
        self._background = SyncBackground()
        self.clock = self._cache.clock
        # The client's own headers and cookies may change from one call to the next.
        self._spot = lru_cache(_KNOWN_REFERENCES)(self._find_spot) if client is None else self._find_spot

    def close(self) -> None:
        """End what runs in the background; the storage stays open."""
        self._background.close()

    def resolve(self, reference: str, *, strict: bool, refresh: bool, named_by: str | None) -> ResolvedCard:
        """What ``CardResolver.resolve`` does."""
        spot = self._spot(reference, named_by)
        if not refresh:
            now = self.clock()
            kept = self._cache.fresh(spot.place, spot.selection, now)
            if kept is not None and self._profile in kept.readings:
                return _own(kept.readings[self._profile], age=kept.age(now), named_by=named_by)
        key = (spot, named_by, self._profile, strict, refresh)
        visit = self._visit(refresh=refresh, revalidate=False)
        call = partial(self._go, visit, reference, named_by, strict=strict)
        return _own(once(self._cache.flights, key, call))

    def _go(self, visit: CacheVisit, reference: str, named_by: str | None, *, strict: bool) -> ResolvedCard:
        chain = self._fetcher.card_chain(reference, named_by)
        try:
            answer = self._fetcher.fetch(chain, visit, self.clock)
        except FetchError as exc:
            stale = visit.after(exc)
            if stale is None:
                raise
            _log.debug("a stale card is used, since there was no new one: %s", type(exc).__name__)
            return self._found(stale, "stale", chain, named_by)
        if answer is not None and answer.document is not None:
            return self._fetched(visit, answer, answer.document, named_by, strict=strict)
        assert visit.hit is not None
        visit.confirm()
        if visit.is_stale:
            self._revalidate_later(visit.hit, reference, named_by)
            return self._found(visit.hit, "stale", chain, named_by)
        source: CardSource = "cache" if answer is None else "revalidated"
        return self._found(visit.hit, source, chain, named_by)

    def _fetched(
        self, visit: CacheVisit, answer: Answer, document: FetchedDocument, named_by: str | None, *, strict: bool
    ) -> ResolvedCard:
        try:
            card, verification = self._read(document.body, url=document.url)
        except CardError:
            if strict:
                raise
            card, verification = self._read(document.body, strict=False, url=document.url)
        else:
            visit.keep(answer, document.body, (card, verification))
        return answer.resolved(card, verification, named_by, self._cache.default_lifetime)

    def _found(self, kept: KeptCard, source: CardSource, chain: RedirectChain, named_by: str | None) -> ResolvedCard:
        return _own(
            kept.readings[self._profile],
            requested_url=str(chain.requested),
            redirects=tuple(chain.redirects),
            source=source,
            age=kept.age(self.clock()),
            named_by=named_by,
        )

    def _visit(self, *, refresh: bool, revalidate: bool) -> CacheVisit:
        return CacheVisit(
            self._cache,
            self._store,
            self._profile,
            self._read,
            self._place,
            refresh=refresh,
            revalidate=revalidate,
        )

    def _place(self, url: str, headers: Mapping[str, str]) -> Place:
        return Place.of(url, headers, client=self._client, deny_private=self._deny_private)

    def _find_spot(self, reference: str, named_by: str | None) -> _Spot:
        """Raises FetchError when it must not be fetched."""
        chain = self._fetcher.card_chain(reference, named_by)
        headers = self._fetcher.request(chain).headers
        return _Spot(self._place(str(chain.requested), headers), selection(headers))

    def _revalidate_later(self, kept: KeptCard, reference: str, named_by: str | None) -> None:
        """Have a new card in the background, once for all who find the stale one."""
        if self._cache.begin(kept.id):
            self._background.start(partial(self._revalidate, kept.id, reference, named_by))

    def _revalidate(self, kept: UUID, reference: str, named_by: str | None) -> None:
        try:
            self._go(self._visit(refresh=False, revalidate=True), reference, named_by, strict=True)
        except A2ADiscoveryError as exc:
            _log.debug("a card was not revalidated: %s", type(exc).__name__)
        finally:
            self._cache.end(kept)


def _own(found: ResolvedCard, **values: Any) -> ResolvedCard:
    """The same with other ``values``, and with a card that its owner may change."""
    card = AgentCard()
    card.CopyFrom(found.card)
    if found.verification is not None and found.verification.card is not None:
        values["verification"] = replace(found.verification, card=card)
    return found.but(card=card, **values)
