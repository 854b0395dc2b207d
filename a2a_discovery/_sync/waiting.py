# Generated from a2a_discovery/_async/waiting.py by codegen/sync.py; do not edit.
"""Wait for a task."""

from __future__ import annotations

import time
from contextlib import closing

from a2a_discovery._deadline import sync_sleep
from a2a_discovery._gen.sync_methods import Operations
from a2a_discovery._retry import checked_limits
from a2a_discovery.errors import A2AError, CallTimeoutError, TransportError
from a2a_discovery.tasks import is_settled
from a2a_discovery.types import GetTaskRequest, SubscribeToTaskRequest, Task


def waited(
    agent: Operations, task: Task | str, poll_interval: float, timeout: float | None, call_timeout: float
) -> Task:
    """The task once it is settled; see the agent's ``wait``, of whose calls ``call_timeout`` is the limit."""
    checked_limits(poll_interval=poll_interval)
    task_id = task if isinstance(task, str) else task.id
    if timeout is None:
        _watched(agent, task_id)
        while not is_settled((found := agent.get_task(GetTaskRequest(id=task_id))).status.state):
            sync_sleep(poll_interval)
        return found
    checked_limits(timeout=timeout)
    end = time.monotonic() + timeout
    while (rest := end - time.monotonic()) > 0:
        try:
            found = agent.get_task(GetTaskRequest(id=task_id), timeout=min(rest, call_timeout))
        except CallTimeoutError:
            if time.monotonic() < end:
                raise
            break
        if is_settled(found.status.state):
            return found
        sync_sleep(max(0.0, min(poll_interval, end - time.monotonic())))
    told = f"task {task_id} was still at work after {timeout:g} s (wait)"
    raise CallTimeoutError(told, phase="wait", seconds=timeout)


def _watched(agent: Operations, task_id: str) -> None:
    """Follow the task's stream to its end, where there is one; what came is asked for once more afterwards."""
    try:
        request = SubscribeToTaskRequest(id=task_id)
        with closing(agent.subscribe_to_task(request, resume=True)) as events:
            for event in events:
                state = event.task.status.state if event.HasField("task") else event.status_update.status.state
                if is_settled(state):
                    return
    except (A2AError, TransportError):
        # No streaming, or the task has ended already, or the stream broke again and again: polling tells.
        return
