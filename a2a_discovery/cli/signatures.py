"""Whose signatures count to the commands that take in a card, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from a2a_discovery.cli.load import CommandError, Document, ExitCode
from a2a_discovery.errors import MissingExtraError, SignatureError
from a2a_discovery.signatures import verify_card
from a2a_discovery.verification import SignaturePolicy, Verification

KeysOption = Annotated[
    Path | None,
    typer.Option(
        "--keys", metavar="FILE", help="Public keys whose signatures count: a JWKS, or PEM.", show_default=False
    ),
]
SignaturesOption = Annotated[
    SignaturePolicy | None,
    typer.Option("--signatures", help="Which cards are taken; require where there are keys.", show_default=False),
]


def verification_of(document: Document, keys: Path | None, signatures: SignaturePolicy | None) -> Verification | None:
    """What became of the signatures; None when they are not looked at.

    Raises:
        CommandError: there are no keys to check them with.
        CardError: the document is no card, or what its verified bytes hold is not a valid one.
    """
    with checking(keys, signatures) as options:
        return verify_card(document.data, options["keys"], policy=options["signatures"]) if options else None


@contextmanager
def checking(keys: Path | None, signatures: SignaturePolicy | None) -> Iterator[dict[str, Any]]:
    """The arguments ``keys`` and ``signatures`` of what checks signatures; none of them when they are not looked at.

    Raises:
        CommandError: there are no keys to check them with, as is found out here or by what the block calls.
    """
    policy = signatures or ("off" if keys is None else "require")
    if policy == "off":
        yield {}
        return
    if keys is None:
        raise CommandError(f"--signatures {policy} needs --keys FILE", ExitCode.USAGE)
    try:
        yield {"keys": keys.read_bytes(), "signatures": policy}
    except OSError as exc:
        raise CommandError(f"{keys} cannot be read: {exc.strerror}", ExitCode.USAGE) from exc
    except ValueError as exc:
        raise CommandError(f"{keys} holds no keys: {exc}", ExitCode.USAGE) from exc
    except MissingExtraError as exc:
        raise CommandError(str(exc), ExitCode.FAILED) from exc


def refusal(verification: Verification, origin: str) -> CommandError:
    """The card from ``origin`` is not one that the policy takes."""
    return CommandError(str(SignatureError(verification, url=origin)), ExitCode.FAILED)


def in_words(verification: Verification) -> str:
    """The outcome in one line."""
    good = [s for s in verification.signatures if s.outcome == "verified"]
    if not good:
        return {"absent": "none"}.get(verification.outcome, verification.outcome)
    made = (f"{s.alg}, {'no kid' if s.kid is None else f'kid {s.kid}'}, form {s.form}" for s in good)
    return f"verified ({'; '.join(made)})"


def as_json(verification: Verification) -> dict[str, Any]:
    """The outcome, and what became of each signature."""
    names = ("index", "outcome", "reason", "alg", "kid", "form")
    return {
        "outcome": verification.outcome,
        "accepted": verification.accepted,
        "form": verification.form,
        "signatures": [{name: getattr(signature, name) for name in names} for signature in verification.signatures],
    }
