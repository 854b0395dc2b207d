"""URLs and gRPC addresses, taken apart: each leads to one host and nothing else, or is refused by its form."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from a2a_discovery.errors import A2ADiscoveryError

# Space and controls end or split a request line, a backslash is a slash to some parsers, the rest is no URL character
# (RFC 3986 §2).
_FORBIDDEN = re.compile(r'[\x00-\x20\x7f-\xa0\\<>"`{}|^]')
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
# A bracketed IPv6 address, or a name or IPv4 address: nothing before, between or behind (RFC 3986 §3.2.2).
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:@/?#%]+))(?::([0-9]{0,5}))?")
# Letters, digits, hyphens and underscores, and what is not ASCII (RFC 1035 §2.3.4; the rest of IDNA is for the lookup).
_LABEL = re.compile(r"[^\x00-\x2c./:-@\[-^`{-\x7f]{1,63}")
# Some lookups read such a name as an IPv4 address in another notation: 0x7f.1 (the URL standard's "ends in a number").
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class UrlRefusedError(A2ADiscoveryError):
    """A URL that must not be called; the message is the reason, without the URL itself."""


@dataclass(frozen=True, slots=True)
class Url:
    """A URL, taken apart: ``scheme`` and ``host`` in lower case, ``port`` always given, ``rest`` from the path on."""

    scheme: str
    host: str
    port: int
    rest: str

    @property
    def origin(self) -> tuple[str, str, int]:
        """What two URLs share when they are of one origin (RFC 6454 §4)."""
        return (self.scheme, self.host, self.port)

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine, by name or number (RFC 6761 §6.3, RFC 1122 §3.2.1.3, RFC 4291 §2.5.3)."""
        name = self.host.removesuffix(".")
        if name == "localhost" or name.endswith(".localhost"):
            return True
        address = ip_address(name)
        return address is not None and address.is_loopback

    def without_query(self) -> str:
        """The URL up to its path, fit for a log: a query may hold a key."""
        return str(self).partition("?")[0]

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if _DEFAULT_PORTS.get(self.scheme) == self.port else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.rest}"


def parse_url(url: str) -> Url:
    """Take an absolute http or https URL apart (RFC 3986), whether or not it may be called.

    Raises:
        UrlRefusedError: it is no such URL, or it hides where it leads to (userinfo, control characters, no host).
    """
    if _FORBIDDEN.search(url):
        raise UrlRefusedError("it holds a space, a control character or another character that no URL may hold")
    parts = _URL.fullmatch(url)
    if parts is None:
        raise UrlRefusedError("it is not absolute: write https://host/path")
    scheme, authority = parts[1].lower(), parts[2]
    if scheme not in _DEFAULT_PORTS:
        raise UrlRefusedError(f"its scheme is {scheme!r}: only https, and http on this machine, is called")
    if not authority:
        raise UrlRefusedError("it names no host")
    if "@" in authority:
        raise UrlRefusedError("it holds a user name or password: credentials do not belong into a URL")
    host, port = split_authority(authority)
    rest = parts[3] + (parts[4] if parts[4] not in (None, "?") else "")
    return Url(scheme, host, _DEFAULT_PORTS[scheme] if port is None else port, rest)


def parse_grpc_address(address: str) -> tuple[Url, str | None]:
    """Take a gRPC address apart: ``host:port``, or one of the URL forms that mean the same.

    ``https://host``, ``grpcs://host`` and ``dns:///host`` are read too, since they are unambiguous; so is a host
    without a port, which is 443 to gRPC. The result's scheme is ``http`` where no TLS is to be used: on loopback,
    unless the address asks for TLS. A path is ignored; the second value then says so.

    Raises:
        UrlRefusedError: it is no such address, or it hides where it leads to.
    """
    if _FORBIDDEN.search(address):
        raise UrlRefusedError("it holds a space, a control character or another character that no address may hold")
    scheme, separator, authority = address.partition("://")
    scheme = scheme.lower()
    if not separator:
        scheme, authority = "", address.removeprefix("dns:")
    elif scheme == "dns":
        # dns://[authority]/host:port: a name server of the card's choice is not asked.
        if not authority.startswith("/"):
            raise UrlRefusedError("it names a DNS server of its own: write host:port")
        authority = authority[1:]
    elif scheme not in ("http", "https", "grpc", "grpcs"):
        raise UrlRefusedError(f"its scheme is {scheme!r}: a gRPC address is host:port")
    authority, slash, path = authority.partition("/")
    if any(mark in authority for mark in "@?#"):
        raise UrlRefusedError("it holds more than a host and a port: write host:port")
    if authority.endswith(":") and not separator:
        raise UrlRefusedError("its port is missing: write host:port")
    host, port = split_authority(authority)
    url = Url("https", host, 443 if port is None else port, "")
    plain = scheme == "http" or (scheme not in ("https", "grpcs") and url.is_loopback)
    if plain:
        url = Url("http", url.host, 80 if port is None and scheme == "http" else url.port, "")
    note = f"a gRPC address is host:port; the path {slash + path!r} is ignored" if path else None
    return url, note


def interface_address(binding: str, url: str) -> Url:
    """Where an interface's ``url`` leads, by its binding.

    Raises:
        UrlRefusedError: it cannot be read.
    """
    return parse_grpc_address(url)[0] if binding == "GRPC" else parse_url(url)


def split_authority(authority: str) -> tuple[str, int | None]:
    """Host in lower case, and port, of ``host[:port]``.

    Raises:
        UrlRefusedError: it is no such pair, or its host is nothing that can be called.
    """
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise UrlRefusedError("its host or port cannot be read")
    bracketed, name = found[1], found[2]
    host = (bracketed or name).lower()
    address = ip_address(host)
    if bracketed:
        if ":" not in host or address is None:
            raise UrlRefusedError("its host cannot be read: only an IPv6 address stands in brackets")
    elif address is None:
        _check_name(host)
    if address is not None and address.is_unspecified:
        raise UrlRefusedError(
            f"{host} is an address to listen on, not one to call: the agent published its bind address"
        )
    port = int(found[3]) if found[3] else None
    if port is not None and not 0 < port < 65536:
        raise UrlRefusedError(f"port {port} does not exist")
    return host, port


def _check_name(host: str) -> None:
    name = host.removesuffix(".")
    labels = name.split(".")
    # Another spelling of the same name (full-width digits), or one with invisible or slash-like characters in it, would
    # be another name here than to the lookup. IDNA has letters, marks and digits only (RFC 5892).
    plain = unicodedata.is_normalized("NFKC", name) and all(
        c in "-_." or unicodedata.category(c)[0] in "LMN" for c in name
    )
    if len(name) > 253 or not plain or not all(_LABEL.fullmatch(label) for label in labels):
        raise UrlRefusedError("its host is no name that can be looked up")
    if labels[-1].isdecimal() or _NUMBER.fullmatch(labels[-1]):
        raise UrlRefusedError("its host is a number, but no IP address in the usual notation")


def ip_address(host: str) -> IPv4Address | IPv6Address | None:
    """The address that ``host`` is, or the IPv4 address that it stands for (::ffff:127.0.0.1); None for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
