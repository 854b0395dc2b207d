"""One turn of an agent: a message came, and a function says what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol
from uuid import uuid4

from a2a_discovery._operation import CallContext
from a2a_discovery.errors import A2AError
from a2a_discovery.server.checks import ensure_writable
from a2a_discovery.server.content import Content, message_of, parts_of, text_of
from a2a_discovery.server.store import Record, now
from a2a_discovery.server.streams import EventStream
from a2a_discovery.tasks import is_settled
from a2a_discovery.types import (
    Artifact,
    Message,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)


class Board(Protocol):
    """What a turn does to the tasks of its agent."""

    def open(self, turn: Turn) -> Record:
        """Make the task of a turn."""

    def publish(self, record: Record, event: StreamResponse) -> None:
        """Change a task, and tell everybody concerned."""


class Turn:
    """What a function of ``TaskHandler`` works with: the client's message, and the ways to answer it.

    The first of the methods ``working``, ``artifact``, ``complete``, … makes the task, when the message does not
    continue one. A function that calls none and returns something answers with a message instead of a task.

    Attributes:
        request: the whole request.
        context: what is known of the call besides.
        message: the client's message.
        text: its text parts, one per line.
        context_id: the conversation, the client's or a new one (§3.4.1).
    """

    def __init__(
        self,
        request: SendMessageRequest,
        context: CallContext,
        board: Board,
        *,
        stream: EventStream | None = None,
        history: int | None = None,
        config: TaskPushNotificationConfig | None = None,
    ) -> None:
        self.request = request
        self.context = context
        self.message: Message = request.message
        self.text = text_of(request.message)
        self.context_id = request.message.context_id or str(uuid4())
        self.stream = stream
        self.history = history
        self.config = config
        self.record: Record | None = None
        self.reply: Message | None = None
        self.error: A2AError | None = None
        self.run: asyncio.Task[None] | None = None
        self.begun = asyncio.Event()
        self.settled = asyncio.Event()
        self._board = board
        self._state = 0

    @property
    def tenant(self) -> str:
        """The tenant of the request, empty when there is none (§8.3.2)."""
        tenant: str = self.request.tenant
        return tenant

    @property
    def task(self) -> Task | None:
        """A copy of the task as it stands, its history included; None while there is none."""
        return self.record.snapshot() if self.record is not None else None

    async def working(self, content: Content | None = None, *, metadata: Mapping[str, Any] | None = None) -> None:
        """Tell that the task is being worked on."""
        await self.status(TaskState.TASK_STATE_WORKING, content, metadata=metadata)

    async def complete(self, content: Content | None = None, *, metadata: Mapping[str, Any] | None = None) -> None:
        """End the task: it is done."""
        await self.status(TaskState.TASK_STATE_COMPLETED, content, metadata=metadata)

    async def fail(self, content: Content | None = None, *, metadata: Mapping[str, Any] | None = None) -> None:
        """End the task: it could not be done."""
        await self.status(TaskState.TASK_STATE_FAILED, content, metadata=metadata)

    async def reject(self, content: Content | None = None, *, metadata: Mapping[str, Any] | None = None) -> None:
        """End the task: the agent does not do this."""
        await self.status(TaskState.TASK_STATE_REJECTED, content, metadata=metadata)

    async def input_required(
        self, content: Content | None = None, *, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Ask the client for more: the function returns after this, and is called again with the client's answer."""
        await self.status(TaskState.TASK_STATE_INPUT_REQUIRED, content, metadata=metadata)

    async def auth_required(self, content: Content | None = None, *, metadata: Mapping[str, Any] | None = None) -> None:
        """Ask the client for credentials, which come with its next message, or by another way meanwhile."""
        await self.status(TaskState.TASK_STATE_AUTH_REQUIRED, content, metadata=metadata)

    async def status(
        self, state: int, content: Content | None = None, *, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Put the task into ``state``, a number of ``TaskState`` (§4.1.3), and say something about it.

        Raises:
            RuntimeError: the task has ended.
            ValueError: ``content`` or ``metadata`` holds what JSON cannot, such as an infinite number.
        """
        self.publish_status(state, content, metadata)
        # Whoever waits for the event gets a chance before the next one.
        await asyncio.sleep(0)

    async def artifact(
        self,
        content: Content,
        *,
        name: str = "",
        description: str = "",
        media_type: str = "",
        filename: str = "",
        artifact_id: str = "",
        append: bool = False,
        last: bool = True,
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Add a result to the task, or a piece of one (§4.2.2); returns its id.

        Args:
            content: the parts; ``media_type`` and ``filename`` go with text, bytes and objects.
            name: for people, as ``description`` is.
            description: what it is.
            media_type: the media type of its parts.
            filename: the file name of its parts.
            artifact_id: its id within the task; a new one by default.
            append: whether the parts continue the artifact of that id, instead of replacing it.
            last: whether no more of this artifact follows.
            metadata: anything else about it.

        Raises:
            RuntimeError: the task has ended.
            ValueError: ``content`` or ``metadata`` holds what JSON cannot, such as an infinite number; or it is to
                ``append`` to an artifact that is not there.
        """
        artifact = Artifact(
            artifact_id=artifact_id or str(uuid4()),
            name=name,
            description=description,
            parts=parts_of(content, media_type=media_type, filename=filename),
        )
        if metadata:
            artifact.metadata.update(metadata)
        if append and not self._has_artifact(artifact.artifact_id):
            raise ValueError("there is no artifact of this id to append to: publish its first piece without append")
        record = self.open()
        event = TaskArtifactUpdateEvent(
            task_id=record.task.id, context_id=self.context_id, artifact=artifact, append=append, last_chunk=last
        )
        self._publish(record, StreamResponse(artifact_update=event))
        await asyncio.sleep(0)
        identifier: str = artifact.artifact_id
        return identifier

    def open(self) -> Record:
        """The task of this turn, which is made when there is none."""
        if self.record is None:
            self.record = self._board.open(self)
            self.begun.set()
        return self.record

    def publish_status(
        self, state: int, content: Content | None = None, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """As ``status``, at once."""
        record = self.open()
        status = TaskStatus(state=TaskState.Name(state), timestamp=now())
        if content is not None:
            status.message.CopyFrom(message_of(content, context_id=self.context_id, task_id=record.task.id))
        event = TaskStatusUpdateEvent(task_id=record.task.id, context_id=self.context_id, status=status)
        if metadata:
            event.metadata.update(metadata)
        self._publish(record, StreamResponse(status_update=event))
        self._state = state
        if is_settled(state):
            self.settled.set()

    def finish(self, result: Content | None) -> None:
        """Take what the function returned: an answer without a task, or the last word of one."""
        if result is not None and self.record is None:
            reply = message_of(result, context_id=self.context_id)
            ensure_writable(reply)
            self.reply = reply
            if self.stream is not None:
                self.stream.put(StreamResponse(message=self.reply))
        elif result is not None or not is_settled(self._state):
            self.publish_status(TaskState.TASK_STATE_COMPLETED, result)
        self.close()

    def refuse(self, error: A2AError) -> None:
        """Answer with an error, when there is no task that could tell of it."""
        self.error = error
        if self.stream is not None:
            self.stream.fail(error)
        self.close()

    def close(self) -> None:
        """Nothing more comes of this turn."""
        if self.stream is not None:
            self.stream.end()
        self.begun.set()
        self.settled.set()

    def _has_artifact(self, artifact_id: str) -> bool:
        return self.record is not None and any(a.artifact_id == artifact_id for a in self.record.task.artifacts)

    def _publish(self, record: Record, event: StreamResponse) -> None:
        if record.has_ended:
            raise RuntimeError(f"the task has ended: {TaskState.Name(record.task.status.state)}")
        ensure_writable(event)
        self._board.publish(record, event)
