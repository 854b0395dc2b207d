"""gRPC channels, for both worlds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import grpc

from a2a_discovery.policy import Url
from a2a_discovery.security import ClientCertificate

MAX_MESSAGE_BYTES = 64 * 1024 * 1024


def _options(connect_timeout: float) -> list[tuple[str, int | str]]:
    return [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        # gRPC's name for the time that one try to connect is given.
        ("grpc.min_reconnect_backoff_ms", int(connect_timeout * 1000)),
        ("grpc.initial_reconnect_backoff_ms", 200),
        ("grpc.primary_user_agent", "a2a-discovery"),
    ]


def async_channel(url: Url, connect_timeout: float, certificate: ClientCertificate | None) -> Any:
    """A ``grpc.aio`` channel to ``url``, with TLS where its scheme is https."""
    return _channel(grpc.aio, url, connect_timeout, certificate)


def sync_channel(url: Url, connect_timeout: float, certificate: ClientCertificate | None) -> Any:
    """A ``grpc`` channel to ``url``, with TLS where its scheme is https."""
    return _channel(grpc, url, connect_timeout, certificate)


def _channel(world: Any, url: Url, connect_timeout: float, certificate: ClientCertificate | None) -> Any:
    host = f"[{url.host}]" if ":" in url.host else url.host
    target, options = f"dns:///{host}:{url.port}", _options(connect_timeout)
    if url.scheme == "http":
        return world.insecure_channel(target, options=options)
    key, chain = (None, None) if certificate is None else certificate.pem()
    shown = grpc.ssl_channel_credentials(private_key=key, certificate_chain=chain)
    return world.secure_channel(target, shown, options=options)


END: Final = grpc.aio.EOF


def async_reader(call: Any) -> Callable[[], Any]:
    """Reads the next answer of a stream, or ``END``."""
    read: Callable[[], Any] = call.read  # to iterate would put one more generator between
    return read


def sync_reader(call: Any) -> Callable[[], Any]:
    """Reads the next answer of a stream, or ``END``."""
    return lambda: next(call, END)
