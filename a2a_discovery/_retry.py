"""When and whether to call again; no I/O here."""

from __future__ import annotations

import math

from a2a_discovery._operation import Operation
from a2a_discovery.errors import A2AError, TransportError

MAX_DELAY = 60.0
"""The longest time that is waited because an agent asks for it, in seconds."""

_BUSY_HTTP = (429, 503)
_PASSING_HTTP = (*_BUSY_HTTP, 502, 504)
_BUSY_GRPC = ("RESOURCE_EXHAUSTED", "UNAVAILABLE")


def backoff(attempt: int) -> float:
    """Seconds before the next try: 0.1, 0.2, 0.4 and so on, up to 5."""
    return float(min(0.1 * 2 ** (attempt - 1), 5.0))


def is_passing(exc: A2AError) -> bool:
    """Whether an error tells of the agent's present state: busy, or not there behind its proxy."""
    return exc.http_status in _PASSING_HTTP or exc.grpc_status in _BUSY_GRPC


def retry_delay(operation: Operation, exc: Exception, attempt: int, retries: int) -> float | None:
    """Seconds to wait before the call is made again, or None when it is not.

    Only what is safe to repeat is repeated (§3.3.1): after a connection that was not made, or where the agent is busy
    and says for how long.
    """
    if attempt > retries or not operation.idempotent:
        return None
    if isinstance(exc, TransportError):
        return None if exc.sent else backoff(attempt)
    if isinstance(exc, A2AError) and exc.retry_after is not None and exc.retry_after <= MAX_DELAY:
        busy = exc.http_status in _BUSY_HTTP or exc.grpc_status in _BUSY_GRPC
        return exc.retry_after if busy else None
    return None


def checked_limits(**limits: float) -> None:
    """Raise ValueError unless each is a number of seconds above 0."""
    for name, value in limits.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} is a number of seconds above 0")
