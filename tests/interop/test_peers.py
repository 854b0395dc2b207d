"""The peers themselves: each starts, publishes its card as it was told to, and answers on every binding."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import httpx
import pytest

from tests.interop.js_peer import js_server, run_js_client
from tests.interop.peer import BINDINGS, STEPS, Peer
from tests.interop.sdk_client import run_sdk_client
from tests.interop.sdk_server import sdk_server

ORDER = ("GRPC", "HTTP+JSON", "JSONRPC")


@pytest.mark.parametrize("server", [sdk_server, js_server])
def test_a_server_publishes_the_card_that_was_asked_for(server: Callable[..., AbstractContextManager[Peer]]) -> None:
    with server(order=ORDER, tenant="acme") as peer:
        card = httpx.get(peer.card_url, trust_env=False).json()
    found = [(i["protocolBinding"], i["url"], i["tenant"]) for i in card["supportedInterfaces"]]
    assert found == [(binding, peer.interfaces[binding], "acme") for binding in ORDER]


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize(("server", "client"), [(sdk_server, run_js_client), (js_server, run_sdk_client)])
def test_the_peers_understand_each_other(
    server: Callable[..., AbstractContextManager[Peer]], client: Callable[[str, str], dict[str, Any]], binding: str
) -> None:
    with server(tenant="acme", slow=0.5) as peer:
        found = client(peer.url, binding)
    assert tuple(found) == STEPS
    assert found["stream"]["result"]["text"] == "part one streamed"
    assert found["headers"]["result"]["tenant"] == "acme"
    assert found["missing"]["error"]["reason"] == "TASK_NOT_FOUND"
