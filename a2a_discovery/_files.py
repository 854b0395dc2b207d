"""Cards in files."""

from __future__ import annotations

import stat
from pathlib import Path

from a2a_discovery.card import MAX_CARD_BYTES
from a2a_discovery.errors import FetchError


def card_file(path: Path) -> bytes:
    """The bytes of a card; of a file that is too large for one, one more than a card may have.

    Raises:
        FetchError: it cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise unreadable(path, "it is no regular file")
        with path.open("rb") as file:
            return file.read(MAX_CARD_BYTES + 1)
    except OSError as exc:
        raise unreadable(path, exc) from exc


def unreadable(path: Path, reason: OSError | str) -> FetchError:
    """The error of a file that cannot be read."""
    text = reason if isinstance(reason, str) else reason.strerror or str(reason)
    return FetchError(f"{path} cannot be read: {text}", url=path.absolute().as_uri())
