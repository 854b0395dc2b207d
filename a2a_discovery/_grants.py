"""OAuth 2.0 and OpenID Connect without I/O: which grant, its requests, and what an authorization server answers."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote_plus

import orjson

from a2a_discovery._tokens import Token
from a2a_discovery.errors import MissingExtraError, TokenError
from a2a_discovery.policy import Url, UrlRefusedError, parse_url
from a2a_discovery.security import DeviceAuthorization, OAuthClient, is_same_origin, is_token, read_origin
from a2a_discovery.types import OAuth2SecurityScheme, SecurityScheme

DISCOVERY_PATH: Final = "/.well-known/openid-configuration"
# Clocks differ, and a call takes its time.
_LEEWAY: Final = 30.0
_INTERVAL: Final = 5.0
_SHOWN: Final = 200


class GrantRefusedError(Exception):
    """A scheme offers no way to a token that this client may go; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where tokens, renewed tokens and device codes are had; ``device`` None where there are none."""

    token: str
    refresh: str
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """A way to a token, and what makes two of them the same.

    Attributes:
        client: the client.
        kind: ``"client_credentials"``, ``"device_code"``, or ``"refresh_token"`` where only that is had.
        scopes: the scopes to ask for.
        origins: where the client's secret may go.
        endpoints: where tokens are had, None where ``discovery_url`` tells.
        discovery_url: the provider's document (OpenID Connect Discovery 1.0 §4).
    """

    client: OAuthClient
    kind: str
    scopes: tuple[str, ...]
    origins: tuple[Url, ...]
    endpoints: Endpoints | None = None
    discovery_url: str | None = None

    def check_endpoint(self, url: str, what: str) -> Url:
        """``url`` taken apart, once it is known that the client's secret may go there.

        Raises:
            GrantRefusedError: it must not.
        """
        try:
            target = parse_url(url)
        except UrlRefusedError as exc:
            raise GrantRefusedError(f"its {what} cannot be called: {exc}") from None
        if not any(is_same_origin(target, origin) for origin in self.origins):
            raise GrantRefusedError(
                f"its {what} is at {target.scheme}://{target.host}:{target.port}, which is none of the client's "
                "token_origins, and its secret goes nowhere else"
            )
        return target


def grant_of(scheme: SecurityScheme, client: OAuthClient, scopes: tuple[str, ...], card: Url | None) -> Grant:
    """How ``client`` gets a token for an OAuth 2.0 or OpenID Connect scheme of a card that came from ``card``.

    Raises:
        GrantRefusedError: there is no way.
    """
    origins = tuple(map(read_origin, client.token_origins)) or ((card,) if card is not None else ())
    wanted = scopes if client.scopes is None else client.scopes
    if scheme.WhichOneof("scheme") == "open_id_connect_security_scheme":
        kind = _kind(client, device=client.on_device_code is not None)
        url = scheme.open_id_connect_security_scheme.open_id_connect_url
        grant = Grant(client, kind, wanted, origins, discovery_url=url)
        grant.check_endpoint(url, "discovery document")
        return grant
    endpoints, kind = _flow(scheme.oauth2_security_scheme, client)
    grant = Grant(client, kind, wanted, origins, endpoints)
    check_endpoints(grant, endpoints)
    return grant


def check_endpoints(grant: Grant, endpoints: Endpoints) -> None:
    """Let the client's secret go to ``endpoints``; raises GrantRefusedError."""
    grant.check_endpoint(endpoints.token, "token endpoint")
    grant.check_endpoint(endpoints.refresh, "refresh endpoint")
    if grant.kind == "device_code":
        grant.check_endpoint(endpoints.device or "", "device authorization endpoint")


def _flow(scheme: OAuth2SecurityScheme, client: OAuthClient) -> tuple[Endpoints, str]:
    name = scheme.flows.WhichOneof("flow")
    if name is None:
        raise GrantRefusedError("the card names no OAuth flow that this client knows")
    flow = getattr(scheme.flows, name)
    if name == "implicit":
        raise GrantRefusedError("the implicit flow has no token endpoint: give a BearerToken had elsewhere")
    device = flow.device_authorization_url if name == "device_code" else None
    endpoints = Endpoints(flow.token_url, flow.refresh_url or flow.token_url, device)
    if name == "client_credentials":
        return endpoints, _kind(client, device=False)
    if name == "device_code" and client.on_device_code is not None:
        return endpoints, "device_code"
    if client.refresh_token is not None:
        return endpoints, "refresh_token"
    lacks = "on_device_code, which shows a person the code," if name == "device_code" else "a refresh_token"
    raise GrantRefusedError(f"the {name} flow needs {lacks} in the OAuthClient, or a BearerToken had elsewhere")


def _kind(client: OAuthClient, *, device: bool) -> str:
    if device:
        return "device_code"
    if client.refresh_token is not None:
        return "refresh_token"
    if client.client_secret is None:
        raise GrantRefusedError("its OAuthClient has no client_secret")
    return "client_credentials"


@dataclass(frozen=True, slots=True)
class Form:
    """A request to an authorization server: ``body`` is a form."""

    url: str
    body: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


