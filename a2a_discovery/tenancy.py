"""The tenant of the selected interface goes into every request, exactly as the card has it (§8.3.2)."""

from __future__ import annotations

from typing import Any, TypeVar

from a2a_discovery.dataclasses import as_message, to_dataclass
from a2a_discovery.errors import TenantMismatchError
from a2a_discovery.types import AgentInterface, SendMessageRequest

R = TypeVar("R")


def with_tenant(request: R, interface: Any) -> R:
    """A copy of ``request`` with the tenant of ``interface``; the field is left out when the interface has none.

    Args:
        request: a request message, or its betterproto dataclass; it is not changed, and the copy is of its kind.
        interface: the selected ``AgentInterface``, or its dataclass.

    Raises:
        TenantMismatchError: the request already names another tenant, itself or in its push configuration.
    """
    message = as_message(request)
    if "tenant" not in message.DESCRIPTOR.fields_by_name:
        raise TypeError(f"{message.DESCRIPTOR.name} is not a request: it has no tenant")
    tenant = as_message(interface, AgentInterface).tenant
    for named in _tenants(message):
        if named and named != tenant:
            raise TenantMismatchError(named, tenant)
    copy = type(message)()
    copy.CopyFrom(message)
    copy.tenant = tenant
    same_kind: R = copy if message is request else to_dataclass(copy)
    return same_kind


def _tenants(request: Any) -> list[str]:
    named = [request.tenant]
    if isinstance(request, SendMessageRequest):
        named.append(request.configuration.task_push_notification_config.tenant)
    return named
