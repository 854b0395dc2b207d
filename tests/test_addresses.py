"""Which addresses are public."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given, strategies as st

from a2a_discovery._addresses import special_kind

SPECIAL = {
    "loopback": ["127.0.0.0/8", "::1/128"],
    "private": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10", "64:ff9b:1::/48"],
    "link-local": ["169.254.0.0/16", "fe80::/10"],
    "carrier": ["100.64.0.0/10"],
    "multicast": ["224.0.0.0/4", "ff00::/8"],
    "unspecified": ["0.0.0.0/8", "::/128"],
    "reserved": [
        "240.0.0.0/4", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "2001::/32", "2001:db8::/32", "2002::/16", "3fff::/20", "100::/64", "5f00::/16", "::/96",
    ],
}  # fmt: skip
NETWORKS = [(kind, ipaddress.ip_network(network)) for kind, networks in SPECIAL.items() for network in networks]


@st.composite
def special(draw: st.DrawFn) -> tuple[str, IPv4Address | IPv6Address]:
    kind, network = draw(st.sampled_from(NETWORKS))
    number = draw(st.integers(0, network.num_addresses - 1) | st.sampled_from([0, network.num_addresses - 1]))
    return kind, network[number]


@given(special())
def test_every_address_of_a_special_range_is_told(found: tuple[str, IPv4Address | IPv6Address]) -> None:
    kind, address = found
    told = special_kind(address)
    assert told is not None
    if str(address) not in ("::", "::1"):
        assert kind in told
    if isinstance(address, IPv4Address):
        for prefix in ("::ffff:0:0", "64:ff9b::"):
            assert special_kind(IPv6Address(int(IPv6Address(prefix)) | int(address))) == told


@given(st.ip_addresses() | special().map(lambda found: found[1]))
def test_what_is_not_global_is_never_public(address: IPv4Address | IPv6Address) -> None:
    plain = (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
    if special_kind(address) is None:
        assert plain.is_global and not plain.is_multicast


@pytest.mark.parametrize(
    "text",
    ["1.1.1.1", "8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.0", "172.32.0.1", "223.255.255.255",
     "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"],
)  # fmt: skip
def test_public(text: str) -> None:
    assert special_kind(ipaddress.ip_address(text)) is None


@pytest.mark.parametrize(
    "text", ["169.254.169.254", "fd00:ec2::254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fe80::1%eth0",
             "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "::127.0.0.1", "2002:7f00:1::", "::ffff:0:127.0.0.1"]
)  # fmt: skip
def test_where_clouds_serve_metadata_and_other_disguises(text: str) -> None:
    assert special_kind(ipaddress.ip_address(text)) is not None
