"""What the resolver's tests share: a card, answers, and the failure of a fetch."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from a2a_discovery.errors import FetchError
from tests.cases import CASES
from tests.servers import Exchange, World

CARD = (CASES / "bench_card.json").read_bytes()
PATH = "/.well-known/agent-card.json"
MB = 1024 * 1024


def respond(status: int = 200, body: bytes = CARD, *fields: str) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(status, body, *fields)


def unframed(*parts: bytes, fields: str = "") -> Callable[[Exchange], None]:
    """An answer whose body ends where the connection does."""
    return lambda exchange: exchange.send(f"HTTP/1.1 200 OK\r\n{fields}\r\n".encode(), *parts)


async def failure(world: World, reference: str, match: str = "", **options: Any) -> FetchError:
    async with world.resolver(**options) as resolver:
        with pytest.raises(FetchError, match=match) as caught:
            await resolver.resolve(reference)
    return caught.value


@contextmanager
def peak_memory(limit: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit


def redirect(status: int, location: str | None) -> Callable[[Exchange], None]:
    return respond(status, b"", *([f"Location: {location}"] if location is not None else []))


def site(pages: dict[str, Callable[[Exchange], None]]) -> Callable[[Exchange], None]:
    return lambda exchange: pages.get(exchange.target, respond(404))(exchange)
