"""Publish an agent's card over HTTP (§8.2, §8.6), as an ASGI application."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from a2a_discovery import protojson
from a2a_discovery.dataclasses import as_message
from a2a_discovery.errors import MissingExtraError
from a2a_discovery.reference import WELL_KNOWN_PATH
from a2a_discovery.validation import ensure_valid

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_ENTITY_TAG: Final = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


def card_app(card: Any, *, max_age: int = 300) -> Starlette:
    """An application that answers GET and HEAD at ``/.well-known/agent-card.json`` with ``card`` (§8.2, RFC 8615).

    The body is ProtoJSON and is made once. Its ETag is a hash of it, and a request whose If-None-Match names it gets
    304 (RFC 9110 §13.1.2). What is done to ``card`` later is not published.

    Args:
        card: an ``AgentCard``, or its betterproto dataclass.
        max_age: seconds for which a client may keep the card without asking again (RFC 9111 §5.2.2.1).

    Raises:
        CardError: a REQUIRED field is missing (§5.7); ``.problems`` names every one.
        MissingExtraError: starlette is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.responses import Response
        from starlette.routing import Route
    except ModuleNotFoundError as exc:
        raise MissingExtraError("a2a_discovery.server", "server") from exc
    message = as_message(card)
    ensure_valid(message)
    body = protojson.dumps(message)
    etag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": f"max-age={max_age}"}

    async def answer(request: Request) -> Response:
        if _names(request.headers.getlist("if-none-match"), etag):
            return Response(status_code=304, headers=headers)
        return Response(body, media_type="application/json", headers=headers)

    return Starlette(routes=[Route(WELL_KNOWN_PATH, answer, methods=["GET"])])


def _names(if_none_match: list[str], etag: str) -> bool:
    """Whether one of the tags is ``etag`` by the weak comparison (RFC 9110 §8.8.3.2), or stands for any (``*``)."""
    field = ", ".join(if_none_match)
    return field.strip() == "*" or etag in _ENTITY_TAG.findall(field)
