"""From a request message to the handler and back, the same for every binding."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from a2a_discovery import protojson
from a2a_discovery._operation import CallContext, Operation
from a2a_discovery._service_params import VERSION
from a2a_discovery.bindings import faults
from a2a_discovery.bindings.bodies import MAX_VALUES
from a2a_discovery.capabilities import refusal
from a2a_discovery.dataclasses import as_message
from a2a_discovery.errors import A2AError, VersionNotSupportedError
from a2a_discovery.extensions import HEADER as EXTENSIONS_HEADER, check_required, declared
from a2a_discovery.interfaces import major_minor
from a2a_discovery.server.checks import unfit_request
from a2a_discovery.server.handler import AgentHandler
from a2a_discovery.types import AgentCard
from a2a_discovery.validation import ensure_valid, validate

_UNSTATED: Final = "0.3"
_SPOKEN_MAJOR: Final = "1"

# All but KeyboardInterrupt: an agent that calls sys.exit() must not stop the server of others.
FAILURES: Final = (Exception, asyncio.CancelledError, GeneratorExit, SystemExit)

_log = logging.getLogger("a2a_discovery")


class Dispatcher:
    """Answers what the card already answers, calls the handler for the rest, and minds what it gives back.

    Args:
        card: the card that clients see.
        handler: carries the operations out.
        extended_card: the answer to GetExtendedAgentCard, in place of the handler's.
        max_values: how many values a request may hold.

    Raises:
        CardError: a card lacks a REQUIRED field, or holds what JSON cannot.
    """

    def __init__(
        self, card: Any, handler: AgentHandler, extended_card: Any = None, *, max_values: int = MAX_VALUES
    ) -> None:
        self.max_values = max_values
        self.card = _checked(card)
        self.handler = handler
        self._extended_card = None if extended_card is None else _checked(extended_card)
        self._versions: dict[str, list[str]] = {}
        for entry in self.card.supported_interfaces:
            version = major_minor(entry.protocol_version)
            # A card may name an entry of 0.3 too, which something else answers.
            if version is not None and version.startswith(f"{_SPOKEN_MAJOR}."):
                self._versions.setdefault(entry.protocol_binding, []).append(version)

    def admit(
        self, binding: str, operation: Operation, request: Message, service_params: Mapping[str, str]
    ) -> CallContext:
        """Let a call through to the handler, or say why not.

        Args:
            binding: ``"JSONRPC"``, ``"HTTP+JSON"`` or ``"GRPC"``.
            operation: the operation.
            request: its request.
            service_params: all headers or metadata, names in lower case (§3.2.6).

        Raises:
            A2AError: the version is not spoken (§3.6.2), the card does not offer the operation (§3.3.4), an extension
                that it demands was not declared (§3.3.4), or the request holds what none may, or lacks a REQUIRED field
                (§5.7): in this order.
        """
        version = self.version(binding, service_params)
        refused = refusal(self.card, operation.name, request)
        if refused is not None:
            raise type(refused)(refused.message)
        extensions = declared([service_params.get(EXTENSIONS_HEADER.lower(), "")])
        check_required(self.card, extensions)
        if problems := [*unfit_request(request, self.max_values), *validate(request)]:
            raise faults.invalid_params(problems)
        return CallContext(operation.name, binding, version, extensions, service_params)

    async def unary(self, operation: Operation, request: Message, context: CallContext) -> Message:
        """Carry out an operation that does not stream.

        Raises:
            A2AError: what the handler raised; an internal error for anything that is none of the client's business.
        """
        if operation.name == "GetExtendedAgentCard" and self._extended_card is not None:
            return self._extended_card
        try:
            return _answer(operation, await getattr(self.handler, operation.method)(request, context))
        except A2AError:
            raise
        except FAILURES as exc:
            if is_stopped(exc):
                raise
            raise _failure(operation) from exc

    async def stream(
        self, operation: Operation, request: Message, context: CallContext
    ) -> AsyncGenerator[Message, None]:
        """Carry out an operation that streams: at least one event; the handler's generator is closed with this one.

        Raises:
            A2AError: as of ``unary``, before any event or after some.
        """
        closing = False
        try:
            events = getattr(self.handler, operation.method)(request, context)
            async with aclosing(events):
                event = None
                async for event in events:
                    answer = _answer(operation, event)
                    closing = True  # who closes this generator throws GeneratorExit here
                    yield answer
                    closing = False
                if event is None:
                    raise _WrongAnswerError("it streamed nothing")
        except A2AError:
            raise
        except FAILURES as exc:
            if (closing and isinstance(exc, GeneratorExit)) or is_stopped(exc):
                raise
            raise _failure(operation) from exc

    def version(self, binding: str, service_params: Mapping[str, str]) -> str:
        """The version that a request states, Major.Minor; one that states none means 0.3 (§3.6.2).

        Raises:
            VersionNotSupportedError: the card has no entry of ``binding`` that speaks it.
        """
        stated = service_params.get(VERSION.lower(), "")
        version = major_minor(stated.strip() or _UNSTATED)
        supported = self._versions.get(binding, [])
        if version is None or version not in supported:
            said = f"version {stated[:20]!r}" if stated.strip() else f"no {VERSION}, which means 0.3,"
            known = ", ".join(supported) or "none"
            raise VersionNotSupportedError(f"the request states {said} but this interface speaks {known}")
        return version


class _WrongAnswerError(Exception):
    """The handler gave something back that is no answer."""


def _answer(operation: Operation, answer: Any) -> Message:
    if answer is None and operation.response is Empty:
        return Empty()  # a deletion has nothing to say
    if not isinstance(answer, operation.response):
        raise _WrongAnswerError(f"it gave {type(answer).__name__} instead of {operation.response.__name__}")
    if "payload" in answer.DESCRIPTOR.oneofs_by_name and answer.WhichOneof("payload") is None:
        raise _WrongAnswerError(f"it gave {operation.response.__name__} without a payload")
    return answer


def _failure(operation: Operation) -> A2AError:
    """Log what is being handled; what the client is told says nothing of it."""
    _log.exception("the handler failed at %s", operation.name)
    return faults.internal()


def is_stopped(exc: BaseException) -> bool:
    """Whether an exception means that this task is to stop, rather than that what it called failed.

    What the handler waited for may have been canceled alone; it may raise GeneratorExit, which otherwise closes a
    coroutine whose task is gone.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    return not isinstance(exc, Exception | SystemExit) and (
        task is None or (isinstance(exc, asyncio.CancelledError) and task.cancelling() > 0)
    )


def _checked(card: Any) -> AgentCard:
    copy = AgentCard()
    copy.CopyFrom(as_message(card, AgentCard))
    ensure_valid(copy)
    protojson.dumps(copy)  # or no client could read it
    return copy
