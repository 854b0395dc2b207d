"""Read many cards: from URLs, a directory, a JSON list, or an AI catalog."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from a2a_discovery._async.listings import crawl, files
from a2a_discovery._async.resolver import CardResolver
from a2a_discovery._concurrency import Progress, async_each, async_turn
from a2a_discovery._files import card_file
from a2a_discovery._listing import LIST, Item, decode, doubled_in_card, read_list, references
from a2a_discovery.catalog import BaseCatalog, CatalogEntry, CatalogFailure
from a2a_discovery.errors import A2ADiscoveryError
from a2a_discovery.fetched import ResolvedCard
from a2a_discovery.interfaces import Support, select_interface
from a2a_discovery.policy import UrlPolicy, UrlRefusedError, parse_url
from a2a_discovery.reference import card_url, catalog_url

MAX_DEPTH: Final = 3
_MOST_TRIED: Final = 32


class Catalog(BaseCatalog):
    """Many cards: those that could be read, the reasons why others could not, and a search.

    All that read take a ``resolver``, which stays open and whose policy, limits, credentials and keys hold; by default
    there is one of their own. ``concurrency`` is how many cards are read at the same time, and ``progress`` is called
    with how many are read and how many there are. ``refresh`` asks for cards that the resolver's cache has, too. A card
    that cannot be read is a failure, and spoils no other.
    """

    __slots__ = ()

    @classmethod
    async def from_urls(
        cls,
        references: Iterable[str],
        *,
        resolver: CardResolver | None = None,
        concurrency: int = 16,
        progress: Progress | None = None,
        refresh: bool = False,
    ) -> Self:
        """Read the cards of ``references``: hosts, base URLs or cards' own URLs (§8.2), each once.

        Raises:
            TypeError: a reference is no str.
        """
        items = _references(references)
        async with _opened(resolver, concurrency) as opened:
            return cls.of(await _read(opened, items, concurrency, progress, refresh=refresh))

    @classmethod
    async def from_directory(
        cls,
        path: str | os.PathLike[str],
        *,
        pattern: str = "*.json",
        resolver: CardResolver | None = None,
        concurrency: int = 16,
        progress: Progress | None = None,
        refresh: bool = False,
    ) -> Self:
        """Read the cards in a directory and in those below it, in the order of their paths.

        Args:
            path: the directory.
            pattern: the names of the files that are read. Names that begin with a dot are passed over, and links to
                directories are not followed.
            resolver: as for all.
            concurrency: as for all.
            progress: as for all.
            refresh: as for all.

        Raises:
            OSError: ``path`` is no directory, or cannot be read.
        """
        async with _opened(resolver, concurrency) as opened:
            items = await files(Path(path), pattern)
            return cls.of(await _read(opened, items, concurrency, progress, refresh=refresh))

    @classmethod
    async def from_json(
        cls,
        data: bytes | str | Sequence[Any] | Mapping[str, Any],
        *,
        resolver: CardResolver | None = None,
        concurrency: int = 16,
        progress: Progress | None = None,
        refresh: bool = False,
    ) -> Self:
        """Read the cards of a JSON array of card objects and references; an object is read as an AI catalog.

        Args:
            data: JSON text, or what was decoded from it; at most 64 MiB of text.
            resolver: as for all. References count as the caller's own.
            concurrency: as for all.
            progress: as for all.
            refresh: as for all.

        Raises:
            CardError: it is neither.
        """
        document, repeated = decode(data, LIST)
        async with _opened(resolver, concurrency) as opened:
            if isinstance(document, Mapping):
                root = Item((), "#", data=document, repeated=tuple(repeated))
                items = await crawl(opened, root, MAX_DEPTH, concurrency)
            else:
                items = read_list(document, repeated)
            return cls.of(await _read(opened, items, concurrency, progress, refresh=refresh))

    @classmethod
    async def from_ai_catalog(
        cls,
        source: str | bytes | Mapping[str, Any],
        *,
        base_url: str | None = None,
        max_depth: int = MAX_DEPTH,
        resolver: CardResolver | None = None,
        concurrency: int = 16,
        progress: Progress | None = None,
        refresh: bool = False,
    ) -> Self:
        """Read the cards that an AI catalog names, and those of the catalogs that it names.

        What a catalog names is called as a redirect would be: as ``policy`` allows, and with credentials at its own
        origin alone. Each URL is read once, and at most 10,000 entries.

        Args:
            source: a host, whose catalog is at ``/.well-known/ai-catalog.json``; a URL; or the document, as bytes or
                decoded.
            base_url: where the document came from. Without it, the URLs in it count as the caller's own.
            max_depth: how many catalogs may be nested in each other.
            resolver: as for all.
            concurrency: as for all.
            progress: as for all; catalogs are not counted.
            refresh: as for all.

        Raises:
            FetchError: there is no catalog to be had.
            CardError: it is no AI catalog of version 1.
            ValueError: ``base_url`` is no absolute http or https URL.
        """
        root = _root(source, base_url)
        async with _opened(resolver, concurrency) as opened:
            items = await crawl(opened, root, max_depth, concurrency)
            return cls.of(await _read(opened, items, concurrency, progress, refresh=refresh))


async def read_reference(resolver: CardResolver, reference: str) -> CatalogEntry | CatalogFailure:
    """The card of one reference, or why there is none."""
    (item,) = _references(reference)
    return await _result(resolver, item)


async def card_in_catalog(
    resolver: CardResolver, reference: str, support: Support | None, policy: UrlPolicy | None
) -> ResolvedCard | None:
    """The first card of a host's AI catalog that is valid and has an interface that can be used; None without one.

    None also where ``reference`` is a card's own URL. Of a long catalog the first cards are tried alone.
    """
    own, url = card_url(reference), catalog_url(reference)
    if own == url:
        return None
    try:
        items = await crawl(resolver, Item((), url, url=url), MAX_DEPTH, 1)
    except A2ADiscoveryError:
        return None
    policy = (policy or UrlPolicy()).within(own)
    for item in items[:_MOST_TRIED]:
        try:
            found = await _resolved(resolver, item)
            select_interface(found.card, support, policy=policy)
        except A2ADiscoveryError:
            continue
        return found
    return None


async def _resolved(resolver: CardResolver, item: Item) -> ResolvedCard:
    """The card that an item of a catalog names; an inline one is where its catalog is, which is no card by itself."""
    if item.error is None and item.url is not None:
        return await resolver.resolve(item.url, named_by=item.named_by)
    entry = await _entry(resolver, item)
    where = item.trail[-1]
    return ResolvedCard(
        card=entry.card,
        url=where,
        requested_url=where,
        data=b"",
        headers={},
        verification=entry.verification,
        named_by=replace(item, url=where).named_by,
    )


@asynccontextmanager
async def _opened(resolver: CardResolver | None, concurrency: int) -> AsyncIterator[CardResolver]:
    if concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}: at least one card has to be read at a time")
    if resolver is not None:
        yield resolver
        return
    async with CardResolver() as own:
        yield own


async def _read(
    resolver: CardResolver, items: Sequence[Item], concurrency: int, progress: Progress | None, *, refresh: bool
) -> list[CatalogEntry | CatalogFailure]:
    # What is here already is not waited for: more at a time would only be in each other's way.
    limit = concurrency if any(item.path is None and item.data is None for item in items) else 1
    return await async_each(partial(_result, resolver, refresh=refresh), items, limit=limit, progress=progress)


async def _result(resolver: CardResolver, item: Item, *, refresh: bool = False) -> CatalogEntry | CatalogFailure:
    try:
        return await _entry(resolver, item, refresh=refresh)
    except A2ADiscoveryError as exc:
        return CatalogFailure(item.reference, exc, item.identifier)


async def _entry(resolver: CardResolver, item: Item, *, refresh: bool = False) -> CatalogEntry:
    """The card that an item names.

    Raises:
        A2ADiscoveryError: there is none.
    """
    if item.error is not None:
        raise item.error
    url: str | None = None
    if item.path is not None or item.data is not None:
        await async_turn()
        if item.repeated:
            raise doubled_in_card(item.repeated[0])
        data = item.data if item.path is None else card_file(item.path)
        card, verification = await resolver.read(data, url=item.trail[-1] if item.trail else None)
    elif item.url is not None and item.named_by is None and card_url(item.url) != item.url:
        # To resolve such a URL, which counts as the caller's own, is to look for the card below it.
        document = await resolver.fetch(item.url)
        url = document.url
        card, verification = await resolver.read(document.body, url=url)
    else:
        found = await resolver.resolve(item.url or item.reference, refresh=refresh, named_by=item.named_by)
        card, url, verification = found.card, found.url, found.verification
    return CatalogEntry(item.reference, card, url, item.identifier, item.display_name, verification)


def _references(named: Iterable[str]) -> list[Item]:
    return references([named] if isinstance(named, str) else named)


def _root(source: str | bytes | Mapping[str, Any], base_url: str | None) -> Item:
    if isinstance(source, str):
        url = catalog_url(source)
        return Item((), url, url=url)
    if base_url is None:
        return Item((), "#", data=source)
    try:
        base_url = str(parse_url(base_url))
    except UrlRefusedError as exc:
        raise ValueError(f"base_url is no URL that a catalog can come from: {exc}") from exc
    return Item((), base_url, data=source, trail=(base_url,))
