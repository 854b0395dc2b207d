"""Serve the sample agents, each on a port of its own, in one process."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import typer

from a2a_discovery.cli.load import CommandError, ExitCode
from a2a_discovery.cli.sample_runs import RUNS
from a2a_discovery.cli.samples import SAMPLES, extended
from a2a_discovery.errors import MissingExtraError
from a2a_discovery.server.asgi import asgi_app
from a2a_discovery.server.grpc import grpc_handlers
from a2a_discovery.server.task_handler import TaskHandler

try:
    import uvicorn
except ModuleNotFoundError as exc:
    raise MissingExtraError("demo-server", "server") from exc

if TYPE_CHECKING:
    from types import FrameType

    from a2a_discovery.types import AgentCard

_LOOPBACK: Final = ("127.0.0.1", "::1")
_ATTEMPTS: Final = 20


def serve(host: str, port: int) -> None:
    """Serve until SIGINT or SIGTERM; prints ``NAME URL`` for each agent once it answers.

    Args:
        host: the address to listen on; ``localhost``, or a loopback address, is both of them where there are both.
        port: the first of the consecutive ports, or 0 for free ones.

    Raises:
        CommandError: a port cannot be had.
    """
    sockets: dict[str, list[socket.socket]] = {}
    try:
        for offset, name in enumerate(SAMPLES):
            sockets[name] = _listen(host, port + offset if port else 0)
        asyncio.run(_run(host, sockets))
    finally:
        for opened in sockets.values():
            for opened_socket in opened:
                opened_socket.close()


class _Server(uvicorn.Server):
    """Says when it answers."""

    lines: list[str]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        typer.echo("\n".join(self.lines))


async def _run(host: str, sockets: dict[str, list[socket.socket]]) -> None:
    agents: dict[int, Any] = {}
    handlers: list[TaskHandler] = []
    lines: list[str] = []
    rpc = _Grpc(host)
    for name, make_card in SAMPLES.items():
        port = sockets[name][0].getsockname()[1]
        base = f"http://{_public_name(host)}:{port}"
        card = make_card(base, rpc.address)
        handler = TaskHandler(RUNS[name], extended_card=extended(card))
        if any(entry.protocol_binding == "GRPC" for entry in card.supported_interfaces):
            rpc.add(card, handler)
        agents[port] = asgi_app(card, handler)
        handlers.append(handler)
        lines.append(f"{name} {base}")
    await rpc.start()

    async def by_port(scope: Any, receive: Any, send: Any) -> None:
        await agents[scope["server"][1]](scope, receive, send)

    config = uvicorn.Config(
        by_port, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1, ws="none"
    )
    server = _Server(config)
    server.lines = lines

    def stop(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    # The server puts its own handlers in their place while it runs, and afterwards raises the signal once more: to be
    # interrupted is the regular end here.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        await server.serve(sockets=[opened for listening in sockets.values() for opened in listening])
    finally:
        await rpc.stop()
        for handler in handlers:
            await handler.aclose()


class _Grpc:
    """A gRPC server on a free port; when grpcio is not installed, its address is empty."""

    def __init__(self, host: str) -> None:
        self.address = ""
        self._server: Any = None
        if find_spec("grpc") is None:
            return
        import grpc

        self._server = grpc.aio.server()
        listened = _LOOPBACK[0] if host in ("localhost", *_LOOPBACK) else host
        bracketed = f"[{listened}]" if ":" in listened else listened
        try:
            port = self._server.add_insecure_port(f"{bracketed}:0")
        except RuntimeError as exc:
            raise CommandError(f"cannot listen on {host} for gRPC", ExitCode.FAILED) from exc
        # By name, a client would first try the other loopback address.
        self.address = f"{listened if listened == _LOOPBACK[0] else _public_name(host)}:{port}"

    def add(self, card: AgentCard, handler: TaskHandler) -> None:
        self._server.add_generic_rpc_handlers(grpc_handlers(card, handler))

    async def start(self) -> None:
        if self._server is not None:
            await self._server.start()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(None)


def _public_name(host: str) -> str:
    """What clients call the host: an address that means every interface is none that can be called."""
    if host in ("", "localhost", *_LOOPBACK, "0.0.0.0", "::"):  # noqa: S104 - compared, not listened on
        return "localhost"
    return f"[{host}]" if ":" in host else host


def _listen(host: str, port: int) -> list[socket.socket]:
    """Listening sockets on one port; ``localhost`` may mean either loopback address, so both are taken."""
    addresses = _LOOPBACK if host in ("localhost", *_LOOPBACK) else (host,)
    for _ in range(_ATTEMPTS):
        sockets: list[socket.socket] = []
        try:
            for address in addresses:
                wanted = sockets[0].getsockname()[1] if sockets else port
                if opened := _open(address, wanted):
                    sockets.append(opened)
        except (TypeError, UnicodeError) as exc:
            raise CommandError("the host cannot be listened on: it is no name", ExitCode.FAILED) from exc
        except OSError as exc:
            for opened_socket in sockets:
                opened_socket.close()
            if port == 0 and sockets and exc.errno == errno.EADDRINUSE:
                continue
            raise _failure(host, port, exc) from exc
        return sockets
    raise CommandError(f"no port is free on {' and '.join(addresses)}", ExitCode.FAILED)


def _open(address: str, port: int) -> socket.socket | None:
    """A listening socket; None when this machine has no IPv6 loopback."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        opened = socket.create_server((address, port), family=family)
    except OSError as exc:
        if address == "::1" and exc.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            return None
        raise
    # asyncio does so for the sockets that it opens itself; without, each small write waits for an acknowledgement.
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def _failure(host: str, port: int, exc: OSError) -> CommandError:
    if exc.errno == errno.EADDRINUSE:
        message = f"port {port} is in use: stop what listens there, or choose others with --port"
    else:
        reason = str(exc.strerror or exc).partition(" (")[0]
        message = f"cannot listen on {host}, port {port}: {reason}"
    return CommandError(message, ExitCode.FAILED)
