"""What is asked for by many at once is had once, and what comes of it is everybody's."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from a2a_discovery.errors import A2ADiscoveryError

T = TypeVar("T")


class Flight(Generic[T]):
    """One try to have something; whoever is in its ``slot`` while it has not landed makes the try."""

    def __init__(self, slot: Any) -> None:
        self.slot = slot
        self.landed = False
        self._result: T | None = None
        self._error: A2ADiscoveryError | None = None

    def land(self, result: T | None, error: A2ADiscoveryError | None = None) -> None:
        """The try is over."""
        self._result, self._error, self.landed = result, error, True

    def take(self) -> T:
        """What came of it, a copy of the error included: each who waits raises its own."""
        if self._error is not None:
            raise copy(self._error) from self._error
        return self._result  # type: ignore[return-value]


class Flights(Generic[T]):
    """The tries that are under way; those of an event loop, or of all threads, are shared among them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_world: WeakKeyDictionary[object, dict[Hashable, Flight[T]]] = WeakKeyDictionary()

    def join(self, key: Hashable, world: object, slots: Callable[[int], Any]) -> Flight[T]:
        """The try for ``key`` in ``world``, begun already or not; ``slots`` makes its slot."""
        with self._lock:
            flights = self._by_world.setdefault(world, {})
            if key not in flights:
                flights[key] = Flight(slots(1))
            return flights[key]

    def end(self, key: Hashable, world: object) -> None:
        """Who comes from now on begins anew."""
        with self._lock:
            self._by_world[world].pop(key, None)
