"""Where a request's path leads: to the card, to JSON-RPC, or to a route of HTTP+JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

from a2a_discovery.policy import UrlRefusedError, parse_url
from a2a_discovery.reference import WELL_KNOWN_PATH
from a2a_discovery.types import AgentCard

CARD: Final = "card"
JSONRPC: Final = "JSONRPC"
REST: Final = "HTTP+JSON"

_SAFE: Final = "/:@!$&'()*+,;=~-._"


@dataclass(frozen=True, slots=True)
class Place:
    """What is at a path: ``CARD``, ``JSONRPC`` or ``REST``, and what follows the binding's own path, encoded."""

    kind: str
    below: str = ""


class Paths:
    """The paths of an agent: the well-known one, and those of its card's interfaces.

    Args:
        card: its card.
        jsonrpc_path: the path of JSON-RPC in place of those in the card.
        rest_path: the path below which the routes of HTTP+JSON are, in place of those in the card.
    """

    def __init__(self, card: AgentCard, *, jsonrpc_path: str | None = None, rest_path: str | None = None) -> None:
        self._jsonrpc = _paths(card, JSONRPC) if jsonrpc_path is None else {_trimmed(jsonrpc_path)}
        rest = _paths(card, REST) if rest_path is None else {_trimmed(rest_path)}
        # A base that lies below another one is the one that is meant.
        self._rest = sorted(rest, key=len, reverse=True)

    def find(self, scope: Mapping[str, Any]) -> Place | None:
        """What is at the path of an ASGI scope; None when nothing is.

        A mounted application sees the path of the whole, and which part of it is the mount's (``root_path``); the URLs
        of the card may be those of either. The well-known path is the mount's.
        """
        paths = _views(scope)
        if any(path == WELL_KNOWN_PATH for path in paths):
            return Place(CARD)
        if any(_trimmed(path) in self._jsonrpc for path in paths):
            return Place(JSONRPC)
        for base in self._rest:
            for path in paths:
                if path.startswith(f"{base}/"):
                    return Place(REST, path[len(base) :])
        return None


def _paths(card: AgentCard, binding: str) -> set[str]:
    paths = set()
    for entry in card.supported_interfaces:
        if entry.protocol_binding == binding:
            try:
                paths.add(_trimmed(parse_url(entry.url).rest.partition("?")[0]))
            except UrlRefusedError:
                continue  # nobody calls this one
    return paths


def _trimmed(path: str) -> str:
    return path.rstrip("/")


def _views(scope: Mapping[str, Any]) -> list[str]:
    """The path as it was sent, still percent-encoded, with and without the mount's part."""
    raw = scope.get("raw_path")
    # Without the raw path an encoded slash cannot be told from a real one any more.
    path = raw.decode("latin-1").partition("?")[0] if raw else quote(scope["path"], safe=_SAFE)
    root = scope.get("root_path", "").rstrip("/")
    if not root:
        return [path]
    segments, count = path.split("/"), root.count("/") + 1
    if len(segments) > count and unquote("/".join(segments[:count])) == root:
        return ["/".join(["", *segments[count:]]), path]
    return [path, quote(root, safe=_SAFE) + path]
