"""Documents over HTTP: limits, redirects, and the connection; what may be kept of them is decided elsewhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from a2a_discovery._clients import async_client
from a2a_discovery._deadline import AsyncAlarm, AsyncDeadline, TimeLimitError
from a2a_discovery._fetch_errors import connection_error, status_error, timeout_error, web_page_error
from a2a_discovery._freshness import Freshness, born
from a2a_discovery._guard import AsyncGuard
from a2a_discovery._redirects import RedirectChain
from a2a_discovery._response import FIRST_BYTES, BodyError, BodyReader, ResponseHead
from a2a_discovery.errors import FetchError
from a2a_discovery.fetched import FetchedDocument, ResolvedCard
from a2a_discovery.policy import UrlPolicy
from a2a_discovery.reference import card_url
from a2a_discovery.types import AgentCard
from a2a_discovery.verification import Verification

_log = logging.getLogger("a2a_discovery")

_NEUTRAL_HEADERS = {
    "Accept": "application/json, application/a2a+json",
    "A2A-Version": "1.0",
    "Accept-Encoding": "gzip",
    "User-Agent": "a2a-discovery",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered: a ``document``, or None for "not modified"; when it was ``asked`` and had ``answered``.

    Both are Unix times.
    """

    head: ResponseHead
    document: FetchedDocument | None
    asked: float
    answered: float

    def resolved(
        self, card: AgentCard, verification: Verification | None, named_by: str | None, default_lifetime: int
    ) -> ResolvedCard:
        """The ``card`` that was read from the document, and what became of its signatures."""
        assert self.document is not None
        document = self.document
        moment = born(self.head.headers, self.asked, self.answered)
        return ResolvedCard(
            card=card,
            url=document.url,
            requested_url=document.requested_url,
            data=document.body,
            headers=document.headers,
            redirects=document.redirects,
            verification=verification,
            age=self.answered - moment,
            revalidate_at=Freshness.read(self.head.headers, self.answered, default_lifetime).ends(moment),
            named_by=named_by,
        )


class Visitor(Protocol):
    """Looks at each request of a fetch before it is sent."""

    async def look(self, url: str, headers: Mapping[str, str]) -> Mapping[str, str] | None:
        """Further header fields for the request; None when there is no need to send it."""
        ...

    async def still_good(self, answer: Answer) -> bool:
        """Whether there is the document that is not modified; if not, it is asked for once more."""
        ...


