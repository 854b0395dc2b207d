"""The watch over a silent stream, for both worlds."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from a2a_discovery._deadline import AsyncAlarm, SyncAlarm


def async_hang_up(stream: Any) -> Callable[[], object]:
    """What ends the wait for the next bytes of ``stream``, an httpcore network stream, or None."""
    return lambda: None if stream is None else asyncio.ensure_future(stream.aclose())


def sync_hang_up(stream: Any) -> Callable[[], object]:
    """What ends, from another thread, the wait for the next bytes of ``stream``."""

    def hang_up() -> None:
        connection = None if stream is None else stream.get_extra_info("socket")
        if connection is not None:
            # The method of a TLS socket would take its state away from the thread that reads.
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    return hang_up


class _Watch:
    def __init__(self, seconds: float, act: Callable[[], object]) -> None:
        self._seconds = seconds
        self._act = act
        self._heard = time.monotonic()
        self._held = False
        self.expired = False

    def hold(self) -> None:
        """Something came, and nothing is waited for until ``go_on``."""
        self._held = True

    def go_on(self, *, heard: bool = True) -> None:
        """The next thing is waited for; what came counts as a sign of life if ``heard``."""
        if heard:
            self._heard = time.monotonic()
        self._held = False

    def _fire(self) -> None:
        rest = self._seconds if self._held else self._heard + self._seconds - time.monotonic()
        if rest > 0:
            self._arm(rest)
        else:
            self.expired = True
            self._act()

    def _arm(self, seconds: float) -> None:
        raise NotImplementedError


class AsyncWatch(_Watch):
    """Calls ``act`` once nothing has touched it for ``seconds``."""

    def __init__(self, seconds: float, act: Callable[[], object], alarm: AsyncAlarm) -> None:  # noqa: ARG002
        super().__init__(seconds, act)
        self._arm(seconds)

    def _arm(self, seconds: float) -> None:
        self._handle = asyncio.get_running_loop().call_later(seconds, self._fire)

    def stop(self) -> None:
        """Watch no longer."""
        self._handle.cancel()


class SyncWatch(_Watch):
    """Calls ``act`` from the thread of ``alarm`` once nothing has touched it for ``seconds``."""

    def __init__(self, seconds: float, act: Callable[[], object], alarm: SyncAlarm) -> None:
        super().__init__(seconds, act)
        self._alarm = alarm
        self._arm(seconds)

    def _arm(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self._alarm.start(self)

    def end_now(self) -> None:
        """The time is up, unless something has touched it."""
        self._fire()

    def stop(self) -> None:
        """Watch no longer."""
        self._alarm.stop(self)
