"""One slot for each thing that is to be had once, however many wait for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakKeyDictionary


class Slots:
    """The slots of one event loop, or of all threads, by what is had in them; they live as long as the loop does."""

    def __init__(self) -> None:
        self._by_world: WeakKeyDictionary[object, dict[Hashable, Any]] = WeakKeyDictionary()

    def slot(self, key: Hashable, world: object, make: Callable[[int], Any]) -> Any:
        """The only slot for ``key`` in ``world``; ``make`` makes one."""
        return self._by_world.setdefault(world, {}).setdefault(key, make(1))
