"""Credentials, and where each may go (§7; the scheme objects are OpenAPI's).

A card names the schemes that it demands; what a client has for them stands in a ``CredentialStore``. A card is data
from elsewhere: no credential goes anywhere but to the origins that its owner said, whatever the card names.
"""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeGuard

from a2a_discovery._service_params import is_header_value
from a2a_discovery._tokens import TokenCache
from a2a_discovery.policy import Url, UrlRefusedError, parse_url

_TOKEN: Final = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """The value for an ``apiKeySecurityScheme`` (§4.5.3)."""

    value: str = field(repr=False)

    def __post_init__(self) -> None:
        _check_text("an API key", self.value)


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token for HTTP Bearer, or one had elsewhere for OAuth 2.0 or OpenID Connect (RFC 6750)."""

    token: str = field(repr=False)

    def __post_init__(self) -> None:
        if not is_token(self.token):
            raise ValueError("a bearer token is visible ASCII without blanks (RFC 6750 §2.1)")


@dataclass(frozen=True, slots=True)
class BasicCredentials:
    """User name and password for HTTP Basic, sent as UTF-8 (RFC 7617)."""

    username: str
    password: str = field(repr=False)

    def __post_init__(self) -> None:
        if ":" in self.username or any(not c.isprintable() for c in self.username + self.password):
            raise ValueError("a user name holds no colon, and neither it nor the password a control (RFC 7617 §2)")

    @property
    def parameters(self) -> str:
        """What stands behind ``Basic`` in the header."""
        return base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


@dataclass(frozen=True, slots=True)
class HttpCredentials:
    """What stands behind the scheme's name in ``Authorization``, for any other HTTP scheme (RFC 9110 §11.4)."""

    parameters: str = field(repr=False)

    def __post_init__(self) -> None:
        _check_text("the parameters of an HTTP scheme", self.parameters)


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A certificate for mutual TLS: PEM files, the key in the same file unless ``key_file`` says otherwise.

    Without ``cert_file`` it says that the client or channel which was passed in presents its certificate itself.

    Raises:
        OSError: a file cannot be read, or (ssl.SSLError) holds no certificate with its key.
    """

    cert_file: str | None = None
    key_file: str | None = None
    password: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.cert_file is not None:
            self.load_into(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

    def load_into(self, context: ssl.SSLContext) -> None:
        """Have ``context`` present the certificate."""
        # Without a password OpenSSL would ask for one on the terminal.
        context.load_cert_chain(self.cert_file or "", self.key_file, self.password or "")

    def pem(self) -> tuple[bytes, bytes]:
        """Key and certificates as they stand in the files."""
        cert_file = Path(self.cert_file or "")
        return Path(self.key_file or cert_file).read_bytes(), cert_file.read_bytes()


@dataclass(frozen=True, slots=True)
class DeviceAuthorization:
    """What a person needs to let a device in (RFC 8628 §3.2); ``expires_in`` in seconds."""

    user_code: str
    verification_uri: str
    verification_uri_complete: str | None
    expires_in: float


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client registered with an authorization server, which has tokens for OAuth 2.0 or OpenID Connect.

    Attributes:
        client_id: its name.
        client_secret: its secret, None for a public client.
        token_origins: the origins of the authorization server, as ``https://login.example.com``: secret, refresh token
            and device code go there alone, wherever the card says that tokens are had. None given: the card's origin.
        scopes: the scopes to ask for; None asks for those that the card's requirement lists.
        refresh_token: one had elsewhere, as after the authorization code flow (RFC 6749 §6).
        secret_in_body: sends the secret as a form field, not by HTTP Basic (RFC 6749 §2.3.1).
        on_device_code: shows a person where to enter the code; without it the device flow is not used. With an async
            agent it may be a coroutine function.
        parameters: further form fields of each token request, as ``audience`` or ``resource`` (RFC 8707).
    """

    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    token_origins: tuple[str, ...] = ()
    scopes: tuple[str, ...] | None = None
    refresh_token: str | None = field(default=None, repr=False)
    secret_in_body: bool = False
    on_device_code: Callable[[DeviceAuthorization], Awaitable[None] | None] | None = None
    parameters: tuple[tuple[str, str], ...] | Mapping[str, str] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "token_origins", tuple(str(read_origin(o)) for o in _listed(self.token_origins)))
        if self.scopes is not None:
            object.__setattr__(self, "scopes", tuple(_listed(self.scopes)))
        object.__setattr__(self, "parameters", tuple(dict(self.parameters).items()))


