"""The case files in ``tests/cases``."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases"


def load(name: str) -> list[dict[str, Any]]:
    """The cases of one file."""
    return [json.loads(line) for line in (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines() if line]


def body(case: dict[str, Any]) -> bytes:
    """The bytes of a card case."""
    if "raw" in case:
        return base64.b64decode(case["raw"])
    return json.dumps(case["body"], ensure_ascii=False).encode()
