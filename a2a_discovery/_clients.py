"""The HTTP clients of our own."""

from __future__ import annotations

import os
import ssl
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import Any

import httpx

from a2a_discovery.policy import UrlPolicy


def async_client(policy: UrlPolicy, **options: Any) -> httpx.AsyncClient:
    """A client that remembers no server: what one sets, no other is told.

    Args:
        policy: which addresses may be called.
        options: further ones of httpx, such as ``limits`` and ``verify``.
    """
    options = {"verify": trusted_context(), **options}
    # A proxy of the environment would look names up itself, where nobody sees what it finds.
    transport = httpx.AsyncHTTPTransport(**_of_transport(options)) if policy.deny_private else None
    return httpx.AsyncClient(cookies=_no_jar(), transport=transport, **options)


def sync_client(policy: UrlPolicy, **options: Any) -> httpx.Client:
    """The same for blocking code."""
    options = {"verify": trusted_context(), **options}
    transport = httpx.HTTPTransport(**_of_transport(options)) if policy.deny_private else None
    return httpx.Client(cookies=_no_jar(), transport=transport, **options)


def trusted_context() -> ssl.SSLContext:
    """The TLS context of the clients that present no certificate; not to be changed.

    To load the certificates takes some 30 ms, as long as ten fetches, so it is done once, unless others are named.
    """
    named = (os.environ.get(name, "") for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    return _context(tuple((path, _changed(path)) for path in named))


@lru_cache(maxsize=4)
def _context(_named: tuple[tuple[str, int], ...]) -> ssl.SSLContext:
    return httpx.create_ssl_context()


def _changed(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns if path else 0
    except OSError:
        return 0


def _of_transport(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in ("limits", "verify")}


def _no_jar() -> CookieJar:
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))
