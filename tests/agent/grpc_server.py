"""A gRPC server that records what comes and answers bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

import grpc

from a2a_discovery._gen.operations import OPERATIONS

Answer = Callable[[str, Any, grpc.ServicerContext], Any]
"""Takes the operation's name, the request message and the context; gives a message, bytes, or an iterator of them."""


class GrpcServer(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Answers every operation with ``answer``; a context manager. ``seen`` has name, request, metadata of each call."""

    def __init__(self, answer: Answer, *, credentials: Any = None, workers: int = 8) -> None:
        self._answer = answer
        self.seen: list[tuple[str, Any, dict[str, str]]] = []
        self.ended: list[str] = []
        self.server = grpc.server(ThreadPoolExecutor(workers), handlers=(self,))
        if credentials is None:
            self.port = self.server.add_insecure_port("127.0.0.1:0")
        else:
            self.port = self.server.add_secure_port("127.0.0.1:0", credentials)
        self.url = f"127.0.0.1:{self.port}"

    def __enter__(self) -> GrpcServer:
        self.server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.server.stop(None).wait()

    def service(self, details: Any) -> Any:
        operation = OPERATIONS[details.method.rpartition("/")[2]]
        metadata = {m.key: m.value for m in details.invocation_metadata}

        def called(data: bytes, context: Any) -> Any:
            request = operation.request.FromString(data)
            self.seen.append((operation.name, request, metadata))
            context.add_callback(lambda: self.ended.append(operation.name))
            return self._answer(operation.name, request, context)

        def streamed(data: bytes, context: Any) -> Iterator[bytes]:
            for event in called(data, context):
                yield _bytes(event)

        if operation.streaming:
            return grpc.unary_stream_rpc_method_handler(streamed)
        return grpc.unary_unary_rpc_method_handler(lambda data, context: _bytes(called(data, context)))


def _bytes(answer: Any) -> bytes:
    return answer if isinstance(answer, bytes) else bytes(answer.SerializeToString())
