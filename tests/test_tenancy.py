"""The tenant of the selected entry goes into every request, exactly (§8.3.2)."""

from __future__ import annotations

import copy

import pytest

from a2a_discovery import TenantMismatchError, with_tenant
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery.types import AgentInterface, GetTaskRequest, SendMessageRequest, Task

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


def test_a_push_configuration_may_not_name_another_tenant() -> None:
    push = {"url": "https://p.test", "tenant": "acme"}
    request = SendMessageRequest(configuration={"task_push_notification_config": push})
    assert with_tenant(request, AgentInterface(tenant="acme")).tenant == "acme"
    with pytest.raises(TenantMismatchError):
        with_tenant(request, AgentInterface(tenant="other"))


@pytest.mark.parametrize("stranger", [Task(), None, {"tenant": "a"}])
def test_what_is_no_request_is_a_type_error(stranger: object) -> None:
    with pytest.raises(TypeError):
        with_tenant(stranger, AgentInterface(tenant="acme"))
    with pytest.raises(TypeError, match=r"AgentInterface|a2a_discovery"):
        with_tenant(GetTaskRequest(), stranger)


@pytest.mark.parametrize(("requested", "declared"), [("acme", "other"), ("acme", ""), ("acme", "ACME")])
def test_another_tenant_is_an_error(requested: str, declared: str) -> None:
    with pytest.raises(TenantMismatchError, match=requested) as caught:
        with_tenant(GetTaskRequest(tenant=requested), AgentInterface(tenant=declared))
    assert (caught.value.requested, caught.value.declared) == (requested, declared)
