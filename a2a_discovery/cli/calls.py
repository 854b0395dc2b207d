"""What the commands that call an agent share: their options, the way to the agent, and what a failure means."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property, wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Final, get_type_hints

import typer

from a2a_discovery.cli.common import (
    AllowHosts,
    DenyPrivate,
    Output,
    OutputOption,
    SameOrigin,
    failures,
    invalid,
    seconds,
    tell,
    url_policy,
)
from a2a_discovery.cli.credentials import (
    Given,
    check_destination,
    masked,
    read_credentials,
    read_service_params,
    secret_params,
)
from a2a_discovery.cli.load import WANTS_CREDENTIALS, CommandError, ExitCode, fetch_failure
from a2a_discovery.cli.terminal import clean
from a2a_discovery.errors import (
    A2ADiscoveryError,
    A2AError,
    CallTimeoutError,
    CardError,
    CredentialsRequiredError,
    FetchError,
    NoSupportedInterfaceError,
    TokenError,
    TransportError,
)
from a2a_discovery.extensions import wanted
from a2a_discovery.interfaces import Support, select_interface
from a2a_discovery.policy import UrlPolicy
from a2a_discovery.reference import card_url
from a2a_discovery.sync import Agent, CardResolver
from a2a_discovery.types import AgentCard

_FETCH_TIMEOUT: Final = 15.0
_CONNECT_TIMEOUT: Final = 5.0
_CALL_TIMEOUT: Final = 60.0
_IDLE_TIMEOUT: Final = 300.0
_SHOWN_VIOLATIONS: Final = 20
_SHOWN: Final = 1000
_WANTS_CREDENTIALS: Final = ("UNAUTHENTICATED", "PERMISSION_DENIED")


class Transport(StrEnum):
    """A binding, as the command line spells it; in upper case it is the card's name for it."""

    jsonrpc = "jsonrpc"
    http_json = "http+json"
    grpc = "grpc"


Reference = Annotated[
    str,
    typer.Argument(metavar="REF", help="The agent: a host, a URL, or the URL of its card.", show_default=False),
]


@dataclass(frozen=True, repr=False)
class CallOptions:
    """The options of every command that calls an agent; to read the credentials may raise CommandError."""

    transport: Annotated[
        list[Transport] | None,
        typer.Option(
            case_sensitive=False,
            metavar="BINDING",
            help="Speak jsonrpc, http+json or grpc only. Repeated, they are tried in the order given: the first one "
            "that the card has is used, whatever the card prefers. Without this option, the card's order counts.",
            show_default=False,
        ),
    ] = None
    bearer: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN",
            envvar="A2A_DISCOVERY_BEARER",
            help="A bearer token, for the host of REF alone: for its card and for the call.",
            show_default=False,
        ),
    ] = None
    api_key: Annotated[
        str | None,
        typer.Option(
            metavar="[NAME:]VALUE",
            envvar="A2A_DISCOVERY_API_KEY",
            help="An API key, for the host of REF alone: where the card says, or in the header NAME (X-API-Key). A key "
            "that holds a colon needs the name.",
            show_default=False,
        ),
    ] = None
    basic: Annotated[
        str | None,
        typer.Option(
            metavar="USER:PASSWORD",
            envvar="A2A_DISCOVERY_BASIC",
            help="A user's name and password, for the host of REF alone.",
            show_default=False,
        ),
    ] = None
    oauth_client: Annotated[
        str | None,
        typer.Option(
            metavar="ID[:SECRET]",
            envvar="A2A_DISCOVERY_OAUTH_CLIENT",
            help="An OAuth client that has a token made, by the flow that the card declares; without a secret, a "
            "person enters a code in a browser.",
            show_default=False,
        ),
    ] = None
    token_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="The authorization server that the OAuth client's secret may go to; repeatable. By default it is the "
            "host of REF.",
            show_default=False,
        ),
    ] = None
    svc_param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:VALUE", help="A header or gRPC metadata of the call; repeatable.", show_default=False
        ),
    ] = None
    extension: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URI", help="Declare this extension, if the card lists it; repeatable.", show_default=False
        ),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            callback=seconds,
            help=f"Limit of the call ({_CALL_TIMEOUT:g}), or of the silence in a stream ({_IDLE_TIMEOUT:g}); fetching "
            f"the card takes {_FETCH_TIMEOUT:g} at most.",
            show_default=False,
        ),
    ] = None
    same_origin: SameOrigin = False
    allow_host: AllowHosts = None
    deny_private: DenyPrivate = False
    output: OutputOption = Output.text

    @cached_property
    def credentials(self) -> Given:
        """What ``bearer``, ``api_key``, ``basic`` and ``oauth_client`` mean."""
        return read_credentials(self.bearer, self.api_key, self.basic, self.oauth_client, self.token_origin or ())

    @cached_property
    def policy(self) -> UrlPolicy:
        """What ``same_origin``, ``allow_host`` and ``deny_private`` mean."""
        return url_policy(self.same_origin, self.allow_host, self.deny_private)

    @cached_property
    def service_params(self) -> dict[str, str]:
        """What ``svc_param`` means."""
        return read_service_params(self.svc_param or ())

    @cached_property
    def secrets(self) -> list[str]:
        """All that must go nowhere but to the agent's own host."""
        return [*secret_params(self.service_params).values(), *self.credentials.secrets]


