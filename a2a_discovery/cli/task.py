"""``a2a-discovery task``: what became of the tasks of an agent."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from a2a_discovery.cli.calls import call_command, connected
from a2a_discovery.cli.load import CommandError, ExitCode
from a2a_discovery.cli.options import CallOptions, Reference
from a2a_discovery.cli.show import show_events, show_reply, show_tasks
from a2a_discovery.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
    TaskState,
)

_PREFIX: Final = "TASK_STATE_"
_MAX_HISTORY: Final = 2**31 - 1

task_app = typer.Typer(help="Look after the tasks of an agent.", no_args_is_help=True, rich_markup_mode=None)


def _given(task_id: str) -> str:
    if not task_id.strip():
        raise typer.BadParameter("it is empty")
    return task_id


_Id = Annotated[str, typer.Argument(metavar="ID", callback=_given, help="The task.", show_default=False)]
_History = Annotated[
    int | None,
    typer.Option(
        min=0, max=_MAX_HISTORY, metavar="N", help="Ask for the N newest messages of a task.", show_default=False
    ),
]


@task_app.command("get")
@call_command
def get(options: CallOptions, reference: Reference, task_id: _Id, history: _History = None) -> None:
    """Show a task; exit with 1 when it failed or was rejected."""
    request = GetTaskRequest(id=task_id, history_length=history)
    with connected(reference, options) as agent:
        show_reply(agent.get_task(request), options.output)


@task_app.command("list")
@call_command
def list_(
    options: CallOptions,
    reference: Reference,
    context: Annotated[str, typer.Option(metavar="ID", help="Of this conversation.", show_default=False)] = "",
    state: Annotated[
        str,
        typer.Option(metavar="STATE", help="In this state: working, input-required, ….", show_default=False),
    ] = "",
    limit: Annotated[
        int | None, typer.Option(min=1, max=100, metavar="N", help="At most N tasks (50).", show_default=False)
    ] = None,
    page_token: Annotated[
        str, typer.Option(metavar="TOKEN", help="The page that this token of the one before names.", show_default=False)
    ] = "",
    history: _History = None,
    artifacts: Annotated[bool, typer.Option("--artifacts", help="With what the tasks produced.")] = False,
) -> None:
    """List the tasks that the agent lets this caller see."""
    request = ListTasksRequest(
        context_id=context,
        status=_state(state),
        page_size=limit,
        page_token=page_token,
        history_length=history,
        include_artifacts=artifacts,
    )
    with connected(reference, options) as agent:
        show_tasks(agent.list_tasks(request), options.output)


@task_app.command("cancel")
@call_command
def cancel(options: CallOptions, reference: Reference, task_id: _Id) -> None:
    """Ask the agent to stop a task, and show it."""
    request = CancelTaskRequest(id=task_id)
    with connected(reference, options) as agent:
        show_reply(agent.cancel_task(request), options.output)


@task_app.command("subscribe")
@call_command
def subscribe(options: CallOptions, reference: Reference, task_id: _Id) -> None:
    """Show the events of a task that is still at work; exit with 1 when it fails or is rejected."""
    request = SubscribeToTaskRequest(id=task_id)
    with connected(reference, options) as agent:
        show_events(agent.subscribe_to_task(request), options.output)


def _state(given: str) -> str | None:
    """The state's name that is meant by ``input-required`` or ``TASK_STATE_INPUT_REQUIRED``."""
    if not given:
        return None
    name = _PREFIX + given.upper().replace("-", "_").removeprefix(_PREFIX)
    if name not in TaskState.keys()[1:]:
        spoken = ", ".join(key.removeprefix(_PREFIX).lower().replace("_", "-") for key in TaskState.keys()[1:])
        raise CommandError(f"--state is one of {spoken}", ExitCode.USAGE)
    return name
