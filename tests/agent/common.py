"""What the tests of calls share: cards, requests, answers, and servers that record."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from a2a_discovery import protojson, types as t
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery._operation import Operation
from a2a_discovery.bindings import answers, jsonrpc, rest
from a2a_discovery.errors import A2ADiscoveryError
from tests.agent.grpc_server import GrpcServer
from tests.servers import Exchange, Server

BINDINGS = ["JSONRPC", "HTTP+JSON", "GRPC"]
HTTP = BINDINGS[:2]

METHODS = {
    "SendMessage": "send_message",
    "SendStreamingMessage": "send_streaming_message",
    "GetTask": "get_task",
    "ListTasks": "list_tasks",
    "CancelTask": "cancel_task",
    "SubscribeToTask": "subscribe_to_task",
    "CreateTaskPushNotificationConfig": "create_task_push_notification_config",
    "GetTaskPushNotificationConfig": "get_task_push_notification_config",
    "ListTaskPushNotificationConfigs": "list_task_push_notification_configs",
    "GetExtendedAgentCard": "get_extended_agent_card",
    "DeleteTaskPushNotificationConfig": "delete_task_push_notification_config",
}
UNARY = [name for name in METHODS if not OPERATIONS[name].streaming]
GET = t.GetTaskRequest(id="t")


def message(text: str = "hi", **fields: Any) -> t.Message:
    return t.Message(message_id="m", role=t.Role.ROLE_USER, parts=[t.Part(text=text)], **fields)


def requests() -> dict[str, Any]:
    """A complete request of each operation."""
    push = {"task_id": "t", "id": "p"}
    return {
        "SendMessage": t.SendMessageRequest(message=message()),
        "SendStreamingMessage": t.SendMessageRequest(message=message()),
        "GetTask": t.GetTaskRequest(id="t"),
        "ListTasks": t.ListTasksRequest(),
        "CancelTask": t.CancelTaskRequest(id="t"),
        "SubscribeToTask": t.SubscribeToTaskRequest(id="t"),
        "CreateTaskPushNotificationConfig": t.TaskPushNotificationConfig(url="https://h.test/hook", **push),
        "GetTaskPushNotificationConfig": t.GetTaskPushNotificationConfigRequest(**push),
        "ListTaskPushNotificationConfigs": t.ListTaskPushNotificationConfigsRequest(task_id="t"),
        "GetExtendedAgentCard": t.GetExtendedAgentCardRequest(),
        "DeleteTaskPushNotificationConfig": t.DeleteTaskPushNotificationConfigRequest(**push),
    }


def task(state: int = t.TaskState.TASK_STATE_COMPLETED, **fields: Any) -> t.Task:
    return t.Task(id="t", context_id="c", status=t.TaskStatus(state=state), **fields)  # type: ignore[arg-type]


def started() -> t.StreamResponse:
    return t.StreamResponse(task=task(t.TaskState.TASK_STATE_WORKING))


def status(state: int = t.TaskState.TASK_STATE_COMPLETED) -> t.StreamResponse:
    update = t.TaskStatusUpdateEvent(task_id="t", context_id="c", status=t.TaskStatus(state=state))  # type: ignore[arg-type]
    return t.StreamResponse(status_update=update)


def artifact(text: str) -> t.StreamResponse:
    made = t.Artifact(artifact_id="a", parts=[t.Part(text=text)])
    return t.StreamResponse(artifact_update=t.TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=made))


def card(*interfaces: t.AgentInterface, extensions: Iterable[t.AgentExtension] = (), flags: bool = True) -> t.AgentCard:
    capabilities = t.AgentCapabilities(
        streaming=flags, push_notifications=flags, extended_agent_card=flags, extensions=list(extensions)
    )
    skill = t.AgentSkill(id="s", name="S", description="d", tags=["t"])
    return t.AgentCard(
        name="n",
        description="d",
        version="1",
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        supported_interfaces=interfaces,
        capabilities=capabilities,
        skills=[skill],
    )


def interface(binding: str, url: str, tenant: str = "", version: str = "1.0") -> t.AgentInterface:
    return t.AgentInterface(protocol_binding=binding, url=url, tenant=tenant, protocol_version=version)


def reply(operation: str) -> Any:
    """A complete answer, or the only event."""
    config = t.TaskPushNotificationConfig(task_id="t", id="p", url="https://h.test/hook")
    made: dict[str, Any] = {
        "SendMessage": t.SendMessageResponse(task=task()),
        "SendStreamingMessage": t.StreamResponse(task=task()),
        "GetTask": task(),
        "ListTasks": t.ListTasksResponse(tasks=[task()]),
        "CancelTask": task(t.TaskState.TASK_STATE_CANCELED),
        "SubscribeToTask": t.StreamResponse(task=task()),
        "CreateTaskPushNotificationConfig": config,
        "GetTaskPushNotificationConfig": config,
        "ListTaskPushNotificationConfigs": t.ListTaskPushNotificationConfigsResponse(configs=[config]),
        "GetExtendedAgentCard": card(interface("JSONRPC", "https://h.test")),
        "DeleteTaskPushNotificationConfig": OPERATIONS["DeleteTaskPushNotificationConfig"].response(),
    }
    return made[operation]


def operation_of(exchange: Exchange) -> Operation:
    """What a request over one of the HTTP bindings calls; its body has been read."""
    if exchange.target.startswith("/rpc"):
        return OPERATIONS[json.loads(exchange.body)["method"]]
    return rest.match(exchange.verb, exchange.target.partition("?")[0]).operation


def encoded(exchange: Exchange, answer: Any) -> bytes:
    """An answer, or the data of an event, in the binding of the request; bytes stay what they are."""
    if isinstance(answer, bytes):
        return answer
    if exchange.target.startswith("/rpc"):
        return jsonrpc.encode_response(json.loads(exchange.body)["id"], answer)
    return protojson.dumps(answer) if answers.is_own(answer) else b"{}"


def sse(exchange: Exchange, *events: Any) -> bytes:
    return b"".join(b"data: " + encoded(exchange, event) + b"\n\n" for event in events)


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


class Site:
    """A server of one binding: ``url`` of the interface, and what came."""

    def __init__(self, binding: str, url: str, server: Server | GrpcServer) -> None:
        self.binding = binding
        self.url = url
        self.server = server

    def card(self, tenant: str = "", **options: Any) -> t.AgentCard:
        return card(interface(self.binding, self.url, tenant), **options)

    def calls(self) -> list[str]:
        """The names of the operations that were called, in order."""
        if isinstance(self.server, GrpcServer):
            return [name for name, _, _ in self.server.seen]
        return [operation_of(exchange).name for exchange in self.server.seen if exchange.body or exchange.head]

    def params(self) -> dict[str, str]:
        """The service parameters of the last call, names in lower case."""
        if isinstance(self.server, GrpcServer):
            return self.server.seen[-1][2]
        return self.server.seen[-1].headers


@contextmanager
def site(binding: str, answer: Callable[[str], Any] = reply) -> Iterator[Site]:
    """An agent over one binding; ``answer`` takes an operation's name, and gives a message or an iterable of events."""

    def listed(name: str) -> Any:
        given = answer(name)
        single = not OPERATIONS[name].streaming or not isinstance(given, Iterable)
        return [given] if OPERATIONS[name].streaming and single else given

    if binding == "GRPC":
        with GrpcServer(lambda name, request, context: listed(name)) as grpc_server:
            yield Site(binding, grpc_server.url, grpc_server)
        return

    def handler(exchange: Exchange) -> None:
        exchange.read_body()
        operation = operation_of(exchange)
        given = listed(operation.name)
        if not operation.streaming:
            exchange.answer(200, encoded(exchange, given), "Content-Type: application/json")
            return
        exchange.send(STREAM_HEAD)
        for event in given:
            exchange.send(sse(exchange, event))
        exchange.end()

    with Server(handler, keep_alive=True) as server:
        yield Site(binding, server.url + ("/rpc" if binding == "JSONRPC" else ""), server)


