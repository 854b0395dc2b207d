"""Which IP addresses lead to the public internet, and what the others are."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

# The registries of special-purpose addresses (RFC 6890, as kept by IANA), and where clouds serve their secrets. It is a
# table of our own, since that of ``ipaddress`` differs from one Python to the next.
_V4: Final = tuple(
    (IPv4Network(network), kind)
    for network, kind in (
        ("127.0.0.0/8", "a loopback address"),
        ("10.0.0.0/8", "a private address"),
        ("172.16.0.0/12", "a private address"),
        ("192.168.0.0/16", "a private address"),
        ("169.254.0.0/16", "a link-local address, where clouds serve metadata"),
        ("168.63.129.16/32", "an address at which a cloud serves metadata"),
        ("100.64.0.0/10", "an address shared behind a carrier's NAT"),
        ("224.0.0.0/4", "a multicast address"),
        ("0.0.0.0/8", "an unspecified address"),
        ("192.0.0.0/24", "a reserved address"),
        ("192.0.2.0/24", "a reserved address"),
        ("192.88.99.0/24", "a reserved address"),
        ("198.18.0.0/15", "a reserved address"),
        ("198.51.100.0/24", "a reserved address"),
        ("203.0.113.0/24", "a reserved address"),
        ("240.0.0.0/4", "a reserved address"),
    )
)
_V6: Final = tuple(
    (IPv6Network(network), kind)
    for network, kind in (
        ("::1/128", "a loopback address"),
        ("::/128", "an unspecified address"),
        ("fc00::/7", "a private address"),
        ("fec0::/10", "a private address"),
        ("fe80::/10", "a link-local address"),
        ("ff00::/8", "a multicast address"),
        ("64:ff9b:1::/48", "a private address"),  # NAT64 of a local network (RFC 8215)
        ("2001::/23", "a reserved address"),  # Teredo among them
        ("2001:db8::/32", "a reserved address"),
        ("2002::/16", "a reserved address"),  # 6to4, which RFC 7526 gave up
        ("3fff::/20", "a reserved address"),
    )
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_GLOBAL: Final = IPv6Network("2000::/3")


def special_kind(address: IPv4Address | IPv6Address) -> str | None:
    """What an address is that no public host has; None for one that a public host may have.

    An IPv6 address that stands for an IPv4 address (RFC 4291 §2.5.5.2, RFC 6052 §2.1) is what that one is.
    """
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return special_kind(address.ipv4_mapped)
        if address in _NAT64:
            return special_kind(IPv4Address(int(address) & 0xFFFFFFFF))
        kind = next((kind for network, kind in _V6 if address in network), None)
        return kind or (None if address in _GLOBAL else "a reserved address")
    return next((kind for network, kind in _V4 if address in network), None)
