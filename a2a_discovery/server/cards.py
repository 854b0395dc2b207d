"""Publish an agent's card over HTTP (§8.2, §8.6), as an ASGI application."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from a2a_discovery import protojson
from a2a_discovery._response import http_date
from a2a_discovery.dataclasses import as_message
from a2a_discovery.errors import MissingExtraError
from a2a_discovery.reference import WELL_KNOWN_PATH
from a2a_discovery.types import AgentCard
from a2a_discovery.validation import ensure_valid

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_ENTITY_TAG: Final = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


class CardDocument:
    """A card as an HTTP document; see ``card_app`` for the arguments.

    Attributes:
        body: the card in its JSON form.
        headers: what goes with it, and with 304.
    """

    def __init__(self, card: Any, *, max_age: int = 300, last_modified: datetime | None = None) -> None:
        message = as_message(card, AgentCard)
        ensure_valid(message)
        self.body = protojson.dumps(message)
        moment = last_modified or datetime.now(UTC)
        if moment.tzinfo is None:
            raise ValueError("last_modified needs a time zone: datetime(…, tzinfo=UTC)")
        self._modified = moment.astimezone(UTC).replace(microsecond=0)
        self._etag = f'"{sha256(_unsigned(message)).hexdigest()[:32]}"'
        self.headers = {
            "ETag": self._etag,
            "Last-Modified": format_datetime(self._modified, usegmt=True),
            "Cache-Control": f"max-age={max_age}",
        }

    def is_known(self, if_none_match: Sequence[str], if_modified_since: str | None) -> bool:
        """Whether a client has this card already, so that 304 is the answer (RFC 9110 §13.2.2).

        Args:
            if_none_match: the values of If-None-Match; when there are any, the other header does not count.
            if_modified_since: the value of If-Modified-Since.
        """
        if if_none_match:
            # The weak comparison (RFC 9110 §8.8.3.2); * stands for any.
            field = ", ".join(if_none_match)
            return field.strip() == "*" or self._etag in _ENTITY_TAG.findall(field)
        since = http_date(if_modified_since or "")
        return since is not None and self._modified <= since


def card_app(card: Any, *, max_age: int = 300, last_modified: datetime | None = None) -> Starlette:
    """An application that answers GET and HEAD at ``/.well-known/agent-card.json`` with ``card`` (§8.2, RFC 8615).

    The body is ProtoJSON and is made once. Its ETag is a hash of the card without its signatures, so that signing it
    anew changes nothing for those who have it. A request whose If-None-Match names it gets 304 (RFC 9110 §13.1), as
    does one whose If-Modified-Since is not before ``last_modified``. What is done to ``card`` later is not published.

    Args:
        card: an ``AgentCard``, or its betterproto dataclass.
        max_age: seconds for which a client may keep the card without asking again (RFC 9111 §5.2.2.1).
        last_modified: when this card was published, with a time zone; by default now. Counted in whole seconds.

    Raises:
        CardError: a REQUIRED field is missing (§5.7); ``.problems`` names every one.
        MissingExtraError: starlette is not installed.
        ValueError: ``last_modified`` has no time zone.
    """
    try:
        from starlette.applications import Starlette
        from starlette.responses import Response
        from starlette.routing import Route
    except ModuleNotFoundError as exc:
        raise MissingExtraError("a2a_discovery.server", "server") from exc
    document = CardDocument(card, max_age=max_age, last_modified=last_modified)

    async def answer(request: Request) -> Response:
        headers = request.headers
        if document.is_known(headers.getlist("if-none-match"), headers.get("if-modified-since")):
            return Response(status_code=304, headers=document.headers)
        return Response(document.body, media_type="application/json", headers=document.headers)

    return Starlette(routes=[Route(WELL_KNOWN_PATH, answer, methods=["GET"])])


def _unsigned(card: AgentCard) -> bytes:
    copy = AgentCard()
    copy.CopyFrom(card)
    copy.ClearField("signatures")
    return protojson.dumps(copy)
