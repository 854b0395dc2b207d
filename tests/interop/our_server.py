"""This library's server as a peer. Run as a module it serves; imported, it starts itself in another process."""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any

import grpc
import uvicorn

from a2a_discovery import ContentTypeNotSupportedError, UnsupportedOperationError
from a2a_discovery.server import TaskHandler, Turn, asgi_app, grpc_handlers
from a2a_discovery.types import AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill
from tests.interop.peer import BINDINGS, EXTENSION, Peer, running


def our_server(order: Sequence[str] = BINDINGS, tenant: str = "", slow: float = 3.0) -> AbstractContextManager[Peer]:
    """A running agent of this library; ``order`` and ``tenant`` shape the interfaces of its card."""
    command = [sys.executable, "-m", "tests.interop.our_server"]
    return running([*command, "--order", ",".join(order), "--tenant", tenant, "--slow", str(slow)])


def agent(slow: float) -> Any:
    async def run(turn: Turn) -> str | None:
        """What ``tests.interop.peer`` says."""
        verb, _, argument = turn.message.parts[0].text.partition(": ")
        if verb == "fail":
            raise ContentTypeNotSupportedError("refused on request")
        if verb == "message":
            return argument
        if verb == "headers":
            return json.dumps(seen(turn))
        await turn.working()
        if verb == "break":
            raise UnsupportedOperationError("broken on request")
        if verb == "ask":
            await turn.input_required()
        if verb == "slow":
            await asyncio.sleep(slow)
        if verb == "task":
            name = await turn.artifact("part one ", last=False)
            await turn.artifact(argument, artifact_id=name, append=True)
        return None

    return run


def seen(turn: Turn) -> dict[str, Any]:
    context = turn.context
    return {
        "tenant": turn.tenant,
        "version": context.version,
        "extensions": sorted(context.extensions),
        "rawVersion": context.service_params.get("a2a-version"),
        "rawExtensions": context.service_params.get("a2a-extensions"),
    }


def agent_card(interfaces: dict[str, str], tenant: str) -> AgentCard:
    return AgentCard(
        name="a2a-discovery peer",
        description="Does what the text says.",
        version="1",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0", tenant=tenant)
            for binding, url in interfaces.items()
        ],
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        capabilities=AgentCapabilities(
            streaming=True,
            push_notifications=True,
            extended_agent_card=True,
            extensions=[AgentExtension(uri=EXTENSION, description="Declared, and not required.")],
        ),
        skills=[AgentSkill(id="echo", name="Echo", description="Says it again.", tags=["echo"])],
    )


def extended(card: AgentCard) -> AgentCard:
    longer = AgentCard()
    longer.CopyFrom(card)
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
        handler = TaskHandler(agent(slow), extended_card=extended(card))
        rpc.add_generic_rpc_handlers(grpc_handlers(card, handler))
        await rpc.start()
        server = uvicorn.Server(
            uvicorn.Config(
                asgi_app(card, handler), lifespan="off", log_config=None, ws="none", timeout_graceful_shutdown=1
            )
        )
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        yield {"url": url, "interfaces": interfaces}
        server.should_exit = True
        await rpc.stop(None)
        await serving
        await handler.aclose()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--order", default=",".join(BINDINGS))
    parser.add_argument("--tenant", default="")
    parser.add_argument("--slow", type=float, default=3.0)
    said = parser.parse_args()
    async with answering(said.order.split(","), said.tenant, said.slow) as peer:
        sys.stdout.write(json.dumps(peer) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
