"""Which URLs may be called.

A card is data from elsewhere: before one of its URLs is used, it has to be an absolute URL that leads to one host and
nothing else, over a transport that nobody on the way can read or change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from a2a_discovery._addresses import special_kind
from a2a_discovery._urls import (
    Url as Url,
    UrlRefusedError as UrlRefusedError,
    interface_address as interface_address,
    ip_address,
    parse_grpc_address as parse_grpc_address,
    parse_url as parse_url,
    split_authority,
)


@dataclass(frozen=True, slots=True)
class UrlPolicy:
    """Where a card may send us: https anywhere, http on loopback only, and what else is asked for.

    For the cards of strangers, ``UrlPolicy(deny_private=True)`` keeps a client out of its own network.

    Attributes:
        allow_http: plain http may go anywhere, for a network that is private as a whole.
        same_origin: only the origin that the card came from is called (RFC 6454 §4); over gRPC, which has ports of its
            own, the same host. The origin is what ``within`` is told; a fetch keeps to the origin that it begins at.
        allow_hosts: only these hosts are called: ``"agent.example"``, ``"*.agent.example"`` for all names below it, IP
            addresses, each with or without ``:port``; kept as a sorted tuple. None for all hosts. It allows no plain
            http, and nothing that ``deny_private`` refuses.
        deny_private: only public addresses are called. An address in the URL is looked at by ``check``; those of a name
            when the connection is made, where another answer of the name lookup comes too late.
        origin: where the card came from, as ``within`` sets it.

    Raises:
        ValueError: an entry of ``allow_hosts`` is no host.
    """

    allow_http: bool = False
    same_origin: bool = False
    allow_hosts: Iterable[str] | None = None
    deny_private: bool = False
    origin: Url | None = None

    def __post_init__(self) -> None:
        if self.allow_hosts is not None:
            hosts = [self.allow_hosts] if isinstance(self.allow_hosts, str) else self.allow_hosts
            object.__setattr__(self, "allow_hosts", tuple(sorted({_checked_entry(host) for host in hosts})))

    def within(self, card_url: str | None) -> UrlPolicy:
        """The same policy for a card that came from ``card_url``; None changes nothing.

        Raises:
            ValueError: ``card_url`` is no absolute http or https URL.
        """
        if card_url is None:
            return self
        try:
            url = parse_url(card_url)
        except UrlRefusedError as exc:
            raise ValueError(f"card_url is no URL that a card can come from: {exc}") from exc
        return replace(self, origin=Url(*url.origin, ""))

    def check(self, url: Url) -> None:
        """Let ``url`` be called, or say why not.

        Raises:
            UrlRefusedError: it must not be called.
        """
        self._check(url, over_grpc=False)

    def check_address(self, binding: str, url: str) -> str | None:
        """Let an interface's ``url`` be called over ``binding``, or say why not; the result is a remark, or None.

        A binding that is not one of the three (§5.8) has addresses of a form of its own, which are not looked at.

        Raises:
            UrlRefusedError: it must not be called, or cannot be.
        """
        if binding == "GRPC":
            address, remark = parse_grpc_address(url)
            self._check(address, over_grpc=True)
            return remark
        if binding in ("JSONRPC", "HTTP+JSON"):
            self.check(parse_url(url))
        return None

    def check_requested(self, url: Url) -> None:
        """The same for a URL that the caller wrote, who decides about plain http.

        Raises:
            UrlRefusedError: it must not be called.
        """
        replace(self, allow_http=True).check(url)

    def check_peer(self, host: str, address: str) -> None:
        """Let a connection to ``host`` be made to ``address``, an IP address in text.

        Raises:
            UrlRefusedError: it must not be called.
        """
        if not self.deny_private:
            return
        parsed = ip_address(address)
        kind = "nothing that can be looked at" if parsed is None else special_kind(parsed)
        if kind is not None:
            at = "is" if parsed == ip_address(host) else f"is at {address},"
            raise UrlRefusedError(f"{host} {at} {kind}, and only public addresses are called (deny_private)")

    def _check(self, url: Url, *, over_grpc: bool) -> None:
        if url.scheme == "http" and not url.is_loopback and not self.allow_http:
            if not over_grpc and self.origin and self.origin.scheme == "https" and self._is_same_host(url):
                raise UrlRefusedError(
                    "the card came over https and names plain http of the same host: its server probably ignores "
                    "X-Forwarded-Proto, which the proxy before it sends"
                )
            raise UrlRefusedError(f"{url.host} is not this machine, so it has to be called with TLS (https)")
        if self.same_origin and self.origin is None:
            raise UrlRefusedError("same_origin is asked for, but not known where the card came from: give card_url")
        if self.same_origin and not (self._is_same_host(url) if over_grpc else self._is_same(url)):
            raise UrlRefusedError(f"it leaves {self.origin}, and same_origin is asked for")
        if self.allow_hosts is not None and not any(_allows(entry, url) for entry in self.allow_hosts):
            raise UrlRefusedError(f"{url.host}:{url.port} is not among the hosts that may be called (allow_hosts)")
        if self.deny_private and (ip_address(url.host) or url.is_loopback):
            self.check_peer(url.host, "127.0.0.1" if ip_address(url.host) is None else url.host)

    def _is_same(self, url: Url) -> bool:
        return self._is_same_host(url) and self.origin is not None and url.origin[::2] == self.origin.origin[::2]

    def _is_same_host(self, url: Url) -> bool:
        return self.origin is not None and _spelling(url.host) == _spelling(self.origin.host)


def _spelling(host: str) -> str:
    return str(ip_address(host) or host.removesuffix("."))


def _checked_entry(entry: str) -> str:
    text = entry.lower()
    try:
        _parts(text)
    except UrlRefusedError as exc:
        raise ValueError(f"{entry!r} in allow_hosts is no host: {exc}") from exc
    return text


def _parts(entry: str) -> tuple[bool, str, int | None]:
    """Whether names below it are meant, the host, and the port, of an entry of ``allow_hosts``."""
    below = entry.startswith("*.")
    host = entry.removeprefix("*.")
    found, port = (host, None) if ip_address(host) else split_authority(host)
    if below and ip_address(found):
        raise UrlRefusedError("there are no names below an address")
    return below, _spelling(found), port


def _allows(entry: str, url: Url) -> bool:
    below, host, port = _parts(entry)
    name = _spelling(url.host)
    return port in (None, url.port) and (name.endswith(f".{host}") if below else name == host)