Credential = ApiKey | BearerToken | BasicCredentials | HttpCredentials | ClientCertificate | OAuthClient
"""What ``CredentialStore`` takes."""


@dataclass(frozen=True, slots=True)
class ScopedCredential:
    """A credential and where it may go; ``origins`` None is the origin that the card came from."""

    credential: Credential
    origins: tuple[Url, ...] | None

    def may_go_to(self, target: Url, binding: str, card: Url | None) -> bool:
        """Whether the credential may go to an interface at ``target``.

        An origin is scheme, host and port (RFC 6454 §4). A gRPC address has always another port than the card, so for
        the card's own origin the host counts there, and TLS where the card had it.
        """
        if self.origins is not None:
            return any(is_same_origin(target, origin) for origin in self.origins)
        if card is None:
            return False
        if binding == "GRPC":
            return is_same_host(target, card) and (target.scheme == "https" or card.scheme == "http")
        return is_same_origin(target, card)


class CredentialStore:
    """The credentials that a client has, by the name that the card gives a scheme in ``securitySchemes``.

    Args:
        credentials: credentials by scheme name.
        origins: where these may go, as ``https://agent.example.com``; None is the origin that the card came from.

    Raises:
        ValueError: an origin is none.

    A store may serve many agents, one after the other or at once. Their tokens are kept here too.
    """

    def __init__(
        self, credentials: Mapping[str, Credential] | None = None, *, origins: Iterable[str] | None = None
    ) -> None:
        self._by_scheme: dict[str, list[ScopedCredential]] = {}
        self.tokens = TokenCache()
        shared = None if origins is None else tuple(_listed(origins))
        for scheme, credential in (credentials or {}).items():
            self.add(scheme, credential, origins=shared)

    def add(self, scheme: str, credential: Credential, *, origins: Iterable[str] | None = None) -> None:
        """Add a credential for ``scheme``; several of one name are told apart by their origins.

        Args:
            scheme: the scheme's name in the card.
            credential: what is sent.
            origins: where it may go; None is the origin that the card came from.

        Raises:
            ValueError: an origin is none.
        """
        if not isinstance(credential, Credential):
            raise TypeError(f"a {type(credential).__name__} is no credential; BearerToken('…') is one")
        scope = None if origins is None else tuple(read_origin(origin) for origin in _listed(origins))
        self._by_scheme.setdefault(scheme, []).append(ScopedCredential(credential, scope))

    def of(self, scheme: str) -> tuple[ScopedCredential, ...]:
        """The credentials for ``scheme``, in the order in which they were added."""
        return tuple(self._by_scheme.get(scheme, ()))

    def __repr__(self) -> str:
        return f"CredentialStore(schemes={sorted(self._by_scheme)})"


def is_token(value: object) -> TypeGuard[str]:
    """Whether ``value`` may stand behind ``Bearer`` in a header."""
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def read_origin(text: str) -> Url:
    """The origin of an absolute http or https URL.

    Raises:
        ValueError: it is no such URL.
    """
    try:
        url = parse_url(text)
    except UrlRefusedError as exc:
        raise ValueError(f"an origin is like https://agent.example.com: {exc}") from None
    return Url(url.scheme, url.host, url.port, "")


def is_same_origin(one: Url, other: Url) -> bool:
    """Whether scheme, host and port agree (RFC 6454 §4)."""
    return (one.scheme, one.port) == (other.scheme, other.port) and is_same_host(one, other)


def is_same_host(one: Url, other: Url) -> bool:
    """Whether the hosts agree; the names and addresses of this machine are one."""
    return one.host.removesuffix(".") == other.host.removesuffix(".") or (one.is_loopback and other.is_loopback)


def _listed(texts: Iterable[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _check_text(what: str, value: str) -> None:
    if not isinstance(value, str) or not value.strip() or not is_header_value(value):
        raise ValueError(f"{what} is visible ASCII")
