"""Optional dependencies, asked for before the module that imports them."""

from __future__ import annotations

from importlib import import_module

from a2a_discovery.errors import MissingExtraError


def require_signing() -> None:
    """Do nothing where the extra ``signing`` is installed.

    Raises:
        MissingExtraError: it is not.
    """
    try:
        import_module("joserfc")
        import_module("rfc8785")
    except ModuleNotFoundError as exc:
        raise MissingExtraError("a2a_discovery.signatures", "signing") from exc
