"""One client's view of a task's events (§3.5.2): every stream of a task gets the same events in the same order."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from a2a_discovery.bindings.faults import internal
from a2a_discovery.errors import A2AError
from a2a_discovery.types import StreamResponse

MAX_WAITING: Final = 10_000
"""How many events wait for a client that reads slowly, before its stream is given up."""


class EventStream:
    """The events of a task, from the moment of attaching on; to be iterated over once.

    Args:
        ends: the task states after which the stream ends.
    """

    def __init__(self, ends: Collection[int]) -> None:
        self._ends = ends
        self._waiting: asyncio.Queue[StreamResponse | A2AError | None] = asyncio.Queue()
        self._ended = False

    def put(self, event: StreamResponse) -> None:
        """Add an event; a stream that has ended takes no more."""
        if self._ended:
            return
        if self._waiting.qsize() >= MAX_WAITING:
            self.fail(internal())
            return
        self._waiting.put_nowait(event)
        if event.WhichOneof("payload") == "status_update" and event.status_update.status.state in self._ends:
            self.end()

    def fail(self, error: A2AError) -> None:
        """End with an error, after what already waits."""
        if not self._ended:
            self._ended = True
            self._waiting.put_nowait(error)

    def end(self) -> None:
        """End after what already waits."""
        if not self._ended:
            self._ended = True
            self._waiting.put_nowait(None)

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> StreamResponse:
        event = await self._waiting.get()
        if event is None:
            raise StopAsyncIteration
        if isinstance(event, A2AError):
            raise event
        return event
