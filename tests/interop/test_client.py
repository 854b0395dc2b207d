"""This library's client, async and sync, against the servers of both official SDKs, over every binding."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from a2a_discovery import (
    A2AError,
    ContentTypeNotSupportedError,
    Support,
    TaskNotFoundError,
    UnsupportedOperationError,
    parse_card,
)
from a2a_discovery.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from tests.interop.js_peer import js_server
from tests.interop.peer import BINDINGS, EXTENSION, Peer
from tests.interop.sdk_server import sdk_server
from tests.servers import World

pytestmark = pytest.mark.anyio

SEPARATOR = "a\u2028b"
TENANT = "acme"


@pytest.fixture(scope="module", params=[sdk_server, js_server], ids=["python", "javascript"])
def peer(request: pytest.FixtureRequest) -> Iterator[Peer]:
    server: Callable[..., AbstractContextManager[Peer]] = request.param
    with server(tenant=TENANT, slow=0.5) as running:
        yield running


@pytest.fixture(params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def agent_at(world: World, peer: Peer, binding: str) -> Any:
    async with world.resolver() as resolver:
        found = await resolver.resolve(peer.url)
    return world.agent(
        parse_card(found.data), support=Support(bindings={binding: ["1.0"]}), extensions=[EXTENSION, "urn:not-listed"]
    )


def at_once(text: str) -> SendMessageRequest:
    message = Message(message_id="m", role=Role.ROLE_USER, parts=[Part(text=text)])
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(return_immediately=True))


def artifact_text(events: list[StreamResponse]) -> str:
    return "".join(p.text for e in events if e.HasField("artifact_update") for p in e.artifact_update.artifact.parts)


async def test_messages_and_streams(world: World, peer: Peer, binding: str) -> None:
    async with await agent_at(world, peer, binding) as agent:
        assert agent.interface.protocol_binding == binding
        reply = await agent.send_message(f"message: {SEPARATOR}")
        assert reply.message.parts[0].text == SEPARATOR
        task = (await agent.send_message("task: world")).task
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
        events = [event async for event in agent.send_streaming_message(f"task: {SEPARATOR}")]
        assert artifact_text(events) == f"part one {SEPARATOR}"
        assert events[0].WhichOneof("payload") == "task"
        assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        asked = [event async for event in agent.send_streaming_message("ask")]
        assert asked[-1].status_update.status.state == TaskState.TASK_STATE_INPUT_REQUIRED


async def test_tasks(world: World, peer: Peer, binding: str) -> None:
    async with await agent_at(world, peer, binding) as agent:
        task = (await agent.send_message("task: world")).task
        assert (await agent.get_task(GetTaskRequest(id=task.id))).id == task.id
        assert task.id in [found.id for found in (await agent.list_tasks()).tasks]
        slow = (await agent.send_message(at_once("slow"))).task
        canceled = await agent.cancel_task(CancelTaskRequest(id=slow.id))
        assert canceled.status.state == TaskState.TASK_STATE_CANCELED
        slow = (await agent.send_message(at_once("slow"))).task
        followed = [event async for event in agent.subscribe_to_task(SubscribeToTaskRequest(id=slow.id))]
        assert followed[0].task.id == slow.id
        assert (await agent.wait(slow)).status.state == TaskState.TASK_STATE_COMPLETED


async def test_push_configurations_and_the_extended_card(world: World, peer: Peer, binding: str) -> None:
    async with await agent_at(world, peer, binding) as agent:
        task = (await agent.send_message("task: world")).task
        config = TaskPushNotificationConfig(task_id=task.id, id="hook", url="http://127.0.0.1:9/hook")
        assert (await agent.create_task_push_notification_config(config)).id == "hook"
        wanted = GetTaskPushNotificationConfigRequest(task_id=task.id, id="hook")
        assert (await agent.get_task_push_notification_config(wanted)).url == config.url
        of_task = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        assert [c.id for c in (await agent.list_task_push_notification_configs(of_task)).configs] == ["hook"]
        gone = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="hook")
        await agent.delete_task_push_notification_config(gone)
        assert not (await agent.list_task_push_notification_configs(of_task)).configs
        assert "hidden" in [skill.id for skill in (await agent.get_extended_agent_card()).skills]


async def test_tenant_version_and_extensions_arrive(world: World, peer: Peer, binding: str) -> None:
    async with await agent_at(world, peer, binding) as agent:
        seen = json.loads((await agent.send_message("headers")).message.parts[0].text)
    assert (seen["tenant"], seen["rawVersion"], seen["rawExtensions"]) == (TENANT, "1.0", EXTENSION)


async def test_errors(world: World, peer: Peer, binding: str) -> None:
    async with await agent_at(world, peer, binding) as agent:
        with pytest.raises(TaskNotFoundError):
            await agent.get_task(GetTaskRequest(id="missing"))
        for call in (agent.send_message("fail"), anext(aiter(agent.send_streaming_message("fail")))):
            with pytest.raises(ContentTypeNotSupportedError) as caught:
                await call
            assert not caught.value.local
        events = []
        with pytest.raises(A2AError) as broken:
            async for event in agent.send_streaming_message("break"):
                events.append(event)  # noqa: PERF401 - what came before the error counts
        assert isinstance(broken.value, UnsupportedOperationError)
        assert events
        assert events[0].HasField("task")
