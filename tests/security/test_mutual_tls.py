"""Client certificates (§4.5.7)."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from a2a_discovery import ClientCertificate, CredentialStore, TransportError, types as t
from tests.agent.common import failure, reply
from tests.agent.grpc_server import GrpcServer
from tests.security.common import Agents, demanding, one_interface
from tests.servers import World, certificate

pytestmark = pytest.mark.anyio
SCHEME = t.SecurityScheme(mtls_security_scheme=t.MutualTlsSecurityScheme())


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("identity")
    certificate(directory)
    return directory / "server.pem"


@pytest.fixture(scope="module")
def server_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("agent")
    certificate(directory)
    return directory


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_over_http(
    world: World, binding: str, identity: Path, server_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(server_files / "trusted.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server_files / "server.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(identity.with_name("trusted.pem"))
    with Agents(lambda url: one_interface(url), tls=context) as server:
        made = demanding({"m": SCHEME}, {"m": ()}, {}, made=one_interface(server.url, binding))
        store = CredentialStore({"m": ClientCertificate(str(identity))})
        async with world.agent(made, card_url=server.card_url, credentials=store) as agent:
            await agent.send_message("hi")
            await agent.send_message("hi")
        # To another origin it is not shown.
        async with world.agent(made, card_url="https://other.test", credentials=store) as agent:
            error, _ = await failure(agent, "SendMessage")
        assert isinstance(error, TransportError)
        assert len(server.called) == 2


async def test_over_grpc(world: World, identity: Path, server_files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import grpc

    # gRPC reads whom it trusts once in a process.
    roots, real = (server_files / "trusted.pem").read_bytes(), grpc.ssl_channel_credentials
    monkeypatch.setattr(grpc, "ssl_channel_credentials", lambda _=None, *shown: real(roots, *shown))
    pem = (server_files / "server.pem").read_bytes()
    shown = grpc.ssl_server_credentials(
        [(pem, (server_files / "trusted.pem").read_bytes())],
        root_certificates=identity.with_name("trusted.pem").read_bytes(),
        require_client_auth=True,
    )
    with GrpcServer(lambda name, request, context: reply(name), credentials=shown) as server:
        made = demanding({"m": SCHEME}, {"m": ()}, {}, made=one_interface(f"https://{server.url}", "GRPC"))
        store = CredentialStore({"m": ClientCertificate(str(identity))})
        async with world.agent(made, card_url="https://127.0.0.1", credentials=store) as agent:
            await agent.send_message("hi")
        async with world.agent(made, card_url="https://other.test", credentials=store) as agent:
            error, _ = await failure(agent, "SendMessage", timeout=5)
        assert isinstance(error, TransportError)
        assert len(server.seen) == 1
