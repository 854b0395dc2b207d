# Generated from a2a_discovery/_async/tokens.py by codegen/sync.py; do not edit.
"""Access tokens from authorization servers (RFC 6749, RFC 8628, OpenID Connect Discovery 1.0)."""

from __future__ import annotations

import inspect
import time
from typing import Final

import httpx

from a2a_discovery._sync.bodies import read_body
from a2a_discovery._sync.resolver import CardResolver
from a2a_discovery._clients import sync_client
from a2a_discovery._deadline import SyncAlarm, SyncDeadline, SyncSlots, TimeLimitError, sync_sleep, sync_world
from a2a_discovery._fetch_errors import failure_message
from a2a_discovery._grants import (
    Endpoints,
    Form,
    Grant,
    device_form,
    read_device_code,
    read_endpoints,
    read_token,
    token_form,
)
from a2a_discovery._guard import SyncGuard
from a2a_discovery._response import BodyError
from a2a_discovery._tokens import Token, TokenCache
from a2a_discovery.errors import FetchError, TokenError
from a2a_discovery.policy import Url, UrlPolicy, UrlRefusedError, parse_url

_TIMEOUT: Final = 15.0
_MAX_BYTES: Final = 1024 * 1024
_SLOWER: Final = 5.0


class TokenSource:
    """Has tokens made, and keeps them.

    Args:
        cache: where tokens are kept.
        policy: which URLs may be called.
        connect_timeout: seconds for one connection, TLS included; a whole request has 15.
    """

    def __init__(self, cache: TokenCache, policy: UrlPolicy, *, connect_timeout: float) -> None:
        self._cache = cache
        self._policy = policy
        self._connect_timeout = connect_timeout
        self._alarm = SyncAlarm()

    def close(self) -> None:
        """End what runs in the background."""
        self._alarm.close()

    def token(self, grant: Grant, rejected: str | None = None) -> str:
        """An access token, from the cache unless it is the ``rejected`` one; made once for all who wait.

        Raises:
            TokenError: there is none to be had.
            MissingExtraError: the extra ``oauth`` is not installed.
        """
        kept = self._cache.get(grant, rejected)
        if kept is None:
            with self._cache.slot(grant, sync_world(), SyncSlots):
                kept = self._cache.get(grant, rejected)
                if kept is None:
                    kept = self._make(grant)
                    self._cache.put(grant, kept)
        return kept.access_token

    def _make(self, grant: Grant) -> Token:
        endpoints = grant.endpoints or self._discover(grant)
        refresh_token = self._cache.refresh_token(grant) or grant.client.refresh_token
        if refresh_token is not None:
            try:
                return self._ask(token_form(grant, endpoints, refresh_token=refresh_token), refresh_token)
            except TokenError as exc:
                # It may have been used up or called back (RFC 6749 §5.2).
                if grant.kind == "refresh_token" or exc.error != "invalid_grant":
                    raise
        if grant.kind == "device_code":
            return self._on_device(grant, endpoints)
        return self._ask(token_form(grant, endpoints))

    def _discover(self, grant: Grant) -> Endpoints:
        url = grant.discovery_url or ""
        try:
            with CardResolver(
                policy=self._policy, max_bytes=_MAX_BYTES, connect_timeout=self._connect_timeout, max_redirects=0
            ) as resolver:
                document = resolver.fetch(url)
        except FetchError as exc:
            raise TokenError(f"the provider's document was not had: {exc}", url=url, status=exc.status) from exc
        return read_endpoints(url, document.body, grant)

    def _on_device(self, grant: Grant, endpoints: Endpoints) -> Token:
        """Let a person consent elsewhere, and ask until that is done (RFC 8628 §3.3 to §3.5)."""
        form = device_form(grant, endpoints)
        code = read_device_code(form.url, *self._post(form))
        end, interval = time.monotonic() + code.shown.expires_in, code.interval
        show = grant.client.on_device_code
        told = show(code.shown) if show is not None else None
        if inspect.isawaitable(told):
            told
        while time.monotonic() + interval < end:
            sync_sleep(interval)
            try:
                return self._ask(token_form(grant, endpoints, device_code=code.code))
            except TokenError as exc:
                if exc.error == "slow_down":
                    interval += _SLOWER
                elif exc.error != "authorization_pending":
                    raise
        raise TokenError("nobody entered the code before it expired", url=endpoints.token, error="expired_token")

    def _ask(self, form: Form, refresh_token: str | None = None) -> Token:
        return read_token(form.url, *self._post(form), refresh_token)

    def _post(self, form: Form) -> tuple[int, bytes]:
        """Status and body of the answer; a redirect is an answer like any other, and not followed."""
        url = parse_url(form.url)
        try:
            self._policy.check(url)
            with SyncDeadline(_TIMEOUT, self._alarm) as deadline, sync_client(self._policy) as client:
                return self._exchange(client, url, form, deadline)
        except UrlRefusedError as exc:
            raise _error(url, f"it must not be called: {exc}") from exc
        except TimeLimitError as exc:
            raise _error(url, f"no whole answer within {_TIMEOUT:g} s") from exc
        except BodyError as exc:
            raise _error(url, f"its answer cannot be read: {exc}") from exc
        except Exception as exc:
            # A hostile answer surfaces as whatever httpx and the layers below it did not foresee.
            raise _error(url, failure_message(url, exc)) from exc

    def _exchange(self, client: httpx.Client, url: Url, form: Form, deadline: SyncDeadline) -> tuple[int, bytes]:
        headers = {
            **form.headers,
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept-Encoding": "gzip",
            "User-Agent": "a2a-discovery",
        }
        guard = SyncGuard.of(self._policy, url, own_client=True)
        extensions = deadline.extensions(self._connect_timeout, guard)
        request = httpx.Request("POST", str(url), headers=headers, content=form.body, extensions=extensions)
        response = client.send(request, stream=True, follow_redirects=False)
        try:
            deadline.watch(response.extensions.get("network_stream"))
            head, body = read_body(response, _MAX_BYTES, deadline)
        finally:
            response.close()
        return head.status, body


def _error(url: Url, message: str) -> TokenError:
    return TokenError(message, url=url.without_query())
