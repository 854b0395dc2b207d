"""An agent over HTTP that answers whatever a test wants."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from a2a_discovery import protojson
from a2a_discovery.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from tests.servers import Exchange, Server

JSON = "Content-Type: application/json"
EVENTS = "Content-Type: text/event-stream"


def card(*interfaces: tuple[str, str], streaming: bool = True) -> AgentCard:
    """A card with interfaces of these bindings and URLs."""
    return AgentCard(
        name="Fake",
        description="Answers as it is told.",
        version="1",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0") for binding, url in interfaces
        ],
        capabilities=AgentCapabilities(streaming=streaming),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="a", name="A", description="A.", tags=["a"])],
    )


def agent(
    answer: Callable[[Exchange], object], make_card: Callable[[str], AgentCard] | None = None, **options: Any
) -> Server:
    """A server of a card, by default one for JSONRPC at ``/rpc``; ``answer`` gets all other requests, read whole."""

    def handle(exchange: Exchange) -> None:
        if exchange.target.endswith("agent-card.json"):
            made = make_card(exchange.origin) if make_card else card(("JSONRPC", f"{exchange.origin}/rpc"))
            exchange.answer(200, protojson.dumps(made), JSON)
            return
        # To close a connection on unread bytes would reset it.
        read = len(exchange.head.partition(b"\r\n\r\n")[2])
        while read < int(exchange.headers.get("content-length", 0)):
            read += len(exchange.connection.recv(65536))
        answer(exchange)

    return Server(handle, **options)


def answering(status: int = 200, **members: Any) -> Callable[[Exchange], None]:
    """One JSON-RPC response that holds ``result=`` or ``error=``."""
    return lambda exchange: exchange.answer(status, response(**members), JSON)


def streaming(*results: Any, then: Callable[[Exchange], object] = lambda _: None) -> Callable[[Exchange], None]:
    """Events that hold these results, and then something else."""

    def answer(exchange: Exchange) -> None:
        exchange.send(f"HTTP/1.1 200 OK\r\n{EVENTS}\r\nConnection: close\r\n\r\n".encode())
        for result in results:
            exchange.send(b"data: " + response(result=result) + b"\n\n")
        then(exchange)

    return answer


def response(**members: Any) -> bytes:
    """A JSON-RPC response to a client's first request."""
    return json.dumps({"jsonrpc": "2.0", "id": "1", **members}).encode()


def message(text: str = "hi") -> dict[str, Any]:
    return {"message": {"messageId": "m-1", "role": "ROLE_AGENT", "parts": [{"text": text}]}}


def task(state: str = "COMPLETED", **members: Any) -> dict[str, Any]:
    return {"task": {"id": "t-1", "contextId": "c-1", "status": {"state": f"TASK_STATE_{state}"}, **members}}


def status(state: str) -> dict[str, Any]:
    return {"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": {"state": f"TASK_STATE_{state}"}}}
