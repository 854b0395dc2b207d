"""Serving an agent (extra ``server``; gRPC: extra ``grpc``): a handler, behind all bindings, and its card.

The names below are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from a2a_discovery._operation import CallContext as CallContext
    from a2a_discovery.server.asgi import asgi_app as asgi_app
    from a2a_discovery.server.cards import card_app as card_app
    from a2a_discovery.server.content import Content as Content
    from a2a_discovery.server.grpc import grpc_handlers as grpc_handlers
    from a2a_discovery.server.handler import AgentHandler as AgentHandler
    from a2a_discovery.server.push import PushSender as PushSender
    from a2a_discovery.server.store import MemoryTaskStore as MemoryTaskStore
    from a2a_discovery.server.task_handler import TaskHandler as TaskHandler
    from a2a_discovery.server.turns import Turn as Turn

_HOMES = {
    "AgentHandler": "server.handler",
    "CallContext": "_operation",
    "Content": "server.content",
    "MemoryTaskStore": "server.store",
    "PushSender": "server.push",
    "TaskHandler": "server.task_handler",
    "Turn": "server.turns",
    "asgi_app": "server.asgi",
    "card_app": "server.cards",
    "grpc_handlers": "server.grpc",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"a2a_discovery.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
