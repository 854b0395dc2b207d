"""Server-sent events (WHATWG HTML §9.2), as bytes.

The field's parsers split text at every line end that Unicode knows, U+2028 among them, which JSON may hold as it is.
"""

from __future__ import annotations

from typing import Final

MEDIA_TYPE: Final = "text/event-stream"
MAX_EVENT_BYTES: Final = 8 * 1024 * 1024
"""The largest event that is read, in bytes."""

_BOM = b"\xef\xbb\xbf"
_OTHER_LINE_ENDS = [(c.encode(), b"\\u%04x" % ord(c)) for c in "\u2028\u2029\x85"]


class EventSizeError(Exception):
    """An event is larger than the limit; ``events`` has the data of those before it."""

    def __init__(self, events: list[bytes]) -> None:
        super().__init__("an event is larger than the limit")
        self.events = events


class Parser:
    """Takes a stream in pieces of any size and gives the data of each event once it is complete.

    Args:
        limit: the largest event, in bytes.
    """

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self._limit = limit
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._started = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; returns the data of the events that they complete.

        Raises:
            EventSizeError: an event grows beyond the limit.
        """
        if self._after_cr and chunk:
            # The CR at the last chunk's end was a line end by itself; this LF is its other half.
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        events: list[bytes] = []
        lines = chunk.splitlines(keepends=True)  # on bytes: CR, LF and CRLF, nothing else
        for line in lines:
            if line.endswith((b"\n", b"\r")):
                if self._line:
                    self._line += line
                    line = bytes(self._line)
                    self._line.clear()
                self._take(line.rstrip(b"\r\n"), events)
            else:
                self._line += line
            if self._size + len(self._line) > self._limit:
                raise EventSizeError(events)
        self._after_cr = chunk.endswith(b"\r")
        return events

    def _take(self, line: bytes, events: list[bytes]) -> None:
        if not self._started:
            self._started = True
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data.clear()
                self._size = 0
        elif line.startswith(b"data:"):
            value = line[6:] if line[5:6] == b" " else line[5:]
            self._data.append(value)
            self._size += len(value) + 1
        elif line == b"data":
            self._data.append(b"")
            self._size += 1


def encode(data: bytes) -> bytes:
    """One event; ``data`` is compact JSON, which has no line end.

    What Unicode calls a line end besides is written as an escape: some clients split text there.
    """
    for character, escape in _OTHER_LINE_ENDS:
        if character in data:
            data = data.replace(character, escape)
    return b"data: " + data + b"\n\n"


KEEP_ALIVE: Final = b":\n\n"
"""A comment, which tells the client that the server is still there."""
