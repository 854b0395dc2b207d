"""The commands."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer

from a2a_discovery import protojson
from a2a_discovery.card import CardReport, inspect_card
from a2a_discovery.cli import draw
from a2a_discovery.cli.catalog import catalog_app
from a2a_discovery.cli.common import (
    AllowHosts,
    DenyPrivate,
    Output,
    OutputOption,
    SameOrigin,
    counted,
    failures,
    hint,
    invalid,
    seconds,
    show,
    tell,
    unwritable,
    url_policy,
    warnings_told,
)
from a2a_discovery.cli.kept import NoCache, Refresh, card_cache
from a2a_discovery.cli.load import CommandError, ExitCode, load
from a2a_discovery.cli.send import send
from a2a_discovery.cli.signatures import KeysOption, SignaturesOption, as_json, in_words, refusal, verification_of
from a2a_discovery.cli.task import task_app
from a2a_discovery.cli.terminal import json_text, prepare_streams
from a2a_discovery.errors import CardError, MissingExtraError
from a2a_discovery.problems import Problem

app = typer.Typer(
    help="Read the agent cards of A2A (Agent2Agent protocol 1.0), and call agents.",
    epilog="Exit status: 0 done, 1 failed, 2 usage, 3 unreachable or no card, 4 credentials, 5 timeout.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
card_app = typer.Typer(help="Show a card, or check it.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(card_app, name="card")
app.add_typer(catalog_app, name="catalog")
app.command("send")(send)
app.add_typer(task_app, name="task")


_Reference = Annotated[
    str | None,
    typer.Argument(metavar="REF", help="A host, a URL, a file, or - for standard input.", show_default=False),
]
_AgentCard = Annotated[
    str | None, typer.Option("--agent-card", "-a", metavar="REF", help="The same as an option.", show_default=False)
]
_Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", callback=seconds, help="Limit of the whole fetch.")
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
    reference: _Reference = None,
    agent_card: _AgentCard = None,
    output: OutputOption = Output.text,
    timeout: _Timeout = 15.0,
    same_origin: SameOrigin = False,
    allow_host: AllowHosts = None,
    deny_private: DenyPrivate = False,
    keys: KeysOption = None,
    signatures: SignaturesOption = None,
    no_cache: NoCache = False,
    refresh: Refresh = False,
) -> None:
    """Draw a card, or print its JSON; exit with 1 when it is not valid, or not signed as demanded.

    Where signatures are looked at, the card is what the verified one covers, and the JSON is an object of "card" and
    "verification".
    """
    with failures():
        wanted = _one_reference(reference, agent_card)
        policy = url_policy(same_origin, allow_host, deny_private)
        with card_cache(wanted=not no_cache) as cache:
            document = load(wanted, timeout=timeout, policy=policy, cache=cache, refresh=refresh)
        report = inspect_card(document.data, card_url=document.url)
        try:
            verification = verification_of(document, keys, signatures)
        except CardError as exc:
            raise invalid(document.origin, report.errors or exc.problems, wanted) from exc
        if verification is not None and not verification.accepted:
            raise refusal(verification, document.origin)
        card = report.card if verification is None or verification.card is None else verification.card
        if card is None:
            raise invalid(document.origin, report.errors, wanted)
        if output is Output.json:
            written = protojson.to_dict(card)
            shown = written if verification is None else {"card": written, "verification": as_json(verification)}
            typer.echo(json_text(shown, sys.stdout))
        else:
            signed = None if verification is None else in_words(verification)
            show(draw.draw_card(card, document.origin, signed))
        if report.warnings:
            tell(f"{counted(report.warnings)}: {hint(wanted)}")


@card_app.command("check")
def check(
    reference: _Reference = None,
    agent_card: _AgentCard = None,
    output: OutputOption = Output.text,
    timeout: _Timeout = 15.0,
    same_origin: SameOrigin = False,
    allow_host: AllowHosts = None,
    deny_private: DenyPrivate = False,
    keys: KeysOption = None,
    signatures: SignaturesOption = None,
) -> None:
    """List what is wrong with a card and how to mend it; exit with 1 when it is not valid, or not signed as demanded.

    The card is always fetched. Where signatures are looked at, the JSON is an object of "problems" and "verification".
    """
    with failures():
        policy = url_policy(same_origin, allow_host, deny_private)
        document = load(_one_reference(reference, agent_card), timeout=timeout, policy=policy)
        report = inspect_card(document.data, card_url=document.url)
        verification = None
        try:
            verification = verification_of(document, keys, signatures)
        except CardError as exc:
            report = report if report.errors else CardReport(None, exc.problems)
        valid = report.card is not None or (verification is not None and verification.card is not None)
        if output is Output.json:
            problems = [_as_json(problem) for problem in report.problems]
            shown = problems if verification is None else {"problems": problems, "verification": as_json(verification)}
            typer.echo(json_text(shown, sys.stdout))
        else:
            verdict = f"{document.origin}: {'valid' if valid else 'not valid'}, {counted(report.problems)}"
            if verification is not None:
                verdict += f"; signature {in_words(verification)}"
            show(draw.draw_problems(verdict, report.problems))
        if verification is not None and not verification.accepted:
            raise refusal(verification, document.origin)
    if not valid:
        raise typer.Exit(ExitCode.FAILED)


@app.command("demo-server")
def demo_server(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65533, help="The first of three consecutive ports; 0 takes free ones.")
    ] = 41241,
) -> None:
    """Serve three sample agents until interrupted."""
    with failures():
        try:
            from a2a_discovery.cli.demo_server import serve

            serve(host, port)
        except MissingExtraError as exc:
            raise CommandError(str(exc), ExitCode.FAILED) from exc


def run() -> None:
    """Run the command line on ``sys.argv`` and exit."""
    prepare_streams()
    try:
        with warnings_told():
            app(prog_name="a2a-discovery")
    except SystemExit:
        try:
            sys.stdout.flush()
        except OSError as exc:
            unwritable(exc)
        raise
    except OSError as exc:
        unwritable(exc)


def _one_reference(argument: str | None, option: str | None) -> str:
    if (argument is None) == (option is None):
        raise CommandError("name one card: as REF, or with --agent-card REF", ExitCode.USAGE)
    return argument if argument is not None else option or ""


def _as_json(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in ("path", "rule", "severity", "message", "source")}
