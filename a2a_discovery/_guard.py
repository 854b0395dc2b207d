"""Where connections really lead, for both worlds: what ``UrlPolicy(deny_private=True)`` asks at connect time.

A name is looked up before the connection is made, so that nobody inside is even knocked at; since the connection comes
with a lookup of its own, whose answer may be another one, its real address is looked at once more before anything is
sent over it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Self

import anyio
import httpx

from a2a_discovery.policy import Url, UrlPolicy, UrlRefusedError


async def async_lookup(host: str, port: int, seconds: float | None) -> tuple[str, ...]:
    """The IP addresses of ``host``; raises httpx.ConnectError, or ConnectTimeout after ``seconds``."""
    try:
        with anyio.fail_after(seconds):
            return _addresses(await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except TimeoutError as exc:
        raise httpx.ConnectTimeout("the name lookup took too long") from exc
    except (OSError, UnicodeError) as exc:
        raise httpx.ConnectError("the name lookup failed") from exc


def sync_lookup(host: str, port: int, seconds: float | None) -> tuple[str, ...]:  # noqa: ARG001
    """The IP addresses of ``host``; raises httpx.ConnectError. Nothing ends the system's lookup from outside."""
    try:
        return _addresses(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError) as exc:
        raise httpx.ConnectError("the name lookup failed") from exc


def _addresses(found: Iterable[Any]) -> tuple[str, ...]:
    addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not addresses:
        raise socket.gaierror(socket.EAI_NONAME, "no address")
    return addresses


class _Guard:
    """Looks at the connection of one exchange, as the ``trace`` extension of httpcore tells of it.

    Args:
        policy: which addresses may be called.
        url: what is asked for.
        own_client: whether all connections of the client are looked at when they are made.
    """

    def __init__(self, policy: UrlPolicy, url: Url, *, own_client: bool) -> None:
        self._policy = policy
        self._host = self._connecting = httpx.URL(str(url)).raw_host.decode("ascii")
        self._port = url.port
        self._known = {self._host} if own_client else set()

    @classmethod
    def of(cls, policy: UrlPolicy, url: Url, *, own_client: bool) -> Self | None:
        """The guard that ``policy`` asks for, or None."""
        return cls(policy, url, own_client=own_client) if policy.deny_private else None

    def _check_stream(self, stream: Any) -> None:
        """Look at the real address of an httpcore network stream; raises UrlRefusedError, also where there is none."""
        address = stream.get_extra_info("server_addr")
        self._policy.check_peer(self._connecting, str(address[0] if isinstance(address, tuple) else address))

    def _check_answer(self, response: httpx.Response) -> None:
        stream = response.extensions.get("network_stream")
        if stream is not None:
            with suppress(OSError):  # it is gone since
                self._check_stream(stream)

    def _to_look_up(self, event: str, info: Mapping[str, Any]) -> tuple[str, int] | None:
        if event.endswith("connect_unix_socket.started"):
            raise UrlRefusedError("it is called over a socket of this machine, and only public addresses are called")
        if event.endswith("connect_tcp.started"):
            self._connecting = info["host"]
            self._known.add(self._connecting)
            return self._connecting, info["port"]
        if event.endswith("send_request_headers.started") and self._host not in self._known:
            # Over a connection from before, or by way of a proxy.
            self._known.add(self._host)
            return self._host, self._port
        return None

    def _check(self, host: str, addresses: Iterable[str]) -> None:
        for address in addresses:
            self._policy.check_peer(host, address)


class AsyncGuard(_Guard):
    """For async clients."""

    async def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Follow what happens; raises UrlRefusedError, or httpx.ConnectError when a name is not found."""
        target = self._to_look_up(event, info)
        if target is not None:
            self._check(target[0], await async_lookup(*target, info.get("timeout")))
        elif event.endswith("connect_tcp.complete"):
            try:
                self._check_stream(info["return_value"])
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await info["return_value"].aclose()
                raise

    async def check_answer(self, response: httpx.Response) -> None:
        """The last resort, for a connection that the caller's client had open from before: nobody saw it being made.

        A transport that makes no connections, as one that answers from memory, is the caller's own business.

        Raises:
            UrlRefusedError: it must not have been called; ``response`` is closed.
        """
        try:
            self._check_answer(response)
        except UrlRefusedError:
            await response.aclose()
            raise


class SyncGuard(_Guard):
    """For blocking clients."""

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Follow what happens; raises UrlRefusedError, or httpx.ConnectError when a name is not found."""
        target = self._to_look_up(event, info)
        if target is not None:
            self._check(target[0], sync_lookup(*target, info.get("timeout")))
        elif event.endswith("connect_tcp.complete"):
            try:
                self._check_stream(info["return_value"])
            except BaseException:
                info["return_value"].close()
                raise

    def check_answer(self, response: httpx.Response) -> None:
        """The last resort, for a connection that the caller's client had open from before: nobody saw it being made.

        A transport that makes no connections, as one that answers from memory, is the caller's own business.

        Raises:
            UrlRefusedError: it must not have been called; ``response`` is closed.
        """
        try:
            self._check_answer(response)
        except UrlRefusedError:
            response.close()
            raise
