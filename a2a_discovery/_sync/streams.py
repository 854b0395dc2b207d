# Generated from a2a_discovery/_async/streams.py by codegen/sync.py; do not edit.
"""Go on with a stream that ended too early."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import closing
from typing import Any, Protocol

from a2a_discovery._deadline import sync_sleep
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery._operation import CallOptions, Operation
from a2a_discovery._retry import backoff, is_passing
from a2a_discovery.errors import A2AError, TransportError
from a2a_discovery.tasks import Progress, is_settled
from a2a_discovery.types import GetTaskRequest, StreamResponse, SubscribeToTaskRequest

_log = logging.getLogger("a2a_discovery")

_MAX_FAILURES = 5


class _Agent(Protocol):
    def _unary(self, operation: Operation, request: Any, options: CallOptions) -> Any: ...

    def _followed(
        self, operation: Operation, request: Any, progress: Progress, options: CallOptions
    ) -> Generator[Any, None]: ...


def resuming(
    agent: _Agent, events: Generator[Any, None], progress: Progress, options: CallOptions
) -> Generator[Any, None]:
    """The events of a stream, and after each interruption those of a new subscription to its task (§3.1.6).

    The message is never sent again. An agent that is busy, or just starts anew, is asked again. Five tries in a row
    that bring nothing new are the end.
    """
    failures = 0
    while True:
        seen = progress.events
        try:
            with closing(events):
                for event in events:
                    yield event
            return
        except (TransportError, A2AError) as exc:
            # The task as it was is what each subscription begins with.
            failures = 1 if progress.events > seen + 1 else failures + 1
            if not (isinstance(exc, TransportError) or is_passing(exc)):
                raise
            if not progress.task_id or failures > _MAX_FAILURES:
                raise
            _log.debug("the stream is resumed: %s", exc)
        sync_sleep(backoff(failures))
        events = _subscription(agent, progress, options)


def _subscription(agent: _Agent, progress: Progress, options: CallOptions) -> Generator[Any, None]:
    """The task as it is now, then what happens to it."""
    request = SubscribeToTaskRequest(id=progress.task_id)
    first = True
    with closing(agent._followed(OPERATIONS["SubscribeToTask"], request, progress, options)) as events:
        try:
            for event in events:
                if first and not event.HasField("task"):
                    # The specification wants the task first; what happened in between would be lost.
                    yield StreamResponse(task=_task(agent, progress, options))
                first = False
                yield event
        except A2AError as exc:
            if is_passing(exc):
                raise
            # An agent refuses to subscribe to a task that has ended in the meantime.
            task = _task(agent, progress, options)
            if not is_settled(task.status.state):
                raise
            yield StreamResponse(task=task)


def _task(agent: _Agent, progress: Progress, options: CallOptions) -> Any:
    others: CallOptions = {**options}
    others.pop("timeout", None)  # of a stream, this is another limit
    return agent._unary(OPERATIONS["GetTask"], GetTaskRequest(id=progress.task_id), others)
