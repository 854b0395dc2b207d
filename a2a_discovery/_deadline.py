"""The time limit of one whole fetch, for both worlds.

A limit per read does not stop a server that sends one byte a second. Async code is cancelled from outside; a blocking
read is ended by shutting its socket down from a timer's thread.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

import anyio

async_sleep = anyio.sleep
sync_sleep = time.sleep


class TimeLimitError(Exception):
    """The time limit of the fetch ran out."""


class Clock:
    """Knows when ``seconds`` are over."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def expired(self) -> bool:
        return time.monotonic() >= self._end

    def check(self) -> None:
        """Raise TimeLimitError once the time is up: for a transport that never waits on a socket."""
        if self.expired:
            raise TimeLimitError

    def extensions(self, connect_timeout: float) -> dict[str, Any]:
        """The request extensions of httpx that keep one exchange within the rest of the time, in seconds."""
        rest = max(self._end - time.monotonic(), 0.001)
        return {"timeout": {"connect": min(connect_timeout, rest), "read": rest, "write": rest, "pool": rest}}


class AsyncDeadline(Clock):
    """Cancels its block after ``seconds``, and raises TimeLimitError then."""

    async def __aenter__(self) -> AsyncDeadline:
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + self._seconds)
        self._scope.__enter__()
        self._connection: Any = None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._scope.__exit__(kind, exc, traceback)
        if self._scope.cancelled_caught:
            raise TimeLimitError

    def extensions(self, connect_timeout: float) -> dict[str, Any]:
        return {**super().extensions(connect_timeout), "trace": self._trace}

    def watch(self, stream: Any) -> None:
        """Nothing to do: cancellation reaches every stream."""

    async def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith("connect_tcp.complete"):
            self._connection = info["return_value"]
        elif event.endswith("start_tls.failed") and self._connection is not None:
            # httpcore closes the connection after an error in the handshake, but not after a cancellation.
            with anyio.CancelScope(shield=True):
                await self._connection.aclose()


class SyncDeadline(Clock):
    """Ends its block's I/O after ``seconds``, and raises TimeLimitError then.

    What cannot be ended from outside: the system's name lookup; the tries to connect to a host's addresses, one after
    the other (each has its limit); and the wait for the header of an answer on a connection that a caller's client kept
    open from before (each read has its limit).
    """

    def __enter__(self) -> SyncDeadline:
        self._lock = threading.Lock()
        self._fired = False
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(self._seconds, self._fire)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._timer.join()
        if self._socket is not None:
            self._socket.close()
        # Even after a clean end: a body without a length ends like that when its socket is shut down.
        if self._fired and (exc is None or isinstance(exc, Exception)):
            raise TimeLimitError from exc

    def extensions(self, connect_timeout: float) -> dict[str, Any]:
        return {**super().extensions(connect_timeout), "trace": self._trace}

    def watch(self, stream: Any) -> None:
        """Shut down the socket of ``stream`` (an httpcore network stream, or None) when the time is up."""
        connection = stream.get_extra_info("socket") if stream is not None else None
        if connection is None:
            return
        try:
            # A descriptor of our own: it outlives the switch to TLS, and nobody can close and reuse it meanwhile.
            own = socket.fromfd(connection.fileno(), connection.family, connection.type)
        except OSError:
            return
        with self._lock:
            previous, self._socket = self._socket, own
            fired = self._fired
        if previous is not None:
            previous.close()
        if fired:
            self._shut_down(own)

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith("connect_tcp.complete"):
            self.watch(info["return_value"])

    def _fire(self) -> None:
        with self._lock:
            self._fired = True
            if self._socket is not None:
                self._shut_down(self._socket)

    @staticmethod
    def _shut_down(connection: socket.socket) -> None:
        # The other side may have been faster.
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
