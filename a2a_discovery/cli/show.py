"""What an agent answers, written for people or programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Iterable
from contextlib import closing
from typing import Any, Final

import typer
from rich.text import Text

from a2a_discovery import protojson
from a2a_discovery.cli.common import Output, show
from a2a_discovery.cli.load import CommandError, ExitCode
from a2a_discovery.cli.sheet import Sheet
from a2a_discovery.cli.terminal import clean, clean_lines, json_text
from a2a_discovery.tasks import INTERRUPTED, Progress
from a2a_discovery.types import (
    Artifact,
    ListTasksResponse,
    Message,
    Part,
    Role,
    SendMessageResponse,
    StreamResponse,
    Task,
    TaskState,
    TaskStatus,
)

_FAILED: Final = (TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_REJECTED)
_LABEL_WIDTH: Final = 8
_ABSENT: Final = Text("–", "dim")


def show_reply(reply: SendMessageResponse | Task, output: Output) -> None:
    """Write one answer.

    Raises:
        CommandError: it is a task that failed; it is written nevertheless.
    """
    if output is Output.json:
        typer.echo(json_text(protojson.to_dict(reply), sys.stdout))
    else:
        show(Drawing().draw(reply))
    task = reply if isinstance(reply, Task) else reply.task
    _check_end(task.id, task.status.state)


def show_tasks(response: ListTasksResponse, output: Output) -> None:
    """Write a page of a list of tasks."""
    if output is Output.json:
        typer.echo(json_text(protojson.to_dict(response), sys.stdout))
        return
    for task in response.tasks:
        show(Drawing().draw(task))
        typer.echo()
    typer.echo(f"{len(response.tasks)} of {response.total_size} tasks")
    if response.next_page_token:
        typer.echo(f"the next page: --page-token {clean(response.next_page_token)}")


def show_events(events: Generator[StreamResponse, None, None], output: Output) -> None:
    """Write the events of a stream as they come, as lines of JSON or for people.

    Raises:
        CommandError: the task failed in the end.
    """
    progress, drawing = Progress(), Drawing()
    with closing(events):
        for event in events:
            progress.note(event, event.WhichOneof("payload") or "")
            if output is Output.json:
                typer.echo(json_text(protojson.to_dict(event), sys.stdout, indent=None))
            else:
                show(drawing.draw(event))
    _check_end(progress.task_id, progress.state)


def _check_end(task_id: str, state: int) -> None:
    if state in _FAILED:
        raise CommandError(f"task {clean(task_id)} ended in {TaskState.Name(state)}", ExitCode.FAILED)


class Drawing:
    """Draws answers and events one after the other; the ids of a task stand where they are other ones than before."""

    def __init__(self) -> None:
        self._ids: tuple[str, str] | None = None

    def draw(self, answer: SendMessageResponse | StreamResponse | Task) -> Sheet:
        """One answer or event."""
        sheet = Sheet()
        payload: Any = answer
        if not isinstance(answer, Task):
            payload = getattr(answer, answer.WhichOneof("payload") or "")
        match payload:
            case Task():
                self._task(sheet, payload)
            case Message():
                self._message(sheet, payload)
            case _:
                self._draw_ids(sheet, payload.task_id, payload.context_id)
                if payload.DESCRIPTOR.name == "TaskStatusUpdateEvent":
                    _draw_status(sheet, payload.status)
                else:
                    _draw_artifact(sheet, payload.artifact, more=payload.append)
        return sheet

    def _task(self, sheet: Sheet, task: Task) -> None:
        self._draw_ids(sheet, task.id, task.context_id)
        _draw_status(sheet, task.status)
        for artifact in task.artifacts:
            _draw_artifact(sheet, artifact, more=False)
        if task.history:
            spoken = [f"{_role(message)}: {_content(message.parts)}" for message in task.history]
            _draw(sheet, "history", Text("\n".join(spoken)))

    def _message(self, sheet: Sheet, message: Message) -> None:
        _draw(sheet, "message", Text(clean(message.message_id), "bold"))
        _draw(sheet, "context", Text(clean(message.context_id)))
        if message.task_id:
            _draw(sheet, "task", Text(clean(message.task_id)))
        _draw_text(sheet, message)

    def _draw_ids(self, sheet: Sheet, task_id: str, context_id: str) -> None:
        if self._ids != (task_id, context_id):
            self._ids = (task_id, context_id)
            _draw(sheet, "task", Text(clean(task_id), "bold"))
            _draw(sheet, "context", Text(clean(context_id)))


def _draw_status(sheet: Sheet, status: TaskStatus) -> None:
    known = status.state in TaskState.values()
    value = Text(TaskState.Name(status.state) if known else str(status.state), _style(status.state))
    if status.HasField("timestamp"):
        value.append(f"  {protojson.to_dict(status)['timestamp']}", "dim")
    _draw(sheet, "state", value)
    if status.HasField("message"):
        _draw_text(sheet, status.message)


def _style(state: int) -> str:
    if state == TaskState.TASK_STATE_COMPLETED:
        return "green"
    if state in INTERRUPTED:
        return "yellow"
    return "red" if state in _FAILED else ""


def _draw_artifact(sheet: Sheet, artifact: Artifact, *, more: bool) -> None:
    value = Text(clean(artifact.artifact_id))
    if artifact.name:
        value.append(f"  {clean(artifact.name)}", "bold")
    if more:
        value.append("  continued", "dim")
    _draw(sheet, "artifact", value)
    _draw(sheet, "", Text(_content(artifact.parts)))


def _draw_text(sheet: Sheet, message: Message) -> None:
    _draw(sheet, _role(message), Text(_content(message.parts)))


def _role(message: Message) -> str:
    return {Role.ROLE_USER: "user", Role.ROLE_AGENT: "agent"}.get(message.role, "someone")


def _draw(sheet: Sheet, label: str, value: Text) -> None:
    # All labels are of one width: each event is a sheet of its own, and their values still stand in one column.
    sheet.row(Text(label.ljust(_LABEL_WIDTH)), value or _ABSENT)


def _content(parts: Iterable[Part]) -> str:
    return "\n".join(filter(None, map(_part, parts)))


def _part(part: Part) -> str:
    match part.WhichOneof("content"):
        case "text":
            return clean_lines(part.text)
        case "data":
            body = clean(json.dumps(protojson.to_dict(part)["data"], ensure_ascii=False))
        case "raw":
            body = f"{len(part.raw)} bytes"
        case "url":
            body = clean(part.url)
        case _:
            body = "a part without content"
    note = ", ".join(clean(text) for text in (part.filename, part.media_type) if text)
    return f"{body} ({note})" if note else body
