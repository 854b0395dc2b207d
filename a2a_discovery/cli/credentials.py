"""The credentials of a call as the person wrote them, and where they may go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from a2a_discovery import _service_params
from a2a_discovery._requirements import fits
from a2a_discovery.cli.common import tell
from a2a_discovery.cli.load import CommandError, ExitCode
from a2a_discovery.cli.terminal import clean
from a2a_discovery.policy import Url, interface_address, parse_url
from a2a_discovery.security import (
    ApiKey,
    BasicCredentials,
    BearerToken,
    CredentialStore,
    DeviceAuthorization,
    OAuthClient,
    is_same_host,
)
from a2a_discovery.types import AgentCard, AgentInterface, SecurityScheme

_KEY_HEADER: Final = "X-API-Key"
# Whoever writes one of these as a service parameter hands over a credential, too.
_SECRET_PARAMS: Final = frozenset({"authorization", "proxy-authorization", "cookie"})
# What is shorter is no secret, and would be masked in the middle of words.
_SHORTEST_SECRET: Final = 4


@dataclass(frozen=True, repr=False)
class Given:
    """The credentials that a person gave, each as the library knows it and as a header of the card's own host.

    Attributes:
        bearer: of ``--bearer TOKEN``.
        key: of ``--api-key [NAME:]VALUE``; ``key_name`` is its NAME.
        basic: of ``--basic USER:PASSWORD``.
        oauth: of ``--oauth-client ID[:SECRET]``.
    """

    bearer: BearerToken | None = None
    key: ApiKey | None = None
    key_name: str | None = None
    basic: BasicCredentials | None = None
    oauth: OAuthClient | None = None

    @property
    def headers(self) -> dict[str, str]:
        """What goes along with the fetch of the card, and with a call whose card declares no scheme for it."""
        return {**self._authorization, **self._key}

    @property
    def secrets(self) -> list[str]:
        """What must not be told."""
        told = [*self.headers.values(), *(value.partition(" ")[2] for value in self._authorization.values())]
        told += [self.basic.password] if self.basic else []
        return told + ([self.oauth.client_secret] if self.oauth and self.oauth.client_secret else [])

    @property
    def _authorization(self) -> dict[str, str]:
        if self.bearer is not None:
            return {"Authorization": f"Bearer {self.bearer.token}"}
        return {"Authorization": f"Basic {self.basic.parameters}"} if self.basic is not None else {}

    @property
    def _key(self) -> dict[str, str]:
        return {} if self.key is None else {_KEY_HEADER if self.key_name is None else self.key_name: self.key.value}

    def for_card(self, card: AgentCard, interface: AgentInterface) -> tuple[CredentialStore | None, dict[str, str]]:
        """What goes to ``interface``: for the schemes that the card declares, and as plain headers for what is left."""
        store = CredentialStore()
        origins = [str(_address(interface))]
        left = {**self._authorization, **self._key}
        taken = False
        for name, scheme in card.security_schemes.items():
            for credential in (self.bearer, self.basic, self.oauth, self.key if self._is_named(name, scheme) else None):
                if credential is not None and fits(scheme, credential):
                    store.add(name, credential, origins=origins)
                    taken = True
                    for header in self._key if credential is self.key else self._authorization:
                        left.pop(header, None)
        return store if taken or self.oauth is not None else None, left

    def _is_named(self, name: str, scheme: SecurityScheme) -> bool:
        wanted = (self.key_name or "").lower()
        return wanted in ("", name.lower(), scheme.api_key_security_scheme.name.lower())


def read_credentials(
    bearer: str | None,
    api_key: str | None,
    basic: str | None,
    oauth_client: str | None,
    token_origins: Sequence[str],
) -> Given:
    """The credentials that the options mean.

    Raises:
        CommandError: one of them cannot be sent, or two need the same header; the message does not quote it.
    """
    if bearer is not None and basic is not None:
        raise CommandError("--bearer and --basic need the same header", ExitCode.USAGE)
    if token_origins and oauth_client is None:
        raise CommandError("--token-origin needs --oauth-client", ExitCode.USAGE)
    name, key = None, api_key
    if api_key is not None and ":" in api_key:
        name, _, key = api_key.partition(":")
    user, colon, password = (basic or "").partition(":")
    if basic is not None and not (user and colon):
        raise CommandError("--basic takes USER:PASSWORD", ExitCode.USAGE)
    client_id, _, secret = (oauth_client or "").partition(":")
    try:
        given = Given(
            bearer=None if bearer is None else BearerToken(_given("--bearer", bearer)),
            key=None if key is None else ApiKey(_given("--api-key", key)),
            key_name=name,
            basic=None if basic is None else BasicCredentials(user, password),
            oauth=None
            if oauth_client is None
            else OAuthClient(
                _given("--oauth-client", client_id),
                secret or None,
                token_origins=tuple(token_origins),
                on_device_code=_show_code,
            ),
        )
    except ValueError as exc:
        raise CommandError(f"a credential cannot be sent: {exc}", ExitCode.USAGE) from None
    try:
        _service_params.checked_params(given.headers)
    except ValueError:
        # The name may be half of a secret, too.
        told = "--bearer, --basic or --api-key is not valid in an HTTP header, or names one that the binding sets"
        raise CommandError(told, ExitCode.USAGE) from None
    return given


def _show_code(code: DeviceAuthorization) -> None:
    tell(f"a2a-discovery: open {clean(code.verification_uri)} and enter the code {clean(code.user_code)}")


def read_service_params(given: Sequence[str]) -> dict[str, str]:
    """The service parameters that several ``--svc-param NAME:VALUE`` mean.

    Raises:
        CommandError: one of them is not of that form.
    """
    params = {}
    for pair in given:
        name, colon, value = pair.partition(":")
        if not colon:
            raise CommandError("--svc-param takes NAME:VALUE", ExitCode.USAGE)
        params[name] = value
    try:
        return _service_params.checked_params(params)
    except ValueError as exc:  # it names the parameter, never its value
        raise CommandError(f"--svc-param: {exc}", ExitCode.USAGE) from None


def secret_params(params: Mapping[str, str]) -> dict[str, str]:
    """Those of the service parameters that are credentials."""
    return {name: value for name, value in params.items() if name.lower() in _SECRET_PARAMS}


def masked(text: str, secrets: Iterable[str]) -> str:
    """``text`` without the secrets: a server may well repeat them in an error."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return text


def check_destination(interface: AgentInterface, asked: str) -> None:
    """Let credentials go to an interface of the card that was asked for at the URL ``asked``.

    A card may name any host as its interface, so only the host that the person named is trusted, and only with TLS
    where the card itself came with TLS.

    Raises:
        CommandError: they must not go there.
    """
    card, target = parse_url(asked), _address(interface)
    if not is_same_host(card, target):
        why = f"the card of {card.host} has its interface on another host, {target.host}"
    elif card.scheme == "https" and target.scheme != "https":
        why = f"the card of {card.host} came with TLS, and its interface has none"
    else:
        return
    raise CommandError(f"{why}: no credential is sent there, so the call was not made", ExitCode.CREDENTIALS)


def _address(interface: AgentInterface) -> Url:
    return interface_address(interface.protocol_binding, interface.url)


def _given(option: str, value: str) -> str:
    if not value.strip():
        raise CommandError(f"{option} is empty", ExitCode.USAGE)
    return value.strip()
