"""a2a-sdk's server as a peer. Run as a module it serves; imported, it starts itself in another process."""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys
import uuid
import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any

from tests.interop.peer import BINDINGS, EXTENSION, Peer, running


def sdk_server(order: Sequence[str] = BINDINGS, tenant: str = "", slow: float = 3.0) -> AbstractContextManager[Peer]:
    """A running a2a-sdk agent; ``order`` and ``tenant`` shape the interfaces of its card."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.interop.sdk_server"]
    return running([*command, "--order", ",".join(order), "--tenant", tenant, "--slow", str(slow)])


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import grpc
    import httpx
    import uvicorn
    from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_message, new_text_part
    from a2a.server.agent_execution import AgentExecutor, RequestContext
    from a2a.server.events import EventQueue
    from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
    from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
    from a2a.server.tasks import (
        BasePushNotificationSender,
        InMemoryPushNotificationConfigStore,
        InMemoryTaskStore,
        TaskUpdater,
    )
    from a2a.types import a2a_pb2, a2a_pb2_grpc
    from a2a.utils.errors import ContentTypeNotSupportedError, UnsupportedOperationError
    from starlette.applications import Starlette
    from starlette.routing import Mount


class Agent(AgentExecutor):
    """What ``tests.interop.peer`` says."""

    def __init__(self, slow: float) -> None:
        self._slow = slow

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message
        verb, _, argument = context.message.parts[0].text.partition(": ")
        if verb == "fail":
            raise ContentTypeNotSupportedError("refused on request")
        if verb in {"message", "headers"}:
            text = argument if verb == "message" else json.dumps(seen(context))
            await event_queue.enqueue_event(new_text_message(text, context_id=context.context_id))
            return
        task = context.current_task
        if not task:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        if verb == "break":
            raise UnsupportedOperationError("broken on request")
        if verb == "ask":
            await updater.requires_input()
            return
        if verb == "slow":
            await asyncio.sleep(self._slow)
        if verb == "task":
            artifact = str(uuid.uuid4())
            await updater.add_artifact([new_text_part("part one ")], artifact, append=False, last_chunk=False)
            await updater.add_artifact([new_text_part(argument)], artifact, append=True, last_chunk=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id and context.context_id
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def seen(context: RequestContext) -> dict[str, Any]:
    """The service parameters; a2a-sdk has no property for the version, only the headers."""
    state = context.call_context.state
    headers: dict[str, str] = state.get("headers", {})
    if "grpc_context" in state:
        for name, value in state["grpc_context"].invocation_metadata() or ():
            headers[name] = f"{headers[name]},{value}" if name in headers else value
    return {
        "tenant": context.tenant,
        "version": headers.get("a2a-version", ""),
        "extensions": sorted(context.requested_extensions),
        "rawVersion": headers.get("a2a-version"),
        "rawExtensions": headers.get("a2a-extensions"),
    }


def agent_card(interfaces: dict[str, str], tenant: str) -> Any:
    card = a2a_pb2.AgentCard(
        name="a2a-sdk peer",
        description="Does what the text says.",
        version="1",
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        capabilities={
            "streaming": True,
            "push_notifications": True,
            "extended_agent_card": True,
            "extensions": [{"uri": EXTENSION, "description": "Declared, and not required."}],
        },
        skills=[{"id": "echo", "name": "Echo", "description": "Says it again.", "tags": ["echo"]}],
    )
    for binding, url in interfaces.items():
        card.supported_interfaces.add(url=url, protocol_binding=binding, protocol_version="1.0", tenant=tenant)
    return card


def extended(card: Any) -> Any:
    longer = a2a_pb2.AgentCard.FromString(card.SerializeToString())
    longer.skills.add(id="hidden", name="Hidden", description="For those who are known.", tags=["hidden"])
    return longer


@asynccontextmanager
async def answering(order: Sequence[str], tenant: str, slow: float) -> AsyncIterator[dict[str, Any]]:
    """The three bindings of one agent, in the running loop."""
    rpc = grpc.aio.server()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        addresses = {
            "JSONRPC": f"{url}/rpc",
            "HTTP+JSON": f"{url}/rest",
            "GRPC": f"127.0.0.1:{rpc.add_insecure_port('127.0.0.1:0')}",
        }
        interfaces = {binding: addresses[binding] for binding in order}
        card = agent_card(interfaces, tenant)
        configs = InMemoryPushNotificationConfigStore()
        async with httpx.AsyncClient(trust_env=False) as client:
            handler = DefaultRequestHandler(
                Agent(slow),
                InMemoryTaskStore(),
                card,
                push_config_store=configs,
                push_sender=BasePushNotificationSender(client, configs),
                extended_agent_card=extended(card),
            )
            # Its own prefix comes after the tenant, where nobody asks: so the routes are mounted.
            rest = Mount("/rest", routes=create_rest_routes(handler))
            app = Starlette(
                routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc"), rest],
            )
            config = uvicorn.Config(app, lifespan="off", log_config=None, ws="none", timeout_graceful_shutdown=1)
            web = uvicorn.Server(config)
            a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc)
            await rpc.start()
            serving = asyncio.create_task(web.serve([listener]))
            while not web.started:
                await asyncio.sleep(0.01)
            yield {"url": url, "interfaces": interfaces}
            web.should_exit = True
            await rpc.stop(0)
            await serving
            await handler.aclose()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--order", default=",".join(BINDINGS))
    parser.add_argument("--tenant", default="")
    parser.add_argument("--slow", type=float, default=3.0)
    options = parser.parse_args()
    closed = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, lambda: sys.stdin.buffer.read1() or closed.set())
    async with answering(options.order.split(","), options.tenant, options.slow) as ready:
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await closed.wait()


if __name__ == "__main__":
    asyncio.run(main())
