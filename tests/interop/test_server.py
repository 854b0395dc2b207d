"""The clients of both official SDKs against this library's server, over every binding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.js_peer import run_js_client
from tests.interop.our_server import our_server
from tests.interop.peer import BINDINGS, STEPS
from tests.interop.sdk_client import run_sdk_client

RESULTS = {
    "message": "hello",
    "get": {"sameId": True, "state": "TASK_STATE_COMPLETED"},
    "cancel": "TASK_STATE_CANCELED",
    "push_list": ["hook"],
    "push_delete": [],
    "extended_card": ["echo", "hidden"],
}
ERRORS = {
    "missing": "TASK_NOT_FOUND",
    "fail": "CONTENT_TYPE_NOT_SUPPORTED",
    "fail_stream": "CONTENT_TYPE_NOT_SUPPORTED",
}


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("client", [run_sdk_client, run_js_client])
def test_an_official_client_is_understood(client: Callable[[str, str], dict[str, Any]], binding: str) -> None:
    with our_server(tenant="acme", slow=0.5) as peer:
        found = client(peer.url, binding)
    assert tuple(found) == STEPS
    assert {name for name, step in found.items() if "error" in step} == set(ERRORS)
    assert {name: found[name]["error"]["reason"] for name in ERRORS} == ERRORS
    assert {name: found[name]["result"] for name in RESULTS} == RESULTS
    task = ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]
    assert found["stream"]["result"] == {
        "events": task,
        "text": "part one streamed",
        "state": "TASK_STATE_COMPLETED",
    }
    assert found["subscribe"]["result"]["events"] == ["task", "statusUpdate"]
    assert found["headers"]["result"]["tenant"] == "acme"
