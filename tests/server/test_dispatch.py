"""What is answered before the handler runs, in which order, and what becomes of what it does (§3.3)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from a2a_discovery import A2AError, CardError, TaskNotFoundError, UnsupportedOperationError
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery.server import AgentHandler
from a2a_discovery.server.dispatch import Dispatcher
from a2a_discovery.types import (
    AgentCard,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    Message,
    SendMessageRequest,
    SendMessageResponse,
    StreamResponse,
    Task,
    TaskPushNotificationConfig,
)
from tests.server.common import card, collect, context, send

pytestmark = pytest.mark.anyio

URI = "https://ext.test/v1"
GOOD = {"a2a-version": "1.0", "a2a-extensions": URI}


def admitted(agent: AgentCard, name: str, request: Any, params: dict[str, str] = GOOD) -> Any:
    return Dispatcher(agent, AgentHandler()).admit("JSONRPC", OPERATIONS[name], request, params)


def code(agent: AgentCard, name: str, request: Any, params: dict[str, str] = GOOD) -> int:
    with pytest.raises(A2AError) as caught:
        admitted(agent, name, request, params)
    assert not caught.value.local
    return caught.value.code


def test_the_order() -> None:
    agent = card(demands=URI, streaming=False)
    assert code(agent, "SendStreamingMessage", SendMessageRequest(), {}) == -32009
    assert code(agent, "SendStreamingMessage", SendMessageRequest(), {"a2a-version": "1.0"}) == -32004
    agent.capabilities.streaming = True
    assert code(agent, "SendStreamingMessage", SendMessageRequest(), {"a2a-version": "1.0"}) == -32008
    assert code(agent, "SendStreamingMessage", SendMessageRequest()) == -32602
    found = admitted(agent, "SendStreamingMessage", send())
    assert (found.operation, found.binding, found.version) == ("SendStreamingMessage", "JSONRPC", "1.0")
    assert (found.extensions, found.service_params) == ((URI,), GOOD)


@pytest.mark.parametrize("version", ["", " ", "0.3", "1.1", "2.0", "1", "x", "1.0, 1.0"])
def test_a_version_that_is_not_spoken(version: str) -> None:
    assert code(card(), "GetTask", GetTaskRequest(id="x"), {"a2a-version": version}) == -32009


def test_a_patch_number_does_not_count() -> None:
    assert admitted(card(), "GetTask", GetTaskRequest(id="x"), {"a2a-version": "1.0.7"}).version == "1.0"


def test_a_version_is_one_of_the_binding() -> None:
    agent = card()
    agent.supported_interfaces[0].protocol_version = "0.3"
    assert code(agent, "GetTask", GetTaskRequest(id="x")) == -32009
    assert code(agent, "GetTask", GetTaskRequest(id="x"), {}) == -32009
    found = Dispatcher(agent, AgentHandler()).admit("HTTP+JSON", OPERATIONS["GetTask"], GetTaskRequest(id="x"), GOOD)
    assert found.binding == "HTTP+JSON"


@pytest.mark.parametrize("name", [o.name for o in OPERATIONS.values() if o.flag])
def test_a_flag_comes_before_the_task(name: str) -> None:
    agent = card(streaming=False, push_notifications=False, extended_agent_card=False)
    wanted = -32003 if "Push" in name else -32004
    assert code(agent, name, OPERATIONS[name].request()) == wanted


def test_a_push_configuration_in_a_send() -> None:
    request = send(task_push_notification_config=TaskPushNotificationConfig(url="https://hook.test"))
    assert code(card(push_notifications=False), "SendMessage", request) == -32003


def test_required_fields_are_named() -> None:
    with pytest.raises(A2AError) as caught:
        admitted(card(), "SendMessage", SendMessageRequest(message=Message(message_id="m")))
    assert [field for field, _ in caught.value.field_violations] == ["message.role", "message.parts"]


@pytest.mark.parametrize("name", OPERATIONS)
async def test_an_operation_is_refused_until_it_is_written(name: str) -> None:
    dispatcher, operation = Dispatcher(card(), AgentHandler()), OPERATIONS[name]
    with pytest.raises(UnsupportedOperationError):
        if operation.streaming:
            await collect(dispatcher.stream(operation, operation.request(), context(name)))
        else:
            await dispatcher.unary(operation, operation.request(), context(name))


class Bad(AgentHandler):
    """Does what it is made for, wherever it is called."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def what(self) -> Any:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result

    async def send_message(self, request: Any, context: Any) -> Any:
        return self.what()

    async def send_streaming_message(self, request: Any, context: Any) -> AsyncIterator[Any]:
        yield StreamResponse(task=Task(id="first"))
        yield self.what()


BAD = [ValueError("secret"), CardError([]), asyncio.CancelledError("secret"), None, "text", Task(id="x")]


@pytest.mark.parametrize("result", [*BAD, SendMessageResponse(), StreamResponse()], ids=lambda r: type(r).__name__)
async def test_what_a_handler_may_not_do(result: Any, caplog: pytest.LogCaptureFixture) -> None:
    dispatcher = Dispatcher(card(), Bad(result))
    with pytest.raises(A2AError) as caught:
        await dispatcher.unary(OPERATIONS["SendMessage"], send(), context())
    assert (caught.value.code, "secret" in str(caught.value)) == (-32603, False)
    seen: list[Any] = []
    with pytest.raises(A2AError) as caught:
        await collect(dispatcher.stream(OPERATIONS["SendStreamingMessage"], send(), context()), seen.append)
    assert (caught.value.code, len(seen)) == (-32603, 1)
    assert [(r.name, r.levelno) for r in caplog.records] == [("a2a_discovery", logging.ERROR)] * 2
    assert all(r.exc_info for r in caplog.records)


async def test_an_error_of_the_protocol_passes(caplog: pytest.LogCaptureFixture) -> None:
    error = TaskNotFoundError("gone")
    with pytest.raises(TaskNotFoundError) as caught:
        await Dispatcher(card(), Bad(error)).unary(OPERATIONS["SendMessage"], send(), context())
    assert caught.value is error
    assert caplog.records == []


async def test_a_stream_without_events_is_none(caplog: pytest.LogCaptureFixture) -> None:
    class Silent(AgentHandler):
        async def subscribe_to_task(self, request: Any, context: Any) -> AsyncIterator[Any]:
            return
            yield

    operation = OPERATIONS["SubscribeToTask"]
    with pytest.raises(A2AError) as caught:
        await collect(Dispatcher(card(), Silent()).stream(operation, operation.request(), context()))
    assert caught.value.code == -32603


async def test_the_extended_card_that_is_given_comes_first() -> None:
    operation, extended = OPERATIONS["GetExtendedAgentCard"], card()
    extended.name = "Extended"
    dispatcher = Dispatcher(card(), AgentHandler(), extended)
    assert await dispatcher.unary(operation, GetExtendedAgentCardRequest(), context()) == extended


def test_a_card_that_is_not_valid() -> None:
    for cards in ((AgentCard(), None), (card(), AgentCard())):
        with pytest.raises(CardError):
            Dispatcher(cards[0], AgentHandler(), cards[1])
