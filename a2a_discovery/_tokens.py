"""Access tokens that are kept, and who may have one made."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from a2a_discovery._slots import Slots


@dataclass(frozen=True, slots=True)
class Token:
    """An access token, until when it is good (``time.monotonic()``, None: not known), and what renews it."""

    access_token: str = field(repr=False)
    expires: float | None
    refresh_token: str | None = field(repr=False)

    @property
    def is_fresh(self) -> bool:
        """Whether it is to be used still."""
        return self.expires is None or time.monotonic() < self.expires


class TokenCache:
    """The tokens of a store, by the way in which each was had."""

    def __init__(self) -> None:
        self._tokens: dict[Hashable, Token] = {}
        self._slots = Slots()

    def get(self, way: Hashable, rejected: str | None) -> Token | None:
        """The token, as long as it is fresh and not the ``rejected`` one."""
        token = self._tokens.get(way)
        return token if token is not None and token.is_fresh and token.access_token != rejected else None

    def refresh_token(self, way: Hashable) -> str | None:
        """What renews the token, whether or not that is fresh."""
        token = self._tokens.get(way)
        return None if token is None else token.refresh_token

    def put(self, way: Hashable, token: Token) -> None:
        """Keep ``token``."""
        self._tokens[way] = token

    def slot(self, way: Hashable, world: object, slots: Callable[[int], Any]) -> Any:
        """The only slot to have a token made in; each event loop has its own."""
        return self._slots.slot(way, world, slots)
