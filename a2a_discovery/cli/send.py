"""``a2a-discovery send``: a message, and what the agent answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import typer

from a2a_discovery import protojson
from a2a_discovery.cli.calls import call_command, connected
from a2a_discovery.cli.load import CommandError, ExitCode
from a2a_discovery.cli.options import CallOptions, Reference
from a2a_discovery.cli.show import show_events, show_reply
from a2a_discovery.errors import CardError
from a2a_discovery.sending import file_part
from a2a_discovery.types import Message, Part, Role

_MAX_BYTES: Final = 32 * 1024 * 1024


@call_command
def send(
    options: CallOptions,
    reference: Reference,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="What to say, or - for standard input.", show_default=False)
    ],
    file: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Send this file along; repeatable.", show_default=False),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(metavar="JSON", help="Send this JSON value along; repeatable.", show_default=False),
    ] = None,
    task: Annotated[str, typer.Option(metavar="ID", help="Continue this task.", show_default=False)] = "",
    context: Annotated[str, typer.Option(metavar="ID", help="Continue this conversation.", show_default=False)] = "",
    stream: Annotated[bool, typer.Option("--stream", help="Show the events while the agent works.")] = False,
) -> None:
    """Send a message to an agent and show the answer; exit with 1 when the task failed or was rejected."""
    parts = [Part(text=_text(text)), *map(_file_part, file or ()), *map(_data_part, data or ())]
    message = Message(role=Role.ROLE_USER, parts=parts, task_id=task, context_id=context)
    with connected(reference, options) as agent:
        if stream:
            show_events(agent.send_streaming_message(message), options.output)
        else:
            show_reply(agent.send_message(message), options.output)


def _text(given: str) -> str:
    if given == "-":
        given = _standard_input().removesuffix("\n")
    if not given.strip():
        raise CommandError("there is no text to send", ExitCode.USAGE)
    return given


def _standard_input() -> str:
    if sys.stdin is None:
        raise CommandError("standard input is closed", ExitCode.USAGE)
    try:
        return _limited(sys.stdin.buffer.read(_MAX_BYTES + 1), "standard input").decode()
    except OSError as exc:
        raise CommandError(f"standard input cannot be read: {exc.strerror}", ExitCode.USAGE) from exc
    except UnicodeDecodeError as exc:
        raise CommandError("standard input is no text in UTF-8", ExitCode.USAGE) from exc


def _file_part(path: Path) -> Part:
    try:
        with path.open("rb") as opened:
            raw = _limited(opened.read(_MAX_BYTES + 1), str(path))
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        raise CommandError(f"{path} cannot be read: {reason}", ExitCode.USAGE) from exc
    return file_part(path, raw)


def _limited(data: bytes, origin: str) -> bytes:
    if len(data) > _MAX_BYTES:
        raise CommandError(f"{origin} has more than the {_MAX_BYTES:,} bytes that are sent", ExitCode.USAGE)
    return data


def _data_part(text: str) -> Part:
    try:
        value: Any = orjson.loads(text)
        return protojson.loads(Part, {"data": value, "mediaType": "application/json"})
    except orjson.JSONDecodeError as exc:
        raise CommandError(f"--data is not JSON: {exc.msg} (column {exc.colno})", ExitCode.USAGE) from exc
    except CardError as exc:
        raise CommandError(f"--data cannot be sent: {exc.problems[0].message}", ExitCode.USAGE) from exc
