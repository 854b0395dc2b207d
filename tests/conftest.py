"""What tests of several parts have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.servers import certificate


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:
    """Keep one event loop for all tests: gRPC's poller may still have word for the loop of an earlier one."""
    yield  # noqa: PT022 - what keeps the loop


@pytest.fixture(scope="session")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of one certificate."""
    return certificate(tmp_path_factory.mktemp("trusted"))[1]


@pytest.fixture
def small_trust(trusted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust one certificate: to read all those that are usually trusted is half of the time of a command."""
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
