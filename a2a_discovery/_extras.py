"""Optional dependencies, loaded when they are first needed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType

from a2a_discovery.errors import MissingExtraError


@cache
def signing_extra(name: str) -> ModuleType:
    """A module of the extra ``signing``, as ``"joserfc.jwk"``.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as exc:
        raise MissingExtraError("a2a_discovery.signatures", "signing") from exc
