"""What is importable, and what importing costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from a2a_discovery import MissingExtraError, server
from tests.server.common import card


def test_every_name_is_there() -> None:
    for name in server.__all__:
        assert getattr(server, name) is not None
    assert set(server.__all__) <= set(dir(server))
    with pytest.raises(AttributeError):
        _ = server.nothing


def test_importing_loads_no_server() -> None:
    code = (
        "import sys, a2a_discovery.server; print(sorted({'grpc', 'httpx', 'starlette', 'uvicorn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_without_grpcio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(MissingExtraError, match=r"a2a-discovery\[grpc\]"):
        server.grpc_handlers(card(), server.AgentHandler())


def test_without_starlette(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    with pytest.raises(MissingExtraError, match=r"a2a-discovery\[server\]"):
        server.card_app(card())
    assert server.asgi_app(card(), server.AgentHandler()) is not None
