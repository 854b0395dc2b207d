"""What an A2A client reads before its first message.

The names below are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from a2a_discovery import (
        protojson as protojson,
        sync as sync,
        types as types,
    )
    from a2a_discovery._async.agent import AsyncAgent as AsyncAgent
    from a2a_discovery._async.discovery import discover as discover
    from a2a_discovery._async.keys import JwksResolver as JwksResolver
    from a2a_discovery._async.resolver import CardResolver as CardResolver
    from a2a_discovery._sync.agent import Agent as Agent
    from a2a_discovery.cache import CardCache as CardCache
    from a2a_discovery.capabilities import require_capability as require_capability
    from a2a_discovery.card import (
        CardReport as CardReport,
        inspect_card as inspect_card,
        parse_card as parse_card,
    )
    from a2a_discovery.errors import (
        A2ADiscoveryError as A2ADiscoveryError,
        A2AError as A2AError,
        CallTimeoutError as CallTimeoutError,
        CardError as CardError,
        ContentTypeNotSupportedError as ContentTypeNotSupportedError,
        CredentialsRequiredError as CredentialsRequiredError,
        ExtendedAgentCardNotConfiguredError as ExtendedAgentCardNotConfiguredError,
        ExtensionSupportRequiredError as ExtensionSupportRequiredError,
        FetchError as FetchError,
        FetchTimeoutError as FetchTimeoutError,
        InvalidAgentResponseError as InvalidAgentResponseError,
        MissingExtraError as MissingExtraError,
        NoSupportedInterfaceError as NoSupportedInterfaceError,
        PushNotificationError as PushNotificationError,
        PushNotificationNotSupportedError as PushNotificationNotSupportedError,
        SignatureError as SignatureError,
        StreamInterruptedError as StreamInterruptedError,
        TaskNotCancelableError as TaskNotCancelableError,
        TaskNotFoundError as TaskNotFoundError,
        TenantMismatchError as TenantMismatchError,
        TokenError as TokenError,
        TransportError as TransportError,
        UnsupportedOperationError as UnsupportedOperationError,
        VersionNotSupportedError as VersionNotSupportedError,
    )
    from a2a_discovery.fetched import FetchedDocument as FetchedDocument, ResolvedCard as ResolvedCard
    from a2a_discovery.interfaces import (
        Selection as Selection,
        Skipped as Skipped,
        Support as Support,
        select_interface as select_interface,
    )
    from a2a_discovery.policy import UrlPolicy as UrlPolicy
    from a2a_discovery.problems import Problem as Problem
    from a2a_discovery.push import read_push_notification as read_push_notification
    from a2a_discovery.reference import card_url as card_url
    from a2a_discovery.security import (
        ApiKey as ApiKey,
        BasicCredentials as BasicCredentials,
        BearerToken as BearerToken,
        ClientCertificate as ClientCertificate,
        CredentialStore as CredentialStore,
        DeviceAuthorization as DeviceAuthorization,
        HttpCredentials as HttpCredentials,
        OAuthClient as OAuthClient,
    )
    from a2a_discovery.signatures import (
        canonical_json as canonical_json,
        sign_card as sign_card,
        verify_card as verify_card,
        verify_card_async as verify_card_async,
    )
    from a2a_discovery.skills import (
        check_parts as check_parts,
        find_skills as find_skills,
    )
    from a2a_discovery.tenancy import with_tenant as with_tenant
    from a2a_discovery.types import (
        AgentCard as AgentCard,
        AgentInterface as AgentInterface,
    )
    from a2a_discovery.validation import (
        ensure_valid as ensure_valid,
        validate as validate,
    )
    from a2a_discovery.verification import (
        SignatureResult as SignatureResult,
        Verification as Verification,
    )

_MODULES = ("protojson", "sync", "types")
_NAMES = {
    "_async.agent": ("AsyncAgent",),
    "_async.discovery": ("discover",),
    "_async.keys": ("JwksResolver",),
    "_async.resolver": ("CardResolver",),
    "_sync.agent": ("Agent",),
    "cache": ("CardCache",),
    "capabilities": ("require_capability",),
    "card": ("CardReport", "inspect_card", "parse_card"),
    "errors": (
        "A2ADiscoveryError",
        "A2AError",
        "CallTimeoutError",
        "CardError",
        "ContentTypeNotSupportedError",
        "CredentialsRequiredError",
        "ExtendedAgentCardNotConfiguredError",
        "ExtensionSupportRequiredError",
        "FetchError",
        "FetchTimeoutError",
        "InvalidAgentResponseError",
        "MissingExtraError",
        "NoSupportedInterfaceError",
        "PushNotificationError",
        "PushNotificationNotSupportedError",
        "SignatureError",
        "StreamInterruptedError",
        "TaskNotCancelableError",
        "TaskNotFoundError",
        "TenantMismatchError",
        "TokenError",
        "TransportError",
        "UnsupportedOperationError",
        "VersionNotSupportedError",
    ),
    "fetched": ("FetchedDocument", "ResolvedCard"),
    "interfaces": ("Selection", "Skipped", "Support", "select_interface"),
    "policy": ("UrlPolicy",),
    "problems": ("Problem",),
    "push": ("read_push_notification",),
    "reference": ("card_url",),
    "security": (
        "ApiKey",
        "BasicCredentials",
        "BearerToken",
        "ClientCertificate",
        "CredentialStore",
        "DeviceAuthorization",
        "HttpCredentials",
        "OAuthClient",
    ),
    "signatures": ("canonical_json", "sign_card", "verify_card", "verify_card_async"),
    "skills": ("check_parts", "find_skills"),
    "tenancy": ("with_tenant",),
    "types": ("AgentCard", "AgentInterface"),
    "validation": ("ensure_valid", "validate"),
    "verification": ("SignatureResult", "Verification"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_MODULES, *_HOMES])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name == "__version__":
        return import_module("importlib.metadata").version("a2a-discovery")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
