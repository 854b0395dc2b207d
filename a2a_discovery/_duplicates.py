"""Keys that stand twice in one JSON object (RFC 7493 §2.3), which a JSON decoder passes over in silence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

# Of a text that is known to be JSON: strings (with the colon that makes one a key) and structure; the rest is skipped.
_TOKEN = re.compile(rb'("(?:[^"\\]++|\\.)*+")([ \t\r\n]*:)?|[\[\]{},]', re.DOTALL)

Step = str | int


def has_duplicates(document: Any, text: bytes) -> bool:
    r"""Whether any object in ``text``, which was decoded to ``document``, names a key twice.

    A member that the decoder dropped takes at least the two quotes of its key along, and nothing but an escaped quote
    (``\u0022``) adds any when the document is written again: only a text that has one is read token by token.
    """
    if b"\\" in text and b"\\u0022" in text:
        return next(duplicates(text), None) is not None
    try:
        return orjson.dumps(document).count(b'"') != text.count(b'"')
    except orjson.JSONEncodeError:  # nested deeper than orjson writes
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
