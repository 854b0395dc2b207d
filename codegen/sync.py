"""Write the blocking twin of the async code: ``a2a_discovery/_async`` to ``a2a_discovery/_sync``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import unasync

HEADER = "# Generated from a2a_discovery/_async/{name} by codegen/sync.py; do not edit.\n"

REPLACEMENTS = {
    "_async": "_sync",
    "AsyncClient": "Client",
    "AsyncAgent": "Agent",
    "AsyncAlarm": "SyncAlarm",
    "AsyncBackground": "SyncBackground",
    "AsyncBaseStorage": "BaseStorage",
    "AsyncDeadline": "SyncDeadline",
    "AsyncGuard": "SyncGuard",
    "AsyncOperations": "Operations",
    "AsyncSlots": "SyncSlots",
    "AsyncWatch": "SyncWatch",
    "aclose": "close",
    "aclosing": "closing",
    "aiter_bytes": "iter_bytes",
    "aiter_raw": "iter_raw",
    "async_channel": "sync_channel",
    "async_client": "sync_client",
    "async_close": "sync_close",
    "async_each": "sync_each",
    "async_hang_up": "sync_hang_up",
    "async_lookup": "sync_lookup",
    "async_methods": "sync_methods",
    "async_request": "as_request",
    "async_reader": "sync_reader",
    "async_sleep": "sync_sleep",
    "async_turn": "sync_turn",
    "async_world": "sync_world",
    "asynccontextmanager": "contextmanager",
    "verify_card_async": "verify_card",
}


def generate(root: Path) -> dict[Path, str]:
    """The text of each file below ``root/a2a_discovery/_sync``; nothing below ``root`` is written."""
    package = root / "a2a_discovery"
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        shutil.copytree(package / "_async", work / "_async", ignore=shutil.ignore_patterns("__pycache__"))
        sources = sorted((work / "_async").rglob("*.py"))
        rule = unasync.Rule(str(work / "_async"), str(work / "_sync"), additional_replacements=REPLACEMENTS)
        unasync.unasync_files([str(source) for source in sources], [rule])
        texts = {}
        for source in sources:
            name = source.relative_to(work / "_async")
            text = (work / "_sync" / name).read_text(encoding="utf-8")
            texts[package / "_sync" / name] = HEADER.format(name=name.as_posix()) + text
        return texts
