"""The credentials of a call as the person wrote them, and where they may go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from a2a_discovery import _service_params
from a2a_discovery.cli.load import CommandError, ExitCode
from a2a_discovery.policy import Url, parse_grpc_address, parse_url
from a2a_discovery.types import AgentInterface

_KEY_HEADER: Final = "X-API-Key"
# Whoever writes one of these as a service parameter hands over a credential, too.
_SECRET_PARAMS: Final = frozenset({"authorization", "proxy-authorization", "cookie"})
# What is shorter is no secret, and would be masked in the middle of words.
_SHORTEST_SECRET: Final = 4


def read_credentials(bearer: str | None, api_key: str | None) -> dict[str, str]:
    """The headers that ``--bearer TOKEN`` and ``--api-key [NAME:]VALUE`` mean.

    Raises:
        CommandError: one of them cannot be a header; the message does not quote it.
    """
    headers = {}
    if bearer is not None:
        headers["Authorization"] = f"Bearer {_given('--bearer', bearer)}"
    if api_key is not None:
        name, colon, value = api_key.partition(":")
        if not colon:
            name, value = _KEY_HEADER, api_key
        headers[name] = _given("--api-key", value)
    try:
        return _service_params.checked_params(headers)
    except ValueError:
        # The name may be half of a secret, too.
        told = "--bearer or --api-key is not valid in an HTTP header, or names one that the binding sets"
        raise CommandError(told, ExitCode.USAGE) from None


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


def masked(text: str, credentials: Mapping[str, str]) -> str:
    """``text`` without the credentials: a server may well repeat them in an error."""
    for value in credentials.values():
        for secret in (value, value.partition(" ")[2]):
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
    if not _same_host(card, target):
        why = f"the card of {card.host} has its interface on another host, {target.host}"
    elif card.scheme == "https" and target.scheme != "https":
        why = f"the card of {card.host} came with TLS, and its interface has none"
    else:
        return
    raise CommandError(f"{why}: no credential is sent there, so the call was not made", ExitCode.CREDENTIALS)


def _address(interface: AgentInterface) -> Url:
    return parse_grpc_address(interface.url)[0] if interface.protocol_binding == "GRPC" else parse_url(interface.url)


def _same_host(one: Url, other: Url) -> bool:
    # The names and addresses of this machine are one host, whichever the agent publishes.
    return one.host.removesuffix(".") == other.host.removesuffix(".") or (one.is_loopback and other.is_loopback)


def _given(option: str, value: str) -> str:
    if not value.strip():
        raise CommandError(f"{option} is empty", ExitCode.USAGE)
    return value.strip()
