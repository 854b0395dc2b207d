"""The examples, as their reader runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_many_cards() -> None:
    pytest.importorskip("distributed")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-W", "ignore", EXAMPLES / "many_cards.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "38 of 40 cards are valid"
    assert [line.rpartition(" ")[2] for line in lines[1:3]] == ["CardError"] * 2
    assert lines[3:] == [
        "planning: 10 agents, the first is agent 0",
        "translation: 10 agents, the first is agent 1",
        "billing: 10 agents, the first is agent 2",
        "search: 8 agents, the first is agent 3",
    ]
