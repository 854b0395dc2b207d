"""What names the cards of a catalog, where it takes I/O to know: directories, and AI catalogs within each other."""

from __future__ import annotations

import os
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from a2a_discovery._ai_catalog import SUBJECT, Crawl, read_ai_catalog
from a2a_discovery._async.resolver import CardResolver
from a2a_discovery._concurrency import async_each, async_turn
from a2a_discovery._files import unreadable
from a2a_discovery._listing import Item, decode
from a2a_discovery.errors import A2ADiscoveryError, CardError


async def crawl(resolver: CardResolver, root: Item, max_depth: int, concurrency: int) -> list[Item]:
    """The cards that the catalog ``root`` and those nested in it name.

    Raises:
        FetchError: there is no catalog to be had.
        CardError: it is none.
    """
    found = Crawl(root, max_depth)
    waiting = found.take(await _named(resolver, root))
    while waiting:
        # No more at a time than are read at a time: what they name is counted when they are read.
        batch, waiting = waiting[:concurrency], waiting[concurrency:]
        results = await async_each(partial(_tried, resolver), batch, limit=concurrency)
        for item, result in zip(batch, results, strict=True):
            if isinstance(result, list):
                waiting += found.take(result)
            else:
                found.refuse(item, result)
    return found.items


async def _tried(resolver: CardResolver, item: Item) -> list[Item] | A2ADiscoveryError:
    try:
        return await _named(resolver, item)
    except A2ADiscoveryError as exc:
        return exc


async def _named(resolver: CardResolver, item: Item) -> list[Item]:
    """What the catalog ``item`` names."""
    if item.url is None:
        await async_turn()
        document, repeated = decode(item.data, SUBJECT)
        pointer = item.reference if "#" in item.reference else f"{item.reference}#"
        repeated += item.repeated
        return read_ai_catalog(document, repeated, order=item.order, pointer=pointer, trail=item.trail)
    fetched = await resolver.fetch(item.url, named_by=item.named_by)
    trail = (*item.trail, fetched.requested_url, fetched.url)
    try:
        document, repeated = decode(fetched.body, SUBJECT)
        return read_ai_catalog(document, repeated, order=item.order, pointer=f"{fetched.url}#", trail=trail)
    except CardError as exc:
        exc.url = fetched.url
        raise


async def files(directory: Path, pattern: str) -> list[Item]:
    """The files of a directory and of those below it.

    Raises:
        OSError: it is no directory, or cannot be read.
    """
    with os.scandir(directory):
        pass
    found: dict[Path, A2ADiscoveryError | None] = {}

    def note(error: OSError) -> None:
        path = Path(error.filename)
        found[path] = unreadable(path, error)

    for parent, directories, names in os.walk(directory, onerror=note):
        await async_turn()
        directories[:] = [name for name in directories if not name.startswith(".")]
        chosen = [name for name in names if fnmatch(name, pattern) and not name.startswith(".")]
        found |= {Path(parent, name): None for name in chosen}
    return [Item((), str(path), path=path, error=found[path]) for path in sorted(found)]
