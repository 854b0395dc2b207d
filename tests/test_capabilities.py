"""Which operations a card allows (§3.3.4), and the table that they come from."""

from __future__ import annotations

import pytest

from a2a_discovery import (
    A2AError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
    require_capability,
)
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery._operation import Operation
from a2a_discovery.capabilities import refusal
from a2a_discovery.types import AgentCard, GetTaskRequest, SendMessageRequest

NEEDS = {
    "SendStreamingMessage": ("streaming", UnsupportedOperationError, -32004),
    "SubscribeToTask": ("streaming", UnsupportedOperationError, -32004),
    "CreateTaskPushNotificationConfig": ("push_notifications", PushNotificationNotSupportedError, -32003),
    "GetTaskPushNotificationConfig": ("push_notifications", PushNotificationNotSupportedError, -32003),
    "ListTaskPushNotificationConfigs": ("push_notifications", PushNotificationNotSupportedError, -32003),
    "DeleteTaskPushNotificationConfig": ("push_notifications", PushNotificationNotSupportedError, -32003),
    "GetExtendedAgentCard": ("extended_agent_card", UnsupportedOperationError, -32004),
}
BARE = AgentCard(capabilities={})


def test_there_are_eleven_operations() -> None:
    assert len(OPERATIONS) == 11
    assert {name for name, o in OPERATIONS.items() if o.flag} == set(NEEDS)
    assert {name for name, o in OPERATIONS.items() if o.streaming} == {"SendStreamingMessage", "SubscribeToTask"}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("value", [None, False, True])
def test_each_flag(operation: str, value: bool | None) -> None:
    flag, error, code = NEEDS.get(operation, (None, None, None))
    card = AgentCard(capabilities={flag: value} if flag and value is not None else {})
    if flag is None or value:
        require_capability(card, operation)
        return
    with pytest.raises(A2AError) as caught:
        require_capability(card, operation)
    assert type(caught.value) is error
    assert (caught.value.code, caught.value.local) == (code, True)
    assert operation in str(caught.value)


def test_a_push_configuration_in_a_send_needs_the_flag() -> None:
    plain = SendMessageRequest(configuration={"history_length": 1})
    push = SendMessageRequest(configuration={"task_push_notification_config": {"url": "https://p.test"}})
    allowed = AgentCard(capabilities={"push_notifications": True, "streaming": True})
    for operation in ("SendMessage", "SendStreamingMessage"):
        assert refusal(allowed, operation, push) is None
    assert refusal(BARE, "SendMessage", plain) is None
    assert refusal(BARE, "GetTask", GetTaskRequest(id="t")) is None
    assert isinstance(refusal(BARE, "SendMessage", push), PushNotificationNotSupportedError)


def test_an_unknown_operation() -> None:
    with pytest.raises(UnsupportedOperationError, match="was SendMessage meant"):
        require_capability(BARE, "sendMessage")


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda o: o.name)
def test_routes_and_paths(operation: Operation) -> None:
    assert operation.tenant_route.template == "/{tenant}" + operation.route.template
    assert operation.tenant_route.verb == operation.route.verb
    assert operation.route.body == (operation.route.verb == "POST")
    assert operation.grpc_path == f"/lf.a2a.v1.A2AService/{operation.name}"
    fields = operation.request.DESCRIPTOR.fields_by_name
    names = [part.split("}")[0] for part in operation.tenant_route.template.split("{")[1:]]
    assert names[0] == "tenant"
    assert all(name in fields for name in names)