def call_command(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of every call, gathered in its first parameter, and end it when the call fails.

    One of its further parameters is ``reference``.
    """
    own = list(signature(command, eval_str=True).parameters.values())[1:]
    hints = get_type_hints(CallOptions, include_extras=True)
    names = [field.name for field in fields(CallOptions)]
    shared = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
        for field in fields(CallOptions)
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        options = CallOptions(**{name: given.pop(name) for name in names})
        with failures():
            secrets = options.secrets
            try:
                command(options, **given)
            except (A2ADiscoveryError, CommandError, UnicodeEncodeError) as exc:
                failed = _failure(exc, given["reference"])
                raise CommandError(masked(str(failed), secrets), failed.code) from exc

    run.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]
    return run


@contextmanager
def connected(reference: str, options: CallOptions) -> Iterator[Agent]:
    """The agent that ``reference`` names, ready to be called.

    Raises:
        CommandError: the options are not usable, or credentials must not go to the interface.
        A2ADiscoveryError: there is no card, or none that can be used.
    """
    try:
        url = card_url(reference)
    except FetchError as exc:
        raise CommandError(str(exc), ExitCode.USAGE) from exc
    limit = options.timeout
    fetch_limit = min(limit or _FETCH_TIMEOUT, _FETCH_TIMEOUT)
    connect_limit = min(fetch_limit, _CONNECT_TIMEOUT)
    with CardResolver(
        headers=options.credentials.headers,
        policy=options.policy,
        timeout=fetch_limit,
        connect_timeout=connect_limit,
    ) as resolver:
        found = resolver.resolve(url)
    card, policy = found.card, options.policy.within(found.url)
    # What gRPC's core logs goes past every stream of ours.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    extensions = options.extension or ()
    for uri in extensions:
        if not wanted(card, [uri]):
            tell(f"a2a-discovery: warning: the card does not list the extension {uri!r}, so it is not declared")
    support = _support(card, options.transport, policy)
    interface = select_interface(card, support, policy=policy).interface
    if options.secrets or options.oauth_client:
        check_destination(interface, url)
    store, left = options.credentials.for_card(card, interface)
    with Agent(
        card,
        card_url=url,
        support=support,
        policy=policy,
        credentials=store,
        extensions=extensions,
        service_params={**options.service_params, **left},
        connect_timeout=connect_limit,
        timeout=limit or _CALL_TIMEOUT,
        idle_timeout=limit or _IDLE_TIMEOUT,
    ) as agent:
        yield agent


def _support(card: AgentCard, transports: list[Transport] | None, policy: UrlPolicy) -> Support | None:
    """What to speak, so that of the named bindings the first one is chosen that the card has."""
    if not transports:
        return None
    bindings = [transport.upper() for transport in transports]
    installed = Support.default().bindings
    for binding in bindings:
        alone = Support({binding: ("1.0",)})
        try:
            select_interface(card, alone, policy=policy)
        except NoSupportedInterfaceError:
            continue
        if binding in installed:
            return alone
    return Support(dict.fromkeys(bindings, ("1.0",)))


def _failure(exc: Exception, reference: str) -> CommandError:
    match exc:
        case CommandError():
            return exc
        case UnicodeEncodeError():
            return CommandError("an argument holds bytes that are no text in UTF-8", ExitCode.USAGE)
        case FetchError():
            return fetch_failure(exc)
        case CardError(subject="AgentCard", url=str(url)):
            return invalid(url, [problem for problem in exc.problems if problem.severity == "error"], reference)
        case CallTimeoutError():
            return CommandError(f"{exc.url}: {_short(exc.message)}; --timeout sets another limit", ExitCode.TIMEOUT)
        case TransportError():
            return CommandError(f"{exc.url}: {_short(exc.message)}", ExitCode.NO_CARD)
        case CredentialsRequiredError():
            hint = "--bearer, --api-key, --basic or --oauth-client give credentials"
            return CommandError(f"{exc}\n{hint}", ExitCode.CREDENTIALS)
        case TokenError():
            return CommandError(str(exc), ExitCode.CREDENTIALS)
        case NoSupportedInterfaceError():
            return CommandError(str(exc), ExitCode.NO_CARD)
        case A2AError():
            refused = exc.http_status in WANTS_CREDENTIALS or exc.grpc_status in _WANTS_CREDENTIALS
            return CommandError(_told(exc), ExitCode.CREDENTIALS if refused else ExitCode.FAILED)
    return CommandError(str(exc), ExitCode.FAILED)


def _told(error: A2AError) -> str:
    status = error.grpc_status if error.grpc_status != A2AError.grpc_status else "A2AError"
    name = (error.reason or status) if type(error) is A2AError else type(error).__name__
    unsent = " (by the card; nothing was sent)" if error.local else ""
    lines = [f"{_short(name)} ({error.code}): {_short(error.message)}{unsent}"]
    violations = [f"{_short(field) or 'the request'}: {_short(text)}" for field, text in error.field_violations]
    # Many agents, ours among them, say in the message already what is wrong.
    violations = [told for told in violations if told not in lines[0]]
    lines += [f"  {told}" for told in violations[:_SHOWN_VIOLATIONS]]
    if len(violations) > _SHOWN_VIOLATIONS:
        lines.append(f"  and {len(violations) - _SHOWN_VIOLATIONS} more")
    if error.challenge:
        lines.append(f"  it asks for: {_short(error.challenge)}")
    if error.retry_after is not None:
        lines.append(f"  it may be tried again in {error.retry_after:g} s")
    return "\n".join(lines)


def _short(text: str) -> str:
    """What an agent says, in one line of bounded length: it is one part of our message."""
    return clean(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
