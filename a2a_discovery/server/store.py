"""Tasks in memory: found by tenant and id, listed by their last change, and bounded in number."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from google.protobuf.timestamp_pb2 import Timestamp

from a2a_discovery.errors import A2AError, TaskNotFoundError
from a2a_discovery.server.paging import bad_token, decode_token, encode_token, history_length, page_size
from a2a_discovery.server.streams import EventStream
from a2a_discovery.tasks import INTERRUPTED, is_terminal
from a2a_discovery.types import (
    ListTasksRequest,
    ListTasksResponse,
    Message,
    StreamResponse,
    Task,
    TaskState,
    TaskStatus,
)

if TYPE_CHECKING:
    from a2a_discovery.server.push import Delivery

# How many earlier places of a task in the list are remembered for those who are paging through it.
_REMEMBERED: Final = 64


class Record:
    """A task, and who is concerned with it.

    Attributes:
        tenant: the tenant that it belongs to; it does not exist for others.
        task: its present state.
        streams: the open streams of its events.
        deliveries: its push configurations, by their id.
        runs: the coroutines that work on it.
        canceling: whether a client asked to cancel it.
    """

    def __init__(self, tenant: str, task: Task) -> None:
        self.tenant = tenant
        self.task = task
        self.streams: list[EventStream] = []
        self.deliveries: dict[str, Delivery] = {}
        self.runs: set[asyncio.Task[None]] = set()
        self.canceling = False
        self.changes: list[int] = []

    @property
    def has_ended(self) -> bool:
        """Whether the task is in a terminal state."""
        return is_terminal(self.task.status.state)

    def snapshot(self, history: int | None = None, *, artifacts: bool = True) -> Task:
        """A copy of the task with its ``history`` newest messages; None is all of them (§3.2.4)."""
        task = Task()
        task.CopyFrom(self.task)
        if history is not None:
            del task.history[: max(len(task.history) - history, 0)]
        if not artifacts:
            del task.artifacts[:]
        return task

    def changed_by(self, moment: int) -> int:
        """The last change up to ``moment``, 0 when it is younger than that."""
        place = bisect_right(self.changes, moment)
        return self.changes[place - 1] if place else 0


class MemoryTaskStore:
    """Keeps the tasks of one agent, for one event loop.

    Args:
        max_tasks: how many tasks are kept. The oldest go first: those that have ended, then those that wait for their
            client. When all are being worked on, a new one is refused.
    """

    def __init__(self, *, max_tasks: int = 10_000) -> None:
        if max_tasks < 1:
            raise ValueError("max_tasks is at least 1")
        self._max_tasks = max_tasks
        # In the order of their last change, the oldest first.
        self._records: OrderedDict[tuple[str, str], Record] = OrderedDict()
        self._clock = 0
        self._listed = 0

    def __len__(self) -> int:
        return len(self._records)

    def create(self, tenant: str, context_id: str, message: Message) -> Record:
        """A new task, which ``message`` of the client asks for; its id is chosen here (§3.4.2).

        Raises:
            A2AError: there are too many tasks, all of them being worked on.
        """
        if len(self._records) >= self._max_tasks:
            self._evict()
        status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED, timestamp=now())
        task = Task(id=str(uuid4()), context_id=context_id, status=status)
        record = Record(tenant, task)
        self._records[tenant, task.id] = record
        self.add_message(record, message)
        return record

    def find(self, tenant: str, task_id: str) -> Record:
        """The task of that id.

        Raises:
            TaskNotFoundError: the tenant has none (§3.1.3).
        """
        record = self._records.get((tenant, task_id))
        if record is None:
            raise TaskNotFoundError
        return record

    def records(self) -> Iterator[Record]:
        """All tasks of all tenants, the newest change first."""
        return reversed(self._records.values())

    def add_message(self, record: Record, message: Message) -> None:
        """Add a client's message to the history, after what the agent said before it."""
        self._keep_said(record.task)
        added = record.task.history.add()
        added.CopyFrom(message)
        added.task_id = record.task.id
        added.context_id = record.task.context_id
        self._touch(record)

    def apply(self, record: Record, event: StreamResponse) -> None:
        """Change the task as ``event`` says, a status or artifact update."""
        task = record.task
        if event.WhichOneof("payload") == "status_update":
            self._keep_said(task)
            task.status.CopyFrom(event.status_update.status)
        else:
            update = event.artifact_update
            known = next((a for a in task.artifacts if a.artifact_id == update.artifact.artifact_id), None)
            if known is None:
                task.artifacts.add().CopyFrom(update.artifact)
            elif update.append:
                known.parts.extend(update.artifact.parts)
            else:
                known.CopyFrom(update.artifact)
        self._touch(record)

    def page(self, request: ListTasksRequest) -> ListTasksResponse:
        """One page of a tenant's tasks, the newest change first (§3.1.4).

        Pages show the list as it stood when its first page was asked for: a task that changes while a client pages
        through keeps its place, and one that is new does not appear.

        Raises:
            A2AError: a field is out of its range, or the token is none (-32602).
        """
        size = page_size(request.page_size if request.HasField("page_size") else None)
        history = history_length(request.history_length if request.HasField("history_length") else None)
        moment, before = self._clock, self._clock + 1
        if request.page_token:
            moment, before = decode_token(request.page_token, 2)
            if moment > self._clock:
                raise bad_token()
        placed = ((r.changed_by(moment), r) for r in self.records() if _matches(r, request))
        found = sorted(((place, r) for place, r in placed if place), key=lambda item: -item[0])
        rest = [(place, r) for place, r in found if place < before]
        shown = rest[:size]
        more = len(rest) > size
        if more:
            self._listed = max(self._listed, moment)
        return ListTasksResponse(
            tasks=[r.snapshot(history, artifacts=request.include_artifacts) for _, r in shown],
            next_page_token=encode_token(moment, shown[-1][0]) if more else "",
            page_size=size,
            total_size=len(found),
        )

    @staticmethod
    def _keep_said(task: Task) -> None:
        if task.status.HasField("message"):
            task.history.add().CopyFrom(task.status.message)
            task.status.ClearField("message")

    def _touch(self, record: Record) -> None:
        self._clock += 1
        if record.changes and record.changes[-1] > self._listed:
            # Nobody was given a token since: no page needs the former place.
            record.changes[-1] = self._clock
        else:
            record.changes.append(self._clock)
            del record.changes[:-_REMEMBERED]
        self._records.move_to_end((record.tenant, record.task.id))

    def _evict(self) -> None:
        records = self._records.values()
        ended = (r for r in records if r.has_ended)
        waiting = (r for r in records if r.task.status.state in INTERRUPTED and not r.runs)
        for candidates in (ended, waiting):
            oldest = next(candidates, None)
            if oldest is not None:
                del self._records[oldest.tenant, oldest.task.id]
                for stream in oldest.streams:
                    stream.end()
                return
        raise A2AError(
            "the agent has too much to do; try again later", http_status=503, grpc_status="RESOURCE_EXHAUSTED"
        )


def now() -> Timestamp:
    """The present time, in whole milliseconds (§5.6.1)."""
    moment = Timestamp()
    moment.GetCurrentTime()
    moment.nanos -= moment.nanos % 1_000_000
    return moment


def _matches(record: Record, request: ListTasksRequest) -> bool:
    task = record.task
    if record.tenant != request.tenant:
        return False
    if request.context_id and task.context_id != request.context_id:
        return False
    if request.status and task.status.state != request.status:
        return False
    if request.HasField("status_timestamp_after"):
        wanted, found = request.status_timestamp_after, task.status.timestamp
        return (found.seconds, found.nanos) >= (wanted.seconds, wanted.nanos)
    return True
