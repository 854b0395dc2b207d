"""Which operations a card allows: the flags in ``capabilities``, and the error that a call would get (§3.3.4)."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from a2a_discovery import errors
from a2a_discovery._gen.operations import FLAGS, OPERATIONS
from a2a_discovery._operation import Flag
from a2a_discovery.dataclasses import as_message
from a2a_discovery.errors import A2AError, UnsupportedOperationError
from a2a_discovery.types import AgentCard


def refusal(card: Any, operation: str, request: Any = None) -> A2AError | None:
    """The error that the agent would answer ``operation`` with, or None when the card allows it.

    Args:
        card: an ``AgentCard``, or its betterproto dataclass.
        operation: the name of an rpc of A2AService: ``"SendStreamingMessage"``.
        request: the request, when there is one: a push configuration in a send needs the pushNotifications flag too.
    """
    known = OPERATIONS.get(operation)
    if known is None:
        close = get_close_matches(str(operation), OPERATIONS, n=1)
        hint = f"; was {close[0]} meant?" if close else ""
        return UnsupportedOperationError(f"A2A 1.0 has no operation {operation!r}{hint}", local=True)
    capabilities = as_message(card, AgentCard).capabilities
    if known.flag is not None and not getattr(capabilities, known.flag.field):
        return _error(known.flag, operation)
    push = FLAGS["push_notifications"]
    if request is not None and not getattr(capabilities, push.field) and _asks_for_push(as_message(request)):
        return _error(push, f"{operation} with a push configuration")
    return None


def require_capability(card: Any, operation: str, request: Any = None) -> None:
    """Do nothing when the card allows ``operation``; see ``refusal`` for the arguments.

    Raises:
        A2AError: the error that the agent would answer with, marked ``local``: UnsupportedOperationError (-32004) or
            PushNotificationNotSupportedError (-32003).
    """
    error = refusal(card, operation, request)
    if error is not None:
        raise error


def _error(flag: Flag, what: str) -> A2AError:
    error: type[A2AError] = getattr(errors, flag.error)
    return error(f"{what} needs capabilities.{flag.json_name}, which the card does not set", local=True)


def _asks_for_push(request: Any) -> bool:
    return request.DESCRIPTOR.name == "SendMessageRequest" and bool(
        request.configuration.HasField("task_push_notification_config")
    )
