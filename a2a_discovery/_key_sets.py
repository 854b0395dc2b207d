"""Key sets that were fetched: how long each is good, and when to ask again; no I/O here."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from a2a_discovery._slots import Slots
from a2a_discovery.errors import FetchError
from a2a_discovery.policy import Url

_DAY: Final = 86400.0
_MOST: Final = 64
_DIRECTIVE: Final = re.compile(r'(?:^|,)[ \t]*([a-z-]+)(?:[ \t]*=[ \t]*"?([0-9]{1,9})"?)?[ \t]*(?=,|$)')
_now = time.monotonic

KeySet = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a URL gave last: its keys until they expire, and the failure if there was one since."""

    keys: KeySet
    expires: float
    asked: float
    failure: FetchError | None


class KeySetCache:
    """Key sets by URL; the oldest go when there are many.

    Args:
        lifetime: seconds that a set is good whose answer does not say.
        pause: seconds after which a URL is asked again, at the earliest; after a failure to connect, an origin.
    """

    def __init__(self, lifetime: float, pause: float) -> None:
        self._lifetime = lifetime
        self._pause = pause
        self._entries: dict[str, _Entry] = {}
        self._down: dict[tuple[str, str, int], tuple[float, FetchError]] = {}
        self._slots = Slots()

    def get(self, url: Url, kid: str | None) -> KeySet | None:
        """The keys at ``url``, or None when it has to be asked, also because ``kid`` is not among them.

        Raises:
            FetchError: it failed, and it is too early to ask again.
        """
        now, entry = _now(), self._entries.get(str(url))
        early = entry is not None and now < entry.asked + self._pause
        if entry is not None and now < entry.expires and (early or _has(entry.keys, kid)):
            return entry.keys
        if entry is not None and early and entry.failure is not None:
            raise entry.failure.with_traceback(None)
        until, failure = self._down.get(url.origin, (now, None))
        if failure is not None and now < until:
            raise failure.with_traceback(None)
        return None

    def put(self, url: Url, keys: KeySet, headers: Mapping[str, str]) -> None:
        """Keep what ``url`` answered (RFC 9111 §4.2.1)."""
        now = _now()
        self._keep(url, _Entry(keys, now + max(self._pause, self._good_for(headers)), now, None))

    def fail(self, url: Url, failure: FetchError) -> None:
        """Keep that ``url`` was asked in vain; what it gave before stays good as long as it is."""
        now, entry = _now(), self._entries.get(str(url))
        keys, expires = ((), now) if entry is None else (entry.keys, entry.expires)
        self._keep(url, _Entry(keys, expires, now, failure))
        if failure.status is None:
            self._down[url.origin] = (now + self._pause, failure)

    def slot(self, url: Url, world: object, slots: Callable[[int], Any]) -> Any:
        """The only slot to ask the origin of ``url`` in; each event loop has its own."""
        return self._slots.slot(url.origin, world, slots)

    def _keep(self, url: Url, entry: _Entry) -> None:
        self._entries.pop(str(url), None)
        self._entries[str(url)] = entry
        if len(self._entries) > _MOST:
            self._entries.pop(next(iter(self._entries)), None)

    def _good_for(self, headers: Mapping[str, str]) -> float:
        directives = dict(_DIRECTIVE.findall(headers.get("cache-control", "").lower()))
        if "no-store" in directives or "no-cache" in directives:
            return 0.0
        if not directives.get("max-age"):
            return self._lifetime
        age = headers.get("age", "")
        passed = int(age) if age.isascii() and age.isdecimal() and len(age) < 10 else 0
        return min(float(int(directives["max-age"]) - passed), _DAY)


def read_key_set(url: str, body: bytes) -> KeySet:
    """The keys of a JWK Set (RFC 7517 §5); what is no key is passed over.

    Raises:
        FetchError: it is none.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = None
    keys = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(keys, list):
        raise FetchError(f"{url}: this is no JWK Set", url=url, status=200)
    return tuple(key for key in keys if isinstance(key, dict) and "kty" in key)


def _has(keys: KeySet, kid: str | None) -> bool:
    return kid is None or any(key.get("kid") == kid for key in keys)
