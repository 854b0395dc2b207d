"""What the commands that call an agent share: the way to the agent, and what a failure means."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, Final, get_type_hints

from a2a_discovery.cli.common import failures, invalid, tell
from a2a_discovery.cli.credentials import check_destination, masked
from a2a_discovery.cli.kept import card_cache
from a2a_discovery.cli.load import WANTS_CREDENTIALS, CommandError, ExitCode, fetch_failure
from a2a_discovery.cli.options import CALL_TIMEOUT, FETCH_TIMEOUT, IDLE_TIMEOUT, CallOptions, Transport
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

_CONNECT_TIMEOUT: Final = 5.0
_SHOWN_VIOLATIONS: Final = 20
_SHOWN: Final = 1000
_WANTS_CREDENTIALS: Final = ("UNAUTHENTICATED", "PERMISSION_DENIED")


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
    fetch_limit = min(limit or FETCH_TIMEOUT, FETCH_TIMEOUT)
    connect_limit = min(fetch_limit, _CONNECT_TIMEOUT)
    with (
        card_cache(wanted=not options.no_cache) as cache,
        CardResolver(
            headers=options.credentials.headers,
            policy=options.policy,
            timeout=fetch_limit,
            connect_timeout=connect_limit,
            cache=cache,
        ) as resolver,
    ):
        found = resolver.resolve(url, refresh=options.refresh)
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
        timeout=limit or CALL_TIMEOUT,
        idle_timeout=limit or IDLE_TIMEOUT,
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
