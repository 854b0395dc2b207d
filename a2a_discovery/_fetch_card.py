"""One card of many, as a plain function that a pool or a cluster maps over a list."""

from __future__ import annotations

from typing import Any

from a2a_discovery._sync.catalog import read_reference
from a2a_discovery._sync.resolver import CardResolver
from a2a_discovery.catalog import CatalogEntry, CatalogFailure


def fetch_card(url: str, **options: Any) -> CatalogEntry | CatalogFailure:
    """Fetch and read one card (§8.2), in a way that is mapped over a list of URLs.

    It blocks, and it and its result can be pickled: threads, processes and clusters run it alike, and ``Catalog.of``
    makes a catalog of the results.

    Args:
        url: a host, a base URL or the card's own URL.
        options: those of ``CardResolver``, by name, but for ``client``.

    Returns:
        The card, or the reason why there is none; no error of the library is raised for what a server sends.

    Raises:
        ValueError: an option is of no use; as ``CardResolver`` says.
    """
    with CardResolver(**options) as resolver:
        return read_reference(resolver, url)
