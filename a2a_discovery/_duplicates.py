"""Keys that stand twice in one JSON object (RFC 7493 §2.3), which a JSON decoder passes over in silence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

_SPACE = b" \t\r\n"
# Of a text that is known to be JSON: strings (with the colon that makes one a key) and structure; the rest is skipped.
_TOKEN = re.compile(rb'("(?:[^"\\]++|\\.)*+")([ \t\r\n]*:)?|[\[\]{},]', re.DOTALL)

Step = str | int


def has_duplicates(document: Any, text: bytes) -> bool:
    """Whether any object in ``text``, which was decoded to ``document``, names a key twice.

    Written out again without its white space, a document that lost no member is the text without its white space, in
    nearly every case; only where it is not (an escape, an unusual number) the text is read token by token.
    """
    try:
        if orjson.dumps(document).translate(None, _SPACE) == text.translate(None, _SPACE):
            return False
    except orjson.JSONEncodeError:  # nested deeper than orjson writes
        pass
    return next(duplicates(text), None) is not None


def duplicates(text: bytes) -> Iterator[tuple[Step, ...]]:
    """The place of each key that its object already holds: keys and list indices from the root."""
    seen: list[set[str] | None] = []  # one entry per open object or array
    place: list[Step] = []  # the key or index that is being read in each
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark == b"{":
            seen.append(set())
            place.append("")
        elif mark == b"[":
            seen.append(None)
            place.append(0)
        elif mark in (b"}", b"]"):
            seen.pop()
            place.pop()
        elif mark == b",":
            index = place[-1]
            if isinstance(index, int):
                place[-1] = index + 1
        elif token[2] is not None:
            key = orjson.loads(token[1])
            keys = seen[-1]
            assert keys is not None, "the text is JSON, so a key stands in an object"
            place[-1] = key
            if key in keys:
                yield tuple(place)
            keys.add(key)
