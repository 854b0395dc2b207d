"""a2a-sdk's client as a peer: one scenario, step by step. Run as a module it prints what happened."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any

from tests.interop.peer import EXTENSION, report


def run_sdk_client(url: str, binding: str) -> dict[str, Any]:
    """Run the scenario against the agent at ``url`` in a process of its own; its keys are ``peer.STEPS``."""
    return report([sys.executable, "-W", "ignore", "-m", "tests.interop.sdk_client", url, binding])


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import grpc
    import httpx
    from a2a.client import A2ACardResolver, Client, ClientCallContext, ClientConfig, ClientFactory
    from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions
    from a2a.types import a2a_pb2
    from a2a.utils.errors import A2A_ERROR_REASONS, JSON_RPC_ERROR_CODE_MAP

PATIENCE = 15.0


def state(holder: Any) -> str:
    return a2a_pb2.TaskState.Name(holder.status.state)


def words(parts: Any) -> str:
    return "".join(part.text for part in parts)


def request(text: str, **configuration: Any) -> Any:
    message = a2a_pb2.Message(message_id=str(uuid.uuid4()), role=a2a_pb2.ROLE_USER, parts=[{"text": text}])
    return a2a_pb2.SendMessageRequest(message=message, configuration=configuration)


async def send(client: Client, text: str, **configuration: Any) -> Any:
    """The Task or Message that answers, from a client that does not stream."""
    (answer,) = [event async for event in client.send_message(request(text, **configuration))]
    return getattr(answer, answer.WhichOneof("payload"))


async def say(client: Client, text: str) -> str:
    return words((await send(client, f"message: {text}")).parts)


async def run(client: Client, text: str) -> dict[str, str]:
    """The state of the task that ``text`` made, and the text of its artifacts."""
    task = await send(client, text)
    return {"state": state(task), "text": "".join(words(artifact.parts) for artifact in task.artifacts)}


async def collect(events: AsyncIterator[Any]) -> dict[str, Any]:
    """The kinds of the events of a stream, the text of its artifacts and messages, and the last state."""
    kinds, text, last = [], "", ""
    async for event in events:
        match event.WhichOneof("payload"):
            case "task":
                kinds.append("task")
                last = state(event.task)
            case "message":
                kinds.append("message")
                text += words(event.message.parts)
            case "status_update":
                kinds.append("statusUpdate")
                last = state(event.status_update)
            case "artifact_update":
                kinds.append("artifactUpdate")
                text += words(event.artifact_update.artifact.parts)
            case other:
                kinds.append(str(other))
    return {"events": kinds, "text": text, "state": last}


async def get(client: Client, task_id: str) -> dict[str, Any]:
    task = await client.get_task(a2a_pb2.GetTaskRequest(id=task_id))
    return {"sameId": task.id == task_id, "state": state(task)}


async def listed(client: Client, task_id: str) -> dict[str, Any]:
    page = await client.list_tasks(a2a_pb2.ListTasksRequest(page_size=50))
    return {"found": task_id in {task.id for task in page.tasks}, "pageSize": page.page_size}


async def cancel(client: Client) -> str:
    task = await send(client, "slow", return_immediately=True)
    return state(await client.cancel_task(a2a_pb2.CancelTaskRequest(id=task.id)))


async def subscribe(client: Client, streaming: Client) -> dict[str, Any]:
    task = await send(client, "slow", return_immediately=True)
    return await collect(streaming.subscribe(a2a_pb2.SubscribeToTaskRequest(id=task.id)))


def push(config: Any, task_id: str) -> dict[str, Any]:
    return {
        "id": config.id,
        "sameTask": config.task_id == task_id,
        "url": config.url,
        "token": config.token,
        "scheme": config.authentication.scheme,
    }


async def push_create(client: Client, task_id: str) -> dict[str, Any]:
    config = a2a_pb2.TaskPushNotificationConfig(
        task_id=task_id,
        id="hook",
        url="http://127.0.0.1:9/hook",
        token="secret",
        authentication={"scheme": "Bearer", "credentials": "abc"},
    )
    return push(await client.create_task_push_notification_config(config), task_id)


async def push_get(client: Client, task_id: str) -> dict[str, Any]:
    asked = a2a_pb2.GetTaskPushNotificationConfigRequest(task_id=task_id, id="hook")
    return push(await client.get_task_push_notification_config(asked), task_id)


async def push_list(client: Client, task_id: str) -> list[str]:
    asked = a2a_pb2.ListTaskPushNotificationConfigsRequest(task_id=task_id)
    return [config.id for config in (await client.list_task_push_notification_configs(asked)).configs]


async def push_delete(client: Client, task_id: str) -> list[str]:
    asked = a2a_pb2.DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="hook")
    await client.delete_task_push_notification_config(asked)
    return await push_list(client, task_id)


async def extended_card(client: Client) -> list[str]:
    card = await client.get_extended_agent_card(a2a_pb2.GetExtendedAgentCardRequest())
    return [skill.id for skill in card.skills]


async def headers(client: Client) -> Any:
    parameters = ServiceParametersFactory.create([with_a2a_extensions([EXTENSION])])
    context = ClientCallContext(service_parameters=parameters)
    (answer,) = [event async for event in client.send_message(request("headers"), context=context)]
    return json.loads(words(answer.message.parts))


def described(card: Any) -> dict[str, Any]:
    return {
        "name": card.name,
        "interfaces": [[i.protocol_binding, i.url, i.tenant, i.protocol_version] for i in card.supported_interfaces],
        "extensions": [extension.uri for extension in card.capabilities.extensions],
    }


class Steps:
    """What each step of a scenario came to."""

    def __init__(self) -> None:
        self.done: dict[str, Any] = {}

    async def take(self, name: str, step: Callable[[], Awaitable[Any]]) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                self.done[name] = {"result": await step()}
        except Exception as error:
            self.done[name] = {
                "error": {
                    "name": type(error).__name__,
                    "reason": A2A_ERROR_REASONS.get(type(error)),
                    "code": JSON_RPC_ERROR_CODE_MAP.get(type(error)),
                    "message": str(error),
                }
            }


async def scenario(url: str, binding: str) -> dict[str, Any]:
    """Every step, whatever became of those before it."""
    steps = Steps()
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=PATIENCE))
        card = await A2ACardResolver(http, url).get_agent_card()
        steps.done["card"] = {"result": described(card)}

        async def connect(streaming: bool) -> Client:
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                grpc_channel_factory=grpc.aio.insecure_channel,
                supported_protocol_bindings=[binding],
            )
            return await stack.enter_async_context(ClientFactory(config).create(card))

        unary, streaming = await connect(False), await connect(True)
        task_id = ""
        with suppress(Exception):  # the steps that need it tell
            task_id = (await send(unary, "task: first")).id

        def stream(text: str) -> Callable[[], Awaitable[Any]]:
            return lambda: collect(streaming.send_message(request(text)))

        await steps.take("message", lambda: say(unary, "hello"))
        await steps.take("task", lambda: run(unary, "task: world"))
        await steps.take("stream", stream("task: streamed"))
        await steps.take("message_separator", lambda: say(unary, "a\u2028b"))
        await steps.take("stream_separator", stream("task: a\u2028b"))
        await steps.take("ask", lambda: run(unary, "ask"))
        await steps.take("get", lambda: get(unary, task_id))
        await steps.take("list", lambda: listed(unary, task_id))
        await steps.take("cancel", lambda: cancel(unary))
        await steps.take("subscribe", lambda: subscribe(unary, streaming))
        await steps.take("push_create", lambda: push_create(unary, task_id))
        await steps.take("push_get", lambda: push_get(unary, task_id))
        await steps.take("push_list", lambda: push_list(unary, task_id))
        await steps.take("push_delete", lambda: push_delete(unary, task_id))
        await steps.take("extended_card", lambda: extended_card(unary))
        await steps.take("headers", lambda: headers(unary))
        await steps.take("missing", lambda: get(unary, "no-such-task"))
        await steps.take("fail", lambda: run(unary, "fail"))
        await steps.take("fail_stream", stream("fail"))
        await steps.take("break_stream", stream("break"))
    return steps.done


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(scenario(*sys.argv[1:]))))
