"""From what a person writes to the URL of a card (§8.2).

A reference is a host, a base URL or the card's own URL. The card of a host is at its well-known path (RFC 8615).
"""

from __future__ import annotations

import re

from a2a_discovery.errors import FetchError
from a2a_discovery.policy import Url, UrlRefusedError, parse_url

WELL_KNOWN_PATH = "/.well-known/agent-card.json"
CATALOG_PATH = "/.well-known/ai-catalog.json"

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# No white space and no ASCII punctuation but for dot, hyphen and underscore: which names are hosts, the policy tells.
_NO_HOST = r"\x00-\x2c/:-@\[-^`{-\x7f"
_BARE_HOST = re.compile(
    rf"(?P<host>\[[0-9A-Fa-f:.]+\]|[^.{_NO_HOST}][^{_NO_HOST}]*)(?P<port>:[0-9]+)?(?=(?P<next>[/?#])|\Z)"
)
# An "@" in any spelling that some parser takes for one; everything before the last of them may be a password, also
# where a slash or a question mark in the password made the URL unreadable.
_USERINFO = re.compile(r"\A([A-Za-z][A-Za-z0-9+.-]*:/+)?.*(@|%40|\uff20|\ufe6b)", re.DOTALL | re.IGNORECASE)
_SHOWN = 200


def card_url(reference: str) -> str:
    """The URL at which the card of ``reference`` is fetched; nothing is sent.

    ``https://host/path`` gets ``/.well-known/agent-card.json`` appended to its path, unless the path ends in ``.json``
    or there is a query: then it is the card's own URL. A bare ``host[:port][/path]`` is https, on loopback http. A
    fragment is dropped, and so is white space around the reference.

    Raises:
        FetchError: the reference is no host and no http or https URL; the message says what to write instead.
    """
    return _located(reference, WELL_KNOWN_PATH)


def catalog_url(reference: str) -> str:
    """The URL at which the AI catalog of ``reference`` is fetched: as ``card_url``, with ``ai-catalog.json``.

    Raises:
        FetchError: the reference is no host and no http or https URL; the message says what to write instead.
    """
    return _located(reference, CATALOG_PATH)


def _located(reference: str, well_known_path: str) -> str:
    if not isinstance(reference, str):
        raise TypeError(f"a reference is a str, not {type(reference).__name__}")
    url = _read(reference.strip())
    path, question_mark, _ = url.rest.partition("?")
    if not question_mark and not path.lower().endswith(".json"):
        path = path.rstrip("/") + well_known_path
        url = Url(url.scheme, url.host, url.port, path)
    return str(url)


def read_url(url: str) -> Url:
    """``url`` taken apart by :func:`a2a_discovery.policy.parse_url`.

    Raises:
        FetchError: it is no http or https URL that leads to one host.
    """
    return _parse(url, url)


def masked(text: str) -> str:
    """``text`` fit for a message: without what may be a user name and password, in one line, cut to 200 characters."""
    shown = _USERINFO.sub(r"\1***@", text)
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"


def _parse(url: str, reference: str) -> Url:
    try:
        url.encode()
        return parse_url(url)
    except UrlRefusedError as exc:
        raise _refusal(reference, str(exc)) from exc
    except UnicodeEncodeError:
        raise _refusal(reference, "it holds half a character (a lone surrogate)") from None


def _read(reference: str) -> Url:
    if not reference:
        raise _refusal(reference, "it is empty: write a host (agent.example), or a URL (https://agent.example/path)")
    if "://" in reference and _SCHEME.match(reference):
        return read_url(reference)
    if "@" in re.split(r"[/?#]", reference, maxsplit=1)[0]:
        raise _refusal(reference, "it holds a user name or password: credentials do not belong into a URL")
    if reference.startswith(("/", ".")):
        raise _refusal(reference, "it is a path without a host: write https://host/path")
    bare = _BARE_HOST.match(reference)
    if bare is None or bare["host"].lower() in ("http", "https"):
        raise _refusal(reference, _why_no_host(reference))
    url = _parse(f"http://{reference}", reference)
    if bare["port"] is None and not url.is_loopback and _is_file(bare):
        raise _refusal(reference, "it looks like a file or a relative path: write https://host/path")
    return url if url.is_loopback else _parse(f"https://{reference}", reference)


def _is_file(bare: re.Match[str]) -> bool:
    has_path = bare["next"] == "/"
    return bare["host"].lower().endswith(".json") or (has_path and not re.search(r"[.:]", bare["host"]))


def _why_no_host(reference: str) -> str:
    if reference.count(":") > 1 and re.fullmatch(r"[0-9A-Fa-f:.]*", reference):
        return "an IPv6 address is written in brackets: [::1]:8080"
    if scheme := _SCHEME.match(reference):
        name = masked(scheme.group()[:-1])
        if name.lower() in ("http", "https"):
            return f"after {name}: two slashes are missing: write {name}://host/path"
        return f"{name!r} is no scheme that is fetched, or its port is no number: write https://host:port/path"
    return "it is neither a host nor a URL: write agent.example, or https://agent.example/path"


def _refusal(reference: str, reason: str) -> FetchError:
    shown = masked(reference)
    return FetchError(f"{shown!r} is no reference to an agent card: {reason}", url=shown)