def arrived(found: Site, index: int) -> Any:
    """The request message that a server makes of what came."""
    if found.binding == "GRPC":
        return found.server.seen[index][1]
    exchange: Any = found.server.seen[index]
    if found.binding == "JSONRPC":
        document = json.loads(exchange.body)
        return protojson.loads(OPERATIONS[document["method"]].request, document.get("params", {}))
    path, _, query = exchange.target.partition("?")
    return rest.decode_request(rest.match(exchange.verb, path), query, exchange.body)


async def call(agent: Any, operation: str, request: Any = None, **options: Any) -> Any:
    """The answer of an operation, or the list of its events."""
    made = getattr(agent, METHODS[operation])(requests()[operation] if request is None else request, **options)
    if OPERATIONS[operation].streaming:
        return [event async for event in made]
    return await made


async def failure(agent: Any, operation: str, request: Any = None, **options: Any) -> tuple[Any, list[Any]]:
    """The error of a call, and the events before it."""
    events = []
    with pytest.raises(A2ADiscoveryError) as caught:
        made = getattr(agent, METHODS[operation])(requests()[operation] if request is None else request, **options)
        if OPERATIONS[operation].streaming:
            async for event in made:
                events.append(event)  # noqa: PERF401 - those before the error are wanted
        else:
            await made
    return caught.value, events


@asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    started_at = time.monotonic()
    yield
    assert time.monotonic() - started_at < seconds


async def eventually(condition: Callable[[], object]) -> None:
    """Wait up to 2 s for something that another thread does."""
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come about")
