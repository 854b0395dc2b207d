"""Service parameters (§3.2.6): what goes along with a call as HTTP headers or gRPC metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from a2a_discovery.extensions import HEADER, declared

VERSION = "A2A-Version"
USER_AGENT = "User-Agent"

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Metadata names (gRPC over HTTP/2); those that end in -bin hold bytes, not text.
_METADATA_NAME = re.compile(r"[0-9A-Za-z_.-]+(?<!-[Bb][Ii][Nn])")
_TRANSPORT = frozenset(
    [
        "a2a-version",
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "te",
        "transfer-encoding",
        "upgrade",
    ]
)
_VALUE = re.compile(r"[\t\x20-\x7e]*")


def checked(params: Mapping[str, str]) -> dict[str, str]:
    """A copy, with blanks around the values gone.

    Raises:
        ValueError: a name or value is not valid in HTTP; the value is not quoted, it may be a secret.
    """
    for name, value in params.items():
        if not isinstance(value, str) or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"the header {name!r} is not valid HTTP (RFC 9110 §5)")
    return {name: value.strip() for name, value in params.items()}


def is_header_name(name: str, binding: str) -> bool:
    """Whether a header of this name can be set over ``binding``: it is valid, and not the binding's own."""
    valid = _METADATA_NAME if binding == "GRPC" else _NAME
    return bool(valid.fullmatch(name)) and name.lower() not in (*_TRANSPORT, HEADER.lower())


def is_header_value(value: str) -> bool:
    """Whether ``value`` may stand in a header."""
    return bool(_VALUE.fullmatch(value))


def checked_params(params: Mapping[str, str]) -> dict[str, str]:
    """``checked``, for calls, which may go over any binding: a name has to fit each, and none is the binding's own.

    Raises:
        ValueError: a name or value is not valid in HTTP or in gRPC, or the name is the binding's.
    """
    for name in params:
        if name.lower() in _TRANSPORT or name.startswith(":"):
            raise ValueError(f"the header {name!r} is set by the binding")
    found = checked(params)
    for name in found:
        if not _METADATA_NAME.fullmatch(name):
            raise ValueError(f"the header {name!r} cannot be sent as text in gRPC metadata (§10.2)")
    return found


def merged(version: str, extensions: Iterable[str], *params: Mapping[str, str]) -> dict[str, str]:
    """The parameters of one call: the version of the interface, one list of extensions, and the caller's own.

    A later mapping wins over an earlier one; names are compared without regard to case.
    """
    by_name: dict[str, tuple[str, str]] = {}
    for mapping in params:
        for name, value in mapping.items():
            lower = name.lower()
            by_name[lower] = (USER_AGENT if lower == "user-agent" else name, value)
    by_name.pop(HEADER.lower(), None)
    by_name[VERSION.lower()] = (VERSION, version)
    if value := ",".join(extensions):
        by_name[HEADER.lower()] = (HEADER, value)
    return dict(by_name.values())


def callers_extensions(*params: Mapping[str, str]) -> tuple[str, ...]:
    """What the caller's own parameters already declare as extensions."""
    return declared(value for mapping in params for name, value in mapping.items() if name.lower() == HEADER.lower())
