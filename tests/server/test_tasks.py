"""A handler made of one function: what clients see of its tasks (§3.1 to §3.5)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from a2a_discovery import (
    A2AError,
    ContentTypeNotSupportedError,
    ExtendedAgentCardNotConfiguredError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a_discovery.server import MemoryTaskStore, TaskHandler, Turn, streams
from a2a_discovery.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Part,
    SubscribeToTaskRequest,
)
from tests.server.common import card, collect, context, kinds, send, state

pytestmark = pytest.mark.anyio

CONTEXT = context()


async def report(turn: Turn) -> None:
    await turn.working("looking")
    await turn.artifact("one ", artifact_id="a", name="report", last=False)
    await turn.artifact(b"two", artifact_id="a", append=True, media_type="image/png")
    await turn.complete("done")


async def asks(turn: Turn) -> None:
    if turn.task is None:
        await turn.input_required("which?")
    else:
        await turn.complete(f"{turn.text}, after {[m.parts[0].text for m in turn.task.history]}")


class Held:
    """An agent that works until it is let go."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.stopped = False

    async def __call__(self, turn: Turn) -> None:
        await turn.working()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.stopped = True
            raise
        await turn.complete()


async def test_a_task_with_a_result() -> None:
    task = (await TaskHandler(report).send_message(send(), CONTEXT)).task
    assert state(task) == "COMPLETED"
    (artifact,) = task.artifacts
    assert list(artifact.parts) == [Part(text="one "), Part(raw=b"two", media_type="image/png")]
    assert [m.parts[0].text for m in task.history] == ["hello", "looking"]
    assert task.status.message.parts[0].text == "done"
    assert {m.task_id for m in [*task.history, task.status.message]} == {task.id}
    assert {m.context_id for m in [*task.history, task.status.message]} == {task.context_id}
    assert task.status.timestamp.seconds > 0


@pytest.mark.parametrize("result", ["text", {"a": 1}, Part(text="x"), ["x", b"y"]])
async def test_what_is_returned_without_a_task_is_a_message(result: Any) -> None:
    async def run(turn: Turn) -> Any:
        return result

    answer = await TaskHandler(run).send_message(send(context="mine", return_immediately=True), CONTEXT)
    assert (answer.WhichOneof("payload"), answer.message.context_id) == ("message", "mine")
    assert answer.message.message_id
    assert answer.message.parts
    (event,) = await collect(TaskHandler(run).send_streaming_message(send(), CONTEXT))
    assert event.WhichOneof("payload") == "message"
    assert event.message.context_id


async def test_what_is_returned_with_a_task_is_its_last_word() -> None:
    async def run(turn: Turn) -> str:
        await turn.working()
        return "all done"

    task = (await TaskHandler(run).send_message(send(), CONTEXT)).task
    assert (state(task), task.status.message.parts[0].text) == ("COMPLETED", "all done")


async def test_returning_at_once() -> None:
    async def run(turn: Turn) -> str:
        await asyncio.sleep(60)
        return "late"

    handler = TaskHandler(run)
    async with asyncio.timeout(5):
        task = (await handler.send_message(send(return_immediately=True), CONTEXT)).task
    assert state(task) == "SUBMITTED"
    await handler.aclose()


async def test_returning_at_once_does_not_wait_for_the_end() -> None:
    held = Held()
    handler = TaskHandler(held)
    task = (await handler.send_message(send(return_immediately=True), CONTEXT)).task
    assert state(task) == "WORKING"
    held.go.set()
    await asyncio.sleep(0.01)
    assert state(await handler.get_task(GetTaskRequest(id=task.id), CONTEXT)) == "COMPLETED"


