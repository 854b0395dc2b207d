"""``python -m bench.canned``: answers calls with the same bytes each time, a GET with the bench card; prints its ports.

What it answers was made beforehand, so that a measurement is about the client.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc

from a2a_discovery import protojson
from a2a_discovery.types import (
    Artifact,
    Message,
    Part,
    Role,
    SendMessageResponse,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)

EVENTS = 1000

REPLY = SendMessageResponse(
    message=Message(
        message_id="m-1", context_id="c-1", role=Role.ROLE_AGENT, parts=[Part(text="All 214 tests passed in 38 s.")]
    )
)


def events() -> list[StreamResponse]:
    """A task, its artifact in pieces, and its end."""
    first = Task(id="t-1", context_id="c-1", status=TaskStatus(state=TaskState.TASK_STATE_WORKING))
    last = TaskStatusUpdateEvent(
        task_id="t-1", context_id="c-1", status=TaskStatus(state=TaskState.TASK_STATE_COMPLETED)
    )
    piece = Artifact(artifact_id="log", name="log", parts=[Part(text="tests/test_refunds.py::test_rounding PASSED")])
    update = TaskArtifactUpdateEvent(task_id="t-1", context_id="c-1", artifact=piece, append=True)
    middle = StreamResponse(artifact_update=update)
    return [StreamResponse(task=first), *[middle] * (EVENTS - 2), StreamResponse(status_update=last)]


_ID = re.compile(rb'"id": ?"([^"]*)"')
_LENGTH = re.compile(rb"content-length: (\d+)", re.I)
_EVENTS = [b'data: {"jsonrpc":"2.0","id":"@","result":' + protojson.dumps(event) + b"}\r\n\r\n" for event in events()]


def _chunked(events: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"


CARD = (Path(__file__).resolve().parent.parent / "tests" / "cases" / "bench_card.json").read_bytes()
_CARD_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: max-age=3600\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(CARD)
)


class _Http(asyncio.Protocol):
    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n") + 4) >= 4:
            length = _LENGTH.search(self._received, 0, end)
            whole = end + (int(length[1]) if length else 0)
            if len(self._received) < whole:
                return
            is_card = self._received.startswith(b"GET ")
            body, self._received = self._received[end:whole], self._received[whole:]
            if is_card:
                self._transport.write(_CARD_HEAD + CARD)
            else:
                self._answer(body)

    def _answer(self, body: bytes) -> None:
        found = _ID.search(body)
        request_id = found[1] if found else b""
        if b"SendStreamingMessage" in body:
            stream = _chunked([event.replace(b"@", request_id, 1) for event in _EVENTS])
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            self._transport.write(head + stream)
            return
        answer = b'{"jsonrpc":"2.0","id":"%b","result":%b}' % (request_id, protojson.dumps(REPLY))
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer)
        self._transport.write(head + answer)


class _Grpc(grpc.GenericRpcHandler):  # type: ignore[misc] # grpc ships no types
    _reply = REPLY.SerializeToString()
    _events = tuple(event.SerializeToString() for event in events())

    def service(self, details: Any) -> Any:
        if details.method.endswith("SendStreamingMessage"):
            return grpc.unary_stream_rpc_method_handler(self._stream)
        return grpc.unary_unary_rpc_method_handler(self._unary)

    async def _unary(self, _request: bytes, _context: Any) -> bytes:
        return self._reply

    async def _stream(self, _request: bytes, _context: Any) -> AsyncIterator[bytes]:
        for event in self._events:
            yield event


async def main() -> None:
    """Serve until the end of the process."""
    http = await asyncio.get_running_loop().create_server(_Http, "127.0.0.1", 0, backlog=1024)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((_Grpc(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(http.sockets[0].getsockname()[1], port, flush=True)
    await http.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
