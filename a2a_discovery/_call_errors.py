"""Say why a call failed; no I/O here."""

from __future__ import annotations

import httpx

from a2a_discovery._fetch_errors import failure_message
from a2a_discovery.errors import CallTimeoutError, TransportError
from a2a_discovery.policy import Url, UrlRefusedError

_BEFORE_ANYTHING_IS_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    UrlRefusedError,
)


def http_error(url: Url, exc: Exception, *, answered: bool) -> TransportError:
    """There was no answer over HTTP, or (``answered``) it broke off."""
    if answered and not isinstance(exc, UrlRefusedError):
        return TransportError("the connection broke before the answer was complete", url=url.without_query())
    sent = answered or not isinstance(exc, _BEFORE_ANYTHING_IS_SENT)
    return TransportError(failure_message(url, exc), url=url.without_query(), sent=sent)


def connect_timeout(url: Url, seconds: float) -> CallTimeoutError:
    """No connection in time."""
    message = f"no connection within {seconds:g} s (connect_timeout)"
    return CallTimeoutError(message, phase="connect", seconds=seconds, url=url.without_query(), sent=False)


def unary_timeout(url: Url, seconds: float) -> CallTimeoutError:
    """No whole answer in time."""
    message = f"no whole answer within {seconds:g} s (timeout)"
    return CallTimeoutError(message, phase="unary", seconds=seconds, url=url.without_query())


def idle_timeout(url: Url, seconds: float) -> CallTimeoutError:
    """A stream fell silent."""
    message = f"the stream was silent for {seconds:g} s (idle_timeout)"
    return CallTimeoutError(message, phase="idle", seconds=seconds, url=url.without_query())


# The beginnings of what gRPC itself says. The status alone does not tell: UNAVAILABLE is that of a connection which was
# never made, of one which broke, and of an agent that is busy; a stream that is reset may have any.
_NEVER_CONNECTED = ("failed to connect", "no route to host")
_NEVER_RESOLVED = ("dns resolution failed", "errors resolving", "domain name not found")
_BROKEN = (
    "channel closed",
    "stream removed",
    "client: received message larger than max",
    "decompressed message larger than max",
    "decompression failed",
    "compression bit set",
    "unexpected error decompressing",
    "received metadata size exceeds",
    "frame of size",
    "socket closed",
    "received rst_stream",
    "received http2 header with status",
    "no status received",
)
_TOO_SLOW = ("timed out", "handshaker shutdown", "fd shutdown")


def is_grpcs_own(code: str, text: str) -> bool:
    """Whether a status without details tells of the connection, and not of what the agent thinks."""
    return code == "UNAVAILABLE" or text.lower().startswith(_BROKEN)


def grpc_error(url: Url, text: str, connect_seconds: float | None) -> TransportError:
    """The connection over gRPC was not made, or broke.

    Args:
        url: the interface's address.
        text: what gRPC says.
        connect_seconds: the limit for one try to connect, where it is known.
    """
    known = text.lower()
    # An agent may pass on what gRPC said of another one; then the request was sent.
    if known.startswith(_NEVER_RESOLVED) and url.host in known:
        return TransportError(f"the host name {url.host} cannot be resolved", url=str(url), sent=False)
    if not known.startswith(_NEVER_CONNECTED) or f":{url.port}: " not in known:
        return TransportError(f"the connection broke before the answer was complete ({text[:200]})", url=str(url))
    if connect_seconds is not None and any(told in known for told in _TOO_SLOW):
        return connect_timeout(url, connect_seconds)
    if "connection refused" in known:
        told = f"nothing listens on {url.host}:{url.port} (connection refused)"
    else:
        told = f"{url.host}:{url.port} cannot be reached ({text.rpartition(': ')[2][:100]})"
    return TransportError(told, url=str(url), sent=False)
