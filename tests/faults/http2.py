"""HTTP/2 by hand (RFC 9113, RFC 7541): a server that can send any frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tests.servers import Exchange

DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 0x1, 0x4, 0x1
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

Fields = Iterable[tuple[bytes, bytes]]
HEAD: Final[Fields] = [(b":status", b"200"), (b"content-type", b"application/grpc")]


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def block(fields: Fields) -> bytes:
    """Header fields, each as a literal that is not indexed (RFC 7541 §6.2.2), without Huffman coding."""
    return b"".join(b"\0" + _string(name) + _string(value) for name, value in fields)


def _string(text: bytes) -> bytes:
    if len(text) < 127:
        return bytes([len(text)]) + text
    rest, number = [], len(text) - 127
    while number > 127:
        rest.append(number % 128 + 128)
        number //= 128
    return bytes([127, *rest, number]) + text


def message(data: bytes, *, flag: int = 0, length: int | None = None) -> bytes:
    """A message with gRPC's prefix, which may lie."""
    return bytes([flag]) + (len(data) if length is None else length).to_bytes(4, "big") + data


class Peer:
    """The server's side of a connection; ``stream`` is that of the last call."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self._received = b""

    def begin(self) -> None:
        """Send the settings, and read the preface."""
        self.send(frame(SETTINGS, 0, 0))
        self._take(len(_PREFACE))

    def wait(self) -> None:
        """Wait for the next call; raises ConnectionError when there will be none."""
        while True:
            head = self._take(9)
            self._take(int.from_bytes(head[:3], "big"))
            if head[3] == SETTINGS and not head[4] & ACK:
                self.send(frame(SETTINGS, ACK, 0))
            if head[3] == HEADERS:
                self.stream = int.from_bytes(head[5:], "big")
                return

    def _take(self, count: int) -> bytes:
        while len(self._received) < count:
            data = self.exchange.connection.recv(65536)
            if not data:
                raise ConnectionError
            self._received += data
        taken, self._received = self._received[:count], self._received[count:]
        return taken

    def send(self, *frames: bytes) -> None:
        self.exchange.send(*frames)

    def fields(self, fields: Fields, *, end: bool = False, complete: bool = True) -> bytes:
        flags = (END_STREAM if end else 0) | (END_HEADERS if complete else 0)
        return frame(HEADERS, flags, self.stream, block(fields))

    def data(self, payload: bytes, *, end: bool = False) -> bytes:
        return frame(DATA, END_STREAM if end else 0, self.stream, payload)
