"""Served over gRPC, asked by a bare stub (§10)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from a2a_discovery import A2AError
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery.bindings import faults
from a2a_discovery.problems import Problem
from a2a_discovery.server import AgentHandler, TaskHandler, Turn, grpc_handlers
from a2a_discovery.types import (
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from tests.server.common import card, collect, kinds, send, state
from tests.server.test_asgi import Scripted, requests_of

pytestmark = pytest.mark.anyio

VERSION = (("a2a-version", "1.0"),)


@asynccontextmanager
async def channel_to(handler: AgentHandler, **settings: Any) -> AsyncIterator[grpc.aio.Channel]:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(grpc_handlers(card(), handler, **settings))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        await server.stop(None)


def stub(channel: grpc.aio.Channel, name: str, *, raw: bool = False) -> Any:
    operation = OPERATIONS[name]
    make = channel.unary_stream if operation.streaming else channel.unary_unary
    to_bytes = None if raw else operation.request.SerializeToString
    return make(operation.grpc_path, request_serializer=to_bytes, response_deserializer=operation.response.FromString)


async def failure(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await (collect(call) if hasattr(call, "__aiter__") else call)
    return caught.value


def details(error: grpc.aio.AioRpcError) -> list[Any]:
    found = dict(iter(error.trailing_metadata()))["grpc-status-details-bin"]
    status = status_pb2.Status.FromString(found)
    assert (status.message, status.code) == (error.details(), error.code().value[0])
    return list(status.details)


def reason(error: grpc.aio.AioRpcError) -> str:
    info = error_details_pb2.ErrorInfo()
    details(error)[0].Unpack(info)
    assert info.domain == "a2a-protocol.org"
    return str(info.reason)


async def run(turn: Turn) -> None:
    await turn.working()
    await turn.artifact(turn.tenant, name="tenant")
    await turn.complete()


async def test_calls() -> None:
    handler = TaskHandler(run)
    async with channel_to(handler, extended_card=card()) as channel:
        task = (await stub(channel, "SendMessage")(send(tenant="a/b"), metadata=VERSION)).task
        assert (state(task), task.artifacts[0].parts[0].text) == ("COMPLETED", "a/b")
        events = await collect(stub(channel, "SendStreamingMessage")(send(), metadata=VERSION))
        assert kinds(events) == [
            "task SUBMITTED",
            "status_update WORKING",
            "artifact_update",
            "status_update COMPLETED",
        ]
        found = await stub(channel, "GetTask")(GetTaskRequest(id=task.id, tenant="a/b"), metadata=VERSION)
        assert found == task
        extended = stub(channel, "GetExtendedAgentCard")
        assert await extended(GetExtendedAgentCardRequest(), metadata=VERSION) == card()


async def test_every_operation_gets_its_request() -> None:
    handler = Scripted()
    async with channel_to(handler) as channel:
        for name, request in requests_of("../ü x"):
            handler.requests.clear()
            called = stub(channel, name)(request, metadata=VERSION)
            await (collect(called) if OPERATIONS[name].streaming else called)
            assert handler.requests == [request], name


async def test_errors() -> None:
    async with channel_to(TaskHandler(run)) as channel:
        get, subscribe = stub(channel, "GetTask"), stub(channel, "SubscribeToTask")
        for call in (
            get(GetTaskRequest(id="x"), metadata=VERSION),
            subscribe(SubscribeToTaskRequest(id="x"), metadata=VERSION),
        ):
            error = await failure(call)
            assert (error.code(), reason(error)) == (grpc.StatusCode.NOT_FOUND, "TASK_NOT_FOUND")
        error = await failure(get(GetTaskRequest(id="x")))
        assert (error.code(), reason(error)) == (grpc.StatusCode.FAILED_PRECONDITION, "VERSION_NOT_SUPPORTED")
        error = await failure(stub(channel, "SendMessage")(SendMessageRequest(), metadata=VERSION))
        assert (error.code(), reason(error)) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_PARAMS")
        bad = error_details_pb2.BadRequest()
        assert details(error)[1].Unpack(bad)
        assert [v.field for v in bad.field_violations] == ["message"]
        error = await failure(stub(channel, "GetTask", raw=True)(b"\xff\xff", metadata=VERSION))
        assert (error.code(), reason(error)) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_PARAMS")
        unknown = channel.unary_unary("/lf.a2a.v1.A2AService/Nothing")
        assert (await failure(unknown(b"", metadata=VERSION))).code() == grpc.StatusCode.UNIMPLEMENTED


async def test_an_error_in_the_middle_of_a_stream(caplog: pytest.LogCaptureFixture) -> None:
    async with channel_to(Scripted()) as channel:
        stream = stub(channel, "SendStreamingMessage")
        seen: list[Any] = []
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await collect(stream(send("later"), metadata=VERSION), seen.append)
        assert (reason(caught.value), len(seen)) == ("UNSUPPORTED_OPERATION", 1)
        with caplog.at_level(logging.ERROR, "a2a_discovery"):
            error = await failure(stream(send("raise"), metadata=VERSION))
        assert error.code() == grpc.StatusCode.INTERNAL
        assert "secret" not in f"{error.details()}{error.trailing_metadata()}"
        assert [r.name for r in caplog.records] == ["a2a_discovery"]


async def test_a_client_that_goes_away_closes_the_generator() -> None:
    handler = Scripted()
    async with channel_to(handler) as channel:
        call = stub(channel, "SendStreamingMessage")(send("hang"), metadata=VERSION)
        await anext(aiter(call))
        call.cancel()
        async with asyncio.timeout(5):
            while not handler.closed:
                await asyncio.sleep(0.01)
    assert handler.closed == ["hang"]


async def test_an_error_that_is_larger_than_metadata_may_be() -> None:
    class Wordy(AgentHandler):
        async def get_task(self, request: Any, context: Any) -> Any:
            raise faults.invalid_params([Problem(f"f{i}", "value", "error", "x" * 1000, "§1") for i in range(100)])

    async with channel_to(Wordy()) as channel:
        error = await failure(stub(channel, "GetTask")(GetTaskRequest(id="x"), metadata=VERSION))
    assert (error.code(), reason(error)) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_PARAMS")


async def test_a_text_that_is_larger_than_metadata_may_be() -> None:
    class Wordy(AgentHandler):
        async def get_task(self, request: Any, context: Any) -> Any:
            raise A2AError(5000 * "\U0001f600", reason="WORDY")

    async with channel_to(Wordy()) as channel:
        error = await failure(stub(channel, "GetTask")(GetTaskRequest(id="x"), metadata=VERSION))
    assert (error.code(), reason(error)) == (grpc.StatusCode.INTERNAL, "WORDY")
    assert (error.details() or "").startswith("\U0001f600")


async def test_a_challenge_is_in_the_trailers() -> None:
    class Strict(AgentHandler):
        async def get_task(self, request: Any, context: Any) -> Any:
            raise A2AError("who?", http_status=401, grpc_status="UNAUTHENTICATED", challenge="Bearer", retry_after=2)

    async with channel_to(Strict()) as channel:
        error = await failure(stub(channel, "GetTask")(GetTaskRequest(id="x"), metadata=VERSION))
    trailers = dict(iter(error.trailing_metadata()))
    assert error.code() == grpc.StatusCode.UNAUTHENTICATED
    assert (trailers["www-authenticate"], trailers["retry-after"]) == ("Bearer", "2")


async def test_metadata_are_service_parameters() -> None:
    async with channel_to(Scripted()) as channel:
        metadata = (*VERSION, ("x-one", "1"), ("x-two", "a"), ("x-two", "b"), ("x-bin", b"\x00"))
        answer = await stub(channel, "SendMessage")(send("header"), metadata=metadata)
    assert answer.message.parts[0].text == "x-one=1, x-two=a, b"
