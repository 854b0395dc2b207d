"""One agent: its card, the interface that was chosen, and the calls."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from threading import Lock
from types import TracebackType
from typing import Any

import httpx

from a2a_discovery import _service_params
from a2a_discovery._async.http import HttpTransport
from a2a_discovery._async.streams import resuming
from a2a_discovery._async.waiting import waited
from a2a_discovery._deadline import async_sleep
from a2a_discovery._gen.async_methods import AsyncOperations
from a2a_discovery._guard import async_transport
from a2a_discovery._operation import CallOptions, Operation
from a2a_discovery._retry import checked_limits, retry_delay
from a2a_discovery.bindings import answers, faults
from a2a_discovery.capabilities import refusal
from a2a_discovery.dataclasses import as_message
from a2a_discovery.errors import (
    A2AError,
    CallTimeoutError,
    MissingExtraError,
    NoSupportedInterfaceError,
    TransportError,
)
from a2a_discovery.extensions import HEADER, check_required, declared, wanted
from a2a_discovery.interfaces import Selection, Support, major_minor, select_interface
from a2a_discovery.policy import UrlPolicy
from a2a_discovery.sending import as_request
from a2a_discovery.tasks import Progress
from a2a_discovery.tenancy import with_tenant
from a2a_discovery.types import AgentCard, AgentInterface, SubscribeToTaskRequest, Task
from a2a_discovery.validation import validate

_log = logging.getLogger("a2a_discovery")


@dataclass(frozen=True)
class _Connection:
    """The interface in use, and what makes the calls."""

    selection: Selection
    transport: Any
    version: str


class AsyncAgent(AsyncOperations):
    """Calls an agent over the first interface of its card that this client speaks (§8.3.2); a context manager.

    Before anything is sent, the card and the request are looked at, in this order: the operation's flag (§3.3.4), the
    extensions that the card demands, the tenant, the REQUIRED fields. What an agent would refuse is refused here, with
    the same error, marked ``local``. Every call carries ``A2A-Version``, ``A2A-Extensions`` when there are some, and
    the tenant of the interface. Tasks may share an agent.

    Args:
        card: the agent's card, or its betterproto dataclass.
        card_url: the URL that the card came from: its origin is what ``policy`` compares with.
        support: what this client speaks; by default what is installed.
        policy: which URLs may be called.
        client: makes the calls over HTTP, with its own headers, cookies and auth, and stays open.
        channel: a ``grpc.aio`` channel that makes the calls over GRPC, and stays open.
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
        support: Support | None = None,
        policy: UrlPolicy | None = None,
        client: httpx.AsyncClient | None = None,
        channel: Any = None,
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
        self._card = AgentCard()
        self._card.CopyFrom(as_message(card, AgentCard))
        self._card_url = card_url
        self._support = support
        self._policy = (UrlPolicy() if policy is None else policy).within(card_url)
        self._own_client = client is None
        self._client = client
        self._channel = channel
        self._extensions = tuple(extensions)
        self._service_params = _service_params.checked_params(service_params or {})
        self._connect_timeout = connect_timeout
        self._timeout = timeout
        self._idle_timeout = idle_timeout
        self._strict = strict_responses
        self._fallback = fallback
        self._retries = retries
        self._lock = Lock()
        self._unreachable: dict[int, str] = {}
        self._transports: list[Any] = []
        self._connection = self._connect()

    async def __aenter__(self) -> AsyncAgent:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; a client or channel that was passed in stays open."""
        for transport in self._transports:
            await transport.aclose()
        if self._own_client and self._client is not None:
            await self._client.aclose()

    @property
    def card(self) -> AgentCard:
        """The card; not to be changed."""
        return self._card

    @property
    def selection(self) -> Selection:
        """The interface in use, and why others were passed over."""
        return self._connection.selection

    @property
    def interface(self) -> AgentInterface:
        """The interface in use."""
        return self._connection.selection.interface

    def allows(self, operation: str) -> bool:
        """Whether the card allows ``operation``, by its name: ``"SendStreamingMessage"`` (§3.3.4)."""
        return refusal(self._card, operation) is None

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
        given = as_request(operation, request)
        attempt = 0
        while True:
            connection = self._connection
            message, params = self._prepare(connection, operation, given, options)
            timeout = options.get("timeout", self._timeout)
            try:
                response = await connection.transport.unary(operation, message, params, timeout)
            except (TransportError, A2AError) as exc:
                attempt += 1
                delay = 0.0 if self._fall_back(connection, exc) else retry_delay(operation, exc, attempt, self._retries)
                if delay is None:
                    raise
                await async_sleep(delay)
            else:
                answers.check(operation, response, strict=self._strict)
                return response

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
        given = as_request(operation, request)
        if isinstance(given, SubscribeToTaskRequest):
            progress.task_id = given.id
        while True:
            connection = self._connection
            message, params = self._prepare(connection, operation, given, options)
            idle = options.get("timeout", self._idle_timeout)
            try:
                # One generator does it all: each one more would cost as much as an event's reading.
                async with aclosing(connection.transport.stream(operation, message, params, idle)) as events:
                    async for event in events:
                        progress.note(event, answers.check(operation, event, strict=self._strict))
                        yield event
            except TransportError as exc:
                if self._fall_back(connection, exc):
                    continue
                if progress.settled:
                    _log.debug("the stream broke after its task had ended: %s", exc)
                    return
                if progress.events == 0 or isinstance(exc, CallTimeoutError):
                    raise
                raise progress.interruption(exc.message, self.interface.url) from exc
            if not progress.settled:
                raise progress.interruption("it was closed", self.interface.url)
            return

    def _prepare(
        self, connection: _Connection, operation: Operation, given: Any, options: CallOptions
    ) -> tuple[Any, dict[str, str]]:
        """The request to send and its service parameters; or the error that the agent would answer."""
        if "timeout" in options:
            checked_limits(timeout=options["timeout"])
        error = refusal(self._card, operation.name, given)
        if error is not None:
            raise error
        params = [self._service_params]
        if "service_params" in options:
            params.append(_service_params.checked_params(options["service_params"]))
        extensions = self._declared(params, options)
        check_required(self._card, extensions, local=True)
        request = with_tenant(given, connection.selection.interface)
        if problems := validate(request):
            refused = faults.invalid_params(problems)
            refused.local = True
            raise refused
        return request, _service_params.merged(connection.version, extensions, *params)

    def _declared(self, params: list[dict[str, str]], options: CallOptions) -> tuple[str, ...]:
        by_caller = _service_params.callers_extensions(*params)
        if self._client is not None and not self._own_client:
            by_caller += tuple(declared(self._client.headers.get_list(HEADER)))
        return tuple(
            dict.fromkeys((*by_caller, *wanted(self._card, (*self._extensions, *options.get("extensions", ())))))
        )

    def _connect(self) -> _Connection:
        selection = select_interface(self._card, self._support, policy=self._policy, unreachable=self._unreachable)
        interface = selection.interface
        transport: Any
        if interface.protocol_binding == "GRPC":
            try:
                from a2a_discovery._async.grpc import GrpcTransport
            except ModuleNotFoundError as exc:
                raise MissingExtraError("the GRPC binding", "grpc") from exc
            transport = GrpcTransport(
                interface.url, self._channel, policy=self._policy, connect_timeout=self._connect_timeout
            )
        else:
            transport = HttpTransport(
                interface.protocol_binding,
                interface.url,
                self._http(),
                own_client=self._own_client,
                policy=self._policy,
                connect_timeout=self._connect_timeout,
            )
        self._transports.append(transport)
        return _Connection(selection, transport, major_minor(interface.protocol_version) or "")

    def _http(self) -> httpx.AsyncClient:
        if self._client is None:
            # Streams stay open for long, and must not keep other calls from being made.
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
            self._client = httpx.AsyncClient(
                # Without a jar no server is recognised again by what another one set.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                limits=limits,
                transport=async_transport(self._policy, limits=limits),
            )
        return self._client

    def _fall_back(self, connection: _Connection, exc: Exception) -> bool:
        """Whether another interface is in use now, since nothing could be sent over ``connection``'s (§5.2)."""
        if not self._fallback or not isinstance(exc, TransportError) or exc.sent:
            return False
        with self._lock:
            if self._connection is connection:
                self._unreachable[connection.selection.index] = f"it cannot be connected to: {exc.message}"
                try:
                    self._connection = self._connect()
                except NoSupportedInterfaceError:
                    return False
        _log.debug("interface %d is tried instead", self._connection.selection.index)
        return True
