"""Serve the sample agents, each on a port of its own, in one process."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from typing import TYPE_CHECKING, Any, Final

import typer

from a2a_discovery.cli.load import CommandError, ExitCode
from a2a_discovery.cli.samples import SAMPLES
from a2a_discovery.errors import MissingExtraError
from a2a_discovery.server.cards import card_app

try:
    import uvicorn
except ModuleNotFoundError as exc:
    raise MissingExtraError("demo-server", "server") from exc

if TYPE_CHECKING:
    from types import FrameType

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
    agents: dict[int, Any] = {}
    lines: list[str] = []
    sockets: list[socket.socket] = []
    try:
        for offset, (name, make_card) in enumerate(SAMPLES.items()):
            opened = _listen(host, port + offset if port else 0)
            sockets += opened
            actual = opened[0].getsockname()[1]
            base = f"http://{_public_name(host)}:{actual}"
            agents[actual] = card_app(make_card(base))
            lines.append(f"{name} {base}")
        _run(agents, sockets, lines)
    finally:
        for opened_socket in sockets:
            opened_socket.close()


class _Server(uvicorn.Server):
    """Says when it answers."""

    lines: list[str]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        typer.echo("\n".join(self.lines))


def _run(agents: dict[int, Any], sockets: list[socket.socket], lines: list[str]) -> None:
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
    asyncio.run(server.serve(sockets=sockets))


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
