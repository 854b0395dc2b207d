"""A name lookup that answers what the tests want: two answers in a row need not be the same."""

from __future__ import annotations

import socket
from typing import Any

import pytest

PUBLIC = "93.184.215.14"
LOOPBACK = "127.0.0.1"
INSIDE = "127.0.0.9"


class Lookup:
    """The system's lookup, but for the names in ``answers``: each has a list of answers, the last of which stays."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.answers = {f"{name}.test": list(of_name) for name, of_name in answers.items()}
        self.asked: list[str] = []
        self._real = socket.getaddrinfo

    def __call__(self, host: Any, port: Any, *args: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in self.answers:
            return self._real(host, port, *args, **options)
        self.asked.append(name)
        left = self.answers[name]
        addresses = left.pop(0) if len(left) > 1 else left[0]
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [found for address in addresses for found in self._real(address, port, type=socket.SOCK_STREAM)]


def looked_up(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> Lookup:
    """Answer these for ``agent.test``, one after the other."""
    lookup = Lookup(agent=list(answers))
    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    return lookup


def call_loopback_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the servers of the tests pass for public ones; 127.0.0.9 alone stays what it is."""
    from a2a_discovery import _addresses, policy

    def kind(address: Any) -> str | None:
        return _addresses.special_kind(address) if str(address) == INSIDE or not address.is_loopback else None

    monkeypatch.setattr(policy, "special_kind", kind)