class Fetcher:
    """Fetches documents; see ``CardResolver`` for the arguments."""

    def __init__(
        self,
        client: httpx.AsyncClient | None,
        *,
        headers: httpx.Headers,
        policy: UrlPolicy,
        max_bytes: int,
        connect_timeout: float,
        timeout: float,
        max_redirects: int,
    ) -> None:
        self.own_client = client is None
        # Without kept connections each fetch sees its connection open, which the deadline needs.
        self._client = client or async_client(policy, limits=httpx.Limits(max_keepalive_connections=0))
        self._headers = headers
        self._policy = policy
        self._max_bytes = max_bytes
        self._connect_timeout = connect_timeout
        self._timeout = timeout
        self._max_redirects = max_redirects
        self._alarm = AsyncAlarm()

    async def aclose(self) -> None:
        """Close the connections; a client that was passed in stays open."""
        self._alarm.close()
        if self.own_client:
            await self._client.aclose()

    def chain(self, url: str, named_by: str | None = None) -> RedirectChain:
        """Where a fetch of ``url`` begins; raises FetchError when it must not be fetched."""
        return RedirectChain(url, self._policy, self._max_redirects, named_by)

    def card_chain(self, reference: str, named_by: str | None) -> RedirectChain:
        """The same for the card of ``reference``; one that a document names is at the very URL."""
        return self.chain(card_url(reference) if named_by is None else reference, named_by)

    async def fetch(
        self, chain: RedirectChain, visitor: Visitor | None = None, clock: Callable[[], float] = time.time
    ) -> Answer | None:
        """GET what ``chain`` leads to; only 200 is a document. None when ``visitor`` found that nothing is to be sent.

        Raises:
            FetchError: no document was had; FetchTimeoutError when a time limit ran out.
        """
        try:
            async with AsyncDeadline(self._timeout, self._alarm) as deadline:
                while True:
                    request = self.request(chain)
                    further = {} if visitor is None else await visitor.look(str(chain.current), request.headers)
                    if further is None:
                        return None
                    request.headers.update(further)
                    asked = clock()
                    known = any(name.lower().startswith("if-") for name in further)
                    found = await self._exchange(chain, request, deadline, may_be_known=known)
                    if isinstance(found, FetchedDocument):
                        _log.debug("fetched %d bytes from %s", len(found.body), chain.current.without_query())
                        return Answer(ResponseHead(found.status, found.headers), found, asked, clock())
                    if found is not None and visitor is not None:
                        answer = Answer(found, None, asked, clock())
                        if await visitor.still_good(answer):
                            return answer
        except TimeLimitError as exc:
            raise timeout_error(chain, exc, None, connect=None, total=self._timeout) from exc

    def request(self, chain: RedirectChain) -> httpx.Request:
        """The request that is due, with what the client adds to it, but not what its ``auth`` does.

        Raises:
            FetchError: it cannot be made.
        """
        try:
            return self._build(chain)
        except Exception as exc:
            # A URL that httpx does not take, though it was read here.
            raise connection_error(chain, exc, None) from exc

    def _build(self, chain: RedirectChain) -> httpx.Request:
        url = str(chain.current)
        if not chain.at_origin:
            return httpx.Request("GET", url, headers=_NEUTRAL_HEADERS)
        headers = httpx.Headers(_NEUTRAL_HEADERS)
        headers.update(self._headers)
        headers["Accept-Encoding"] = _NEUTRAL_HEADERS["Accept-Encoding"]
        if self.own_client:
            return httpx.Request("GET", url, headers=headers)
        if "user-agent" not in self._headers:
            del headers["User-Agent"]
        # Default params would replace the query of the URL.
        params = httpx.URL(url).params if self._client.params else None
        return self._client.build_request("GET", url, params=params, headers=headers)

    async def _exchange(
        self, chain: RedirectChain, request: httpx.Request, deadline: AsyncDeadline, *, may_be_known: bool
    ) -> FetchedDocument | ResponseHead | None:
        """One request: a document, the head of a 304, or None for a redirect, which ``chain`` has followed then."""
        _log.debug("GET %s", chain.current.without_query())
        head = None
        try:
            response = await self._send(chain, request, deadline)
            try:
                head = ResponseHead.read(response.status_code, response.headers.multi_items())
                deadline.watch(response.extensions.get("network_stream"))
                if head.is_redirect:
                    chain.follow(head)
                    return None
                if head.status == 304 and may_be_known:
                    return head
                return await self._read(response, head, chain, deadline)
            finally:
                await response.aclose()
        except (FetchError, TimeLimitError):
            raise
        except httpx.TimeoutException as exc:
            connect = None if deadline.expired else self._connect_timeout
            raise timeout_error(chain, exc, head, connect=connect, total=self._timeout) from exc
        except Exception as exc:
            # A hostile answer surfaces as whatever httpx and the layers below it did not foresee.
            raise connection_error(chain, exc, head) from exc

    async def _send(self, chain: RedirectChain, request: httpx.Request, deadline: AsyncDeadline) -> httpx.Response:
        guard = AsyncGuard.of(self._policy, chain.current, own_client=self.own_client)
        request.extensions = deadline.extensions(self._connect_timeout, guard)
        auth: Any = {} if chain.at_origin else {"auth": None}
        response = await self._client.send(request, stream=True, follow_redirects=False, **auth)
        if guard is not None:
            await guard.check_answer(response)
        return response

    async def _read(
        self, response: httpx.Response, head: ResponseHead, chain: RedirectChain, deadline: AsyncDeadline
    ) -> FetchedDocument:
        if head.status != 200:
            raise status_error(chain, head, await self._read_start(response, head, deadline))
        if head.is_html:
            raise web_page_error(chain, head, await self._read_start(response, head, deadline))
        reader = BodyReader(head, self._max_bytes)
        try:
            reader.check_head()
            await self._read_into(reader, response, deadline)
            body = reader.finish()
        except BodyError as exc:
            raise chain.error(str(exc), head, reader.first_bytes) from exc
        if body.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
            raise web_page_error(chain, head, reader.first_bytes)
        return FetchedDocument(
            requested_url=str(chain.requested),
            url=str(chain.current),
            status=head.status,
            headers=head.headers,
            body=body,
            redirects=tuple(chain.redirects),
        )

    async def _read_start(self, response: httpx.Response, head: ResponseHead, deadline: AsyncDeadline) -> bytes:
        """The first bytes of a body that is only shown: what is wrong with the rest does not matter."""
        reader = BodyReader(head, FIRST_BYTES)
        with suppress(BodyError, httpx.HTTPError, OSError):
            await self._read_into(reader, response, deadline)
        return reader.first_bytes

    async def _read_into(self, reader: BodyReader, response: httpx.Response, deadline: AsyncDeadline) -> None:
        if response.is_stream_consumed:
            # By a transport that answers from memory, or by an auth that had to see the body: httpx has decoded it.
            reader.feed_decoded(response.content)
            return
        async for chunk in response.aiter_raw():
            deadline.check()
            reader.feed(chunk)
