"""Say why a call failed; no I/O here."""

from __future__ import annotations

import httpx

from a2a_discovery._fetch_errors import failure_message
from a2a_discovery.errors import CallTimeoutError, TransportError
from a2a_discovery.policy import Url

_BEFORE_ANYTHING_IS_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


def http_error(url: Url, exc: Exception, *, answered: bool) -> TransportError:
    """There was no answer over HTTP, or (``answered``) it broke off."""
    if answered:
        return TransportError("the connection broke before the answer was complete", url=url.without_query())
    sent = not isinstance(exc, _BEFORE_ANYTHING_IS_SENT)
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


# The beginnings of what gRPC says of a connection that was never made: the status alone, UNAVAILABLE, is that of one
# which broke, too.
_NEVER_CONNECTED = ("failed to connect", "dns resolution failed", "domain name not found", "no route to host")


def grpc_error(url: Url, text: str) -> TransportError:
    """The status of a call over gRPC was UNAVAILABLE, with nothing that the agent itself said."""
    known = text.lower()
    sent = not known.startswith(_NEVER_CONNECTED)
    if sent:
        told = "the connection broke before the answer was complete"
    elif "connection refused" in known:
        told = f"nothing listens on {url.host}:{url.port} (connection refused)"
    elif "dns" in known or "domain" in known:
        told = f"the host name {url.host} cannot be resolved"
    else:
        told = f"{url.host}:{url.port} cannot be reached ({text.rpartition(': ')[2][:100]})"
    return TransportError(told, url=str(url), sent=sent)
