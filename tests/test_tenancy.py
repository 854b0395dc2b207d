"""The tenant of the selected entry goes into every request, exactly (§8.3.2)."""

from __future__ import annotations

import copy

import pytest

from a2a_discovery import TenantMismatchError, with_tenant
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery.types import AgentInterface, GetTaskRequest

REQUESTS = sorted({o.request for o in OPERATIONS.values()}, key=lambda cls: cls.__name__)


@pytest.mark.parametrize("request_class", REQUESTS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("tenant", ["acme", "a/b", " x ", "ünï", ""])
def test_every_request_gets_it(request_class: type, tenant: str) -> None:
    request = request_class()
    before = copy.deepcopy(request)
    copied = with_tenant(request, AgentInterface(tenant=tenant))
    assert copied.tenant == tenant
    assert copied is not request
    assert request == before


def test_the_same_tenant_may_be_there_already() -> None:
    request = GetTaskRequest(id="t", tenant="acme")
    assert with_tenant(request, AgentInterface(tenant="acme")) == request


@pytest.mark.parametrize(("requested", "declared"), [("acme", "other"), ("acme", ""), ("acme", "ACME")])
def test_another_tenant_is_an_error(requested: str, declared: str) -> None:
    with pytest.raises(TenantMismatchError, match=requested) as caught:
        with_tenant(GetTaskRequest(tenant=requested), AgentInterface(tenant=declared))
    assert (caught.value.requested, caught.value.declared) == (requested, declared)
