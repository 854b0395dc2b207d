"""Going on after an interruption, and waiting for a task."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import a2a_discovery._async.streams as async_streams
import a2a_discovery._async.waiting as async_waiting
import a2a_discovery._sync.streams as sync_streams
import a2a_discovery._sync.waiting as sync_waiting
from a2a_discovery import types as t
from a2a_discovery.errors import A2AError, CallTimeoutError, StreamInterruptedError, TaskNotFoundError, TransportError
from tests.agent.common import (
    BINDINGS,
    artifact,
    call,
    card,
    encoded,
    failure,
    interface,
    operation_of,
    site,
    sse,
    started,
    status,
    task,
    within,
)
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio

S = t.TaskState
WORKING = task(S.TASK_STATE_WORKING)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that are made; none lasts longer than 10 ms."""
    made: list[float] = []

    async def async_sleep(seconds: float) -> None:
        made.append(seconds)
        await real(min(seconds, 0.01))

    def sync_sleep(seconds: float) -> None:
        made.append(seconds)
        time.sleep(min(seconds, 0.01))

    real = async_streams.async_sleep
    for module in (async_streams, async_waiting):
        monkeypatch.setattr(module, "async_sleep", async_sleep)
    for blocking in (sync_streams, sync_waiting):
        monkeypatch.setattr(blocking, "sync_sleep", sync_sleep)
    return made


class Script:
    """Answers the n-th call of each operation with the n-th of its answers, and the last one from then on."""

    def __init__(self, **answers: list[Any]) -> None:
        self._answers = answers
        self._lock = threading.Lock()

    def __call__(self, name: str) -> Any:
        with self._lock:
            left = self._answers[name]
            return left[0] if len(left) == 1 else left.pop(0)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_an_interrupted_stream_is_resumed(world: World, binding: str, pauses: list[float]) -> None:
    script = Script(
        SendStreamingMessage=[[started(), artifact("1")]],
        SubscribeToTask=[[started(), artifact("2")], [], [started(), status()]],
    )
    with site(binding, script) as found:
        async with world.agent(found.card("billing")) as agent:
            events = await call(agent, "SendStreamingMessage", "hi", resume=True)
        assert events == [started(), artifact("1"), started(), artifact("2"), started(), status()]
        assert found.calls() == ["SendStreamingMessage", *["SubscribeToTask"] * 3]
    assert pauses == [0.1, 0.1, 0.2]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_the_task_comes_first_when_the_agent_does_not_send_it(world: World, binding: str) -> None:
    now = task(S.TASK_STATE_WORKING, artifacts=[t.Artifact(artifact_id="x", parts=[t.Part(text="y")])])
    script = Script(SendStreamingMessage=[[started()]], SubscribeToTask=[[artifact("2"), status()]], GetTask=[now])
    with site(binding, script) as found:
        async with world.agent(found.card()) as agent:
            events = await call(agent, "SendStreamingMessage", "hi", resume=True)
    assert events == [started(), t.StreamResponse(task=now), artifact("2"), status()]


class Site:
    """HTTP+JSON: what is called is answered by the method of that name."""

    def __init__(self, **handlers: Any) -> None:
        self.calls: list[str] = []
        self._handlers = handlers

    def __call__(self, exchange: Exchange) -> None:
        exchange.read_body()
        name = operation_of(exchange).name
        self.calls.append(name)
        answer = self._handlers[name]
        if isinstance(answer, list):
            answer = answer[0] if len(answer) == 1 else answer.pop(0)
        if isinstance(answer, int):
            exchange.answer(answer)
        elif isinstance(answer, bytes):
            exchange.answer(400, answer)
        elif isinstance(answer, tuple):
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", sse(exchange, *answer))
        else:
            exchange.answer(200, encoded(exchange, answer))


def named(reason: str) -> bytes:
    return (
        b'{"error":{"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo",'
        b'"reason":"%b","domain":"a2a-protocol.org"}]}}' % reason.encode()
    )


