"""Ordered selection: the first entry of ``supportedInterfaces`` that this client speaks (§8.3.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final

from a2a_discovery._frozen import Picklable, frozen
from a2a_discovery.dataclasses import as_message
from a2a_discovery.errors import NoSupportedInterfaceError
from a2a_discovery.policy import UrlPolicy, UrlRefusedError
from a2a_discovery.types import AgentCard, AgentInterface

KNOWN_BINDINGS: Final = ("JSONRPC", "GRPC", "HTTP+JSON")
"""The three bindings that the specification defines (§5.1)."""

_VERSION = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8}))?")


def major_minor(version: str) -> str | None:
    """``Major.Minor`` of a protocol version, whose patch number counts for nothing (§3.6); None if it is no version."""
    found = _VERSION.fullmatch(version)
    return f"{found[1]}.{found[2]}" if found else None


def similar_binding(binding: str) -> str | None:
    """The binding that was probably meant by a name that is not one: ``JSONRPC`` for ``json-rpc``."""
    letters = _letters(binding)
    meant = {_letters(name): name for name in KNOWN_BINDINGS} | {"HTTP": "HTTP+JSON", "REST": "HTTP+JSON"}
    return meant.get(letters)


def _letters(name: str) -> str:
    return re.sub(r"[^A-Z]", "", name.upper())


@dataclass(frozen=True, slots=True)
class Support(Picklable):
    """What a client speaks: each binding with the protocol versions (Major.Minor) that it speaks over it.

    Raises:
        ValueError: a version is not Major.Minor.
    """

    bindings: Mapping[str, Iterable[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.bindings, Mapping):
            raise TypeError("bindings is a mapping, as in Support(bindings={'JSONRPC': ['1.0']})")
        copied = {binding: _versions(versions) for binding, versions in self.bindings.items()}
        object.__setattr__(self, "bindings", frozen(copied))

    @classmethod
    def default(cls) -> Support:
        """Version 1.0 over JSONRPC and HTTP+JSON, and over GRPC when grpcio is installed."""
        bindings = ["JSONRPC", "HTTP+JSON", *(["GRPC"] if find_spec("grpc") else [])]
        return cls(dict.fromkeys(bindings, ("1.0",)))


def _versions(versions: Iterable[str]) -> tuple[str, ...]:
    listed = [versions] if isinstance(versions, str) else list(versions)
    for version in listed:
        if not isinstance(version, str) or major_minor(version) != version:
            raise ValueError(f"{version!r} is not Major.Minor, as in Support(bindings={{'JSONRPC': ['1.0']}})")
    return tuple(listed)


@dataclass(frozen=True, slots=True)
class Skipped:
    """An entry that was passed over: its ``index`` in the card, and the ``reason`` in words."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The outcome of ``select_interface``.

    Attributes:
        interface: a copy of the entry to call.
        index: its place in ``supportedInterfaces``.
        skipped: the entries before it, each with the reason why it was passed over.
    """

    interface: AgentInterface
    index: int
    skipped: tuple[Skipped, ...]


def select_interface(
    card: Any,
    support: Support | None = None,
    *,
    policy: UrlPolicy | None = None,
    unreachable: Mapping[int, str] | None = None,
) -> Selection:
    """Pick the first entry of ``supported_interfaces`` that this client speaks (§8.3.2).

    An entry is supported when its binding *and* its Major.Minor version are in ``support`` and ``policy`` lets its
    URL be called. Order is the card's; there is no "best" entry.

    Args:
        card: an ``AgentCard``, or its betterproto dataclass.
        support: what the client speaks; by default what is installed.
        policy: which URLs may be called.
        unreachable: entries to pass over, by index, each with the reason: they could not be connected to (§5.2).

    Raises:
        NoSupportedInterfaceError: no entry qualifies; ``.skipped`` says why for each.
    """
    checked: AgentCard = as_message(card, AgentCard)
    support = Support.default() if support is None else support
    policy = UrlPolicy() if policy is None else policy
    if not isinstance(support, Support) or not isinstance(policy, UrlPolicy):
        raise TypeError("support is a Support, and policy a UrlPolicy")
    skipped: list[Skipped] = []
    for index, interface in enumerate(checked.supported_interfaces):
        reason = (unreachable or {}).get(index) or _refusal(interface, support, policy)
        if reason is None:
            copy = AgentInterface()
            copy.CopyFrom(interface)
            return Selection(copy, index, tuple(skipped))
        skipped.append(Skipped(index, reason))
    raise NoSupportedInterfaceError(skipped)


def _refusal(interface: AgentInterface, support: Support, policy: UrlPolicy) -> str | None:
    binding, version = interface.protocol_binding, interface.protocol_version
    if binding not in support.bindings:
        meant = similar_binding(binding)
        hint = f"; names are compared letter by letter, was {meant} meant?" if meant and meant != binding else ""
        return f"its binding is {binding!r}, and this client speaks {_spoken(support.bindings)}{hint}"
    spoken = support.bindings[binding]
    plain = major_minor(version)
    if plain is None:
        return f"its version is {version!r}, which is not Major.Minor"
    if plain not in spoken:
        return f"its version is {plain}, and this client speaks {_spoken(spoken)} over {binding}"
    try:
        policy.check_address(binding, interface.url)
    except UrlRefusedError as exc:
        return f"its URL is not called: {exc}"
    return None


def _spoken(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
