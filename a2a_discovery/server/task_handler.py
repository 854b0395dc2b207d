"""A handler that keeps tasks: the agent itself is one function."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from google.protobuf.empty_pb2 import Empty

from a2a_discovery._operation import CallContext
from a2a_discovery.dataclasses import as_message
from a2a_discovery.errors import (
    ExtendedAgentCardNotConfiguredError,
    TaskNotCancelableError,
    UnsupportedOperationError,
)
from a2a_discovery.policy import UrlPolicy
from a2a_discovery.server.board import TaskBoard
from a2a_discovery.server.content import Content
from a2a_discovery.server.handler import AgentHandler
from a2a_discovery.server.paging import history_length, wrong
from a2a_discovery.server.push import PushSender
from a2a_discovery.server.push_configs import PushConfigs
from a2a_discovery.server.store import MemoryTaskStore
from a2a_discovery.server.streams import EventStream
from a2a_discovery.server.turns import Turn
from a2a_discovery.tasks import INTERRUPTED, TERMINAL
from a2a_discovery.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageRequest,
    SendMessageResponse,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a_discovery.validation import ensure_valid

# How long a function may take to answer without a task, when the client does not wait for the task's end.
_GRACE_SECONDS: Final = 0.25


class TaskHandler(AgentHandler):
    """Answers every operation of A2A from one function, which is called for each message.

    ::

        async def run(turn: Turn) -> None:
            await turn.working("looking")
            await turn.artifact("text …", name="report")
            await turn.complete("done")

        app = asgi_app(card, TaskHandler(run))

    A function that returns something without having made a task answers with a message. One that returns without having
    ended its task completes it, with what it returns as the last word. One that fails makes the task FAILED; what it
    raised is logged. An ``A2AError`` that it raises before there is a task is what the client gets.

    Tasks live in memory, for one event loop, and each belongs to the tenant of its request.

    Args:
        run: takes a ``Turn``.
        store: keeps the tasks.
        extended_card: the answer to GetExtendedAgentCard.
        policy: which URLs push notifications are posted to; by default https anywhere and http on loopback. Where
            strangers are served, ``UrlPolicy(deny_private=True)`` keeps them from posting into the agent's own network.
        push: posts the notifications.

    Raises:
        CardError: ``extended_card`` lacks a REQUIRED field.
    """

    def __init__(
        self,
        run: Callable[[Turn], Awaitable[Content | None]],
        *,
        store: MemoryTaskStore | None = None,
        extended_card: Any = None,
        policy: UrlPolicy | None = None,
        push: PushSender | None = None,
    ) -> None:
        self._store = store if store is not None else MemoryTaskStore()
        self._push = push or PushSender()
        self._configs = PushConfigs(self._push, policy or UrlPolicy())
        self._board = TaskBoard(run, self._store, self._configs)
        self._extended_card: AgentCard | None = None
        if extended_card is not None:
            self._extended_card = AgentCard()
            self._extended_card.CopyFrom(as_message(extended_card, AgentCard))
            ensure_valid(self._extended_card)

    async def aclose(self) -> None:
        """Stop all functions, end all streams, and post what waits to be posted."""
        await self._board.aclose()
        await self._push.aclose()

    async def send_message(self, request: SendMessageRequest, context: CallContext) -> SendMessageResponse:
        """Run the function; answer when the task has ended, waits for the client, or exists (§3.2.2)."""
        history = _history_of(request)
        turn = self._board.start(request, context)
        if request.configuration.return_immediately:
            try:
                await asyncio.wait_for(turn.begun.wait(), _GRACE_SECONDS)
            except TimeoutError:
                turn.open()
        else:
            await turn.settled.wait()
        if turn.error is not None:
            raise turn.error
        if turn.reply is not None:
            return SendMessageResponse(message=turn.reply)
        return SendMessageResponse(task=turn.open().snapshot(history))

    async def send_streaming_message(
        self, request: SendMessageRequest, context: CallContext
    ) -> AsyncIterator[StreamResponse]:
        """Run the function, and tell what happens until the task has ended or waits for the client (§3.1.2)."""
        stream = EventStream(TERMINAL | INTERRUPTED)
        turn = self._board.start(request, context, stream, _history_of(request))
        try:
            async for event in stream:
                yield event
        finally:
            if turn.record is not None and stream in turn.record.streams:
                turn.record.streams.remove(stream)

    async def get_task(self, request: GetTaskRequest, context: CallContext) -> Task:
        """The task as it stands (§3.1.3)."""
        wanted = history_length(request.history_length if request.HasField("history_length") else None)
        return self._store.find(request.tenant, request.id).snapshot(wanted)

    async def list_tasks(self, request: ListTasksRequest, context: CallContext) -> ListTasksResponse:
        """The tenant's tasks, newest change first (§3.1.4)."""
        return self._store.page(request)

    async def cancel_task(self, request: CancelTaskRequest, context: CallContext) -> Task:
        """Stop the function that works on the task (§3.1.5)."""
        record = self._store.find(request.tenant, request.id)
        if record.has_ended:
            raise TaskNotCancelableError
        await self._board.cancel(record)
        if record.task.status.state != TaskState.TASK_STATE_CANCELED:
            raise TaskNotCancelableError
        return record.snapshot()

    async def subscribe_to_task(
        self, request: SubscribeToTaskRequest, context: CallContext
    ) -> AsyncIterator[StreamResponse]:
        """The task as it stands, and what happens to it until it has ended (§3.1.6)."""
        record = self._store.find(request.tenant, request.id)
        if record.has_ended:
            raise UnsupportedOperationError("the task has ended: nothing more will happen to it")
        stream = EventStream(TERMINAL)
        stream.put(StreamResponse(task=record.task))
        record.streams.append(stream)
        try:
            async for event in stream:
                yield event
        finally:
            record.streams.remove(stream)

    async def create_task_push_notification_config(
        self, request: TaskPushNotificationConfig, context: CallContext
    ) -> TaskPushNotificationConfig:
        """Have the task's further events posted (§3.1.7)."""
        if not request.task_id:
            raise wrong("taskId", "this says which task is meant; it is missing")
        return self._configs.add(self._store.find(request.tenant, request.task_id), request)

    async def get_task_push_notification_config(
        self, request: GetTaskPushNotificationConfigRequest, context: CallContext
    ) -> TaskPushNotificationConfig:
        """One configuration of a task (§3.1.8)."""
        return self._configs.get(self._store.find(request.tenant, request.task_id), request.id)

    async def list_task_push_notification_configs(
        self, request: ListTaskPushNotificationConfigsRequest, context: CallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """The configurations of a task (§3.1.9)."""
        return self._configs.page(self._store.find(request.tenant, request.task_id), request)

    async def delete_task_push_notification_config(
        self, request: DeleteTaskPushNotificationConfigRequest, context: CallContext
    ) -> Empty:
        """Forget a configuration (§3.1.10)."""
        self._configs.delete(self._store.find(request.tenant, request.task_id), request.id)
        return Empty()

    async def get_extended_agent_card(self, request: GetExtendedAgentCardRequest, context: CallContext) -> AgentCard:
        """The extended card (§3.1.11)."""
        if self._extended_card is None:
            raise ExtendedAgentCardNotConfiguredError
        return self._extended_card


def _history_of(request: SendMessageRequest) -> int | None:
    configuration = request.configuration
    return history_length(configuration.history_length if configuration.HasField("history_length") else None)
