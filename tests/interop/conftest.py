"""Both worlds, for the tests of this library's client."""

from __future__ import annotations

from tests.fixtures import world

__all__ = ["world"]
