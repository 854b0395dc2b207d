"""What tests of several parts have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers import certificate


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of one certificate."""
    return certificate(tmp_path_factory.mktemp("trusted"))[1]


@pytest.fixture
def small_trust(trusted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust one certificate: to read all those that are usually trusted is half of the time of a command."""
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
