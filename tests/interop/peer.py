"""A peer in a process of its own: what the Python and the JavaScript one have in common.

A peer prints one JSON line when it answers, and ends when its standard input is closed. Its agent does what the text of
the first part says:

- ``message: X`` answers with a Message that holds X;
- ``task: X`` makes a task: working, an artifact in two chunks (``part one `` and X), completed;
- ``ask`` ends in TASK_STATE_INPUT_REQUIRED;
- ``slow`` stays in TASK_STATE_WORKING for ``slow`` seconds, then completes; it can be canceled;
- ``fail`` is refused with ContentTypeNotSupportedError before anything else;
- ``break`` makes a task and, in a stream, ends it with UnsupportedOperationError;
- ``headers`` answers with a Message that holds a JSON object: the tenant, version and extensions that the SDK tells its
  agent of, and the two headers as they came (null where there was none; a2a-sdk keeps the first of several over HTTP).
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")
EXTENSION = "https://example.test/ext/v1"
ROOT = Path(__file__).parents[2]
STARTS_WITHIN = 60.0
ENDS_WITHIN = 10.0

STEPS = (
    "card",
    "message",
    "task",
    "stream",
    "message_separator",
    "stream_separator",
    "ask",
    "get",
    "list",
    "cancel",
    "subscribe",
    "push_create",
    "push_get",
    "push_list",
    "push_delete",
    "extended_card",
    "headers",
    "missing",
    "fail",
    "fail_stream",
    "break_stream",
)
"""The keys of what a client reports. Each holds ``{"result": …}`` or ``{"error": {"name", "reason", "code", "message"}}``."""


@dataclass(frozen=True)
class Peer:
    """A running peer: its base URL (the card is below it) and its address for each binding."""

    url: str
    interfaces: dict[str, str]

    @property
    def card_url(self) -> str:
        return f"{self.url}/.well-known/agent-card.json"


def environment() -> dict[str, str]:
    """Ours without proxies, which gRPC and fetch would ask even for loopback."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


@contextmanager
def running(command: Sequence[str | Path]) -> Iterator[Peer]:
    """Start a peer, wait for its line, and end it by closing its standard input."""
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT, env=environment()
        ) as process,
    ):
        assert process.stdin and process.stdout
        patience = threading.Timer(STARTS_WITHIN, process.kill)
        patience.start()
        try:
            line = process.stdout.readline()
            patience.cancel()
            if not line:
                log.seek(0)
                raise RuntimeError(f"the peer did not start: {log.read()[-4000:]}")
            yield Peer(**json.loads(line))
        finally:
            patience.cancel()
            process.stdin.close()
            try:
                process.wait(ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()


def report(command: Sequence[str | Path], within: float = 120.0) -> dict[str, Any]:
    """Run a client and return the JSON object that it printed, or raise with what it said instead."""
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment(), timeout=within, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the client ended with {done.returncode}: {done.stderr[-4000:]}")
    return json.loads(done.stdout)
