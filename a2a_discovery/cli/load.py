"""From what a person names (a host, a URL, a file, ``-``) to the bytes of a document."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final

from a2a_discovery.cache import CardCache
from a2a_discovery.card import MAX_CARD_BYTES
from a2a_discovery.errors import CardError, FetchError, FetchTimeoutError
from a2a_discovery.policy import UrlPolicy
from a2a_discovery.reference import card_url
from a2a_discovery.sync import CardResolver

WANTS_CREDENTIALS: Final = (401, 403, 407)
"""The HTTP statuses of a server or proxy that asks for credentials, or for others."""


class ExitCode(IntEnum):
    """What the exit status means; 0 is done."""

    FAILED = 1
    USAGE = 2
    NO_CARD = 3
    CREDENTIALS = 4
    TIMEOUT = 5


class CommandError(Exception):
    """A command cannot go on: what to tell the person, and the exit status."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Document:
    """The bytes of what should be a card, and where they came from: a URL, a path, or ``standard input``.

    ``url`` is the URL again, None where there was none.
    """

    data: bytes
    origin: str
    url: str | None = None


def load(
    reference: str, *, timeout: float, policy: UrlPolicy, cache: CardCache | None = None, refresh: bool = False
) -> Document:
    """Get the document that ``reference`` names.

    ``-`` is standard input; a file that exists is read; what begins or ends like a path has to exist; anything else is
    a host or URL.

    Args:
        reference: what the person wrote.
        timeout: seconds for a whole fetch.
        policy: which URLs may be fetched.
        cache: where the card may be already, None for nowhere.
        refresh: whether the server is asked all the same.

    Raises:
        CommandError: there is no document to be had.
    """
    if is_path(reference):
        return load_local(reference)
    try:
        url = card_url(reference)
    except FetchError as exc:
        raise CommandError(str(exc), ExitCode.USAGE) from exc
    try:
        with CardResolver(policy=policy, timeout=timeout, connect_timeout=min(timeout, 5.0), cache=cache) as resolver:
            return _from_url(resolver, url, refresh) if cache is not None else _fetched(resolver, url)
    except FetchError as exc:
        raise fetch_failure(exc) from exc


def is_path(reference: str) -> bool:
    """Whether ``reference`` is standard input or a file: by its look, or because it is there."""
    # A directory is more likely to be named like a host by accident than to be meant.
    if (
        reference == "-"
        or reference.startswith(("/", "./", "../"))
        or (_exists(reference) and not is_directory(reference))
    ):
        return True
    if not reference.endswith(".json") or "://" in reference:
        return False
    try:
        card_url(reference)
    except FetchError:
        return True
    return False


def is_directory(reference: str) -> bool:
    """Whether ``reference`` is a directory."""
    try:
        return Path(reference).is_dir()
    except (OSError, ValueError):
        return False


def load_local(reference: str, *, most: int = MAX_CARD_BYTES) -> Document:
    """Get the document on standard input (``-``) or in a file.

    Args:
        reference: which of them.
        most: how many bytes it may have. Of a larger one there is one more, so that its reader says so.

    Raises:
        CommandError: there is none to be had.
    """
    if reference == "-":
        if sys.stdin is None:
            raise CommandError("standard input is closed", ExitCode.NO_CARD)
        try:
            return Document(sys.stdin.buffer.read(most + 1), "standard input")
        except OSError as exc:
            raise CommandError(f"standard input cannot be read: {exc.strerror}", ExitCode.NO_CARD) from exc
    try:
        with Path(reference).open("rb") as file:
            return Document(file.read(most + 1), reference)
    except FileNotFoundError as exc:
        raise CommandError(f"there is no file {reference}", ExitCode.NO_CARD) from exc
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        raise CommandError(f"{reference} cannot be read: {reason}", ExitCode.NO_CARD) from exc


def _exists(reference: str) -> bool:
    try:
        return Path(reference).exists()
    except (OSError, ValueError):
        return False


def _from_url(resolver: CardResolver, url: str, refresh: bool) -> Document:
    try:
        found = resolver.resolve(url, strict=False, refresh=refresh)
    except CardError:
        # It is no card at all; what it is instead is told from its bytes.
        return _fetched(resolver, url)
    return Document(found.data, found.url, found.url)


def _fetched(resolver: CardResolver, url: str) -> Document:
    document = resolver.fetch(url)
    return Document(document.body, document.url, document.url)


def fetch_failure(exc: FetchError) -> CommandError:
    """What it means to a command that no card was had."""
    if isinstance(exc, FetchTimeoutError):
        return CommandError(str(exc), ExitCode.TIMEOUT)
    return CommandError(str(exc), ExitCode.CREDENTIALS if exc.status in WANTS_CREDENTIALS else ExitCode.NO_CARD)
