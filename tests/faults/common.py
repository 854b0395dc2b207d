"""What the tests of faults share: how a server does wrong, and what has to come of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from a2a_discovery import protojson
from a2a_discovery.errors import A2ADiscoveryError, CallTimeoutError, FetchTimeoutError
from tests.agent.common import HTTP, card, failure, interface, within
from tests.servers import Exchange, Server, World

LIMIT = 0.2
"""Seconds for what never ends."""
GUARD = 8.0
"""Seconds in which everything else has to be over, on a busy machine."""

CARD = protojson.dumps(card(interface("JSONRPC", "https://h.test")))
TIMEOUT = "timeout"
"""The expectation that a limit of time ends it."""


@dataclass(frozen=True)
class Fault:
    """What a server does, and the class of the error of each kind of call, or ``TIMEOUT``.

    Attributes:
        act: takes the exchange, whose head has been read unless the server is ``raw``.
        fetch: of a fetch of a card.
        unary: of a call with one answer.
        stream: of a call with a stream.
        told: a pattern in the message of the fetch's error.
    """

    act: Callable[[Exchange], object]
    fetch: Any
    unary: Any
    stream: Any
    told: str = ""


def sends(*parts: bytes) -> Callable[[Exchange], None]:
    """Read the request, send, and close in order."""

    def act(exchange: Exchange) -> None:
        exchange.read_body()
        exchange.send(*parts)

    return act


def head(*fields: bytes, status: bytes = b"200 OK") -> bytes:
    """The head of an answer that is JSON."""
    lines = [b"HTTP/1.1 " + status, b"Content-Type: application/json", b"Connection: close", *fields, b"", b""]
    return b"\r\n".join(lines)


async def check_fetch(world: World, server: Server, fault: Fault) -> A2ADiscoveryError:
    """The error of a fetch is the one that is named."""
    slow = fault.fetch is TIMEOUT
    async with world.resolver(timeout=LIMIT if slow else GUARD) as resolver, within(GUARD):
        with pytest.raises(A2ADiscoveryError) as caught:
            await resolver.resolve(server.url)
    assert type(caught.value) is (FetchTimeoutError if slow else fault.fetch)
    assert re.search(fault.told, str(caught.value))
    return caught.value


async def check_calls(world: World, server: Server, fault: Fault) -> list[Any]:
    """The errors of a unary call and of a stream are those that are named, over both bindings."""
    errors = []
    slow = TIMEOUT in (fault.unary, fault.stream)
    for binding in HTTP:
        limits = dict.fromkeys(("timeout", "idle_timeout"), LIMIT if slow else GUARD)
        async with world.agent(card(interface(binding, server.url)), **limits) as agent, within(GUARD):
            for name, expected in (("SendMessage", fault.unary), ("SendStreamingMessage", fault.stream)):
                error, events = await failure(agent, name)
                kind = CallTimeoutError if expected is TIMEOUT else expected
                assert type(error) is kind and not events, (binding, name, error)
                errors.append(error)
    return errors