@pytest.mark.parametrize(
    ("length", "texts"), [(None, ["hello", "looking"]), (0, []), (1, ["looking"]), (9, ["hello", "looking"])]
)
async def test_history_length(length: int | None, texts: list[str]) -> None:
    handler = TaskHandler(report)
    wanted = {} if length is None else {"history_length": length}
    task = (await handler.send_message(send(**wanted), CONTEXT)).task
    assert [m.parts[0].text for m in task.history] == texts
    task = await handler.get_task(GetTaskRequest(id=task.id, **wanted), CONTEXT)
    assert [m.parts[0].text for m in task.history] == texts
    (first, *_) = await collect(handler.send_streaming_message(send(**wanted), CONTEXT))
    assert len(first.task.history) == (0 if length == 0 else 1)


async def test_a_negative_history_length() -> None:
    with pytest.raises(A2AError) as caught:
        await TaskHandler(report).send_message(send(history_length=-1), CONTEXT)
    assert caught.value.code == -32602


async def test_a_task_that_asks_is_continued() -> None:
    handler = TaskHandler(asks)
    task = (await handler.send_message(send("go"), CONTEXT)).task
    assert state(task) == "INPUT_REQUIRED"
    events = await collect(handler.send_streaming_message(send("this", task=task.id), CONTEXT))
    assert kinds(events) == ["task WORKING", "status_update COMPLETED"]
    assert events[-1].status_update.status.message.parts[0].text == "this, after ['go', 'which?', 'this']"
    assert {e.status_update.context_id for e in events[1:]} == {task.context_id} == {events[0].task.context_id}
    with pytest.raises(UnsupportedOperationError):
        await handler.send_message(send(task=task.id), CONTEXT)


async def test_what_a_message_may_not_name() -> None:
    handler = TaskHandler(asks)
    task = (await handler.send_message(send(context="mine"), CONTEXT)).task
    assert task.context_id == "mine"
    with pytest.raises(A2AError) as caught:
        await handler.send_message(send(task=task.id, context="other"), CONTEXT)
    assert (caught.value.code, caught.value.field_violations[0][0]) == (-32602, "message.contextId")
    for tenant, name in (("", "unknown"), ("other", task.id)):
        with pytest.raises(TaskNotFoundError):
            await handler.send_message(send(task=name, tenant=tenant), CONTEXT)
        with pytest.raises(TaskNotFoundError):
            await anext(aiter(handler.send_streaming_message(send(task=name, tenant=tenant), CONTEXT)))
        with pytest.raises(TaskNotFoundError):
            await handler.cancel_task(CancelTaskRequest(id=name, tenant=tenant), CONTEXT)
        with pytest.raises(TaskNotFoundError):
            await anext(aiter(handler.subscribe_to_task(SubscribeToTaskRequest(id=name, tenant=tenant), CONTEXT)))


async def test_a_task_that_is_worked_on_takes_no_message() -> None:
    handler = TaskHandler(Held())
    task = (await handler.send_message(send(return_immediately=True), CONTEXT)).task
    with pytest.raises(UnsupportedOperationError):
        await handler.send_message(send(task=task.id), CONTEXT)
    await handler.aclose()


async def test_an_answer_waits_until_the_function_that_asked_is_done() -> None:
    order = []

    async def run(turn: Turn) -> None:
        if turn.text == "go":
            await turn.input_required()
            await asyncio.sleep(0.05)
            order.append("asked")
        else:
            order.append("answered")

    handler = TaskHandler(run)
    task = (await handler.send_message(send("go"), CONTEXT)).task
    assert state((await handler.send_message(send("this", task=task.id), CONTEXT)).task) == "COMPLETED"
    assert order == ["asked", "answered"]


