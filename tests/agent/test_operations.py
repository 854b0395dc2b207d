"""The eleven operations: what is handed over, what arrives, what comes back."""

from __future__ import annotations

import json
import logging
from typing import Any
from urllib.parse import unquote

import pytest

from a2a_discovery import dataclasses, protojson, types as t
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery.errors import A2AError, InvalidAgentResponseError, TenantMismatchError, TransportError
from tests.agent.common import (
    BINDINGS,
    GET,
    HTTP,
    METHODS,
    arrived,
    call,
    card,
    failure,
    interface,
    message,
    reply,
    requests,
    site,
    task,
)
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio

TENANTS = ["billing", "a/b", "../admin", "ü x", "a?b#c", "..", "%2F", "a:cancel"]


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("tenant", ["", *TENANTS])
async def test_what_is_sent_arrives_with_the_tenant_and_what_is_answered_comes_back(
    world: World, binding: str, tenant: str
) -> None:
    with site(binding) as found:
        async with world.agent(found.card(tenant)) as agent:
            for name, request in requests().items():
                before = request.SerializeToString()
                answer = await call(agent, name, request)
                assert answer == ([reply(name)] if OPERATIONS[name].streaming else reply(name))
                assert request.SerializeToString() == before
        assert found.calls() == list(METHODS)
        for i, (name, request) in enumerate(requests().items()):
            request.tenant = tenant
            assert arrived(found, i) == request, name


@pytest.mark.parametrize("tenant", TENANTS)
async def test_a_tenant_is_one_segment_of_the_path(world: World, tenant: str) -> None:
    with site("HTTP+JSON") as found:
        async with world.agent(found.card(tenant)) as agent:
            for name in METHODS:
                await call(agent, name)
    for exchange in found.server.seen:
        segment = exchange.target.split("/")[1]
        assert unquote(segment) == tenant
        assert segment not in (".", "..")


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("declared", ["", "billing"])
async def test_another_tenant_is_refused_before_the_call(world: World, binding: str, declared: str) -> None:
    with site(binding) as found:
        async with world.agent(found.card(declared)) as agent:
            for name, request in requests().items():
                request.tenant = "other"
                error, _ = await failure(agent, name, request)
                assert isinstance(error, TenantMismatchError)
        assert not found.server.seen


async def test_the_own_tenant_may_be_named(world: World) -> None:
    with site("JSONRPC") as found:
        async with world.agent(found.card("billing")) as agent:
            assert await agent.get_task(t.GetTaskRequest(id="t", tenant="billing")) == task()


@pytest.mark.parametrize("name", ["SendMessage", "SendStreamingMessage"])
async def test_what_a_send_takes(world: World, name: str) -> None:
    classes = dataclasses.classes()
    text = t.Part(text="hi")
    given: list[Any] = [
        "hi",
        text,
        dataclasses.to_dataclass(text),
        ["hi"],
        [text],
        (dataclasses.to_dataclass(text),),
        t.Message(role=t.Role.ROLE_USER, parts=[text]),
        classes.Message(role=classes.Role.USER, parts=[classes.Part(text="hi")]),
        t.SendMessageRequest(message=t.Message(role=t.Role.ROLE_USER, parts=[text])),
        dataclasses.to_dataclass(t.SendMessageRequest(message=message())),
    ]
    before = [str(one) for one in given]
    with site("GRPC") as found:
        async with world.agent(found.card()) as agent:
            for one in given:
                await call(agent, name, one)
    sent = [request.message for _, request, _ in found.server.seen]
    assert all(m.parts == [text] and m.role == t.Role.ROLE_USER for m in sent)
    assert sent.pop().message_id == "m"
    ids = {m.message_id for m in sent}
    assert len(ids) == len(sent) and all(len(i) == 36 for i in ids)
    assert [str(one) for one in given] == before


