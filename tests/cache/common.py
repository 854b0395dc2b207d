"""A clock that is set by hand, and a server of cards that goes by it."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import Any

from a2a_discovery.cache import CardCache
from tests.cases import CASES
from tests.servers import Exchange, Server, World

NOON = 1_800_000_000.0


class Clock:
    """Unix time, as far as cache and server know."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now

    def date(self, offset: float = 0) -> str:
        return formatdate(self.now + offset, usegmt=True)


def named(name: str) -> bytes:
    """A valid card."""
    return json.dumps({**json.loads((CASES / "bench_card.json").read_bytes()), "name": name}).encode()


class Site:
    """Answers with the card ``name`` and ``fields``, or with 304 where ``etag`` or ``modified`` is known already."""

    def __init__(self, clock: Clock, *fields: str, etag: str | None = None, modified: str | None = None) -> None:
        self.clock = clock
        self.name = "first"
        self.body: bytes | None = None
        self.status = 200
        self.fields = fields
        self.etag = etag
        self.modified = modified
        self.dated = True
        self.fields_of_304: tuple[str, ...] | None = None
        self.wait = threading.Event()
        self.wait.set()

    def __call__(self, exchange: Exchange) -> None:
        self.wait.wait(5)
        fields = list(self.fields)
        if self.dated:
            fields.append(f"Date: {self.clock.date()}")
        if self.etag is not None:
            fields.append(f"ETag: {self.etag}")
        if self.modified is not None:
            fields.append(f"Last-Modified: {self.modified}")
        if self.status != 200:
            exchange.answer(self.status, b"", *fields)
        elif self._is_known(exchange):
            if self.fields_of_304 is not None:
                fields = list(self.fields_of_304)
            exchange.answer(304, b"", *fields)
        else:
            exchange.answer(200, named(self.name) if self.body is None else self.body, *fields)

    def _is_known(self, exchange: Exchange) -> bool:
        if "if-none-match" in exchange.headers:
            return self.etag is not None and self.etag in exchange.headers["if-none-match"]
        return self.modified is not None and exchange.headers.get("if-modified-since") == self.modified


class Visitor:
    """A resolver with a cache, and the server that it asks."""

    def __init__(self, resolver: Any, server: Server, site: Site, clock: Clock, cache: CardCache) -> None:
        self.resolver = resolver
        self.server = server
        self.site = site
        self.clock = clock
        self.cache = cache

    async def get(self, **options: Any) -> tuple[str, str]:
        """Where the card came from, and its name."""
        found = await self.resolver.resolve(self.server.url, **options)
        return found.source, found.card.name

    @property
    def asked(self) -> int:
        """How many requests the server has had."""
        return len(self.server.seen)

    @property
    def last(self) -> dict[str, str]:
        """The header fields of the last request."""
        return self.server.seen[-1].headers


@asynccontextmanager
async def visiting(
    world: World,
    *fields: str,
    etag: str | None = None,
    modified: str | None = None,
    default_lifetime: int = 300,
    **options: Any,
) -> AsyncIterator[Visitor]:
    """A cold cache, and a server whose answers have ``fields``."""
    clock = Clock()
    site = Site(clock, *fields, etag=etag, modified=modified)
    cache = CardCache(clock=clock, default_lifetime=default_lifetime)
    with Server(site) as server:
        async with world.resolver(cache=cache, **options) as resolver:
            yield Visitor(resolver, server, site, clock, cache)
