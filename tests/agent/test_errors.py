"""Errors that an agent answers with, through a whole call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from a2a_discovery.errors import A2AError, TaskNotFoundError
from tests.agent.common import HTTP, STREAM_HEAD, artifact, card, failure, interface, sse, started
from tests.cases import load
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio


def answering(status: int, body: bytes, *fields: str) -> Any:
    def handler(exchange: Exchange) -> None:
        exchange.read_body()
        exchange.answer(status, body, *fields)

    return handler


def at(server: Server, binding: str) -> Any:
    return card(interface(binding, server.url + ("/rpc" if binding == "JSONRPC" else "")))


@pytest.mark.parametrize("how", ["unary", "stream", "in mid-stream"])
@pytest.mark.parametrize("case", load("errors"), ids=lambda case: case["name"])
async def test_cases(world: World, case: dict[str, Any], how: str) -> None:
    body = json.dumps(case["body"]).encode()

    def handler(exchange: Exchange) -> None:
        exchange.read_body()
        if how == "in mid-stream":
            exchange.send(STREAM_HEAD, sse(exchange, started(), artifact("a")), b"data: " + body + b"\n\n")
        else:
            exchange.answer(case["status"], body, "Content-Type: application/json")

    with Server(handler) as server:
        async with world.agent(at(server, case["binding"])) as agent:
            error, events = await failure(agent, "SendMessage" if how == "unary" else "SendStreamingMessage")
    assert len(events) == (2 if how == "in mid-stream" else 0)
    name = case["error"] or "A2AError"
    if name != "InvalidAgentResponseError" or how != "unary":
        # A bare task is as little an event as a response.
        assert type(error).__name__ == name
    assert isinstance(error, A2AError) and not error.local
    if how != "in mid-stream" and case["status"] != 200:
        assert error.http_status == case["status"]
    if "metadata" in case["name"]:
        assert error.metadata == {"taskId": "t"}


RPC_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"gone","data":[{"taskId":"t"}]}}'


@pytest.mark.parametrize("binding", HTTP)
@pytest.mark.parametrize("name", ["GetTask", "SendStreamingMessage"])
async def test_json_rpc_bodies_under_http_errors(world: World, binding: str, name: str) -> None:
    with Server(answering(404, RPC_ERROR, "Content-Type: application/json")) as server:
        async with world.agent(at(server, binding)) as agent:
            error, _ = await failure(agent, name)
    assert type(error) is TaskNotFoundError and (error.message, error.http_status) == ("gone", 404)
    assert error.details == ({"taskId": "t"},)


@pytest.mark.parametrize("binding", HTTP)
@pytest.mark.parametrize("name", ["GetTask", "SendStreamingMessage"])
async def test_what_a_proxy_answers(world: World, binding: str, name: str) -> None:
    fields = ("Retry-After: 7", 'WWW-Authenticate: Bearer realm="x"', "Content-Type: text/html")
    with Server(answering(503, b"<h1>Busy</h1>", *fields)) as server:
        async with world.agent(at(server, binding)) as agent:
            error, _ = await failure(agent, name)
    assert type(error) is A2AError and not error.local
    assert (error.http_status, error.retry_after, error.challenge) == (503, 7.0, 'Bearer realm="x"')
    assert "503" in error.message and "Busy" in error.message


@pytest.mark.parametrize("name", ["GetTask", "SendStreamingMessage"])
async def test_a_large_error(world: World, name: str) -> None:
    with Server(answering(500, b"x" * 3_000_000)) as server:
        async with world.agent(at(server, "JSONRPC")) as agent:
            error, _ = await failure(agent, name)
    assert type(error) is A2AError and error.http_status == 500 and len(str(error)) < 1000