async def test_dataclasses_are_requests_and_cards_too(world: World) -> None:
    with site("JSONRPC") as found:
        async with world.agent(dataclasses.to_dataclass(found.card())) as agent:
            for name, request in requests().items():
                await call(agent, name, dataclasses.to_dataclass(request))
        assert found.calls() == list(METHODS)


@pytest.mark.parametrize("given", [GET, 5, bytearray(b"hi"), None, [5], [["hi"]], {"text": "hi"}, t.StreamResponse()])
async def test_what_a_send_does_not_take(world: World, given: Any) -> None:
    async with world.agent(card(interface("JSONRPC", "http://127.0.0.1:1"))) as agent:
        with pytest.raises(TypeError):
            await agent.send_message(given)


async def test_requests_that_need_no_fields_may_be_left_out(world: World) -> None:
    with site("JSONRPC") as found:
        async with world.agent(found.card()) as agent:
            await agent.list_tasks()
            await agent.get_extended_agent_card()
    bodies = [json.loads(exchange.body) for exchange in found.server.seen]
    assert bodies[0]["params"] == {} and "params" not in bodies[1]


async def test_json_rpc_requests_have_fresh_ids_and_a_tenant_in_params(world: World) -> None:
    with site("JSONRPC") as found:
        async with world.agent(found.card("billing")) as agent:
            for _ in range(3):
                await agent.get_extended_agent_card()
    bodies = [json.loads(exchange.body) for exchange in found.server.seen]
    assert [body["params"] for body in bodies] == [{"tenant": "billing"}] * 3
    assert len({body["id"] for body in bodies}) == 3
    assert all(isinstance(body["id"], str) and body["jsonrpc"] == "2.0" for body in bodies)


@pytest.mark.parametrize(
    ("binding", "suffix", "target"),
    [
        ("JSONRPC", "/rpc/", "/rpc/"),
        ("JSONRPC", "/rpc?key=a%2Fb&x=1", "/rpc?key=a%2Fb&x=1"),
        ("HTTP+JSON", "/", "/tasks/t?historyLength=2"),
        ("HTTP+JSON", "?key=v", "/tasks/t?historyLength=2&key=v"),
        ("HTTP+JSON", "/?key=v", "/tasks/t?historyLength=2&key=v"),
    ],
)
async def test_the_url_of_the_interface_is_kept(world: World, binding: str, suffix: str, target: str) -> None:
    with site(binding) as found:
        one = interface(binding, found.url.removesuffix("/rpc") + suffix)
        async with world.agent(card(one)) as agent:
            await agent.get_task(t.GetTaskRequest(id="t", history_length=2))
        assert found.server.seen[0].target == target


@pytest.mark.parametrize("binding", HTTP)
async def test_incomplete_answers_are_told_in_the_log_or_raised(
    world: World, binding: str, caplog: pytest.LogCaptureFixture
) -> None:
    lacking = {"GetTask": t.Task(id="t"), "SubscribeToTask": t.StreamResponse(task=t.Task(id="t"))}
    with site(binding, lambda name: lacking[name]) as found:
        async with world.agent(found.card()) as agent:
            caplog.set_level(logging.WARNING, logger="a2a_discovery")
            assert await agent.get_task(GET) == t.Task(id="t")
            assert "GetTask lacks REQUIRED fields" in caplog.text and "status" in caplog.text
            caplog.clear()
            error, events = await failure(agent, "SubscribeToTask")
            assert isinstance(error, TransportError) and len(events) == 1
            assert "SubscribeToTask lacks REQUIRED fields" in caplog.text
        async with world.agent(found.card(), strict_responses=True) as agent:
            for name in lacking:
                error, events = await failure(agent, name)
                assert isinstance(error, InvalidAgentResponseError) and "status" in str(error)
                assert not events and not error.local


