"""What an A2A client reads before its first message.

The names below are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from a2a_discovery import protojson, sync, types
    from a2a_discovery._async.resolver import CardResolver, ResolvedCard
    from a2a_discovery.capabilities import require_capability
    from a2a_discovery.card import CardReport, inspect_card, parse_card
    from a2a_discovery.errors import (
        A2ADiscoveryError,
        A2AError,
        CardError,
        ContentTypeNotSupportedError,
        ExtendedAgentCardNotConfiguredError,
        ExtensionSupportRequiredError,
        FetchError,
        FetchTimeoutError,
        InvalidAgentResponseError,
        MissingExtraError,
        NoSupportedInterfaceError,
        PushNotificationNotSupportedError,
        TaskNotCancelableError,
        TaskNotFoundError,
        TenantMismatchError,
        TransportError,
        UnsupportedOperationError,
        VersionNotSupportedError,
    )
    from a2a_discovery.interfaces import Selection, Skipped, Support, select_interface
    from a2a_discovery.policy import UrlPolicy
    from a2a_discovery.problems import Problem
    from a2a_discovery.reference import card_url
    from a2a_discovery.tenancy import with_tenant
    from a2a_discovery.types import AgentCard, AgentInterface
    from a2a_discovery.validation import ensure_valid, validate

_MODULES = ("protojson", "sync", "types")
_NAMES = {
    "_async.resolver": ("CardResolver", "ResolvedCard"),
    "capabilities": ("require_capability",),
    "card": ("CardReport", "inspect_card", "parse_card"),
    "errors": (
        "A2ADiscoveryError",
        "A2AError",
        "CardError",
        "ContentTypeNotSupportedError",
        "ExtendedAgentCardNotConfiguredError",
        "ExtensionSupportRequiredError",
        "FetchError",
        "FetchTimeoutError",
        "InvalidAgentResponseError",
        "MissingExtraError",
        "NoSupportedInterfaceError",
        "PushNotificationNotSupportedError",
        "TaskNotCancelableError",
        "TaskNotFoundError",
        "TenantMismatchError",
        "TransportError",
        "UnsupportedOperationError",
        "VersionNotSupportedError",
    ),
    "interfaces": ("Selection", "Skipped", "Support", "select_interface"),
    "policy": ("UrlPolicy",),
    "problems": ("Problem",),
    "reference": ("card_url",),
    "tenancy": ("with_tenant",),
    "types": ("AgentCard", "AgentInterface"),
    "validation": ("ensure_valid", "validate"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_MODULES, *_HOMES])  # noqa: PLE0605 - one list of names, not two


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
