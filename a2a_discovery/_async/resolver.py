"""Fetch an agent's card."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from a2a_discovery import _service_params
from a2a_discovery._async.fetching import Fetcher
from a2a_discovery._freshness import DEFAULT_LIFETIME
from a2a_discovery._kept import UNSIGNED, Profile
from a2a_discovery._retry import checked_limits
from a2a_discovery.card import parse_card
from a2a_discovery.errors import CardError, SignatureError
from a2a_discovery.fetched import FetchedDocument, ResolvedCard
from a2a_discovery.policy import UrlPolicy
from a2a_discovery.signatures import key_source, verify_card_async
from a2a_discovery.types import AgentCard
from a2a_discovery.verification import SignaturePolicy, Verification, checked_policy

if TYPE_CHECKING:
    from a2a_discovery.cache import CardCache, Storage


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
        cache: keeps cards by HTTP's rules (§8.6, RFC 9111): a ``CardCache``, or a storage of hishel's for one, which
            stays open. None: every card is fetched.

    Attributes:
        clock: gives the Unix time with which ``age`` and ``revalidate_at`` of its cards are counted.

    Raises:
        TypeError: ``cache`` is none, or has a storage for the other kind of code, blocking or not.
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
        cache: CardCache | Storage | None = None,
    ) -> None:
        checked_limits(timeout=timeout, connect_timeout=connect_timeout)
        self._signatures = checked_policy(signatures)
        self._keys = None if signatures == "off" else key_source(keys)
        policy = policy or UrlPolicy()
        self._fetcher = Fetcher(
            client,
            headers=httpx.Headers(_service_params.checked(headers or {})),
            policy=policy,
            max_bytes=max_bytes,
            connect_timeout=connect_timeout,
            timeout=timeout,
            max_redirects=max_redirects,
        )
        self.clock = time.time
        self._cached = None
        if cache is not None:
            # Only where there is a cache is it worth its import.
            from a2a_discovery._async.cached import CachedCards

            profile = UNSIGNED if self._keys is None else Profile()
            self._cached = CachedCards(
                cache, self._fetcher, client, self.read, profile, deny_private=policy.deny_private
            )
            self.clock = self._cached.clock

    async def __aenter__(self) -> CardResolver:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; a client that was passed in stays open."""
        if self._cached is not None:
            await self._cached.aclose()
        await self._fetcher.aclose()

    async def resolve(
        self, reference: str, *, strict: bool = True, refresh: bool = False, named_by: str | None = None
    ) -> ResolvedCard:
        """Fetch and read the card of ``reference``: a host, a base URL or the card's own URL (§8.2).

        Args:
            reference: where the card is.
            strict: False also takes a card with problems, as :func:`a2a_discovery.parse_card` does, unless its
                signature is verified. Then the card is the one that the verified bytes hold.
            refresh: ask the server, however fresh the cached card is (RFC 9111 §5.2.1.4).
            named_by: the URL of the document that names ``reference``, such as a catalog, which is the card's own URL
                then. The document decides whom we trust: at another origin, ``reference`` is held against ``policy`` as
                a redirect is, and gets no credentials.

        Raises:
            FetchError: there is no card to be had; FetchTimeoutError when a time limit ran out.
            CardError: there is one, but it is not valid; its ``.url`` says where.
            SignatureError: its signatures are not what ``signatures`` demands.
        """
        if self._cached is not None:
            return await self._cached.resolve(reference, strict=strict, refresh=refresh, named_by=named_by)
        answer = await self._fetcher.fetch(self._fetcher.card_chain(reference, named_by), clock=self.clock)
        assert answer is not None
        assert answer.document is not None
        card, verification = await self.read(answer.document.body, strict=strict, url=answer.document.url)
        return answer.resolved(card, verification, named_by, DEFAULT_LIFETIME)

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

    async def fetch(self, url: str, *, named_by: str | None = None) -> FetchedDocument:
        """GET ``url``, an absolute http or https URL, and follow its redirects; only 200 is a document; never cached.

        ``named_by`` is the document that names the URL, as for ``resolve``.

        Raises:
            FetchError: no document was had; FetchTimeoutError when a time limit ran out.
        """
        answer = await self._fetcher.fetch(self._fetcher.chain(url, named_by))
        assert answer is not None
        assert answer.document is not None
        return answer.document
