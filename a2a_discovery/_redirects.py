"""Follow redirects by hand, since each one leads to a URL that a server chose; no I/O here."""

from __future__ import annotations

from urllib.parse import urljoin

from a2a_discovery._response import ResponseHead
from a2a_discovery.errors import FetchError
from a2a_discovery.policy import Url, UrlPolicy, UrlRefusedError, parse_url
from a2a_discovery.reference import masked, read_url


class RedirectChain:
    """Where a fetch is, and which URLs sent it there.

    Attributes:
        requested: the URL asked for.
        current: the URL to be asked now.
        redirects: the URLs that redirected, in order.
        at_origin: False from the first hop on that left the origin asked for: no credentials go along from then on, not
            even when a later hop leads back.
    """

    def __init__(self, url: str, policy: UrlPolicy, max_redirects: int, named_by: str | None = None) -> None:
        """Begin at ``url``, which the caller asked for, or which the document at ``named_by`` names.

        Raises:
            FetchError: ``url`` is no http or https URL, or ``policy`` lets nobody fetch it.
        """
        self.requested = self.current = read_url(url)
        self.redirects: list[str] = []
        origin = self.requested if named_by is None else read_url(named_by)
        self.at_origin = self.requested.origin == origin.origin
        self._policy = policy if policy.origin is not None else policy.within(str(origin))
        self._max_redirects = max_redirects
        try:
            self._check(origin, self.requested, origin)
        except UrlRefusedError as exc:
            raise self.error(f"it is not called: {exc}") from exc

    def follow(self, head: ResponseHead) -> None:
        """Go to the Location of a redirect (RFC 9110 §10.2.2); raises FetchError when it must not be followed."""
        location = head.headers.get("location")
        if location is None:
            raise self.error(f"it answered {head.status}, a redirect, but without a Location", head)
        if len(self.redirects) >= self._max_redirects:
            raise self.error(f"it redirects once more, after {self._max_redirects} redirects (max_redirects)", head)
        try:
            target = parse_url(urljoin(str(self.current), location))
            self._check(self.current, target, self.requested)
        except UrlRefusedError as exc:
            message = f"it redirects to {masked(location)!r}, which is not followed: {exc}"
            raise self.error(message, head) from exc
        except ValueError as exc:
            raise self.error(f"it redirects to {masked(location)!r}, which cannot be read", head) from exc
        self.redirects.append(str(self.current))
        self.current = target
        self.at_origin = self.at_origin and target.origin == self.requested.origin

    def error(
        self,
        message: str,
        head: ResponseHead | None = None,
        first_bytes: bytes = b"",
        *,
        kind: type[FetchError] = FetchError,
        retry_after: float | None = None,
    ) -> FetchError:
        """The error that says ``message`` about the current URL, with all that is known of its answer."""
        content_type = head.headers.get("content-type") if head else None
        facts = []
        if head:
            facts.append(f"status {head.status}")
        if content_type is not None:
            facts.append(f"content type {masked(content_type)}")
        if self.redirects:
            facts.append(f"redirected by {', '.join(self.redirects)}")
        if first_bytes:
            facts.append(f"it begins with {masked(first_bytes.decode(errors='replace'))!r}")
        return kind(
            f"{self.current}: {message}" + (f" ({'; '.join(facts)})" if facts else ""),
            url=str(self.current),
            status=head.status if head else None,
            content_type=content_type,
            redirects=self.redirects,
            first_bytes=first_bytes,
            retry_after=retry_after,
            challenge=head.headers.get("www-authenticate") if head else None,
        )

    def _check(self, source: Url, target: Url, asked: Url) -> None:
        if source.scheme == "https" and target.scheme == "http":
            raise UrlRefusedError("it leaves https for plain http")
        if target.origin == asked.origin:
            # Plain http was asked for explicitly there.
            self._policy.check_requested(target)
        else:
            self._policy.check(target)
