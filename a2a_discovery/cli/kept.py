"""The card cache of the command line, beyond one command."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

import typer

from a2a_discovery.cache import CardCache

NoCache = Annotated[bool, typer.Option("--no-cache", help="Fetch cards, and keep none.")]
Refresh = Annotated[bool, typer.Option("--refresh", help="Ask for a new card, however fresh the one in the cache is.")]

_MOST_BYTES: Final = 64 * 1024 * 1024


@contextmanager
def card_cache(*, wanted: bool) -> Iterator[CardCache | None]:
    """The cards that earlier commands have fetched, in the platform's cache folder; None where there can be none."""
    if not wanted:
        yield None
        return
    import hishel
    from platformdirs import user_cache_path

    # It logs what it could not do with a traceback; that it was not done is told by the cache.
    logging.getLogger("hishel").setLevel(logging.CRITICAL)
    folder = user_cache_path("a2a-discovery", appauthor=False)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        yield None
        return
    storage = hishel.SqliteStorage(database_path=folder / "cards.db", max_size=_MOST_BYTES)
    try:
        yield CardCache(storage)
    finally:
        storage.close()