def token_form(grant: Grant, endpoints: Endpoints, *, refresh_token: str | None = None, device_code: str = "") -> Form:
    """The request for a token: by refresh token where there is one, else as the grant says.

    Raises:
        MissingExtraError: the extra ``oauth`` is not installed.
    """
    try:
        from oauthlib.oauth2 import BackendApplicationClient, DeviceClient
    except ModuleNotFoundError as exc:
        raise MissingExtraError("OAuth 2.0", "oauth") from exc
    client, scope = grant.client, list(grant.scopes) or None
    fields, headers = _authenticated(client)
    if refresh_token is not None:
        body = BackendApplicationClient(client.client_id).prepare_refresh_body(
            refresh_token=refresh_token, scope=scope, **fields
        )
        return Form(endpoints.refresh, body, headers)
    named = "client_id" in fields
    fields.pop("client_id", None)
    if grant.kind == "device_code":
        body = DeviceClient(client.client_id).prepare_request_body(device_code, include_client_id=named, **fields)
    else:
        body = BackendApplicationClient(client.client_id).prepare_request_body(
            scope=scope, include_client_id=named, **fields
        )
    return Form(endpoints.token, body, headers)


def device_form(grant: Grant, endpoints: Endpoints) -> Form:
    """The request for a device code (RFC 8628 §3.1)."""
    fields, headers = _authenticated(grant.client)
    if grant.scopes:
        fields["scope"] = " ".join(grant.scopes)
    body = "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in fields.items())
    return Form(endpoints.device or "", body, headers)


def _authenticated(client: OAuthClient) -> tuple[dict[str, str], dict[str, str]]:
    """The form fields and headers that say who asks (RFC 6749 §2.3.1)."""
    fields, headers = dict(client.parameters), {"Accept": "application/json"}
    if client.client_secret is None:
        fields["client_id"] = client.client_id
    elif client.secret_in_body:
        fields |= {"client_id": client.client_id, "client_secret": client.client_secret}
    else:
        pair = f"{quote_plus(client.client_id)}:{quote_plus(client.client_secret)}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return fields, headers


def read_token(url: str, status: int, body: bytes, previous: str | None) -> Token:
    """The token in an answer (RFC 6749 §5.1); ``previous`` is the refresh token that is kept where no new one came.

    Raises:
        TokenError: there is none.
    """
    answer = _answer(url, status, body)
    access_token, kind = answer.get("access_token"), answer.get("token_type", "Bearer")
    if not is_token(access_token):
        raise TokenError("the answer holds no access_token", url=url, status=status)
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise TokenError("the token is of another type than Bearer", url=url, status=status)
    refresh = answer.get("refresh_token")
    return Token(access_token, _expiry(answer), refresh if isinstance(refresh, str) else previous)


def _expiry(answer: Mapping[str, Any]) -> float | None:
    seconds = _number(answer.get("expires_in"))
    return None if seconds is None else time.monotonic() + seconds - min(_LEEWAY, seconds / 10)


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """A device code and what the person is shown; ``interval`` in seconds (RFC 8628 §3.2)."""

    code: str = field(repr=False)
    interval: float
    shown: DeviceAuthorization


def read_device_code(url: str, status: int, body: bytes) -> DeviceCode:
    """The device code in an answer; raises TokenError."""
    answer = _answer(url, status, body)
    texts = [answer.get(name) for name in ("device_code", "user_code", "verification_uri")]
    lifetime = _number(answer.get("expires_in"))
    if lifetime is None or not all(isinstance(text, str) and text for text in texts):
        raise TokenError("the answer holds no device code", url=url, status=status)
    code, user_code, uri = map(str, texts)
    complete = answer.get("verification_uri_complete")
    shown = DeviceAuthorization(user_code, uri, complete if isinstance(complete, str) else None, lifetime)
    return DeviceCode(code, _number(answer.get("interval")) or _INTERVAL, shown)


def read_endpoints(url: str, body: bytes, grant: Grant) -> Endpoints:
    """The endpoints in a provider's document (OpenID Connect Discovery 1.0 §4.3).

    Raises:
        TokenError: it is no such document, of another issuer, or leads where the client's secret must not go.
    """
    answer = _answer(url, 200, body)
    issuer, token = answer.get("issuer"), answer.get("token_endpoint")
    device = answer.get("device_authorization_endpoint")
    if not isinstance(issuer, str) or not isinstance(token, str):
        raise TokenError("the document names no issuer or no token_endpoint", url=url, status=200)
    if issuer.rstrip("/") + DISCOVERY_PATH != url:
        raise TokenError("the document is that of another issuer than its URL says", url=url, status=200)
    endpoints = Endpoints(token, token, device if isinstance(device, str) else None)
    try:
        check_endpoints(grant, endpoints)
    except GrantRefusedError as exc:
        raise TokenError(str(exc), url=url, status=200) from None
    return endpoints


def _answer(url: str, status: int, body: bytes) -> dict[str, Any]:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        answer = None
    if not isinstance(answer, dict):
        raise TokenError(f"the answer, of status {status}, is no JSON object", url=url, status=status)
    if status != 200 or "error" in answer:
        error = answer.get("error")
        error = error[:_SHOWN] if isinstance(error, str) else ""
        # A description may well repeat what was sent.
        raise TokenError(f"it was refused: {error or f'status {status}'}", url=url, status=status, error=error)
    return answer


def _number(value: Any) -> float | None:
    """A number of seconds above 0; some servers write it as text."""
    try:
        seconds = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        return None
    return seconds if 0 < seconds < float("inf") else None
