# Generated from a2a_discovery/_async/waiting.py by codegen/sync.py; do not edit.
"""Wait for a task."""

from __future__ import annotations

import time
from contextlib import closing

from a2a_discovery._deadline import sync_sleep
from a2a_discovery._gen.sync_methods import Operations
from a2a_discovery._retry import checked_limits
from a2a_discovery.errors import CallTimeoutError, TransportError, UnsupportedOperationError
from a2a_discovery.tasks import is_settled
from a2a_discovery.types import GetTaskRequest, SubscribeToTaskRequest, Task


def waited(agent: Operations, task: Task | str, poll_interval: float, timeout: float | None) -> Task:
    """The task once it is settled; see the agent's ``wait``."""
    checked_limits(poll_interval=poll_interval)
    task_id = task if isinstance(task, str) else task.id
    if timeout is None:
        _watched(agent, task_id)
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        found = agent.get_task(GetTaskRequest(id=task_id))
        if is_settled(found.status.state):
            return found
        rest = poll_interval if end is None else end - time.monotonic()
        if timeout is not None and rest <= 0:
            told = f"task {task_id} was still at work after {timeout:g} s (wait)"
            raise CallTimeoutError(told, phase="wait", seconds=timeout)
        sync_sleep(min(poll_interval, rest))


def _watched(agent: Operations, task_id: str) -> None:
    """Follow the task's stream to its end, where there is one; what came is asked for once more afterwards."""
    try:
        request = SubscribeToTaskRequest(id=task_id)
        with closing(agent.subscribe_to_task(request, resume=True)) as events:
            for event in events:
                state = event.task.status.state if event.HasField("task") else event.status_update.status.state
                if is_settled(state):
                    return
    except (UnsupportedOperationError, TransportError):
        # No streaming, or the task has ended already, or the stream broke again and again: polling tells.
        return
