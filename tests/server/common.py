"""An agent's card, requests, and a context, in short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from a2a_discovery import protojson
from a2a_discovery.server import CallContext
from a2a_discovery.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
)

VERSION = {"A2A-Version": "1.0"}
BINDINGS = {"JSONRPC": "/rpc", "HTTP+JSON": "/rest"}


def card(base: str = "http://localhost:1", *, demands: str = "", **flags: bool) -> AgentCard:
    """A card with every flag, unless it is said otherwise."""
    capabilities = AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=True)
    for name, value in flags.items():
        setattr(capabilities, name, value)
    if demands:
        capabilities.extensions.append(AgentExtension(uri=demands, required=True))
    entries = [
        AgentInterface(url=base + path, protocol_binding=binding, protocol_version="1.0")
        for binding, path in BINDINGS.items()
    ]
    entries.append(AgentInterface(url="localhost:1", protocol_binding="GRPC", protocol_version="1.0"))
    return AgentCard(
        name="Agent",
        description="Does things.",
        version="1",
        supported_interfaces=entries,
        capabilities=capabilities,
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="s", name="S", description="D", tags=["t"])],
    )


def message(text: str = "hello", **fields: Any) -> Message:
    return Message(message_id="m", role=Role.ROLE_USER, parts=[Part(text=text)], **fields)


def send(text: str = "hello", *, tenant: str = "", task: str = "", context: str = "", **configuration: Any) -> Any:
    return SendMessageRequest(
        tenant=tenant,
        message=message(text, task_id=task, context_id=context),
        configuration=SendMessageConfiguration(**configuration),
    )


def context(operation: str = "SendMessage") -> CallContext:
    return CallContext(operation, "JSONRPC", "1.0", (), {})


def call(method: str, request: Any, request_id: Any = 1) -> dict[str, Any]:
    """The body of a JSON-RPC request, decoded."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": protojson.to_dict(request)}


def state(task: Any) -> str:
    """The state of a task, or of a status update: ``"WORKING"``."""
    from a2a_discovery.types import TaskState

    return TaskState.Name(task.status.state).removeprefix("TASK_STATE_")


def kinds(events: list[Any]) -> list[str]:
    """What a stream told, in short."""

    def kind(event: Any) -> str:
        name = event.WhichOneof("payload")
        if name in ("task", "status_update"):
            return f"{name} {state(getattr(event, name))}"
        return str(name)

    return [kind(event) for event in events]


async def collect(stream: Any, seen: Callable[[Any], None] | None = None) -> list[Any]:
    events = []
    async for event in stream:
        events.append(event)
        if seen is not None:
            seen(event)
    return events
