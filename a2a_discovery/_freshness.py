"""How long an answer may be used without asking again (RFC 9111 §4.2, §5.2.2; RFC 5861); no I/O here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from a2a_discovery._response import http_date

DEFAULT_LIFETIME: Final = 300
"""Seconds for which a card is fresh whose server does not say."""

_DIRECTIVE: Final = re.compile(
    r'([!#$%&\'*+.^_`|~\w-]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,;"]*)))?', re.ASCII
)
# A quotation that does not end is looked for from each of its marks on.
_MOST_CHARACTERS: Final = 4096
_SECONDS: Final = re.compile("[0-9]+")
# What a cache cannot count counts as the most that it can (§1.2.2); hishel counts in 32 bits.
_MOST_SECONDS: Final = 2**31 - 1


def directives(value: str) -> dict[str, str | None]:
    """The directives of a Cache-Control field, names in lower case; of one that stands twice, the first."""
    found: dict[str, str | None] = {}
    for name, quoted, plain in _DIRECTIVE.findall(value[:_MOST_CHARACTERS]):
        found.setdefault(name.lower(), quoted or plain or None)
    return found


@dataclass(frozen=True, slots=True)
class Freshness:
    """What an answer says of its own use.

    Attributes:
        lifetime: seconds from ``born`` on for which it is fresh.
        stale_while_revalidate: seconds after that in which it may be used while a new one is fetched.
        stale_if_error: seconds after that in which it may be used where no new one is to be had.
        no_store: it is not to be kept.
        no_cache: it is to be revalidated before each use.
        must_revalidate: it is not to be used once it is stale, whatever else is said.
    """

    lifetime: int
    stale_while_revalidate: int = 0
    stale_if_error: int = 0
    no_store: bool = False
    no_cache: bool = False
    must_revalidate: bool = False

    @classmethod
    def read(cls, headers: Mapping[str, str], received: float, default: int) -> Freshness:
        """What the header fields (names in lower case) of an answer say that came at ``received`` (Unix time).

        What is not readable as a lifetime means 0 (RFC 9111 §4.2.1); ``default`` counts where nothing is said, whatever
        Last-Modified may suggest. ``s-maxage`` is for shared caches.
        """
        said = directives(headers.get("cache-control", ""))
        if "max-age" in said:
            lifetime = _seconds(said["max-age"])
        elif "expires" in headers:
            expires, date = http_date(headers["expires"]), http_date(headers.get("date", ""))
            sent = received if date is None else date.timestamp()
            lifetime = 0 if expires is None else max(0, min(int(expires.timestamp() - sent), _MOST_SECONDS))
        else:
            lifetime = default
        return cls(
            lifetime,
            _seconds(said.get("stale-while-revalidate")),
            _seconds(said.get("stale-if-error")),
            no_store="no-store" in said,
            # With names of fields it is about these alone (RFC 9111 §5.2.2.4).
            no_cache=said.get("no-cache", "") is None,
            must_revalidate="must-revalidate" in said,
        )

    def ends(self, born: float) -> datetime:
        """When an answer whose age counts from ``born`` (Unix time) is to be revalidated."""
        at_once = self.no_cache or self.no_store
        return datetime.fromtimestamp(born + (0 if at_once else self.lifetime), UTC)

    def as_cache_control(self) -> str:
        """The same as a field value that leaves nothing to interpret."""
        said = [f"max-age={self.lifetime}"]
        flags = {"no-store": self.no_store, "no-cache": self.no_cache, "must-revalidate": self.must_revalidate}
        return ", ".join([*said, *(name for name, is_set in flags.items() if is_set)])


def born(headers: Mapping[str, str], asked: float, received: float) -> float:
    """The moment (Unix time) from which the age of an answer counts (RFC 9111 §4.2.3).

    Args:
        headers: its header fields, names in lower case.
        asked: when the request was sent.
        received: when its head was there.
    """
    date = http_date(headers.get("date", ""))
    apparent = 0.0 if date is None else max(0.0, received - date.timestamp())
    # Of a list, the first counts (§5.1).
    stated = headers.get("age", "").partition(",")[0].strip()
    corrected = _seconds(stated) + max(0.0, received - asked)
    return received - max(apparent, corrected)


def _seconds(value: str | None) -> int:
    return min(int(value[:20]), _MOST_SECONDS) if value is not None and _SECONDS.fullmatch(value) else 0
