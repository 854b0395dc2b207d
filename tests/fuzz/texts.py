"""Long texts from short inputs, so that what takes too long is found."""

from __future__ import annotations

from typing import Final

REPEAT: Final = b"\xff\xfe"
"""``head REPEAT piece REPEAT tail`` stands for a text in which the piece comes very often."""
GROWN: Final = 16 * 1024


def grown(data: bytes) -> bytes:
    """The text that ``data`` stands for: a short input can ask for a long one, so that what takes too long is found."""
    parts = data.split(REPEAT)
    if len(parts) != 3 or not parts[1]:
        return data
    head, piece, tail = parts
    return head + piece * (GROWN // len(piece)) + tail
