"""The states of a task: where it ends, and where it waits for the client (§4.1.3)."""

from __future__ import annotations

from typing import Any, Final

from a2a_discovery.errors import StreamInterruptedError
from a2a_discovery.types import TaskState

TERMINAL: Final = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)
"""The states that a task does not leave any more."""

INTERRUPTED: Final = frozenset({TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED})
"""The states in which the agent waits for the client."""


def is_terminal(state: int) -> bool:
    """Whether a task in this state has ended for good."""
    return state in TERMINAL


def is_settled(state: int) -> bool:
    """Whether nothing more happens to a task in this state until the client does something: ended, or interrupted."""
    return state in TERMINAL or state in INTERRUPTED


class Progress:
    """How far a stream has come.

    Attributes:
        events: how many events came.
        task_id: the task that they told of, empty while they told of none.
        state: the last state of the task; 0 while none came.
        settled: whether the stream may end here: a message came, or the task ended or waits for the client (§3.1.2).
    """

    def __init__(self) -> None:
        self.events = 0
        self.task_id = ""
        self.state = 0
        self.settled = False

    def note(self, event: Any, payload: str) -> None:
        """Take the next ``StreamResponse``; ``payload`` is the name of the member that is set."""
        self.events += 1
        match payload:
            case "artifact_update":
                self.task_id = event.artifact_update.task_id or self.task_id
            case "status_update":
                self._note(event.status_update.task_id, event.status_update.status.state)
            case "task":
                self._note(event.task.id, event.task.status.state)
            case "message":
                self.settled = True

    def _note(self, task_id: str, state: int) -> None:
        self.task_id = task_id or self.task_id
        self.state = state
        self.settled = is_settled(state)

    def interruption(self, why: str, url: str) -> StreamInterruptedError:
        """The error of a stream that ended here, too early."""
        name = TaskState.Name(self.state) if self.state in TaskState.values() else str(self.state)
        told = f"of task {self.task_id} in {name}" if self.task_id else "that told of no task"
        return StreamInterruptedError(
            f"the stream {told} ended too early: {why}", task_id=self.task_id, state=self.state, url=url
        )
