"""Media types and media ranges (RFC 9110 §8.3.1, §12.5.1), and which of them accept which."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# Nothing in these gives back what it took, so that a hostile text costs no more time than its length.
_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"  # noqa: S105 - a grammar, not a secret
_QUOTED: Final = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*+"'
_PARAMETER: Final = rf"({_TOKEN})=({_TOKEN}|{_QUOTED})"
_MEDIA_RANGE: Final = re.compile(rf"(\*/\*|(?!\*/){_TOKEN}/{_TOKEN})((?:[\t ]*+;[\t ]*+(?:{_PARAMETER})?+)*+)")
_PARAMETERS: Final = re.compile(_PARAMETER)
_ESCAPED: Final = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class MediaRange:
    """A media type, or a range of them.

    Attributes:
        kind: the type in lower case, ``"*"`` for any; of a text that is no media range, all of it.
        subtype: the subtype in lower case, ``"*"`` for any; empty when the text is no media range.
        parameters: names in lower case, with values that are no longer quoted; weights (§12.4.2) are left out.
    """

    kind: str
    subtype: str = ""
    parameters: frozenset[tuple[str, str]] = frozenset()


def is_media_range(text: str) -> bool:
    """Whether ``text`` is a media type, or a range as it stands in ``Accept``."""
    return _MEDIA_RANGE.fullmatch(text) is not None


def parse(text: str) -> MediaRange:
    """What ``text`` says, whatever it is: ``"text"`` or ``""``, which are no media types, equal only themselves."""
    match = _MEDIA_RANGE.fullmatch(text)
    if match is None:
        return MediaRange(text.casefold())
    kind, _, subtype = match[1].lower().partition("/")
    return MediaRange(kind, subtype, frozenset(_parameters(match[2])))


def covers(accepted: str | MediaRange, given: str | MediaRange) -> bool:
    """Whether the range ``accepted`` takes the media type ``given``.

    A range without parameters takes a type with any; one with parameters takes only types that have all of these.
    """
    a, b = _parsed(accepted), _parsed(given)
    if not a.subtype or not b.subtype:
        return a == b
    return a.kind in ("*", b.kind) and a.subtype in ("*", b.subtype) and a.parameters <= b.parameters


def overlaps(a: str | MediaRange, b: str | MediaRange) -> bool:
    """Whether one of the two covers the other."""
    a, b = _parsed(a), _parsed(b)
    return covers(a, b) or covers(b, a)


def _parsed(given: str | MediaRange) -> MediaRange:
    return given if isinstance(given, MediaRange) else parse(given)


def _parameters(text: str) -> Iterator[tuple[str, str]]:
    for name, value in _PARAMETERS.findall(text):
        name = name.lower()
        if name == "q":
            continue
        if value.startswith('"'):
            value = _ESCAPED.sub(r"\1", value[1:-1])
        # Names of charsets are compared without case (RFC 9110 §8.3.2), other values as they stand.
        yield name, value.lower() if name == "charset" else value
