"""What a client may not send is refused over every binding, and what the agent may not say never goes out."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import grpc
import httpx
import pytest
from google.protobuf.message import DecodeError
from google.protobuf.struct_pb2 import Value
from google.rpc import error_details_pb2

from a2a_discovery import A2AError, CardError, protojson
from a2a_discovery.bindings import jsonrpc
from a2a_discovery.server import AgentHandler, TaskHandler, Turn, asgi_app
from a2a_discovery.server.checks import ensure_writable, unfit_request
from a2a_discovery.server.dispatch import Dispatcher
from a2a_discovery.types import (
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SendMessageResponse,
    StreamResponse,
    Task,
    TaskStatus,
)
from tests.server.common import VERSION, call, card, collect, context, message, send, state
from tests.server.test_grpc import VERSION as METADATA, channel_to, details, failure, reason, stub

pytestmark = pytest.mark.anyio

INFINITE = float("inf")


async def run(turn: Turn) -> Message | None:
    match turn.text:
        case "data":
            await turn.complete({"a": [1, float("nan")]})
        case "artifact":
            await turn.artifact(Part(data=Value(number_value=INFINITE)))
        case "metadata":
            await turn.working(metadata={"x": -INFINITE})
        case "reply":
            said = message()
            said.metadata["x"] = INFINITE
            return said
        case "exit":
            raise SystemExit(1)
        case "generator":
            raise GeneratorExit
        case "surrogate":
            await turn.working()
            raise A2AError("half \ud800 a pair")
        case _:
            await turn.complete("done")
    return None


def client_of(handler: AgentHandler, **settings: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(asgi_app(card(), handler, **settings))
    return httpx.AsyncClient(transport=transport, base_url="http://agent.test", headers=VERSION)


def infinite() -> SendMessageRequest:
    request = send()
    request.message.metadata["a"] = [1, {"b": INFINITE}]
    return request


def changed(**fields: Any) -> SendMessageRequest:
    request = send()
    del request.message.parts[:]
    request.message.MergeFrom(Message(**fields))
    return request


UNFIT = {
    "a number": (infinite(), 'message.metadata["a"][1]["b"]'),
    "nothing": (changed(parts=[Part(data=Value())]), "message.parts[0].data"),
    "no content": (changed(parts=[Part(text="x"), Part()]), "message.parts[1]"),
    "a role": (changed(role=77, parts=[Part(text="x")]), "message.role"),
    "the agent's role": (changed(role=Role.ROLE_AGENT, parts=[Part(text="x")]), "message.role"),
    "no role": (SendMessageRequest(message=Message(message_id="m", parts=[Part(text="x")])), "message.role"),
}


@pytest.mark.parametrize(("request_", "path"), UNFIT.values(), ids=UNFIT)
async def test_what_a_client_may_not_send(request_: Any, path: str) -> None:
    handler = TaskHandler(run)
    async with channel_to(handler) as channel:
        error = await failure(stub(channel, "SendMessage")(request_, metadata=METADATA))
        assert (error.code(), reason(error)) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_PARAMS")
        bad = error_details_pb2.BadRequest()
        assert details(error)[1].Unpack(bad)
        assert [v.field for v in bad.field_violations] == [path]
        assert not (await stub(channel, "ListTasks")(ListTasksRequest(), metadata=METADATA)).tasks


@pytest.mark.parametrize("name", ["no content", "a role", "the agent's role", "no role"])
async def test_the_same_in_json(name: str) -> None:
    request, path = UNFIT[name]
    async with client_of(TaskHandler(run)) as client:
        one = (await client.post("/rpc", json=call("SendMessage", request))).json()["error"]
        two = await client.post("/rest/message:send", content=protojson.dumps(request))
    assert (one["code"], two.status_code) == (-32602, 400)
    for found in (one["data"], two.json()["error"]["details"]):
        assert [v["field"] for v in found[1]["fieldViolations"]] == [path]
    assert "ROLE_USER" in one["message"] or "role" not in path


def test_the_hint_for_a_message_is_one_of_a_client() -> None:
    with pytest.raises(A2AError, match=r'"role": "ROLE_USER"'):
        Dispatcher(card(), AgentHandler()).admit(
            "JSONRPC", jsonrpc.OPERATIONS["SendMessage"], SendMessageRequest(), {"a2a-version": "1.0"}
        )
    with pytest.raises(CardError, match=r'"role": "ROLE_USER"'):
        protojson.loads(SendMessageRequest, {"message": 1})
    with pytest.raises(CardError, match=r'"role": "ROLE_AGENT"'):
        protojson.loads(SendMessageResponse, {"message": 1})


def test_what_an_agent_answers_is_not_checked_like_a_request() -> None:
    ensure_writable(StreamResponse(message=Message(role=Role.ROLE_AGENT, parts=[Part(), Part(data=Value())])))


def test_nothing_is_kept_that_is_nested_too_deep_to_be_listed() -> None:
    def nested(levels: int) -> SendMessageRequest:
        request, value = send(), Value(bool_value=True)
        for _ in range(levels):
            outer = Value()
            outer.list_value.values.append(value)
            value = outer
        request.message.parts.add(data=value)
        return request

    fits = max(n for n in range(50) if not unfit_request(nested(n)))
    task = Task(id="t", status=TaskStatus(state=1), history=[nested(fits).message])
    assert protojson.loads(Task, protojson.dumps(task)) == task
    StreamResponse.FromString(StreamResponse(task=task).SerializeToString())
    with pytest.raises(DecodeError):
        StreamResponse(task=Task(history=[nested(fits + 1).message]))


@pytest.mark.parametrize("text", ["data", "artifact", "metadata", "reply", "exit", "generator", "surrogate"])
async def test_what_an_agent_does_wrong_fails_its_task_alone(text: str, caplog: pytest.LogCaptureFixture) -> None:
    handler = TaskHandler(run)
    async with asyncio.timeout(10):
        task = (await handler.send_message(send(text), context())).task
    assert state(task) == "FAILED"
    assert [r.levelno for r in caplog.records] == ([] if text == "surrogate" else [logging.ERROR])
    page = await handler.list_tasks(ListTasksRequest(), context())
    assert json.loads(protojson.dumps(page))["tasks"][0]["status"]["state"] == "TASK_STATE_FAILED"


async def test_an_artifact_that_is_not_there_cannot_grow() -> None:
    async def grow(turn: Turn) -> None:
        with pytest.raises(ValueError, match="first piece"):
            await turn.artifact("x", artifact_id="a", append=True)
        await turn.artifact("x", artifact_id="a")
        await turn.artifact("y", artifact_id="a", append=True)

    task = (await TaskHandler(grow).send_message(send(), context())).task
    assert [len(a.parts) for a in task.artifacts] == [2]


class Odd(AgentHandler):
    """Answers what the id of the task says."""

    async def get_task(self, request: Any, context: Any) -> Any:
        match request.id:
            case "infinite":
                task = Task(id="t")
                task.metadata["x"] = INFINITE
                return task
            case "exit":
                raise SystemExit(1)
            case "generator":
                raise GeneratorExit
        raise A2AError(
            "a \ud800 b" + 20_000 * "x",
            reason="ODD\udfff",
            metadata={"\ud800": "\udfff"},
            details=[{"@type": "x", "y": {"\ud800": [object, 2**70]}}],
            challenge="Bearer \ud800",
            grpc_status="NONE",
        )

    async def subscribe_to_task(self, request: Any, context: Any) -> AsyncIterator[Any]:
        yield StreamResponse(task=Task(id=request.id))
        yield StreamResponse(task=await self.get_task(request, context))

    async def delete_task_push_notification_config(self, request: Any, context: Any) -> Any:
        return None


@pytest.mark.parametrize("what", ["infinite", "exit", "generator"])
async def test_what_a_handler_does_wrong_is_an_internal_error(what: str, caplog: pytest.LogCaptureFixture) -> None:
    request = GetTaskRequest(id=what)
    async with client_of(Odd()) as client:
        assert (await client.post("/rpc", json=call("GetTask", request))).json()["error"]["code"] == -32603
        assert (await client.get(f"/rest/tasks/{what}")).status_code == 500
        streamed = (await client.get(f"/rest/tasks/{what}:subscribe")).text
        assert json.loads(streamed.split("data: ")[2])["error"]["code"] == 500
    async with channel_to(Odd()) as channel:
        for name in ("GetTask", "SubscribeToTask"):
            asked = stub(channel, name)(jsonrpc.OPERATIONS[name].request(id=what), metadata=METADATA)
            error = await failure(asked)
            assert (error.code(), reason(error)) == (grpc.StatusCode.INTERNAL, "INTERNAL_ERROR")
    assert [r.levelno for r in caplog.records] == 5 * [logging.ERROR]


async def test_an_error_is_written_whatever_it_holds() -> None:
    async with client_of(Odd()) as client:
        one = (await client.post("/rpc", json=call("GetTask", GetTaskRequest(id="x")))).json()["error"]
        two = (await client.get("/rest/tasks/x")).json()["error"]
        gone = await client.delete("/rest/tasks/x/pushNotificationConfigs/c")
    for found in (one, two):
        assert found["message"].startswith("a \ufffd bx") and len(found["message"]) < 17_000
    assert one["data"][0]["metadata"] == {"\ufffd": "\ufffd"}
    assert (gone.status_code, gone.json()) == (200, {})
    async with channel_to(Odd()) as channel:
        error = await failure(stub(channel, "GetTask")(GetTaskRequest(id="x"), metadata=METADATA))
    assert error.code() == grpc.StatusCode.UNKNOWN
    assert (error.details() or "").startswith("a \ufffd bx")


async def test_a_generator_that_is_closed_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    operation = jsonrpc.OPERATIONS["SubscribeToTask"]
    stream = Dispatcher(card(), Odd()).stream(operation, operation.request(id="x"), context())
    await anext(stream)
    await stream.aclose()
    assert caplog.records == []


def rpc(body: str) -> tuple[int, Any, list[str]]:
    """Code, id and fields of the error that a JSON-RPC body gets."""
    with pytest.raises(jsonrpc.RequestError) as caught:
        jsonrpc.decode_request(body.encode())
    return caught.value.error.code, caught.value.id, [field for field, _ in caught.value.error.field_violations]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ('{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask","params":{"id":"x"}}', (-32600, None, [])),
        ('{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"CancelTask","params":{}}', (-32600, 1, [])),
        ('{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{},"params":{"id":"x"}}', (-32600, 1, [])),
        ('{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"tenant":"a","tenant":"b"}}', (-32602, 1, ["tenant"])),
        (
            '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"parts":[{"text":"a","text":"b"}]}}}',
            (-32602, 1, ["message.parts[0].text"]),
        ),
        (
            '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"metadata":{"\\u0022":1,"\\"":2}}}}',
            (-32602, 1, ['message.metadata["\\""]']),
        ),
        ('{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"GetTask"}', (-32600, None, [])),
    ],
)
def test_a_request_that_reads_in_two_ways(body: str, wanted: Any) -> None:
    assert rpc(body) == wanted


async def test_numbers_that_are_ids() -> None:
    async with client_of(Odd()) as client:
        for request_id in (2**64 - 1, -(2**63), 1.5):
            answer = await client.post("/rpc", json=call("GetTask", GetTaskRequest(id="exit"), request_id))
            assert answer.json()["id"] == request_id


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/rest/%FF/tasks/x:cancel", "", "tenant"),
        ("/rest/a/tasks/%C3%28:cancel", "", "id"),
        ("/rest/tasks/x:cancel?tenant=%FE", "", "tenant"),
        ("/rest/tasks/x:cancel?tenant=a&tenant=b", "", "tenant"),
        ("/rest/tasks/x:cancel?tenant=a", '{"tenant":"b"}', "tenant"),
        ("/rest/tasks/x:cancel", '{"tenant":"a","tenant":"b"}', "tenant"),
    ],
)
async def test_a_tenant_that_reads_in_two_ways(path: str, body: str, field: str) -> None:
    async with client_of(Odd()) as client:
        answer = await client.post(path, content=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["status"]) == (400, "INVALID_ARGUMENT")
    assert error["details"][1]["fieldViolations"][0]["field"] == field


async def test_the_version_may_be_in_the_query() -> None:
    body = call("GetTask", GetTaskRequest(id="exit"))
    async with client_of(Odd()) as client:
        del client.headers["A2A-Version"]
        for query, code in (("", -32009), ("?A2A-Version=1.0", -32603), ("?a2a-version=0.3", -32009)):
            assert (await client.post(f"/rpc{query}", json=body)).json()["error"]["code"] == code
        assert (await client.get("/rest/tasks/exit?A2A-Version=1.0")).status_code == 500
        stated = await client.get("/rest/tasks/exit?A2A-Version=1.0", headers={"A2A-Version": "0.3"})
        assert stated.status_code == 400, "the header counts"


async def test_how_many_values_are_read() -> None:
    many = send()
    many.message.parts.extend(Part(data=Value(number_value=i)) for i in range(60))
    handler = TaskHandler(run)
    async with client_of(handler, max_request_values=100) as client:
        one = await client.post("/rpc", json=call("SendMessage", many))
        two = await client.post("/rest/message:send", content=protojson.dumps(many))
        assert (one.status_code, one.json()["id"], one.json()["error"]["code"]) == (413, 1, -32600)
        assert two.status_code == 413
        assert "result" in (await client.post("/rpc", json=call("SendMessage", send(1000 * "a,")))).json()
    async with channel_to(handler, max_request_values=100) as channel:
        error = await failure(stub(channel, "SendMessage")(many, metadata=METADATA))
        assert (error.code(), reason(error)) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST")


async def test_a_large_request_is_read_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    async def to_thread(function: Any) -> Any:
        read.append(function)
        return function()

    monkeypatch.setattr(asyncio, "to_thread", to_thread)
    handler = TaskHandler(run)
    async with client_of(handler) as client, channel_to(handler) as channel:
        for text, wanted in (("small", 0), (70_000 * "x", 1)):
            request = send(text)
            for make in (
                lambda r: client.post("/rpc", json=call("SendMessage", r)),
                lambda r: client.post("/rest/message:send", content=protojson.dumps(r)),
                lambda r: stub(channel, "SendMessage")(r, metadata=METADATA),
            ):
                read.clear()
                await make(request)
                assert len(read) == wanted


def test_an_extended_card_that_cannot_be_written() -> None:
    extended = card()
    extended.capabilities.extensions.add(uri="https://ext.test").params["x"] = INFINITE
    with pytest.raises(CardError):
        Dispatcher(card(), AgentHandler(), extended)


async def test_everything_else_goes_on() -> None:
    async with channel_to(TaskHandler(run)) as channel:
        assert state((await stub(channel, "SendMessage")(send(), metadata=METADATA)).task) == "COMPLETED"
        assert len(await collect(stub(channel, "SendStreamingMessage")(send(), metadata=METADATA))) == 2
