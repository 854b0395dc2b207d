"""Cards in a storage of hishel's, beyond the process."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final
from uuid import UUID

import hishel

from a2a_discovery._kept import KeptCard, Place
from a2a_discovery.cache import CardCache, Storage

_log = logging.getLogger("a2a_discovery")

# The moment from which the age counts: what Age and the arrival say is known no longer when the card is read back.
_BORN: Final = "x-a2a-discovery-born"
_PRIVATE: Final = frozenset(["set-cookie", "www-authenticate"])


class CardStore:
    """Reads and writes cards; a storage that fails is as good as none, and a WARNING.

    Args:
        storage: the storage; stays open.
        cache: makes cards of what is read.

    Raises:
        TypeError: it is no storage, or one for the other kind of code.
    """

    def __init__(self, storage: Storage, cache: CardCache) -> None:
        if not isinstance(storage, hishel.AsyncBaseStorage):
            raise TypeError(f"{type(storage).__name__} is no {hishel.AsyncBaseStorage.__name__} of hishel's")
        self._storage = storage
        self._cache = cache

    async def load(self, place: Place) -> list[KeptCard]:
        """The cards at ``place``."""
        found = []
        try:
            for entry in await self._storage.get_entries(place.storage_key):
                found.append(await self._card(entry, place))  # noqa: PERF401 - what was read before a failure counts
        except Exception as exc:
            _failed(exc)
        return found

    async def save(self, place: Place, card: KeptCard) -> KeptCard:
        """Write ``card``; the same under the id that it has in the storage."""
        response = hishel.Response(200, _fields(card), _chunks(card.body))
        try:
            entry = await self._storage.create_entry(card.request, response, place.storage_key)
            # What is read is written; the last step makes it visible.
            async for _ in entry.response.stream:  # type: ignore[union-attr]
                pass
        except Exception as exc:
            _failed(exc)
            return card
        return replace(card, id=entry.id)

    async def update(self, card: KeptCard) -> None:
        """Write the header fields of a card that is there."""
        await self._try(partial(self._storage.update_headers, card.id, _fields(card)))

    async def remove(self, ids: Iterable[UUID]) -> None:
        """Remove cards."""
        for name in ids:
            await self._try(partial(self._storage.remove_entry, name))

    async def _try(self, write: Callable[[], Any]) -> None:
        try:
            await write()
        except Exception as exc:
            _failed(exc)

    async def _card(self, entry: hishel.Entry, place: Place) -> KeptCard:
        headers = dict(entry.response.headers)
        moment = float(headers.pop(_BORN))
        body = bytearray()
        async for chunk in entry.response.stream:  # type: ignore[union-attr]
            body += chunk
        return self._cache.restored(entry.id, entry.request, place, headers, bytes(body), moment)


def _fields(card: KeptCard) -> hishel.Headers:
    fields: Mapping[str, str] = {name: value for name, value in card.headers.items() if name not in _PRIVATE}
    return hishel.Headers({**fields, _BORN: repr(card.born)})


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _failed(exc: Exception) -> None:
    # What another's exception says may hold a secret, such as the URL of a server.
    _log.warning("the storage of the card cache failed: %s", type(exc).__name__)
