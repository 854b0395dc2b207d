"""``a2a-discovery catalog``: many agents, and which of them can do something."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from a2a_discovery import protojson
from a2a_discovery._concurrency import Progress as Told
from a2a_discovery.cache import CardCache
from a2a_discovery.catalog import CatalogEntry, CatalogFailure, Match
from a2a_discovery.cli import draw
from a2a_discovery.cli.common import (
    AllowHosts,
    DenyPrivate,
    Output,
    OutputOption,
    SameOrigin,
    failures,
    seconds,
    show,
    tell,
    url_policy,
)
from a2a_discovery.cli.kept import NoCache, Refresh, card_cache
from a2a_discovery.cli.load import CommandError, ExitCode, fetch_failure, is_directory, is_path, load_local
from a2a_discovery.cli.signatures import KeysOption, SignaturesOption, as_json, checking
from a2a_discovery.cli.terminal import clean, console, json_text
from a2a_discovery.errors import CardError, FetchError
from a2a_discovery.policy import UrlPolicy
from a2a_discovery.reference import catalog_url
from a2a_discovery.sync import CardResolver, Catalog

_SHOWN_FAILURES: Final = 20
_LONGEST_REASON: Final = 300

catalog_app = typer.Typer(help="List many agents, or find some.", no_args_is_help=True, rich_markup_mode=None)

_Source = Annotated[
    str,
    typer.Argument(
        metavar="REF",
        help="A directory, a JSON file (a list, or an AI catalog), - for standard input, the URL of an AI catalog, "
        "or a host.",
        show_default=False,
    ),
]
_Timeout = Annotated[float, typer.Option("--timeout", metavar="SECONDS", callback=seconds, help="Limit of each fetch.")]
_Concurrency = Annotated[int, typer.Option(min=1, max=256, metavar="N", help="So many cards are read at a time.")]
_Several = list[str] | None


def _criterion(name: str, metavar: str, help_text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=f"{help_text} Repeatable.", show_default=False)


@catalog_app.command("list")
def list_(
    source: _Source,
    output: OutputOption = Output.text,
    timeout: _Timeout = 15.0,
    concurrency: _Concurrency = 16,
    same_origin: SameOrigin = False,
    allow_host: AllowHosts = None,
    deny_private: DenyPrivate = False,
    keys: KeysOption = None,
    signatures: SignaturesOption = None,
    no_cache: NoCache = False,
    refresh: Refresh = False,
) -> None:
    """List the agents whose cards are valid; the others are named on standard error."""
    with failures():
        policy = url_policy(same_origin, allow_host, deny_private)
        with (
            card_cache(wanted=not no_cache) as cache,
            _resolver(policy, timeout, keys, signatures, cache) as resolver,
        ):
            catalog = _read(source, resolver, concurrency, refresh=refresh)
        if output is Output.json:
            _write("entries", [_entry_json(entry) for entry in catalog], catalog)
        else:
            show(draw.draw_agents([(entry, tuple(entry.card.skills)) for entry in catalog]))
        _check(catalog)


@catalog_app.command("find")
def find(
    source: _Source,
    tag: Annotated[_Several, _criterion("--tag", "TAG", "A tag of the skill.")] = None,
    text: Annotated[_Several, _criterion("--text", "WORDS", "Words of its name, description or tags.")] = None,
    accepts: Annotated[_Several, _criterion("--accepts", "TYPE", "A media type that it takes.")] = None,
    produces: Annotated[_Several, _criterion("--produces", "TYPE", "A media type that it answers with.")] = None,
    output: OutputOption = Output.text,
    timeout: _Timeout = 15.0,
    concurrency: _Concurrency = 16,
    same_origin: SameOrigin = False,
    allow_host: AllowHosts = None,
    deny_private: DenyPrivate = False,
    keys: KeysOption = None,
    signatures: SignaturesOption = None,
    no_cache: NoCache = False,
    refresh: Refresh = False,
) -> None:
    """Find the agents with a skill that meets all criteria, the best first; exit with 1 when there is none."""
    with failures():
        policy = url_policy(same_origin, allow_host, deny_private)
        with (
            card_cache(wanted=not no_cache) as cache,
            _resolver(policy, timeout, keys, signatures, cache) as resolver,
        ):
            catalog = _read(source, resolver, concurrency, refresh=refresh)
        matches = catalog.find(
            tags=tag or (), text=" ".join(text or ()), accepts=accepts or (), produces=produces or ()
        )
        if output is Output.json:
            _write("matches", [_match_json(match) for match in matches], catalog)
        else:
            show(draw.draw_agents([(match.entry, match.skills) for match in matches]))
        _check(catalog)
        if not matches:
            raise CommandError(f"none of the {len(catalog)} agents has such a skill", ExitCode.FAILED)


@contextmanager
def _resolver(
    policy: UrlPolicy, timeout: float, keys: Path | None, signatures: Any, cache: CardCache | None
) -> Iterator[CardResolver]:
    with checking(keys, signatures) as options:
        connect_timeout = min(timeout, 5.0)
        resolver = CardResolver(policy=policy, timeout=timeout, connect_timeout=connect_timeout, cache=cache, **options)
    with resolver:
        yield resolver


def _read(source: str, resolver: CardResolver, concurrency: int, *, refresh: bool) -> Catalog:
    with _bar() as progress:
        options: dict[str, Any] = {
            "resolver": resolver,
            "concurrency": concurrency,
            "progress": progress,
            "refresh": refresh,
        }
        try:
            if is_directory(source):
                return Catalog.from_directory(source, **options)
            if is_path(source):
                return Catalog.from_json(load_local(source, most=protojson.MAX_BYTES).data, **options)
            return Catalog.from_ai_catalog(_url(source), **options)
        except FetchError as exc:
            raise fetch_failure(exc) from exc
        except CardError as exc:
            raise CommandError(str(exc), ExitCode.FAILED) from exc
        except OSError as exc:
            raise CommandError(f"{source} cannot be read: {exc.strerror}", ExitCode.NO_CARD) from exc


def _url(source: str) -> str:
    try:
        return catalog_url(source)
    except FetchError as exc:
        raise CommandError(str(exc), ExitCode.USAGE) from exc


@contextmanager
def _bar() -> Iterator[Told | None]:
    """Shows how far it is, on a standard error that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("cards"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task("cards", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _write(name: str, written: list[Any], catalog: Catalog) -> None:
    failed = [{"reference": f.reference, "identifier": f.identifier, "error": str(f.error)} for f in catalog.failures]
    typer.echo(json_text({name: written, "failures": failed}, sys.stdout))


def _check(catalog: Catalog) -> None:
    """Tell what could not be read.

    Raises:
        CommandError: nothing could.
    """
    for failure in catalog.failures[:_SHOWN_FAILURES]:
        tell(f"a2a-discovery: {_line(failure)}")
    if len(catalog.failures) > _SHOWN_FAILURES:
        tell(f"a2a-discovery: and {len(catalog.failures) - _SHOWN_FAILURES:,} more that cannot be read")
    if catalog.failures and not catalog.entries:
        raise CommandError("no card at all could be read", ExitCode.NO_CARD)


def _line(failure: CatalogFailure) -> str:
    reason = clean(" ".join(str(failure.error).split()))
    reference = clean(failure.reference)
    shown = reason if reference in reason else f"{reference}: {reason}"
    return shown if len(shown) <= _LONGEST_REASON else f"{shown[:_LONGEST_REASON]}…"


def _entry_json(entry: CatalogEntry) -> dict[str, Any]:
    written: dict[str, Any] = {
        "reference": entry.reference,
        "url": entry.url,
        "identifier": entry.identifier,
        "displayName": entry.display_name,
        "card": protojson.to_dict(entry.card),
    }
    if entry.verification is not None:
        written["verification"] = as_json(entry.verification)
    return written


def _match_json(match: Match) -> dict[str, Any]:
    skills = [protojson.to_dict(skill) for skill in match.skills]
    return {**_entry_json(match.entry), "score": match.score, "skills": skills}
