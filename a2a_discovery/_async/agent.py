"""One agent: its card, the interface that was chosen, and the calls."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Any

import httpx

from a2a_discovery._async.authorizing import Authorizer
from a2a_discovery._async.connections import Connection, Connections
from a2a_discovery._async.resolver import CardResolver
from a2a_discovery._async.streams import resuming
from a2a_discovery._async.upkeep import CardUpkeep
from a2a_discovery._async.waiting import waited
from a2a_discovery._authorization import NOTHING, Authorization, is_unauthenticated
from a2a_discovery._deadline import async_sleep
from a2a_discovery._gen.async_methods import AsyncOperations
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery._grants import Grant
from a2a_discovery._operation import CallOptions, Operation
from a2a_discovery._preparing import Preparation
from a2a_discovery._retry import checked_limits, retry_delay
from a2a_discovery._service_params import checked_params
from a2a_discovery.bindings import answers
from a2a_discovery.bindings.answers import CardDocument
from a2a_discovery.capabilities import refusal
from a2a_discovery.dataclasses import as_message
from a2a_discovery.errors import A2AError, CallTimeoutError, TransportError
from a2a_discovery.fetched import ResolvedCard
from a2a_discovery.interfaces import Selection, Support
from a2a_discovery.policy import UrlPolicy, parse_url
from a2a_discovery.security import CredentialStore
from a2a_discovery.sending import async_request
from a2a_discovery.tasks import Progress
from a2a_discovery.types import AgentCard, AgentInterface, SubscribeToTaskRequest, Task

_log = logging.getLogger("a2a_discovery")


class AsyncAgent(AsyncOperations):
    """Calls an agent over the first interface of its card that this client speaks (§8.3.2); a context manager.

    Before anything is sent, the card and the request are looked at, in this order: the operation's flag (§3.3.4), the
    extensions that the card demands, the tenant, the REQUIRED fields, and the media types of the parts where the call
    asks for that. What an agent would refuse is refused here, with the same error, marked ``local``. Every call carries
    ``A2A-Version``, ``A2A-Extensions`` when there are some, and the tenant of the interface. Tasks may share an agent.

    Args:
        card: the agent's card, its betterproto dataclass, or what a resolver found, whose lifetime counts then.
        card_url: the URL that the card came from: its origin is what ``policy`` compares with, and where credentials
            go that name no origins. By default the URL that a resolver was asked for.
        resolver: revalidates the card when its lifetime is over; its signature policy holds for the extended card too.
            It stays open.
        support: what this client speaks; by default what is installed.
        policy: which URLs may be called.
        client: makes the calls over HTTP, with its own headers, cookies and auth, and stays open.
        channel: a ``grpc.aio`` channel that makes the calls over GRPC, and stays open.
        credentials: what the client has for the schemes that the card demands (§7). Where there are none, and neither
            ``client``, ``channel`` nor ``service_params`` may bring some, a card that demands some is not called.
        extensions: URIs of extensions that this client understands; those that the card lists are declared (§4.6).
        service_params: further headers or gRPC metadata of every call (§3.2.6).
        connect_timeout: seconds for one connection, TLS included.
        timeout: seconds for a whole call with one answer.
        idle_timeout: seconds of silence after which a stream is given up; a stream as a whole has no limit.
        strict_responses: whether a missing REQUIRED field in a response is an error, not a warning in the log.
        fallback: whether the next supported interface is tried where one cannot be connected to (§5.2).
        retries: how often a call that is safe to repeat is repeated: when no connection was made, or the agent answers
            429 or 503 with Retry-After.

    Raises:
        NoSupportedInterfaceError: no interface of the card can be used.
    """

    def __init__(
        self,
        card: Any,
        *,
        card_url: str | None = None,
        resolver: CardResolver | None = None,
        support: Support | None = None,
        policy: UrlPolicy | None = None,
        client: httpx.AsyncClient | None = None,
        channel: Any = None,
        credentials: CredentialStore | None = None,
        extensions: Iterable[str] = (),
        service_params: Mapping[str, str] | None = None,
        connect_timeout: float = 5.0,
        timeout: float = 60.0,
        idle_timeout: float = 300.0,
        strict_responses: bool = False,
        fallback: bool = False,
        retries: int = 0,
    ) -> None:
        checked_limits(connect_timeout=connect_timeout, timeout=timeout, idle_timeout=idle_timeout)
        found = card if isinstance(card, ResolvedCard) else None
        if found is not None:
            card = found.card
            card_url = found.requested_url if card_url is None else card_url
        policy = (UrlPolicy() if policy is None else policy).within(card_url)
        self._preparation = Preparation(tuple(extensions), checked_params(service_params or {}))
        self._timeout = timeout
        self._idle_timeout = idle_timeout
        self._strict = strict_responses
        self._retries = retries
        self._connections = Connections(
            as_message(card, AgentCard),
            support=support,
            policy=policy,
            client=client,
            channel=channel,
            connect_timeout=connect_timeout,
            fallback=fallback,
        )
        self._upkeep = CardUpkeep(self._connections, resolver, found, card_url)
        self._has_credentials = credentials is not None
        url = None if card_url is None else parse_url(card_url)
        self._authorizer = Authorizer(credentials, url, policy, connect_timeout=connect_timeout)

    async def __aenter__(self) -> AsyncAgent:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; a client or channel that was passed in stays open."""
        await self._connections.aclose()
        await self._authorizer.aclose()

    @property
    def card(self) -> AgentCard:
        """The card in force; not to be changed."""
        return self._connections.current.card

    @property
    def selection(self) -> Selection:
        """The interface in use, and why others were passed over."""
        return self._connections.current.selection

    @property
    def interface(self) -> AgentInterface:
        """The interface in use."""
        return self._connections.current.selection.interface

    def allows(self, operation: str) -> bool:
        """Whether the card allows ``operation``, by its name: ``"SendStreamingMessage"`` (§3.3.4)."""
        return refusal(self.card, operation) is None

    async def extended_card(self, *, refresh: bool = False) -> AgentCard:
        """Ask for the card that the agent shows to those it knows, and go by that from now on (§3.1.11, §13.3).

        The call is never anonymous, whatever the card's requirements allow: it carries a credential for a scheme that
        the card declares, or what a client, a channel or ``service_params`` bring. The card that comes is checked as
        one that is fetched, signatures included where there is a ``resolver``. Flags, extensions, demands and the
        interface are taken from it for all calls that begin later; where credentials go and which URLs are called
        depends on ``card_url`` as before. It stays until the public card's version changes. Calls at once make one
        request.

        Args:
            refresh: ask again, though there is one already.

        Raises:
            UnsupportedOperationError: the card does not offer one (§3.3.4); ``local``, nothing was sent.
            CredentialsRequiredError: there is no credential for any scheme; nothing was sent.
            CardError: the card that came is not valid; its ``.url`` is the interface's.
            SignatureError: its signatures are not what the resolver demands.
            NoSupportedInterfaceError: no interface of it can be used.
            A2AError: the agent answered with an error.
            TransportError: no answer came.

        Whatever is raised, the card in force stays.
        """
        return await self._upkeep.extended(self, refresh=refresh)

    async def refresh_card(self) -> AgentCard:
        """Resolve the public card anew, however fresh it is, and return the card in force then.

        A public card of another version takes the place of any card; one of the same version that of another public
        one. One without an interface that can be used takes no place, with a warning in the log. When the lifetime of
        the public card is over, the next call does the same by itself, as the resolver's cache allows, and what fails
        is a warning then; its time comes on top of the call's.

        Raises:
            ValueError: the agent has no ``resolver``, or no ``card_url``.
            FetchError: there is no card to be had.
            CardError: there is one, but it is not valid.
            SignatureError: its signatures are not what the resolver demands.
        """
        return await self._upkeep.refresh()

    async def wait(self, task: Task | str, *, poll_interval: float = 1.0, timeout: float | None = None) -> Task:
        """Wait until a task has ended or waits for the client (§3.1.2), and return it as it is then.

        Where the card allows it and there is no ``timeout``, the agent tells of the end; else it is asked from time to
        time.

        Args:
            task: the task, or its id.
            poll_interval: seconds between two questions.
            timeout: seconds after which to give up.

        Raises:
            CallTimeoutError: the task was still at work after ``timeout``.
        """
        return await waited(self, task, poll_interval, timeout, self._timeout)

    async def _unary(self, operation: Operation, request: Any, options: CallOptions) -> Any:
        if self._upkeep.is_due:
            await self._upkeep.revalidate()
        response, _ = await self._call(operation, request, options)
        answers.check(operation, response, strict=self._strict)
        return response

    async def _ask_for_card(self) -> tuple[CardDocument, str]:
        document, connection = await self._call(OPERATIONS["GetExtendedAgentCard"], None, {}, extended=True)
        return document, connection.url

    async def _call(
        self, operation: Operation, request: Any, options: CallOptions, *, extended: bool = False
    ) -> tuple[Any, Connection]:
        """The answer, and what it came over; ``extended``: as a card's document, to a call that is not anonymous."""
        given = await async_request(operation, request)
        attempt = 0
        rejected: Mapping[Grant, str] = {}
        while True:
            connection = self._connections.current
            message, params = self._prepare(connection, operation, given, options)
            auth = await self._authorize(connection, options, rejected, anonymous=not extended)
            transport = self._connections.transport(connection, auth.certificate)
            send = transport.card if extended else transport.unary
            timeout = options.get("timeout", self._timeout)
            try:
                return await send(operation, message, auth.under(params), timeout, auth.query), connection
            except (TransportError, A2AError) as exc:
                if auth.tokens and not rejected and is_unauthenticated(exc):
                    rejected = auth.tokens
                    continue
                attempt += 1
                delay = (
                    0.0
                    if self._connections.fall_back(connection, exc)
                    else retry_delay(operation, exc, attempt, self._retries)
                )
                if delay is None:
                    raise
                await async_sleep(delay)

    def _stream(
        self, operation: Operation, request: Any, resume: bool, options: CallOptions
    ) -> AsyncGenerator[Any, None]:
        progress = Progress()
        events = self._followed(operation, request, progress, options)
        return resuming(self, events, progress, options) if resume else events

    async def _followed(
        self, operation: Operation, request: Any, progress: Progress, options: CallOptions
    ) -> AsyncGenerator[Any, None]:
        """The events of one stream, and StreamInterruptedError where it ends before its task does (§3.1.2, §11.7)."""
        if self._upkeep.is_due:
            await self._upkeep.revalidate()
        given = await async_request(operation, request)
        if isinstance(given, SubscribeToTaskRequest):
            progress.task_id = given.id
        rejected: Mapping[Grant, str] = {}
        while True:
            connection = self._connections.current
            message, params = self._prepare(connection, operation, given, options)
            auth = await self._authorize(connection, options, rejected)
            transport = self._connections.transport(connection, auth.certificate)
            idle = options.get("timeout", self._idle_timeout)
            try:
                # One generator does it all: each one more would cost as much as an event's reading.
                stream = transport.stream(operation, message, auth.under(params), idle, auth.query)
                async with aclosing(stream) as events:
                    async for event in events:
                        progress.note(event, answers.check(operation, event, strict=self._strict))
                        yield event
            except A2AError as exc:
                if not auth.tokens or rejected or progress.events or not is_unauthenticated(exc):
                    raise
                rejected = auth.tokens
                continue
            except TransportError as exc:
                if self._connections.fall_back(connection, exc):
                    continue
                if progress.settled:
                    _log.debug("the stream broke after its task had ended: %s", exc)
                    return
                if progress.events == 0 or isinstance(exc, CallTimeoutError):
                    raise
                raise progress.interruption(exc.message, connection.url) from exc
            if not progress.settled:
                raise progress.interruption("it was closed", connection.url)
            return

    def _prepare(
        self, connection: Connection, operation: Operation, given: Any, options: CallOptions
    ) -> tuple[Any, dict[str, str]]:
        return self._preparation.prepare(
            operation,
            given,
            options,
            card=connection.card,
            interface=connection.selection.interface,
            version=connection.version,
            by_client=self._connections.declared_by_client,
        )

    async def _authorize(
        self, connection: Connection, options: CallOptions, rejected: Mapping[Grant, str], *, anonymous: bool = True
    ) -> Authorization:
        brought = connection.destination.given or self._preparation.service_params or options.get("service_params")
        if brought and not self._has_credentials:
            return NOTHING
        return await self._authorizer.authorize(
            connection.card, connection.destination, options.get("skill"), rejected, anonymous=anonymous
        )
