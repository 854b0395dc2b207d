"""Schema -> the typed methods of the agent, async and sync, and of the handler that answers them."""

from __future__ import annotations

from codegen.schema import Operation, Schema
from codegen.text import head, snake


def agent(schema: Schema, *, blocking: bool) -> str:
    """The text of the module that holds the methods of ``AsyncAgent``, or of ``Agent`` when ``blocking``."""
    name = "Operations" if blocking else "AsyncOperations"
    stream = "Generator" if blocking else "AsyncGenerator"
    messages, others = _messages(schema)
    lines = [
        *head(
            "The operations of A2AService as methods; the agent that inherits them makes the calls.",
            f"from collections.abc import {stream}, Sequence",
            "from pathlib import Path",
            "from typing import Any, Unpack",
            "",
            *others,
            f"from a2a_discovery._gen.a2a_pb2 import {', '.join(sorted({*messages, 'Message', 'Part'}))}",
            "from a2a_discovery._gen.operations import OPERATIONS",
            "from a2a_discovery._operation import CallOptions, Operation",
        ),
        f"class {name}:",
        '    """One method per operation (§3.1)."""',
        "",
        f"    {'' if blocking else 'async '}def _unary("
        "self, operation: Operation, request: Any, options: CallOptions) -> Any:",
        "        raise NotImplementedError",
        "",
        "    def _stream(self, operation: Operation, request: Any, resume: bool, options: CallOptions) -> "
        f"{_stream(stream, 'Any')}:",
        "        raise NotImplementedError",
        *(line for operation in schema.operations for line in _agent_method(operation, schema, stream, blocking)),
        "",
    ]
    return "\n".join(lines)


def handler(schema: Schema) -> str:
    """The text of the module that holds the methods which an agent's own code fills in."""
    messages, others = _messages(schema)
    lines = [
        *head(
            "The operations of A2AService as coroutines that an agent implements; each refuses until then.",
            "from collections.abc import AsyncIterator",
            "",
            *others,
            f"from a2a_discovery._gen.a2a_pb2 import {', '.join(messages)}",
            "from a2a_discovery._operation import CallContext",
        ),
        "class HandlerOperations:",
        '    """One coroutine per operation (§3.1); those that stream are async generators."""',
        "",
        "    def _unsupported(self, operation: str) -> Exception:",
        "        raise NotImplementedError",
        *(line for operation in schema.operations for line in _handler_method(operation)),
        "",
    ]
    return "\n".join(lines)


def _messages(schema: Schema) -> tuple[list[str], list[str]]:
    """The messages that the signatures name, and the imports of those that are not the schema's own."""
    named = {name for operation in schema.operations for name in (operation.request, operation.response)}
    own = sorted(name for name in named if not name.startswith("."))
    return own, ["from google.protobuf.empty_pb2 import Empty", ""]


def _response(operation: Operation) -> str:
    return operation.response.rpartition(".")[2]


def _stream(stream: str, what: str) -> str:
    return f"{stream}[{what}, None, None]" if stream == "Generator" else f"{stream}[{what}, None]"


def _agent_method(operation: Operation, schema: Schema, stream: str, blocking: bool) -> list[str]:
    fields = schema.messages[operation.request].fields
    takes = operation.request
    if any(field.type == "Message" for field in fields):
        takes += " | Message | Part | str | bytes | Path | Sequence[Part | str | bytes | Path]"
    if not any(field.required for field in fields):
        takes += " | None = None"
    call = f'OPERATIONS["{operation.name}"], request'
    if operation.streaming:
        return [
            "",
            f"    def {snake(operation.name)}(self, request: {takes}, *, resume: bool = False, "
            f"**options: Unpack[CallOptions]) -> {_stream(stream, _response(operation))}:",
            f'        """{operation.doc}"""',
            f"        return self._stream({call}, resume, options)",
        ]
    return [
        "",
        f"    {'' if blocking else 'async '}def {snake(operation.name)}(self, request: {takes}, "
        f"**options: Unpack[CallOptions]) -> {_response(operation)}:",
        f'        """{operation.doc}"""',
        f"        return {'' if blocking else 'await '}self._unary({call}, options)",
    ]


def _handler_method(operation: Operation) -> list[str]:
    gives = f"AsyncIterator[{_response(operation)}]" if operation.streaming else _response(operation)
    refuse = f'raise self._unsupported("{operation.name}")'
    return [
        "",
        f"    async def {snake(operation.name)}(self, request: {operation.request}, context: CallContext) -> {gives}:",
        f'        """{operation.doc}"""',
        f"        {refuse}",
        *(["        yield"] if operation.streaming else []),
    ]