async def test_a_stream_ends_where_the_task_asks_and_a_subscription_goes_on() -> None:
    handler = TaskHandler(asks)
    events = await collect(handler.send_streaming_message(send(), CONTEXT))
    assert kinds(events) == ["task SUBMITTED", "status_update INPUT_REQUIRED"]
    subscription = handler.subscribe_to_task(SubscribeToTaskRequest(id=events[0].task.id), CONTEXT)
    first = await anext(aiter(subscription))
    assert kinds([first]) == ["task INPUT_REQUIRED"]
    rest = asyncio.ensure_future(collect(subscription))
    await handler.send_message(send(task=events[0].task.id), CONTEXT)
    assert kinds(await rest) == ["status_update WORKING", "status_update COMPLETED"]
    with pytest.raises(UnsupportedOperationError):
        await anext(aiter(handler.subscribe_to_task(SubscribeToTaskRequest(id=events[0].task.id), CONTEXT)))


async def test_a_function_may_go_on_after_it_asked_for_credentials() -> None:
    """They may come by another way (§4.1.3): who sent the message is answered, who subscribed hears the rest."""
    go, granted = asyncio.Event(), asyncio.Event()

    async def run(turn: Turn) -> None:
        await turn.working()
        await go.wait()
        await turn.auth_required("log in")
        await granted.wait()
        await turn.complete()

    handler = TaskHandler(run)
    stream = handler.send_streaming_message(send(), CONTEXT)
    first = await anext(aiter(stream))
    subscription = asyncio.ensure_future(
        collect(handler.subscribe_to_task(SubscribeToTaskRequest(id=first.task.id), CONTEXT))
    )
    await asyncio.sleep(0.01)
    go.set()
    async with asyncio.timeout(5):
        assert kinds(await collect(stream)) == ["status_update WORKING", "status_update AUTH_REQUIRED"]
    granted.set()
    told = ["task WORKING", "status_update AUTH_REQUIRED", "status_update COMPLETED"]
    assert kinds(await subscription) == told


async def test_a_stream_that_nobody_reads_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_WAITING", 5)

    async def run(turn: Turn) -> None:
        await turn.working()
        for i in range(20):
            await turn.artifact(str(i), artifact_id="n", append=i > 0)

    handler = TaskHandler(run)
    stream = handler.send_streaming_message(send(), CONTEXT)
    await anext(aiter(stream))
    await asyncio.sleep(0.05)
    seen: list[Any] = []
    with pytest.raises(A2AError):
        await collect(stream, seen.append)
    assert len(seen) == 5
    (task,) = (await handler.list_tasks(ListTasksRequest(), CONTEXT)).tasks
    assert state(task) == "COMPLETED"


async def test_every_stream_has_the_same_events_and_none_stops_the_task() -> None:
    go = asyncio.Event()

    async def run(turn: Turn) -> None:
        await turn.working()
        await go.wait()
        for i in range(20):
            await turn.artifact(str(i), artifact_id="n", append=i > 0)
        await turn.complete()

    handler = TaskHandler(run)
    sender = handler.send_streaming_message(send(), CONTEXT)
    first = await anext(aiter(sender))
    await sender.aclose()  # type: ignore[attr-defined]
    subscriptions = [handler.subscribe_to_task(SubscribeToTaskRequest(id=first.task.id), CONTEXT) for _ in range(3)]
    for stream in subscriptions:
        assert (await anext(aiter(stream))).task.id == first.task.id
    await subscriptions[0].aclose()  # type: ignore[attr-defined]
    readers = [asyncio.ensure_future(collect(stream)) for stream in subscriptions[1:]]
    go.set()
    one, two = await asyncio.gather(*readers)
    assert one == two
    assert [e.artifact_update.artifact.parts[0].text for e in one[:-1]] == [str(i) for i in range(20)]
    assert kinds(one[-1:]) == ["status_update COMPLETED"]


async def test_cancel() -> None:
    held = Held()
    handler = TaskHandler(held)
    waiting = asyncio.ensure_future(handler.send_message(send(), CONTEXT))
    await asyncio.sleep(0.01)
    (task,) = (await handler.list_tasks(ListTasksRequest(), CONTEXT)).tasks
    one, two = await asyncio.gather(*(handler.cancel_task(CancelTaskRequest(id=task.id), CONTEXT) for _ in range(2)))
    assert (state(one), state(two), held.stopped) == ("CANCELED", "CANCELED", True)
    assert state((await waiting).task) == "CANCELED"
    with pytest.raises(TaskNotCancelableError):
        await handler.cancel_task(CancelTaskRequest(id=task.id), CONTEXT)


