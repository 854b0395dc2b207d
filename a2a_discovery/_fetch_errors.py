"""Say why a fetch failed, and what to do about it; no I/O here."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from http import HTTPStatus

import httpx

from a2a_discovery._redirects import RedirectChain
from a2a_discovery._response import ResponseHead, retry_after
from a2a_discovery.errors import FetchError, FetchTimeoutError
from a2a_discovery.policy import Url, UrlRefusedError
from a2a_discovery.reference import WELL_KNOWN_PATH

# What OpenSSL calls bytes that are no TLS record, over its versions.
_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"})


def timeout_error(
    chain: RedirectChain, exc: BaseException, head: ResponseHead | None, *, connect: float | None, total: float
) -> FetchError:
    """A limit ran out: the one for connecting (``connect`` seconds), or the one of the whole fetch."""
    if connect is not None and isinstance(exc, httpx.ConnectTimeout):
        message = f"no connection within {connect:g} s (connect_timeout)"
    else:
        message = f"no whole answer within {total:g} s (timeout, which covers all redirects)"
    return chain.error(message, head, kind=FetchTimeoutError)


def status_error(chain: RedirectChain, head: ResponseHead, first_bytes: bytes) -> FetchError:
    """The answer's status is not 200."""
    message = _status_message(chain.current, head, first_bytes)
    seconds = retry_after(head.headers.get("retry-after"))
    if seconds is not None:
        message += f"; it asks to retry after {seconds:.0f} s"
    return chain.error(message, head, first_bytes, retry_after=seconds)


def web_page_error(chain: RedirectChain, head: ResponseHead, first_bytes: bytes) -> FetchError:
    """The answer is HTML."""
    message = "it is a web page, perhaps a login page, not an agent card: give the URL of the card itself"
    return chain.error(message, head, first_bytes)


def connection_error(chain: RedirectChain, exc: Exception, head: ResponseHead | None) -> FetchError:
    """There was no answer, or (with ``head``) it broke off."""
    if head is not None:
        return chain.error("the connection broke before the answer was complete", head)
    return chain.error(failure_message(chain.current, exc), None)


def _status_message(url: Url, head: ResponseHead, first_bytes: bytes) -> str:
    path = url.rest or "/"
    elsewhere = "if the card lives elsewhere, give its own URL"
    match head.status:
        case 401 | 403:
            return f"credentials are demanded for {path}; or the path is wrong: {elsewhere}"
        case 404 | 410:
            return f"there is nothing at {path}; {elsewhere}"
        case 405:
            return f"it does not take GET, so this looks like an RPC endpoint, not a card: append {WELL_KNOWN_PATH}"
        case 400 if url.scheme == "http" and b"https" in first_bytes.lower():
            return "the port speaks TLS: write https:// instead of http://"
    try:
        phrase = f"{head.status} {HTTPStatus(head.status).phrase}"
    except ValueError:
        phrase = str(head.status)
    return f"it answered {phrase}, where only 200 brings a card"


def failure_message(url: Url, exc: Exception) -> str:
    """Why there was no answer; no text of ``exc`` that could quote a request header gets in."""
    if isinstance(exc, UrlRefusedError):
        return f"it is not called: {exc}"
    address = f"{url.host}:{url.port}"
    causes = list(_causes(exc))
    kinds = tuple(type(c) for c in causes)
    if any(isinstance(c, socket.gaierror) for c in causes):
        return f"the host name {url.host} cannot be resolved"
    if ConnectionRefusedError in kinds:
        return f"nothing listens on {address} (connection refused)"
    if isinstance(exc, httpx.ProxyError):
        return "the proxy does not connect us"
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate of {url.host} is not trusted: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError) and cause.reason in _NO_TLS:
            return f"{address} does not speak TLS: for plain http write http:// instead of https://"
    if isinstance(exc, httpx.ConnectError):
        return _connect_message(url, causes)
    if isinstance(exc, httpx.InvalidURL | UnicodeError) and not _is_host_name(url):
        return f"{url.host} is no valid host name"
    if isinstance(exc, httpx.InvalidURL | UnicodeError) or "in location header" in str(exc):
        # httpx reads it even where redirects are not followed.
        return "it redirects to a Location that cannot be read"
    if isinstance(exc, httpx.RemoteProtocolError | httpx.NetworkError | OSError):
        return _protocol_message(url, exc)
    return f"the request failed ({type(exc).__name__})"


def _protocol_message(url: Url, exc: Exception) -> str:
    told = str(exc)
    if not isinstance(exc, httpx.RemoteProtocolError) or "disconnected" in told:
        symptom = "it hung up without an HTTP answer"
    elif "status line" in told or "request line" in told:
        symptom = "its answer is not HTTP/1"
    elif "too long" in told:
        return "its header is larger than is read"
    else:
        return "its header is not valid HTTP/1"
    tls = ", or a port that speaks TLS only (https://)" if url.scheme == "http" else ""
    return f"{symptom}: this may be a gRPC port{tls}"


def _connect_message(url: Url, causes: list[BaseException]) -> str:
    for cause in causes:
        if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError | ConnectionResetError) and cause.strerror:
            return f"{url.host}:{url.port} cannot be reached: {cause.strerror}"
    if url.scheme == "https":
        reason = next((c.reason for c in causes if isinstance(c, ssl.SSLError) and c.reason), "it hung up")
        return f"the TLS handshake failed ({reason}): this may be a port without TLS, or a gRPC port"
    return f"{url.host}:{url.port} cannot be reached"


def _is_host_name(url: Url) -> bool:
    """Whether both httpx and the system's name lookup can spell the host (RFC 5891 §4.4, RFC 1035 §2.3.4)."""
    try:
        httpx.URL(str(url)).host.encode("idna")
    except (httpx.InvalidURL, UnicodeError):
        return False
    return True


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """``exc``, what caused it, and so on; members of groups included (several addresses were tried)."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [exc]
    while waiting:
        current = waiting.pop(0)
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [current.__cause__ or current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
