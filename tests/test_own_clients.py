"""The library's own HTTP clients: whom they trust, and what they remember."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from a2a_discovery._clients import async_client, sync_client, trusted_context
from a2a_discovery.policy import UrlPolicy
from tests.servers import Server, World


def test_certificates_are_loaded_once_for_as_long_as_they_are_the_same(
    trusted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Path(shutil.copy(trusted, tmp_path / "own.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    first = trusted_context()
    assert trusted_context() is first and len(first.get_ca_certs()) == 1
    os.utime(own, ns=(1, 1))
    second = trusted_context()
    assert second is not first
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    assert trusted_context() not in (first, second)


@pytest.mark.anyio
@pytest.mark.usefixtures("small_trust")
@pytest.mark.parametrize("deny_private", [False, True])
@pytest.mark.parametrize("world", [World("async"), World("sync")], ids=["async", "sync"])
async def test_they_remember_no_server(world: World, deny_private: bool) -> None:
    policy = UrlPolicy(deny_private=deny_private)
    with Server(lambda exchange: exchange.answer(200, b"", "Set-Cookie: a=b")) as server:
        if world.name == "async":
            async with async_client(policy) as client:
                assert [(await client.get(server.url)).status_code for _ in range(2)] == [200, 200]
        else:
            with sync_client(policy) as blocking:
                assert [blocking.get(server.url).status_code for _ in range(2)] == [200, 200]
    assert all("cookie" not in seen.headers for seen in server.seen)
