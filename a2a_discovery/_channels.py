"""gRPC channels, for both worlds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import grpc

from a2a_discovery.policy import Url
from a2a_discovery.security import ClientCertificate

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
_CLOSING = 1.0


def _options(connect_timeout: float) -> list[tuple[str, int | str]]:
    return [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        # gRPC's name for the time that one try to connect is given.
        ("grpc.min_reconnect_backoff_ms", int(connect_timeout * 1000)),
        ("grpc.initial_reconnect_backoff_ms", 200),
        # gRPC's own retries, of which the caller knows nothing, have no end on a connection that takes no calls from
        # the start (GOAWAY): the calling thread never comes back, whatever its time limit.
        ("grpc.enable_retries", 0),
        ("grpc.primary_user_agent", "a2a-discovery"),
    ]


def async_channel(
    url: Url, connect_timeout: float, certificate: ClientCertificate | None = None, addresses: Sequence[str] = ()
) -> Any:
    """A ``grpc.aio`` channel to ``url``, with TLS where its scheme is https; to ``addresses`` alone where given."""
    return _channel(grpc.aio, url, connect_timeout, certificate, addresses)


def sync_channel(
    url: Url, connect_timeout: float, certificate: ClientCertificate | None = None, addresses: Sequence[str] = ()
) -> Any:
    """A ``grpc`` channel to ``url``, with TLS where its scheme is https; to ``addresses`` alone where given."""
    return _channel(grpc, url, connect_timeout, certificate, addresses)


def _channel(
    world: Any, url: Url, connect_timeout: float, certificate: ClientCertificate | None, addresses: Sequence[str]
) -> Any:
    host = f"[{url.host}]" if ":" in url.host else url.host
    target, options = f"dns:///{host}:{url.port}", _options(connect_timeout)
    if addresses:
        target = _pinned(addresses, url.port)
        options += [
            # The name that the certificate is checked against, too.
            ("grpc.default_authority", host if url.port == 443 else f"{host}:{url.port}"),
            # A proxy of the environment would look the name up itself.
            ("grpc.enable_http_proxy", 0),
        ]
    if url.scheme == "http":
        return world.insecure_channel(target, options=options)
    pem = () if certificate is None else (None, *certificate.pem())
    shown = grpc.ssl_channel_credentials(*pem)
    return world.secure_channel(target, shown, options=options)


def _pinned(addresses: Sequence[str], port: int) -> str:
    """The target of these addresses; of the family of the first, since gRPC takes no two in one."""
    if ":" in addresses[0]:
        return "ipv6:" + ",".join(f"[{address}]:{port}" for address in addresses if ":" in address)
    return "ipv4:" + ",".join(f"{address}:{port}" for address in addresses if ":" not in address)


async def async_close(channel: Any) -> None:
    """Close ``channel``."""
    await channel.close()


def sync_close(channel: Any) -> None:
    """Close ``channel``; where its calls are not done with within a second, in the background.

    gRPC waits for them, and a server that keeps the connection busy can make that last for ever.
    """
    closing = threading.Thread(target=channel.close, name="a2a-discovery closing", daemon=True)
    closing.start()
    closing.join(_CLOSING)


END: Final = grpc.aio.EOF


def async_reader(call: Any) -> Callable[[], Any]:
    """Reads the next answer of a stream, or ``END``."""
    read: Callable[[], Any] = call.read  # to iterate would put one more generator between
    return read


def sync_reader(call: Any) -> Callable[[], Any]:
    """Reads the next answer of a stream, or ``END``."""
    return lambda: next(call, END)
