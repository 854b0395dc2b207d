# Generated from a2a_discovery/_async/connections.py by codegen/sync.py; do not edit.
"""The interface in use, and what makes the calls of an agent."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import httpx

from a2a_discovery._sync.http import HttpTransport
from a2a_discovery._clients import sync_client
from a2a_discovery._requirements import Destination
from a2a_discovery.errors import MissingExtraError, NoSupportedInterfaceError, TransportError
from a2a_discovery.extensions import HEADER, declared
from a2a_discovery.interfaces import Selection, Support, major_minor, select_interface
from a2a_discovery.policy import UrlPolicy, interface_address
from a2a_discovery.security import ClientCertificate
from a2a_discovery.types import AgentCard

_log = logging.getLogger("a2a_discovery")


@dataclass(frozen=True)
class Connection:
    """What one call goes by: the card, how its interface was selected, where that is, and its version, Major.Minor."""

    card: AgentCard
    selection: Selection
    destination: Destination
    version: str

    @property
    def url(self) -> str:
        """The interface's URL, as the card has it."""
        return self.selection.interface.url


class Connections:
    """Selects the interface, and keeps what makes the calls; ``current`` is the connection of calls to come.

    Args:
        card: the agent's card.
        support: what the client speaks; by default what is installed.
        policy: which URLs may be called.
        client: makes the calls over HTTP, and stays open.
        channel: makes the calls over GRPC, and stays open.
        connect_timeout: seconds for one connection, TLS included.
        fallback: whether the next supported interface is tried where one cannot be connected to.

    Raises:
        NoSupportedInterfaceError: no interface of the card can be used.
    """

    def __init__(
        self,
        card: AgentCard,
        *,
        support: Support | None,
        policy: UrlPolicy,
        client: httpx.Client | None,
        channel: Any,
        connect_timeout: float,
        fallback: bool,
    ) -> None:
        self._support = support
        self._policy = policy
        self._given_client = client
        self._channel = channel
        self._connect_timeout = connect_timeout
        self._fallback = fallback
        self._lock = Lock()
        self._unreachable: dict[int, str] = {}
        self._clients: dict[ClientCertificate | None, httpx.Client] = {}
        self._transports: dict[tuple[str, str, ClientCertificate | None], Any] = {}
        self._closed = False
        self.use(card)

    def use(self, card: AgentCard) -> None:
        """Select anew, from a copy of ``card``, for the calls to come; those under way keep what they go over.

        Raises:
            NoSupportedInterfaceError: no interface of it can be used; all stays as it was.
        """
        copy = AgentCard()
        copy.CopyFrom(card)
        with self._lock:
            self.current = self._select(copy, {})
            self._unreachable = {}

    def close(self) -> None:
        """Close the connections; a client or channel that was passed in stays open."""
        self._closed = True
        for transport in list(self._transports.values()):
            transport.close()
        for client in list(self._clients.values()):
            client.close()

    @property
    def declared_by_client(self) -> Sequence[str]:
        """The extensions that a client which was passed in declares by a header of its own."""
        return () if self._given_client is None else declared(self._given_client.headers.get_list(HEADER))

    def transport(self, connection: Connection, certificate: ClientCertificate | None) -> Any:
        """What makes the calls over ``connection``, presenting ``certificate``; raises TransportError once closed."""
        # Another card may name the same interface elsewhere in its list.
        key = (connection.destination.binding, connection.url, certificate)
        transport = self._transports.get(key)
        if transport is None:
            with self._lock:
                transport = self._transports.get(key)
                if transport is None:
                    if self._closed:
                        url = connection.destination.url.without_query()
                        raise TransportError("the agent is closed", url=url, sent=False)
                    transport = self._transports[key] = self._open(connection, certificate)
        return transport

    def fall_back(self, connection: Connection, exc: Exception) -> bool:
        """Whether another interface is in use now, since nothing could be sent over ``connection``'s (§5.2)."""
        if not self._fallback or not isinstance(exc, TransportError) or exc.sent:
            return False
        with self._lock:
            if self.current is connection:
                self._unreachable[connection.selection.index] = f"it cannot be connected to: {exc.message}"
                try:
                    self.current = self._select(connection.card, self._unreachable)
                except NoSupportedInterfaceError:
                    return False
        _log.debug("interface %d is tried instead", self.current.selection.index)
        return True

    def _select(self, card: AgentCard, unreachable: Mapping[int, str]) -> Connection:
        selection = select_interface(card, self._support, policy=self._policy, unreachable=unreachable)
        interface = selection.interface
        if interface.protocol_binding == "GRPC":
            _grpc_transport()
        url = interface_address(interface.protocol_binding, interface.url)
        given = (self._channel if interface.protocol_binding == "GRPC" else self._given_client) is not None
        destination = Destination(url, interface.protocol_binding, given)
        return Connection(card, selection, destination, major_minor(interface.protocol_version) or "")

    def _open(self, connection: Connection, certificate: ClientCertificate | None) -> Any:
        if connection.destination.binding == "GRPC":
            return _grpc_transport()(
                connection.url, self._channel, certificate, policy=self._policy, connect_timeout=self._connect_timeout
            )
        return HttpTransport(
            connection.destination.binding,
            connection.url,
            self._given_client or self._client(certificate),
            own_client=self._given_client is None,
            policy=self._policy,
            connect_timeout=self._connect_timeout,
        )

    def _client(self, certificate: ClientCertificate | None) -> httpx.Client:
        if certificate not in self._clients:
            # Streams stay open for long, and must not keep other calls from being made.
            options: dict[str, Any] = {"limits": httpx.Limits(max_connections=None, max_keepalive_connections=20)}
            if certificate is not None:
                options["verify"] = httpx.create_ssl_context()
                certificate.load_into(options["verify"])
            self._clients[certificate] = sync_client(self._policy, **options)
        return self._clients[certificate]


def _grpc_transport() -> Any:
    try:
        from a2a_discovery._sync.grpc import GrpcTransport
    except ModuleNotFoundError as exc:
        raise MissingExtraError("the GRPC binding", "grpc") from exc
    return GrpcTransport
