"""What may reach a terminal: a card is text from elsewhere, and must not be able to steer the terminal with it."""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
import unicodedata
from pathlib import Path
from typing import Any, Final, TextIO

from rich.console import Console

PIPED_WIDTH: Final = 160
"""Columns of output that goes to no terminal."""

# Controls (C0, DEL, C1), formatting such as bidi overrides and invisible tags, halves of characters, line separators.
_UNSAFE: Final = frozenset(["Cc", "Cf", "Cs", "Zl", "Zp"])
# They join and part letters in several scripts and in emoji, and move nothing.
_JOINERS: Final = "\u200c\u200d"
_BLANKS: Final = re.compile(r"[\t\r\n]+")
_PLAIN: Final = {"§": "sec. ", "…": "...", "–": "-", "→": ">"}
_PLAIN_ERRORS: Final = "a2a_discovery.plain"


def clean(text: str) -> str:
    r"""``text`` in one line, with every character that a terminal could obey written as its escape (``\x1b``)."""
    text = _BLANKS.sub(" ", text)
    return text if text.isprintable() else "".join(map(_visible, text))


def clean_lines(text: str) -> str:
    """The same for text that may have several lines."""
    return "\n".join(clean(line.rstrip()) for line in text.strip().splitlines())


def json_text(value: Any, stream: TextIO, *, indent: int | None = 2) -> str:
    """``value`` as JSON that every terminal shows and no terminal obeys; it still reads as the same value.

    With ``indent=None`` it is one line.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=not is_unicode(stream))
    return re.sub(r"[^\n\x20-\x7e]", lambda found: _json_visible(found[0]), text)


def is_unicode(stream: TextIO) -> bool:
    """Whether ``stream`` takes every character."""
    return (stream.encoding or "").lower().startswith("utf")


def console(stream: TextIO) -> Console:
    """A console on ``stream``: as wide and colourful as the terminal, plain and of a fixed width if it is none."""
    terminal = stream.isatty()
    width = None if terminal else PIPED_WIDTH
    return Console(file=stream, force_terminal=terminal, width=width, markup=False, highlight=False, emoji=False)


def prepare_streams() -> None:
    """Let standard output and error take any character: what their encoding lacks is written in ASCII."""
    codecs.register_error(_PLAIN_ERRORS, _plain)
    # A stream that the caller closed is None.
    sys.stdout = sys.stdout or nowhere()
    sys.stderr = sys.stderr or nowhere()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_PLAIN_ERRORS)


def nowhere() -> TextIO:
    """A stream that takes everything and keeps nothing."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _is_safe(char: str) -> bool:
    return unicodedata.category(char) not in _UNSAFE or char in _JOINERS


def _visible(char: str) -> str:
    return char if _is_safe(char) else char.encode("unicode_escape").decode("ascii")


def _json_visible(char: str) -> str:
    if _is_safe(char):
        return char
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(c) or c.encode("unicode_escape").decode("ascii") for c in text), error.end
