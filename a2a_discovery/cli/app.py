"""The commands."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib.metadata import version
from typing import Annotated, Any, NoReturn

import typer

from a2a_discovery import protojson
from a2a_discovery.card import inspect_card
from a2a_discovery.cli import draw
from a2a_discovery.cli.load import CommandError, Document, ExitCode, load
from a2a_discovery.cli.sheet import Sheet
from a2a_discovery.cli.terminal import clean, clean_lines, console, json_text, nowhere, prepare_streams
from a2a_discovery.errors import MissingExtraError
from a2a_discovery.problems import Problem

_SHOWN_PROBLEMS = 5
_MAX_TIMEOUT = 3600.0

app = typer.Typer(
    help="Read the agent cards of A2A (Agent2Agent protocol 1.0).",
    epilog="Exit status: 0 done, 1 failed, 2 usage, 3 unreachable or no card, 4 credentials, 5 timeout.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
card_app = typer.Typer(help="Show a card, or check it.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(card_app, name="card")


class Output(StrEnum):
    """How results are written."""

    text = "text"
    json = "json"


def _seconds(value: float) -> float:
    if not 0 < value <= _MAX_TIMEOUT:
        raise typer.BadParameter(f"{value:g} is not a number of seconds above 0 and up to {_MAX_TIMEOUT:g}")
    return value


_Reference = Annotated[
    str | None,
    typer.Argument(metavar="REF", help="A host, a URL, a file, or - for standard input.", show_default=False),
]
_AgentCard = Annotated[
    str | None, typer.Option("--agent-card", "-a", metavar="REF", help="The same as an option.", show_default=False)
]
_Output = Annotated[Output, typer.Option("--output", "-o", help="For people, or for programs.")]
_Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", callback=_seconds, help="Limit of the whole fetch.")
]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"a2a-discovery {version('a2a-discovery')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Takes the options that stand before a command."""


@card_app.command("get")
def get(
    reference: _Reference = None, agent_card: _AgentCard = None, output: _Output = Output.text, timeout: _Timeout = 15.0
) -> None:
    """Draw a card, or print its JSON; exit with 1 when it is not valid."""
    with _failures():
        wanted = _one_reference(reference, agent_card)
        document = load(wanted, timeout=timeout)
        report = inspect_card(document.data)
        if report.card is None:
            raise CommandError(_invalid(document, report.errors, wanted), ExitCode.FAILED)
        if output is Output.json:
            typer.echo(json_text(json.loads(protojson.dumps(report.card)), sys.stdout))
        else:
            _show(draw.draw_card(report.card, document.origin))
        if report.warnings:
            _tell(f"{_counted(report.warnings)}: {_hint(wanted)}")


@card_app.command("check")
def check(
    reference: _Reference = None, agent_card: _AgentCard = None, output: _Output = Output.text, timeout: _Timeout = 15.0
) -> None:
    """List what is wrong with a card and how to mend it; exit with 1 when it is not valid."""
    with _failures():
        document = load(_one_reference(reference, agent_card), timeout=timeout)
        report = inspect_card(document.data)
        if output is Output.json:
            typer.echo(json_text([_as_json(problem) for problem in report.problems], sys.stdout))
        else:
            verdict = "not valid" if report.card is None else "valid"
            _show(draw.draw_problems(f"{document.origin}: {verdict}, {_counted(report.problems)}", report.problems))
    if report.card is None:
        raise typer.Exit(ExitCode.FAILED)


@app.command("demo-server")
def demo_server(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65533, help="The first of three consecutive ports; 0 takes free ones.")
    ] = 41241,
) -> None:
    """Serve the cards of three sample agents until interrupted."""
    with _failures():
        try:
            from a2a_discovery.cli.demo_server import serve

            serve(host, port)
        except MissingExtraError as exc:
            raise CommandError(str(exc), ExitCode.FAILED) from exc


def run() -> None:
    """Run the command line on ``sys.argv`` and exit."""
    prepare_streams()
    try:
        app(prog_name="a2a-discovery")
    except SystemExit:
        try:
            sys.stdout.flush()
        except OSError as exc:
            _unwritable(exc)
        raise
    except OSError as exc:
        _unwritable(exc)


def _tell(message: str) -> None:
    """Say it on standard error; the exit status counts even where that cannot be written."""
    try:
        typer.echo(message, err=True)
    except OSError:
        sys.stderr = nowhere()


def _unwritable(exc: OSError) -> NoReturn:
    sys.stdout = nowhere()  # or the interpreter tries once more when it ends
    _tell(f"a2a-discovery: the output cannot be written: {exc.strerror}")
    raise SystemExit(ExitCode.FAILED)


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except CommandError as exc:
        _tell(f"a2a-discovery: {clean_lines(str(exc))}")
        raise typer.Exit(exc.code) from exc


def _one_reference(argument: str | None, option: str | None) -> str:
    if (argument is None) == (option is None):
        raise CommandError("name one card: as REF, or with --agent-card REF", ExitCode.USAGE)
    return argument if argument is not None else option or ""


def _show(sheet: Sheet) -> None:
    sheet.show(console(sys.stdout))


def _invalid(document: Document, errors: tuple[Problem, ...], reference: str) -> str:
    lines = [f"the card from {document.origin} is not valid, {_counted(errors)}:"]
    lines += [f"  {problem}" for problem in errors[:_SHOWN_PROBLEMS]]
    if len(errors) > _SHOWN_PROBLEMS:
        lines.append(f"  and {len(errors) - _SHOWN_PROBLEMS} more")
    return "\n".join([*lines, _hint(reference)])


def _hint(reference: str) -> str:
    return f"`a2a-discovery card check {shlex.quote(clean(reference))}` lists all that is to mend"


def _counted(problems: tuple[Problem, ...]) -> str:
    counts = []
    for severity in ("error", "warning"):
        count = sum(problem.severity == severity for problem in problems)
        if count:
            counts.append(f"{count} {severity}{'' if count == 1 else 's'}")
    return ", ".join(counts) or "no problems"


def _as_json(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in ("path", "rule", "severity", "message", "source")}