ENDED = named("UNSUPPORTED_OPERATION")


async def resumed(world: World, found: Site, name: str = "SendStreamingMessage") -> tuple[Any, list[Any]]:
    with Server(found) as server:
        async with world.agent(card(interface("HTTP+JSON", server.url))) as agent:
            made = getattr(agent, {"SendStreamingMessage": "send_streaming_message"}.get(name, "subscribe_to_task"))
            given: Any = "hi" if name == "SendStreamingMessage" else t.SubscribeToTaskRequest(id="t")
            events = []
            try:
                async for event in made(given, resume=True):
                    events.append(event)  # noqa: PERF401 - those before the error are wanted
            except (A2AError, TransportError) as error:
                return error, events
            return None, events


async def test_a_task_that_ended_meanwhile(world: World) -> None:
    found = Site(SendStreamingMessage=(started(),), SubscribeToTask=ENDED, GetTask=task())
    error, events = await resumed(world, found)
    assert error is None and events == [started(), t.StreamResponse(task=task())]
    assert found.calls == ["SendStreamingMessage", "SubscribeToTask", "GetTask"]


async def test_a_task_that_is_gone(world: World) -> None:
    gone = named("TASK_NOT_FOUND")
    error, events = await resumed(world, Site(SendStreamingMessage=(started(),), SubscribeToTask=gone, GetTask=gone))
    assert type(error) is TaskNotFoundError and events == [started()]


async def test_a_refusal_while_the_task_goes_on(world: World) -> None:
    found = Site(SendStreamingMessage=(started(),), SubscribeToTask=ENDED, GetTask=WORKING)
    error, events = await resumed(world, found)
    assert type(error).__name__ == "UnsupportedOperationError" and events == [started()]


async def test_five_fruitless_tries_are_the_end(world: World, pauses: list[float]) -> None:
    found = Site(SendStreamingMessage=(started(),), SubscribeToTask=())
    error, events = await resumed(world, found)
    assert type(error) is StreamInterruptedError and (error.task_id, error.state) == ("t", S.TASK_STATE_WORKING)
    assert events == [started()]
    assert found.calls == ["SendStreamingMessage", *["SubscribeToTask"] * 5]
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6]


async def test_tries_that_bring_only_the_task_are_fruitless(world: World, pauses: list[float]) -> None:
    found = Site(SendStreamingMessage=(started(),), SubscribeToTask=(started(),))
    error, events = await resumed(world, found)
    assert type(error) is StreamInterruptedError
    assert events == [started()] * 6
    assert found.calls.count("SubscribeToTask") == 5


@pytest.mark.parametrize("code", [429, 502, 503, 504])
async def test_an_agent_that_starts_anew_is_waited_for(world: World, code: int) -> None:
    found = Site(SendStreamingMessage=(started(),), SubscribeToTask=[code, code, (started(), status())], GetTask=code)
    error, events = await resumed(world, found)
    assert error is None and events == [started(), started(), status()]
    found = Site(SendStreamingMessage=(started(),), SubscribeToTask=code, GetTask=code)
    error, events = await resumed(world, found)
    assert type(error) is A2AError and error.http_status == code
    assert found.calls.count("SubscribeToTask") == 5 and found.calls.count("SendStreamingMessage") == 1


async def test_a_message_is_never_sent_again(world: World) -> None:
    for first in ((), 503):
        found = Site(SendStreamingMessage=first)
        error, events = await resumed(world, found)
        assert not events and isinstance(error, A2AError if first == 503 else StreamInterruptedError)
        assert found.calls == ["SendStreamingMessage"]


async def test_a_subscription_is_resumed_from_the_start(world: World) -> None:
    found = Site(SubscribeToTask=[(), (started(), status())])
    error, events = await resumed(world, found, "SubscribeToTask")
    assert error is None and events == [started(), status()]


