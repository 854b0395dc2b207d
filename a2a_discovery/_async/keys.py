"""The keys of signed cards, from where their signatures say that they are published (``jku``, RFC 7515 §4.1.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Any

import httpx

from a2a_discovery._async.resolver import CardResolver
from a2a_discovery._deadline import AsyncSlots, async_world
from a2a_discovery._key_sets import KeySet, KeySetCache, read_key_set
from a2a_discovery._retry import checked_limits
from a2a_discovery.errors import FetchError
from a2a_discovery.policy import Url, UrlPolicy, UrlRefusedError, parse_url
from a2a_discovery.security import is_same_origin, read_origin


class JwksResolver:
    """Fetches the key sets that signatures name, from trusted origins alone; a key source and a context manager.

    Whoever signs a card says where the key is: only the origins given here make that a reason to trust it.

    Args:
        origins: the origins whose key sets are trusted, as ``https://keys.example.com``; redirects stay within them.
        policy: which URLs may be called; https, and http on this machine, unless it says otherwise.
        client: sends the requests, as a ``CardResolver``'s does, and stays open.
        lifetime: seconds that a key set is good whose answer does not say (Cache-Control).
        pause: seconds after which a key set is fetched again, at the earliest, for a key that is not in it.
        max_bytes: the largest key set that is read.
        connect_timeout: seconds for one connection, TLS included.
        timeout: seconds for a whole fetch.

    Raises:
        ValueError: an origin is none, or a time is no number of seconds above 0.
    """

    def __init__(
        self,
        origins: Iterable[str],
        *,
        policy: UrlPolicy | None = None,
        client: httpx.AsyncClient | None = None,
        lifetime: float = 300.0,
        pause: float = 10.0,
        max_bytes: int = 512 * 1024,
        connect_timeout: float = 5.0,
        timeout: float = 10.0,
    ) -> None:
        checked_limits(lifetime=lifetime, pause=pause)
        self._policy = _TrustedOrigins.of(policy or UrlPolicy(), [origins] if isinstance(origins, str) else origins)
        self._resolver = CardResolver(
            client, policy=self._policy, max_bytes=max_bytes, connect_timeout=connect_timeout, timeout=timeout
        )
        self._cache = KeySetCache(lifetime, pause)

    async def __aenter__(self) -> JwksResolver:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; a client that was passed in stays open."""
        await self._resolver.aclose()

    async def __call__(self, kid: str | None, header: Mapping[str, Any]) -> KeySet | None:
        """The keys at the ``jku`` of a signature's protected header, fetched once for all who wait; None without one.

        Raises:
            UrlRefusedError: the ``jku`` is not of a trusted origin, or must not be called.
            FetchError: there is no key set to be had.
        """
        jku = header.get("jku")
        if jku is None:
            return None
        url = parse_url(jku)
        self._policy.check(url)
        keys = self._cache.get(url, kid)
        if keys is None:
            async with self._cache.slot(url, async_world(), AsyncSlots):
                keys = self._cache.get(url, kid)
                if keys is None:
                    keys = await self._fetch(url)
        return keys

    async def _fetch(self, url: Url) -> KeySet:
        try:
            document = await self._resolver.fetch(str(url))
            keys = read_key_set(document.url, document.body)
        except FetchError as exc:
            self._cache.fail(url, exc)
            return self._cache.get(url, None) or ()
        self._cache.put(url, keys, document.headers)
        return keys


@dataclass(frozen=True, slots=True)
class _TrustedOrigins(UrlPolicy):
    """Lets the URLs of some origins be called, where the policy that it was made of does."""

    trusted: tuple[Url, ...] = ()

    @classmethod
    def of(cls, policy: UrlPolicy, origins: Iterable[str]) -> _TrustedOrigins:
        rules = {field.name: getattr(policy, field.name) for field in fields(UrlPolicy)}
        return cls(**rules, trusted=tuple(read_origin(origin) for origin in origins))

    def check(self, url: Url) -> None:
        if not any(is_same_origin(url, origin) for origin in self.trusted):
            raise UrlRefusedError(f"no key sets of {Url(url.scheme, url.host, url.port, '')} are trusted")
        UrlPolicy.check(self, url)