async def test_cancel_before_the_first_step_of_a_further_turn() -> None:
    handler = TaskHandler(asks)
    task = (await handler.send_message(send(), CONTEXT)).task
    answer = asyncio.ensure_future(handler.send_message(send(task=task.id), CONTEXT))
    cancel = asyncio.ensure_future(handler.cancel_task(CancelTaskRequest(id=task.id), CONTEXT))
    async with asyncio.timeout(5):
        assert state(await cancel) == state((await answer).task) == "CANCELED"


async def test_a_function_that_ends_its_task_while_being_canceled() -> None:
    async def run(turn: Turn) -> None:
        await turn.working()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await turn.complete("just done")

    handler = TaskHandler(run)
    task = (await handler.send_message(send(return_immediately=True), CONTEXT)).task
    with pytest.raises(TaskNotCancelableError):
        await handler.cancel_task(CancelTaskRequest(id=task.id), CONTEXT)


async def fails_at_once(turn: Turn) -> None:
    raise ValueError("secret")


async def fails_later(turn: Turn) -> None:
    await turn.working()
    raise ValueError("secret")


async def is_canceled(turn: Turn) -> None:
    await turn.working()
    raise asyncio.CancelledError


@pytest.mark.parametrize("run", [fails_at_once, fails_later, is_canceled])
async def test_a_failure_is_told_in_neutral_words(
    run: Callable[[Turn], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "a2a_discovery"):
        task = (await TaskHandler(run).send_message(send(), CONTEXT)).task
    assert state(task) == "FAILED"
    assert "secret" not in str(task)
    if run is not is_canceled:
        (record,) = caplog.records
        assert record.exc_info is not None
        assert "secret" in str(record.exc_info[1])


async def test_an_error_of_the_protocol() -> None:
    async def at_once(turn: Turn) -> None:
        raise ContentTypeNotSupportedError("no images")

    async def later(turn: Turn) -> None:
        await turn.working()
        raise ContentTypeNotSupportedError("no images")

    with pytest.raises(ContentTypeNotSupportedError):
        await TaskHandler(at_once).send_message(send(), CONTEXT)
    with pytest.raises(ContentTypeNotSupportedError):
        await collect(TaskHandler(at_once).send_streaming_message(send(), CONTEXT))
    task = (await TaskHandler(later).send_message(send(), CONTEXT)).task
    assert (state(task), task.status.message.parts[0].text) == ("FAILED", "no images")


async def test_a_task_that_has_ended_does_not_change_any_more(caplog: pytest.LogCaptureFixture) -> None:
    raised = []

    async def run(turn: Turn) -> None:
        await turn.reject("no")
        try:
            await turn.artifact("late")
        except RuntimeError as exc:
            raised.append(str(exc))

    task = (await TaskHandler(run).send_message(send(), CONTEXT)).task
    await asyncio.sleep(0.01)
    assert (state(task), raised) == ("REJECTED", ["the task has ended: TASK_STATE_REJECTED"])


async def test_a_full_store_refuses() -> None:
    handler = TaskHandler(Held(), store=MemoryTaskStore(max_tasks=1))
    await handler.send_message(send(return_immediately=True), CONTEXT)
    with pytest.raises(A2AError, match="too much"):
        await handler.send_message(send(), CONTEXT)
    await handler.aclose()


async def test_the_extended_card() -> None:
    request = GetExtendedAgentCardRequest()
    assert await TaskHandler(report, extended_card=card()).get_extended_agent_card(request, CONTEXT) == card()
    with pytest.raises(ExtendedAgentCardNotConfiguredError):
        await TaskHandler(report).get_extended_agent_card(request, CONTEXT)
