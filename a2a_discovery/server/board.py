"""Where turns and tasks meet: which function runs on which task, and who hears of what it does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from a2a_discovery import protojson
from a2a_discovery._operation import CallContext
from a2a_discovery.bindings.faults import internal, readable
from a2a_discovery.errors import A2AError, UnsupportedOperationError
from a2a_discovery.server.content import Content
from a2a_discovery.server.dispatch import FAILURES, is_stopped
from a2a_discovery.server.paging import wrong
from a2a_discovery.server.push_configs import PushConfigs
from a2a_discovery.server.store import MemoryTaskStore, Record, now
from a2a_discovery.server.streams import EventStream
from a2a_discovery.server.turns import Turn
from a2a_discovery.tasks import INTERRUPTED
from a2a_discovery.types import SendMessageRequest, StreamResponse, TaskState, TaskStatus, TaskStatusUpdateEvent

_log = logging.getLogger("a2a_discovery")

_STOP_SECONDS: Final = 5.0

Runs = set[asyncio.Task[None]]


class TaskBoard:
    """Starts and stops the function that works on tasks, and publishes what it does.

    Args:
        function: what an agent does with a turn.
        store: keeps the tasks.
        configs: keeps their push configurations.
    """

    def __init__(
        self, function: Callable[[Turn], Awaitable[Content | None]], store: MemoryTaskStore, configs: PushConfigs
    ) -> None:
        self._function = function
        self._store = store
        self._configs = configs
        self._runs: Runs = set()

    def start(
        self,
        request: SendMessageRequest,
        context: CallContext,
        stream: EventStream | None = None,
        history: int | None = None,
    ) -> Turn:
        """Run the function on a message, in the background.

        Args:
            request: the request; it is copied.
            context: what is known of the call.
            stream: is given the task, up to ``history`` messages of it, and then its events.
            history: see there.

        Raises:
            A2AError: the message cannot be taken.
        """
        record = self._continued(request)
        config = self._configs.of_send(request)
        copy = SendMessageRequest()
        copy.CopyFrom(request)
        if record is not None:
            copy.message.context_id = record.task.context_id
        turn = Turn(copy, context, self, stream=stream, history=history, config=config)
        previous: Runs = set()
        if record is not None:
            previous = set(record.runs)
            self._resume(turn, record)
        run = asyncio.get_running_loop().create_task(self._run(turn, previous))
        turn.run = run
        # Not in the coroutine itself: one that is canceled before its first step never gets there.
        run.add_done_callback(lambda _: self._closed(turn))
        _keep(run, self._runs)
        if record is not None:
            _keep(run, record.runs)
        return turn

    def open(self, turn: Turn) -> Record:
        """Make the task of a turn; its stream and its push configuration see it from the beginning."""
        record = self._store.create(turn.tenant, turn.context_id, turn.message)
        if turn.config is not None:
            self._configs.add(record, turn.config)
        if turn.stream is not None:
            turn.stream.put(StreamResponse(task=record.snapshot(turn.history)))
            record.streams.append(turn.stream)
        if turn.run is not None:
            _keep(turn.run, record.runs)
        self._push(record, StreamResponse(task=record.task))
        return record

    def publish(self, record: Record, event: StreamResponse) -> None:
        """Change a task, and tell its streams and the receivers of push notifications, all in the same order."""
        self._store.apply(record, event)
        for stream in record.streams:
            stream.put(event)
        self._push(record, event)

    async def cancel(self, record: Record) -> None:
        """Stop what works on a task; it is CANCELED then, unless it ends otherwise in these seconds."""
        record.canceling = True
        await _stop(record.runs)
        if not record.has_ended:
            self._enter(record, TaskState.TASK_STATE_CANCELED)

    async def aclose(self) -> None:
        """Stop all functions, and end all streams."""
        await _stop(self._runs)
        for record in self._store.records():
            for stream in record.streams:
                stream.end()

    def _continued(self, request: SendMessageRequest) -> Record | None:
        message = request.message
        if not message.task_id:
            return None
        record = self._store.find(request.tenant, message.task_id)
        if message.context_id not in ("", record.task.context_id):
            raise wrong("message.contextId", "this is not the context of the task (§3.4.2)")
        if record.has_ended:
            raise UnsupportedOperationError("the task has ended: it takes no more messages")
        if record.task.status.state not in INTERRUPTED:
            raise UnsupportedOperationError("the task is being worked on: it takes no message until it asks for one")
        return record

    def _resume(self, turn: Turn, record: Record) -> None:
        if turn.config is not None:
            self._configs.add(record, turn.config)
        turn.record = record
        turn.begun.set()
        self._store.add_message(record, turn.message)
        self._enter(record, TaskState.TASK_STATE_WORKING)
        if turn.stream is not None:
            turn.stream.put(StreamResponse(task=record.snapshot(turn.history)))
            record.streams.append(turn.stream)

    async def _run(self, turn: Turn, previous: Collection[asyncio.Task[None]]) -> None:
        try:
            if previous:
                # The function asked for this message, and may not have returned yet.
                await asyncio.wait(previous)
            if turn.record is not None and turn.record.has_ended:
                raise UnsupportedOperationError("the task has ended: it takes no more messages")
            turn.finish(await self._function(turn))
        except A2AError as exc:
            self._break_off(turn, exc)
        except asyncio.CancelledError:
            self._break_off(turn, internal(), stopped=True)
        except FAILURES as exc:
            if is_stopped(exc):
                raise
            _log.exception("the function of an agent failed")
            self._break_off(turn, None)

    def _break_off(self, turn: Turn, error: A2AError | None, *, stopped: bool = False) -> None:
        """End the turn of a function that was stopped, or raised an error."""
        if turn.record is None and error is not None:
            turn.refuse(error)
            return
        try:
            record = turn.open()
        except A2AError as exc:
            turn.refuse(exc)
            return
        if record.has_ended:
            return
        if record.canceling:
            turn.publish_status(TaskState.TASK_STATE_CANCELED)
        elif error is None or stopped:
            turn.publish_status(TaskState.TASK_STATE_FAILED, internal().message)
        else:
            turn.publish_status(TaskState.TASK_STATE_FAILED, readable(error.message))

    def _closed(self, turn: Turn) -> None:
        if turn.record is not None and turn.record.canceling and not turn.record.has_ended:
            self._enter(turn.record, TaskState.TASK_STATE_CANCELED)
        turn.close()

    def _enter(self, record: Record, state: TaskState) -> None:
        status = TaskStatus(state=state, timestamp=now())
        event = TaskStatusUpdateEvent(task_id=record.task.id, context_id=record.task.context_id, status=status)
        self.publish(record, StreamResponse(status_update=event))

    def _push(self, record: Record, event: StreamResponse) -> None:
        if record.deliveries:
            body = protojson.dumps(event)
            for delivery in record.deliveries.values():
                delivery.put(body)


def _keep(run: asyncio.Task[None], runs: Runs) -> None:
    runs.add(run)
    run.add_done_callback(runs.discard)


async def _stop(runs: Runs) -> None:
    if running := set(runs):
        for run in running:
            run.cancel()
        await asyncio.wait(running, timeout=_STOP_SECONDS)
