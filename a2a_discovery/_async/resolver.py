"""Fetch an agent's card."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Any

import httpx

from a2a_discovery import _service_params
from a2a_discovery._deadline import AsyncAlarm, AsyncDeadline, TimeLimitError
from a2a_discovery._fetch_errors import connection_error, status_error, timeout_error, web_page_error
from a2a_discovery._guard import AsyncGuard, async_transport
from a2a_discovery._redirects import RedirectChain
from a2a_discovery._response import FIRST_BYTES, BodyError, BodyReader, ResponseHead
from a2a_discovery._retry import checked_limits
from a2a_discovery.card import parse_card
from a2a_discovery.errors import CardError, FetchError, SignatureError
from a2a_discovery.fetched import FetchedDocument, ResolvedCard
from a2a_discovery.policy import UrlPolicy
from a2a_discovery.reference import card_url
from a2a_discovery.signatures import key_source, verify_card_async
from a2a_discovery.types import AgentCard
from a2a_discovery.verification import SignaturePolicy, Verification, checked_policy

_log = logging.getLogger("a2a_discovery")

_NEUTRAL_HEADERS = {
    "Accept": "application/json, application/a2a+json",
    "A2A-Version": "1.0",
    "Accept-Encoding": "gzip",
    "User-Agent": "a2a-discovery",
}


class CardResolver:
    """Fetches agent cards over HTTP (§8.2) and reads them; a context manager.

    Args:
        client: sends the requests, with its own headers, cookies, params and auth, and stays open; by default there is
            one of the resolver's own. Its event hooks and TLS client certificate go along wherever redirects lead.
        headers: further request headers, most often credentials.
        policy: where redirects may lead. Its ``allow_hosts`` and ``deny_private`` are about the URL asked for too, and
            ``same_origin`` keeps to that one's origin, unless the policy is already ``within`` another.
        max_bytes: the largest body that is read, counted after decompression.
        connect_timeout: seconds for one connection, TLS included.
        timeout: seconds for the whole fetch, all redirects included.
        max_redirects: how many redirects are followed.
        signatures: ``"require"`` takes cards whose signature is verified, ``"if-present"`` also those without one, and
            ``"off"`` looks at none (§8.4.3).
        keys: whose signatures count, as for ``verify_card_async``; a ``JwksResolver`` fetches them. The time that it
            takes comes on top of ``timeout``.

    Raises:
        ValueError: a limit is no number of seconds above 0, or there are no keys to check signatures with.
        MissingExtraError: signatures are to be checked, but the extra ``signing`` is not installed.

    Once a redirect leaves the origin asked for, neither ``headers`` nor anything of the client's is sent any more.
    """

    def __init__(
        self,
        client: httpx.AsyncClient | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        policy: UrlPolicy | None = None,
        max_bytes: int = 2 * 1024 * 1024,
        connect_timeout: float = 5.0,
        timeout: float = 15.0,
        max_redirects: int = 5,
        signatures: SignaturePolicy = "off",
        keys: Any = None,
    ) -> None:
        checked_limits(timeout=timeout, connect_timeout=connect_timeout)
        self._signatures = checked_policy(signatures)
        self._keys = None if signatures == "off" else key_source(keys)
        self._own_client = client is None
        self._policy = policy or UrlPolicy()
        self._client = client or _new_client(self._policy)
        self._headers = httpx.Headers(_service_params.checked(headers or {}))
        self._max_bytes = max_bytes
        self._connect_timeout = connect_timeout
        self._timeout = timeout
        self._max_redirects = max_redirects
        self._alarm = AsyncAlarm()
        self.clock = time.time

    async def __aenter__(self) -> CardResolver:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; a client that was passed in stays open."""
        self._alarm.close()
        if self._own_client:
            await self._client.aclose()

    async def resolve(
        self, reference: str, *, strict: bool = True, refresh: bool = False, named_by: str | None = None
    ) -> ResolvedCard:
        """Fetch and read the card of ``reference``: a host, a base URL or the card's own URL (§8.2).

        Args:
            reference: where the card is.
            strict: False also takes a card with problems, as :func:`a2a_discovery.parse_card` does, unless its
                signature is verified. Then the card is the one that the verified bytes hold.
            refresh: ask the server, however fresh the cached card is (RFC 9111 §5.2.1.4).
            named_by: the URL of the document that names ``reference``, such as a catalog: it decides whom we trust.
                At another origin, ``reference`` is held against ``policy`` as a redirect is, and gets no credentials.

        Raises:
            FetchError: there is no card to be had; FetchTimeoutError when a time limit ran out.
            CardError: there is one, but it is not valid; its ``.url`` says where.
            SignatureError: its signatures are not what ``signatures`` demands.
        """
        document = await self._fetch(card_url(reference), named_by)
        card, verification = await self.read(document.body, strict=strict, url=document.url)
        return ResolvedCard(
            card=card,
            url=document.url,
            requested_url=document.requested_url,
            data=document.body,
            headers=document.headers,
            redirects=document.redirects,
            verification=verification,
        )

    async def read(
        self, data: bytes | Mapping[str, Any], *, strict: bool = True, url: str | None = None
    ) -> tuple[AgentCard, Verification | None]:
        """Read a card that is there already, under the same ``signatures`` and ``keys`` as one that is fetched.

        Args:
            data: JSON text in UTF-8, or the object decoded from it.
            strict: as for ``resolve``.
            url: where it came from, for the errors.

        Raises:
            CardError: it is not valid.
            SignatureError: its signatures are not what ``signatures`` demands.
        """
        try:
            if self._keys is None:
                return parse_card(data, strict=strict), None
            verification = await verify_card_async(data, self._keys, policy=self._signatures)
            if not verification.accepted:
                raise SignatureError(verification, url=url)
            if verification.card is None:
                return parse_card(data, strict=strict), verification
            return verification.card, verification
        except CardError as error:
            error.url = url
            raise

    async def fetch(self, url: str) -> FetchedDocument:
        """GET ``url``, an absolute http or https URL, and follow its redirects; only 200 is a document.

        Raises:
            FetchError: no document was had; FetchTimeoutError when a time limit ran out.
        """
        return await self._fetch(url)

    async def _fetch(self, url: str, named_by: str | None = None) -> FetchedDocument:
        chain = RedirectChain(url, self._policy, self._max_redirects, named_by)
        try:
            async with AsyncDeadline(self._timeout, self._alarm) as deadline:
                document = None
                while document is None:
                    document = await self._exchange(chain, deadline)
        except TimeLimitError as exc:
            raise timeout_error(chain, exc, None, connect=None, total=self._timeout) from exc
        _log.debug("fetched %d bytes from %s", len(document.body), chain.current.without_query())
        return document

    async def _exchange(self, chain: RedirectChain, deadline: AsyncDeadline) -> FetchedDocument | None:
        """One request; None when the answer is a redirect, which ``chain`` has followed then."""
        _log.debug("GET %s", chain.current.without_query())
        head = None
        try:
            response = await self._send(chain, deadline)
            try:
                head = ResponseHead.read(response.status_code, response.headers.multi_items())
                deadline.watch(response.extensions.get("network_stream"))
                if head.is_redirect:
                    chain.follow(head)
                    return None
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

    async def _send(self, chain: RedirectChain, deadline: AsyncDeadline) -> httpx.Response:
        guard = AsyncGuard.of(self._policy, chain.current, own_client=self._own_client)
        response = await self._get(chain, deadline.extensions(self._connect_timeout, guard))
        if guard is not None:
            await guard.check_answer(response)
        return response

    async def _get(self, chain: RedirectChain, extensions: dict[str, Any]) -> httpx.Response:
        url = str(chain.current)
        if not chain.at_origin:
            request = httpx.Request("GET", url, headers=_NEUTRAL_HEADERS, extensions=extensions)
            return await self._client.send(request, stream=True, auth=None, follow_redirects=False)
        headers = httpx.Headers(_NEUTRAL_HEADERS)
        headers.update(self._headers)
        headers["Accept-Encoding"] = _NEUTRAL_HEADERS["Accept-Encoding"]
        if self._own_client:
            request = httpx.Request("GET", url, headers=headers, extensions=extensions)
        else:
            if "user-agent" not in self._headers:
                del headers["User-Agent"]
            # Default params would replace the query of the URL.
            params = httpx.URL(url).params if self._client.params else None
            request = self._client.build_request("GET", url, params=params, headers=headers, extensions=extensions)
        return await self._client.send(request, stream=True, follow_redirects=False)

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


def _new_client(policy: UrlPolicy) -> httpx.AsyncClient:
    # Without kept connections each fetch sees its connection open, which the deadline needs; without a jar no server
    # is recognised again.
    limits = httpx.Limits(max_keepalive_connections=0)
    return httpx.AsyncClient(
        limits=limits,
        transport=async_transport(policy, limits=limits),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    )
