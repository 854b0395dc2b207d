"""What all commands share: how results are written, and how a failure ends a command."""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Final, NoReturn

import typer

from a2a_discovery.cli.load import CommandError, ExitCode
from a2a_discovery.cli.sheet import Sheet
from a2a_discovery.cli.terminal import clean, clean_lines, console, nowhere
from a2a_discovery.policy import UrlPolicy
from a2a_discovery.problems import Problem

_MAX_TIMEOUT: Final = 3600.0
_SHOWN_PROBLEMS: Final = 5


class Output(StrEnum):
    """How results are written."""

    text = "text"
    json = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="For people, or for programs.")]


SameOrigin = Annotated[
    bool, typer.Option("--same-origin", help="Call nothing but the origin (over gRPC: the host) that REF names.")
]
AllowHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="HOST[:PORT]",
        help="Call no other host than this one; *.HOST is every name below it. Repeatable.",
        show_default=False,
    ),
]
DenyPrivate = Annotated[
    bool, typer.Option("--deny-private", help="Call public addresses only: not this machine, not its network.")
]


def url_policy(same_origin: bool, allow_hosts: Sequence[str] | None, deny_private: bool) -> UrlPolicy:
    """What the three options mean; to be called where a CommandError is told."""
    try:
        return UrlPolicy(same_origin=same_origin, allow_hosts=allow_hosts or None, deny_private=deny_private)
    except ValueError as exc:
        raise CommandError(f"--allow-host: {exc}", ExitCode.USAGE) from exc


def seconds(value: float | None) -> float | None:
    """A time limit as the person wrote it; the callback of the options that are one."""
    if value is not None and not 0 < value <= _MAX_TIMEOUT:
        raise typer.BadParameter(f"{value:g} is not a number of seconds above 0 and up to {_MAX_TIMEOUT:g}")
    return value


@contextmanager
def failures() -> Iterator[None]:
    """Tell a CommandError in one message, and end the command with its exit status."""
    try:
        yield
    except CommandError as exc:
        tell(f"a2a-discovery: {clean_lines(str(exc))}")
        raise typer.Exit(exc.code) from exc


@contextmanager
def warnings_told() -> Iterator[None]:
    """Tell the library's warnings as messages of the command: logging would write them out as they are."""
    logger, handler = logging.getLogger("a2a_discovery"), _Teller(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Teller(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        tell(f"a2a-discovery: warning: {clean(record.getMessage())}")


def tell(message: str) -> None:
    """Say it on standard error; the exit status counts even where that cannot be written."""
    try:
        typer.echo(message, err=True)
    except OSError:
        sys.stderr = nowhere()


def unwritable(exc: OSError) -> NoReturn:
    """End the command because its output cannot be written."""
    sys.stdout = nowhere()  # or the interpreter tries once more when it ends
    tell(f"a2a-discovery: the output cannot be written: {exc.strerror}")
    raise SystemExit(ExitCode.FAILED)


def show(sheet: Sheet) -> None:
    """Write a sheet on standard output."""
    sheet.show(console(sys.stdout))


def invalid(origin: str, errors: Sequence[Problem], reference: str) -> CommandError:
    """The card from ``origin`` is not valid; ``reference`` is what the person wrote."""
    lines = [f"the card from {origin} is not valid, {counted(errors)}:"]
    lines += [f"  {problem}" for problem in errors[:_SHOWN_PROBLEMS]]
    if len(errors) > _SHOWN_PROBLEMS:
        lines.append(f"  and {len(errors) - _SHOWN_PROBLEMS} more")
    return CommandError("\n".join([*lines, hint(reference)]), ExitCode.FAILED)


def hint(reference: str) -> str:
    """Where to read more about a card."""
    return f"`a2a-discovery card check {shlex.quote(clean(reference))}` lists all that is to mend"


def counted(problems: Sequence[Problem]) -> str:
    """How many errors and warnings there are, in words."""
    counts = []
    for severity in ("error", "warning"):
        count = sum(problem.severity == severity for problem in problems)
        if count:
            counts.append(f"{count} {severity}{'' if count == 1 else 's'}")
    return ", ".join(counts) or "no problems"
