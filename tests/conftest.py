"""What tests of several parts have in common."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from tests.servers import certificate


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A cache folder for each test that runs the command: another one's server may have had the same port."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / f"cache-{uuid4().hex}"))


@pytest.fixture(scope="session")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of one certificate."""
    return certificate(tmp_path_factory.mktemp("trusted"))[1]


@pytest.fixture
def small_trust(trusted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust one certificate: to read all those that are usually trusted is half of the time of a command."""
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
