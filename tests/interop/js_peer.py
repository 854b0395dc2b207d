"""The JavaScript SDK of the protocol's authors as a peer; it needs Node 20 or newer, and npm."""

from __future__ import annotations

import fcntl
import functools
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.interop.peer import BINDINGS, Peer, report, running

FOLDER = Path(__file__).parent / "js"
OLDEST_NODE = 20
INSTALL = ("install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")


def js_server(
    order: Sequence[str] = BINDINGS, tenant: str = "", slow: float = 3.0, key: str | None = None
) -> AbstractContextManager[Peer]:
    """A running @a2a-js/sdk agent; ``order`` and ``tenant`` shape the interfaces of its card.

    With ``key``, a private JWK, the card below ``/signed`` is signed anew for each answer.
    """
    options = [f"--order={','.join(order)}", f"--tenant={tenant}", f"--slow={slow}"]
    return running([installed(), FOLDER / "server.mjs", *options, *([] if key is None else [f"--key={key}"])])


def run_js_client(url: str, binding: str) -> dict[str, Any]:
    """Run the scenario against the agent at ``url``; its keys are ``peer.STEPS``."""
    return report([installed(), FOLDER / "client.mjs", url, binding])


@functools.cache
def installed() -> str:
    """The path of node, its modules in place; skips the test where there is no node or npm, or an old one.

    The stamp holds what was asked for and is written last, so an installation that was cut short is made again.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        pytest.skip(f"the JavaScript peer needs {'npm' if node else 'node'}, which is not here")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < OLDEST_NODE:
        pytest.skip(f"the JavaScript peer needs Node {OLDEST_NODE}, and this is {version}")
    wanted = (FOLDER / "package.json").read_text(encoding="utf-8")
    stamp = FOLDER / "node_modules" / ".made"
    with (FOLDER / "package.json").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # a second run waits for the first, then finds the stamp
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
            done = subprocess.run([npm, *INSTALL], cwd=FOLDER, capture_output=True, text=True, timeout=600, check=False)
            if done.returncode:
                raise RuntimeError(f"npm install failed: {done.stderr[-4000:]}")
            stamp.write_text(wanted, encoding="utf-8")
    return node
