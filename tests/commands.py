"""Run the command line: in this process, or in one of its own."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery.cli import main

COMMAND = [sys.executable, "-m", "a2a_discovery.cli"]

UNSAFE = [*map(chr, [*range(0x0A), *range(0x0B, 0x20), *range(0x7F, 0xA0)]), "\u202e", "\u2066", "\u2028"]
"""What must not reach a terminal."""


def cli(*args: str | Path) -> subprocess.CompletedProcess[str]:
    """The command in this process, which saves its start."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["a2a-discovery", *map(str, args)])
        with pytest.raises(SystemExit) as exited:
            main()
    written = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess([], int(exited.value.code or 0), *written)


def process(*args: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*COMMAND, *map(str, args)], capture_output=True, text=True, timeout=30, **options)
    assert "Traceback" not in done.stderr
    return done
