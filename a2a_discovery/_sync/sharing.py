# Generated from a2a_discovery/_async/sharing.py by codegen/sync.py; do not edit.
"""One try for all who ask for the same thing at the same time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol, TypeVar

from a2a_discovery._deadline import SyncSlots, sync_world
from a2a_discovery._flights import Flights
from a2a_discovery.errors import A2ADiscoveryError

T = TypeVar("T")
R = TypeVar("R", covariant=True)


class Call(Protocol[R]):
    """What is tried."""

    def __call__(self) -> R:
        """What comes of it."""
        ...


def once(flights: Flights[T], key: Hashable, call: Call[T]) -> T:
    """What ``call`` gives, or the error of the library that it raises, for all that wait for ``key``."""
    world = sync_world()
    flight = flights.join(key, world, SyncSlots)
    with flight.slot:
        if not flight.landed:
            try:
                flight.land(call())
            except A2ADiscoveryError as exc:
                flight.land(None, exc)
            finally:
                # Who was cancelled leaves the try to the next one.
                if flight.landed:
                    flights.end(key, world)
    return flight.take()