BAD = {
    "SendMessage": t.SendMessageResponse(),
    "SendStreamingMessage": t.StreamResponse(),
    "GetTask": b'{"id":"t","contextId":"c","status":{"state":"TASK_STATE_DREAMING"}}',
    "CancelTask": b'{"id":5}',
    "ListTasks": b"[]",
    "SubscribeToTask": b'{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_DREAMING"}}}',
}


@pytest.mark.parametrize("binding", HTTP)
@pytest.mark.parametrize("name", BAD)
async def test_answers_that_are_none(world: World, binding: str, name: str) -> None:
    answer = BAD[name]
    if binding == "JSONRPC" and isinstance(answer, bytes):
        answer = b'{"jsonrpc":"2.0","id":"1","result":%b}' % answer
    with site(binding, lambda _: [answer] if OPERATIONS[name].streaming else answer) as found:
        async with world.agent(found.card()) as agent:
            error, _ = await failure(agent, name)
    assert type(error) is InvalidAgentResponseError


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("SendMessage", t.SendMessageResponse()),
        ("SendStreamingMessage", t.StreamResponse()),
        ("GetTask", b"\xff\xff\xff"),
        ("GetTask", task(77)),
        ("SubscribeToTask", t.StreamResponse(task=task(77))),
        ("SubscribeToTask", b"\xff\xff\xff"),
    ],
)
async def test_answers_over_grpc_that_are_none(world: World, name: str, answer: Any) -> None:
    with site("GRPC", lambda _: [answer] if OPERATIONS[name].streaming else answer) as found:
        async with world.agent(found.card()) as agent:
            error, _ = await failure(agent, name)
    assert type(error) is InvalidAgentResponseError


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"1.0","id":"1","result":{}}',
        b'{"id":"1","result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"tasks":[]}}',
        b'{"jsonrpc":"2.0","id":"1"}',
        b'{"jsonrpc":"2.0","id":"1","result":null}',
        b'[{"jsonrpc":"2.0","id":"1","result":{}}]',
    ],
)
async def test_what_is_no_answer_to_the_request(world: World, body: bytes) -> None:
    with site("JSONRPC", lambda _: body) as found:
        async with world.agent(found.card()) as agent:
            error, _ = await failure(agent, "ListTasks")
    assert type(error) is InvalidAgentResponseError


async def test_agents_of_http_json_have_to_answer_with_something(world: World) -> None:
    with Server(lambda exchange: exchange.answer(204)) as server:
        async with world.agent(card(interface("HTTP+JSON", server.url))) as agent:
            await call(agent, "DeleteTaskPushNotificationConfig")
            error, _ = await failure(agent, "GetTask")
    assert isinstance(error, A2AError) and type(error) is InvalidAgentResponseError


async def test_a_subscription_is_a_get_and_then_a_post(world: World) -> None:
    def handler(exchange: Exchange) -> None:
        exchange.read_body()
        if exchange.verb == "GET":
            exchange.answer(status, body)
        else:
            exchange.answer(200, protojson.dumps(reply("SubscribeToTask")), "Content-Type: application/json")

    gone = b'{"error":{"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}'
    for status, body, verbs in [  # noqa: B007 - the handler answers with them
        (404, b"not found", ["GET", "POST"]),
        (405, b"", ["GET", "POST"]),
        (404, gone, ["GET"]),
        (403, b"", ["GET"]),
    ]:
        with Server(handler) as server:
            async with world.agent(card(interface("HTTP+JSON", server.url, "x"))) as agent:
                if len(verbs) == 2:
                    assert await call(agent, "SubscribeToTask") == [reply("SubscribeToTask")]
                else:
                    error, _ = await failure(agent, "SubscribeToTask")
                    assert error.http_status == status
                    assert type(error).__name__ == ("TaskNotFoundError" if status == 404 else "A2AError")
            assert [exchange.verb for exchange in server.seen] == verbs
            assert {exchange.target for exchange in server.seen} == {"/x/tasks/t:subscribe"}
            assert [exchange.body for exchange in server.seen[1:]] in ([], [b'{"tenant":"x"}'])
