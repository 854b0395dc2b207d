"""AI catalogs (``/.well-known/ai-catalog.json``, ``specVersion`` 1.0): the cards that they name; no I/O here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from a2a_discovery._diagnosis import describe
from a2a_discovery._listing import Item, Place, by_index, doubled, problem
from a2a_discovery.errors import A2ADiscoveryError, CardError
from a2a_discovery.policy import UrlRefusedError, parse_url
from a2a_discovery.problems import Rule, element, member, shorten
from a2a_discovery.reference import masked

SUBJECT: Final = "AI catalog"
CARD_TYPE: Final = "application/a2a-agent-card+json"
CATALOG_TYPE: Final = "application/ai-catalog+json"
MOST_ENTRIES: Final = 10_000
"""How many entries are read, of a catalog and those nested in it together."""

_SOURCE: Final = "AI Catalog 1.0"
_VERSION: Final = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+)*", re.ASCII)


def read_ai_catalog(
    document: Any,
    repeated: Sequence[Place] = (),
    *,
    order: tuple[int, ...] = (),
    pointer: str = "#",
    trail: tuple[str, ...] = (),
) -> list[Item]:
    """The cards and nested catalogs that a catalog names, in its order; entries of other types are passed over.

    An entry that breaks the rules has its ``error``, and spoils no other.

    Args:
        document: the decoded JSON.
        repeated: where a key stands twice in its object.
        order: the place of the whole catalog among the others.
        pointer: what names the catalog, and its place there (RFC 6901 §6).
        trail: as for ``Item``.

    Raises:
        CardError: it is no such catalog.
    """
    if not isinstance(document, Mapping):
        raise _problem("", "type", f"found {describe(document)}; an AI catalog is a JSON object")
    version, entries = document.get("specVersion"), document.get("entries")
    if version is not None:
        _check_version(version)
    if entries is None:
        raise _problem("entries", "required", 'this REQUIRED member is missing; write "entries": []')
    if not isinstance(entries, list | tuple):
        raise _problem("entries", "type", f"found {describe(entries)} where there has to be an array")
    inside = [place for place in repeated if place[0] == "entries" and len(place) > 1]
    if len(inside) < len(repeated):
        raise doubled(SUBJECT, "")
    twice = by_index(place[1:] for place in inside)
    items = []
    for index, entry in enumerate(entries):
        path = element("entries", index)
        named = Item((*order, index), f"{pointer}/entries/{index}", trail=trail)
        if isinstance(entry, Mapping):
            named = replace(named, identifier=_text(entry, "identifier"), display_name=_text(entry, "displayName"))
        try:
            item = _read_entry(entry, path, named, twice[index])
        except CardError as exc:
            exc.url = trail[-1] if trail else None
            item = replace(named, error=exc)
        if item is not None:
            items.append(item)
        if len(items) > MOST_ENTRIES:
            break
    return items


class Crawl:
    """The reading of a catalog and of those nested in it: each URL once, and not without end.

    Args:
        root: the first catalog.
        max_depth: how many catalogs may be nested in each other below the first.
    """

    def __init__(self, root: Item, max_depth: int) -> None:
        self._root = root
        self._max_depth = max_depth
        self._cards: list[Item] = []
        self._count = 0
        self._seen = {(True, url) for url in (root.url, *root.trail)}

    def refuse(self, item: Item, error: A2ADiscoveryError) -> None:
        """Note that ``item`` cannot be read."""
        self._cards.append(replace(item, error=error))

    def take(self, items: Iterable[Item]) -> list[Item]:
        """Note what catalogs name; the result is the further catalogs that have to be read."""
        nested = []
        for item in items:
            self._count += 1
            if self._count > MOST_ENTRIES:
                break
            if item.error is None and item.url is not None:
                key = (item.nested, item.url)
                if key in self._seen:
                    continue
                self._seen.add(key)
            if not item.nested or item.error is not None:
                self._cards.append(item)
            elif len(item.order) > self._max_depth:
                message = f"it is nested deeper than the {self._max_depth} catalogs that are read"
                self.refuse(item, _problem("", "depth", message))
            else:
                nested.append(item)
        return nested

    @property
    def items(self) -> list[Item]:
        """The cards, and what cannot be read, in the order in which the catalogs name them."""
        items = sorted(self._cards, key=lambda item: item.order)
        if self._count > MOST_ENTRIES:
            message = f"there are more than {MOST_ENTRIES:,} entries; the rest is not read"
            items.append(Item((), self._root.reference, error=_problem("entries", "size", message)))
        return items


def _check_version(version: Any) -> None:
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise _problem("specVersion", "version", f'found {describe(version)}; write "1.0"')
    # The drafts before 1.0 differ in the name of a member, which is read.
    if version.partition(".")[0] not in ("0", "1"):
        raise _problem("specVersion", "version", f"this is a catalog of version {shorten(version)}; 1.0 is read")


def _read_entry(entry: Any, path: str, named: Item, repeated: Iterable[Place]) -> Item | None:
    """The item of an entry, None for one of another type."""
    if not isinstance(entry, Mapping):
        raise _problem(path, "type", f"found {describe(entry)} where there has to be an object")
    key = "type" if entry.get("type") is not None else "mediaType"
    media_type = entry.get(key)
    if media_type is None:
        raise _problem(member(path, "type"), "required", f'this REQUIRED member is missing; write "{CARD_TYPE}"')
    if not isinstance(media_type, str):
        raise _problem(member(path, key), "type", f"found {describe(media_type)} where there has to be a string")
    essence = media_type.partition(";")[0].strip().lower()
    if essence not in (CARD_TYPE, CATALOG_TYPE):
        return None
    if any(place[0] != "data" or len(place) == 1 for place in repeated):
        raise doubled(SUBJECT, path)
    url, data = entry.get("url"), entry.get("data")
    if (url is None) == (data is None):
        found = "neither" if url is None else "both"
        raise _problem(path, "oneof", f'exactly one of "url" and "data" has to be here; found {found}')
    nested = essence == CATALOG_TYPE
    if url is None:
        if not isinstance(data, Mapping):
            raise _problem(member(path, "data"), "type", f"found {describe(data)} where there has to be an object")
        below = tuple(place[1:] for place in repeated)
        return replace(named, reference=f"{named.reference}/data", data=data, nested=nested, repeated=below)
    if not isinstance(url, str):
        raise _problem(member(path, "url"), "type", f"found {describe(url)} where there has to be a string")
    try:
        url.encode()
        url = str(parse_url(url))
    except UnicodeEncodeError:
        raise _problem(member(path, "url"), "url", "it holds half a character (a lone surrogate)") from None
    except UrlRefusedError as exc:
        raise _problem(member(path, "url"), "url", f"{masked(url)!r} is not called: {exc}") from exc
    return replace(named, reference=url, url=url, nested=nested)


def _text(entry: Mapping[str, Any], key: str) -> str | None:
    value = entry.get(key)
    return value if isinstance(value, str) else None


def _problem(path: str, rule: Rule, message: str) -> CardError:
    return problem(SUBJECT, path, rule, message, _SOURCE)
