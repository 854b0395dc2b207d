"""The states of a task: where it ends, and where it waits for the client (§4.1.3)."""

from __future__ import annotations

from typing import Any, Final

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


def progress(event: Any) -> tuple[str, int]:
    """The task's id and state that a ``StreamResponse`` tells of; ``""`` and 0 where it tells of none."""
    match event.WhichOneof("payload"):
        case "task":
            return event.task.id, event.task.status.state
        case "status_update":
            return event.status_update.task_id, event.status_update.status.state
        case "artifact_update":
            return event.artifact_update.task_id, 0
    return "", 0