async def test_nothing_is_resumed_unless_asked_for(world: World) -> None:
    with site("JSONRPC", Script(SendStreamingMessage=[[started()]])) as found:
        async with world.agent(found.card(), retries=3) as agent:
            error, _ = await failure(agent, "SendStreamingMessage")
        assert type(error) is StreamInterruptedError and found.calls() == ["SendStreamingMessage"]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_wait_by_stream(world: World, binding: str, pauses: list[float]) -> None:
    script = Script(SubscribeToTask=[[started(), status(S.TASK_STATE_INPUT_REQUIRED)]], GetTask=[task()])
    with site(binding, script) as found:
        async with world.agent(found.card("billing")) as agent:
            assert await agent.wait("t") == task()
            assert found.calls() == ["SubscribeToTask", "GetTask"]
            assert await agent.wait(WORKING) == task()
    assert not pauses


@pytest.mark.parametrize("binding", BINDINGS)
async def test_wait_by_polling(world: World, binding: str, pauses: list[float]) -> None:
    waiting = task(S.TASK_STATE_AUTH_REQUIRED)
    with site(binding, Script(GetTask=[WORKING, WORKING, waiting])) as found:
        async with world.agent(found.card(flags=False)) as agent:
            assert await agent.wait("t", poll_interval=0.7) == waiting
        assert found.calls() == ["GetTask"] * 3
    assert pauses == [0.7, 0.7]


@pytest.mark.parametrize("refusal", [ENDED, 503, 404, b"<html>"])
async def test_wait_polls_where_the_stream_is_refused(world: World, refusal: Any) -> None:
    found = Site(SubscribeToTask=refusal, GetTask=[task()] if refusal == ENDED else [WORKING, WORKING, task()])
    with Server(found) as server:
        async with world.agent(card(interface("HTTP+JSON", server.url))) as agent:
            assert await agent.wait("t") == task()


async def test_wait_for_a_task_that_is_not_there(world: World) -> None:
    gone = named("TASK_NOT_FOUND")
    with Server(Site(SubscribeToTask=gone, GetTask=gone)) as server:
        async with world.agent(card(interface("HTTP+JSON", server.url))) as agent:
            with pytest.raises(TaskNotFoundError):
                await agent.wait("t")


@pytest.mark.parametrize("binding", BINDINGS)
async def test_wait_no_longer_than(world: World, binding: str) -> None:
    with site(binding, Script(GetTask=[WORKING])) as found:
        async with world.agent(found.card()) as agent, within(2):
            with pytest.raises(CallTimeoutError) as caught:
                await agent.wait("t", poll_interval=0.05, timeout=0.2)
    assert (caught.value.phase, caught.value.seconds) == ("wait", 0.2)
    assert found.calls() and set(found.calls()) == {"GetTask"}


@pytest.mark.parametrize("binding", BINDINGS)
async def test_wait_no_longer_than_for_an_agent_that_is_silent(world: World, binding: str) -> None:
    def silent(_: str) -> Any:
        time.sleep(0.4)
        return WORKING

    with site(binding, silent) as found:
        async with world.agent(found.card()) as agent, within(0.38):
            with pytest.raises(CallTimeoutError) as caught:
                await agent.wait("t", timeout=0.15)
    assert (caught.value.phase, caught.value.seconds) == ("wait", 0.15)


async def test_wait_keeps_the_limit_of_a_call(world: World) -> None:
    with Server(lambda exchange: exchange.stopped.wait(5)) as server:
        async with world.agent(card(interface("JSONRPC", server.url), flags=False), timeout=0.1) as agent:
            with pytest.raises(CallTimeoutError) as caught:
                await agent.wait("t", timeout=3)
    assert caught.value.phase == "unary"


@pytest.mark.parametrize("limits", [{"poll_interval": 0}, {"timeout": 0}, {"timeout": -1}])
async def test_wait_limits_are_seconds_above_zero(world: World, limits: dict[str, float]) -> None:
    async with world.agent(card(interface("JSONRPC", "http://127.0.0.1:1"))) as agent:
        with pytest.raises(ValueError, match=next(iter(limits))):
            await agent.wait("t", **limits)
