"""What goes on while its caller does something else, for both worlds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any


class AsyncBackground:
    """Runs coroutine functions as tasks of the event loop; what they raise has to be caught by themselves."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run ``work``."""
        task = asyncio.get_running_loop().create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """End what still runs."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class SyncBackground:
    """Runs functions in threads; what they raise has to be caught by themselves."""

    _PATIENCE = 1.0

    def __init__(self) -> None:
        self._threads: set[threading.Thread] = set()

    def start(self, work: Callable[[], None]) -> None:
        """Run ``work``."""
        thread = threading.Thread(target=work, name="a2a-discovery background", daemon=True)
        self._threads = {other for other in self._threads if other.is_alive()} | {thread}
        thread.start()

    def close(self) -> None:
        """Wait for what still runs, one second at most: a thread cannot be ended."""
        for thread in self._threads:
            thread.join(self._PATIENCE)
