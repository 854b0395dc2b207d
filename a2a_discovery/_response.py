"""Read an HTTP answer within limits; no I/O here."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType

FIRST_BYTES = 200
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_STEP = 64 * 1024


class BodyError(Exception):
    """The body is too large, or its content coding cannot be undone; the message says which."""


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Status and header fields of an answer; names in lower case, repeated fields joined (RFC 9110 §5.3)."""

    status: int
    headers: Mapping[str, str]

    @classmethod
    def read(cls, status: int, fields: Iterable[tuple[str, str]]) -> ResponseHead:
        joined: dict[str, str] = {}
        for name, value in fields:
            name = name.lower()
            joined[name] = f"{joined[name]}, {value}" if name in joined else value
        return cls(status, MappingProxyType(joined))

    @property
    def is_redirect(self) -> bool:
        """Whether it asks for a GET elsewhere (RFC 9110 §15.4)."""
        return self.status in _REDIRECTS

    @property
    def media_type(self) -> str:
        """The Content-Type without its parameters, in lower case; empty when there is none (RFC 9110 §8.3.1)."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_html(self) -> bool:
        return self.media_type in ("text/html", "application/xhtml+xml")


class BodyReader:
    """Collects a body of at most ``limit`` bytes and undoes its gzip coding (RFC 9110 §8.4.1.3) on the way.

    Memory stays within ``limit`` plus one chunk, whatever comes: decompression stops at the limit.
    """

    def __init__(self, head: ResponseHead, limit: int) -> None:
        self._limit = limit
        # gzip makes incompressible data a little longer.
        self._received_limit = limit + limit // 100 + 1024
        self._received = 0
        self._body = bytearray()
        self._length = head.headers.get("content-length", "")
        codings = [c.strip().lower() for c in head.headers.get("content-encoding", "").split(",")]
        self._codings = [c for c in codings if c not in ("", "identity")]
        self._gzip = zlib.decompressobj(wbits=31) if self._codings in (["gzip"], ["x-gzip"]) else None

    def check_head(self) -> None:
        """Raise BodyError where the header alone already tells that the body cannot be read."""
        self._check_coding()
        limit = self._limit if self._gzip is None else self._received_limit
        if self._length.isascii() and self._length.isdigit() and (len(self._length) > 18 or int(self._length) > limit):
            raise self._too_large(f"its Content-Length is {self._length[:30]}")

    def feed(self, data: bytes) -> None:
        """Take the next bytes as received; raises BodyError."""
        self._check_coding()
        self._received += len(data)
        if self._gzip is None:
            self._keep(data)
        else:
            self._inflate(self._gzip, data)
            if self._received > self._received_limit:
                raise self._too_large("received so far: more than that")

    def feed_decoded(self, data: bytes) -> None:
        """Take the whole body, whose coding was undone elsewhere; raises BodyError."""
        self._check_coding()
        self._gzip = None
        self._keep(data)

    def finish(self) -> bytes:
        """The whole body; raises BodyError when its end is missing."""
        if self._gzip is not None and not self._gzip.eof:
            raise BodyError("its gzip data break off before their end")
        return bytes(self._body)

    @property
    def first_bytes(self) -> bytes:
        """The start of what was collected, at most 200 bytes."""
        return bytes(self._body[:FIRST_BYTES])

    def _inflate(self, gzip: zlib._Decompress, data: bytes) -> None:
        try:
            while data:
                if gzip.eof:
                    # A gzip file may have several members (RFC 1952 §2.2).
                    self._gzip = gzip = zlib.decompressobj(wbits=31)
                self._keep(gzip.decompress(data, min(_STEP, self._limit - len(self._body) + 1)))
                data = gzip.unused_data if gzip.eof else gzip.unconsumed_tail
        except zlib.error as exc:
            raise BodyError("its gzip data are corrupt") from exc

    def _keep(self, data: bytes) -> None:
        rest = self._limit - len(self._body)
        self._body += data[:rest]
        if len(data) > rest:
            raise self._too_large("received so far: more than that")

    def _check_coding(self) -> None:
        if self._codings and self._gzip is None:
            coding = ", ".join(self._codings)[:50]
            raise BodyError(f"its content coding is {coding!r}, though only gzip was offered in Accept-Encoding")

    def _too_large(self, fact: str) -> BodyError:
        return BodyError(f"its body is larger than the limit of {self._limit} bytes (max_bytes); {fact}")


def retry_after(value: str | None, *, now: datetime | None = None) -> float | None:
    """Seconds from now that a Retry-After asks for, in either form (RFC 9110 §10.2.3); None when it is unreadable."""
    value = (value or "").strip()
    if re.fullmatch("[0-9]{1,10}", value):
        return float(value)
    date = http_date(value)
    return None if date is None else max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


def http_date(value: str) -> datetime | None:
    """The moment that an HTTP date means, in any of its forms (RFC 9110 §5.6.7); None when it is unreadable."""
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
