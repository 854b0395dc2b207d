"""Both worlds, and an environment in which nothing outside this machine is asked."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest

from tests.servers import World, certificate


@pytest.fixture(params=["async", "sync"])
def world(request: pytest.FixtureRequest) -> World:
    return World(request.param)


@pytest.fixture(scope="session")
def only_authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("authority"))[1]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, only_authority: Path) -> None:
    """No proxy, and one trusted certificate, which loads faster than the usual hundred."""
    for name in [n for n in os.environ if n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SSL_CERT_FILE", str(only_authority))


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    return certificate(tmp_path_factory.mktemp("tls"))
