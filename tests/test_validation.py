"""REQUIRED checks over any message (§5.7)."""

from __future__ import annotations

from typing import Any

import pytest

from a2a_discovery import CardError, ensure_valid, types, validate


def paths(message: Any) -> list[str]:
    problems = validate(message)
    assert all((p.rule, p.severity, p.source) == ("required", "error", "§5.7") for p in problems)
    return [p.path for p in problems]


@pytest.mark.parametrize(
    ("message", "missing"),
    [
        (types.SendMessageRequest(), ["message"]),
        (types.SendMessageRequest(message={}), ["message.messageId", "message.role", "message.parts"]),
        (types.Message(message_id="m", role="ROLE_USER", parts=[{"text": ""}]), []),
        (types.Task(id="t", status={"state": "TASK_STATE_WORKING"}, artifacts=[{"artifact_id": "a"}]), ["artifacts[0].parts"]),
        (types.Task(status={}), ["id", "status.state"]),
        (types.StreamResponse(), []),
        (types.StreamResponse(status_update={"task_id": "t", "status": {}}), ["statusUpdate.contextId", "statusUpdate.status.state"]),
        (types.AgentCard(security_schemes={"k": {"api_key_security_scheme": {"name": "n"}}}), None),
        (types.ListTasksResponse(), []),
        (types.ListTasksResponse(tasks=[{"id": "t"}]), ["tasks[0].status"]),
        (types.AgentCapabilities(extensions=[{}]), []),
        (types.OAuth2SecurityScheme(flows={"device_code": {"token_url": "u"}}), ["flows.deviceCode.deviceAuthorizationUrl"]),
        (types.OAuthFlows(implicit={}), []),
        (types.GetExtendedAgentCardRequest(), []),
        (types.SendMessageConfiguration(task_push_notification_config={"authentication": {}}), ["taskPushNotificationConfig.url", "taskPushNotificationConfig.authentication.scheme"]),
    ],
    ids=lambda v: type(v).__name__ if not isinstance(v, list) else "",
)  # fmt: skip
def test_each_place(message: Any, missing: list[str] | None) -> None:
    if missing is None:
        assert 'securitySchemes["k"].apiKeySecurityScheme.location' in paths(message)
    else:
        assert paths(message) == missing


def test_ensure_valid() -> None:
    ensure_valid(types.GetTaskRequest(id="t"))
    with pytest.raises(CardError) as caught:
        ensure_valid(types.GetTaskRequest())
    assert caught.value.subject == "GetTaskRequest"
    assert str(caught.value).startswith("GetTaskRequest is not valid, 1 problem:")
