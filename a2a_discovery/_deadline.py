"""The time limit of one whole fetch, for both worlds.

A limit per read does not stop a server that sends one byte a second. Async code is cancelled from outside; a blocking
read is ended by shutting its socket down from a timer's thread.
"""

from __future__ import annotations

import asyncio
import math
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Protocol

import anyio

from a2a_discovery._guard import AsyncGuard, SyncGuard

# A slot that is free is taken at once: to let other tasks run first would cost a turn of the event loop.
AsyncSlots = partial(anyio.Semaphore, fast_acquire=True)
SyncSlots = threading.Semaphore
async_sleep = anyio.sleep
sync_sleep = time.sleep


class _SyncWorld:
    """What all threads share."""


_SYNC_WORLD = _SyncWorld()


def async_world() -> object:
    """Within what tasks can wait for each other: the event loop."""
    return asyncio.get_running_loop()


def sync_world() -> object:
    """Within what threads can wait for each other: the process."""
    return _SYNC_WORLD


class TimeLimitError(Exception):
    """The time limit of the fetch ran out."""


class Clock:
    """Knows when ``seconds`` are over."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.end = time.monotonic() + seconds

    @property
    def expired(self) -> bool:
        return time.monotonic() >= self.end

    def check(self) -> None:
        """Raise TimeLimitError once the time is up: for a transport that never waits on a socket."""
        if self.expired:
            raise TimeLimitError

    def _timeouts(self, connect_timeout: float) -> dict[str, Any]:
        rest = max(self.end - time.monotonic(), 0.001)
        return {"timeout": {"connect": min(connect_timeout, rest), "read": rest, "write": rest, "pool": rest}}


class AsyncAlarm:
    """Nothing: the event loop wakes those who wait."""

    def close(self) -> None:
        """Nothing to do."""


class AsyncDeadline(Clock):
    """Cancels its block after ``seconds``, and raises TimeLimitError then.

    Args:
        seconds: the limit.
        alarm: shared by all the deadlines of a client.
        tls: whether a connection may be opened that begins with a handshake.
    """

    def __init__(self, seconds: float, alarm: AsyncAlarm, *, tls: bool = True) -> None:  # noqa: ARG002
        super().__init__(seconds)
        self._tls = tls

    async def __aenter__(self) -> AsyncDeadline:
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + self._seconds)
        self._scope.__enter__()
        self._connection: Any = None
        self._guard: AsyncGuard | None = None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._scope.__exit__(kind, exc, traceback)
        if self._scope.cancelled_caught:
            raise TimeLimitError

    def extensions(self, connect_timeout: float, guard: AsyncGuard | None = None) -> dict[str, Any]:
        """The request extensions of httpx that keep one exchange within the rest of the time, in seconds.

        ``guard`` looks at the connection of this exchange.
        """
        self._guard = guard
        extensions = self._timeouts(connect_timeout)
        return {**extensions, "trace": self._trace} if self._tls or guard is not None else extensions

    def watch(self, stream: Any) -> None:
        """Nothing to do: cancellation reaches every stream."""

    async def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if self._guard is not None:
            await self._guard.trace(event, info)
        if event.endswith("connect_tcp.complete"):
            self._connection = info["return_value"]
        elif event.endswith("start_tls.failed") and self._connection is not None:
            # httpcore closes the connection after an error in the handshake, but not after a cancellation.
            with anyio.CancelScope(shield=True):
                await self._connection.aclose()


class Overdue(Protocol):
    """What a ``SyncAlarm`` ends when the clock has reached ``end``."""

    end: float

    def end_now(self) -> None:
        """The time is up."""


class SyncAlarm:
    """One thread that ends overdue deadlines, while there are any: a thread for each would cost more than its call."""

    _LINGER = 1.0

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: set[Overdue] = set()
        self._thread: threading.Thread | None = None
        self._wakes_at = math.inf
        self._closing = False

    def start(self, deadline: Overdue) -> None:
        """Watch over ``deadline``."""
        with self._changed:
            self._running.add(deadline)
            if self._thread is None or not self._thread.is_alive():
                self._wakes_at = deadline.end
                self._thread = threading.Thread(target=self._run, name="a2a-discovery deadlines", daemon=True)
                self._thread.start()
            elif deadline.end < self._wakes_at:
                self._changed.notify()

    def stop(self, deadline: Overdue) -> None:
        """Watch over it no longer; when this returns, it was ended or never will be."""
        with self._changed:
            self._running.discard(deadline)

    def close(self) -> None:
        """End the thread, unless deadlines are running."""
        with self._changed:
            thread = self._thread
            self._closing = thread is not None
            self._changed.notify()
        if thread is not None and not self._running:
            thread.join()

    def _run(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for deadline in [d for d in self._running if d.end <= now]:
                    self._running.discard(deadline)
                    deadline.end_now()
                idle = not self._running
                self._wakes_at = now + self._LINGER if idle else min(d.end for d in self._running)
                if not (idle and self._closing):
                    self._changed.wait(self._wakes_at - now)
                if not self._running and (idle or self._closing):
                    self._thread, self._closing = None, False
                    return


class SyncDeadline(Clock):
    """Ends its block's I/O after ``seconds``, and raises TimeLimitError then.

    What cannot be ended from outside: the system's name lookup; the tries to connect to a host's addresses, one after
    the other (each has its limit); and the wait for the header of an answer on a connection that was kept open from
    before (each read has its limit).

    Args:
        seconds: the limit.
        alarm: shared by all the deadlines of a client.
        tls: whether a connection may be opened that begins with a handshake.
    """

    def __init__(self, seconds: float, alarm: SyncAlarm, *, tls: bool = True) -> None:  # noqa: ARG002
        super().__init__(seconds)
        self._alarm = alarm
        self._lock = threading.Lock()
        self._fired = False
        self._socket: socket.socket | None = None
        self._own: socket.socket | None = None
        self._guard: SyncGuard | None = None

    def __enter__(self) -> SyncDeadline:
        self._alarm.start(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._alarm.stop(self)
        if self._own is not None:
            self._own.close()
        # Even after a clean end: a body without a length ends like that when its socket is shut down.
        if self._fired and (exc is None or isinstance(exc, Exception)):
            raise TimeLimitError from exc

    def extensions(self, connect_timeout: float, guard: SyncGuard | None = None) -> dict[str, Any]:
        """The request extensions of httpx that keep one exchange within the rest of the time, in seconds.

        ``guard`` looks at the connection of this exchange.
        """
        self._guard = guard
        return {**self._timeouts(connect_timeout), "trace": self._trace}

    def watch(self, stream: Any) -> None:
        """Shut down the socket of ``stream`` (an httpcore network stream, or None) when the time is up."""
        connection = stream.get_extra_info("socket") if stream is not None else None
        if connection is not None:
            self._take(connection)

    def end_now(self) -> None:
        """The time is up."""
        with self._lock:
            self._fired = True
            if self._socket is not None:
                self._shut_down(self._socket)

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if self._guard is not None:
            self._guard.trace(event, info)
        if not event.endswith("connect_tcp.complete"):
            return
        connection = info["return_value"].get_extra_info("socket")
        if connection is None:
            return
        try:
            # A descriptor of our own outlives the switch to TLS, which takes the socket's away.
            own = socket.fromfd(connection.fileno(), connection.family, connection.type)
        except OSError:
            return
        previous, self._own = self._own, own
        self._take(own)
        if previous is not None:
            previous.close()

    def _take(self, connection: socket.socket) -> None:
        with self._lock:
            self._socket = connection
            if self._fired:
                self._shut_down(connection)

    @staticmethod
    def _shut_down(connection: socket.socket) -> None:
        # The other side may have been faster. A TLS socket's own method would change what a reading thread uses.
        with suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
