"""REQUIRED checks over any message (§5.7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from a2a_discovery import CardError, ensure_valid, protojson, types, validate
from a2a_discovery._schema import fields
from a2a_discovery.problems import Findings, element, entry, member
from tests.strategies import MESSAGES


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


def full(cls: Any, variant: int) -> Any:
    """A message with every field set, each oneof to the member that ``variant`` counts to, and so on below."""
    values: dict[str, Any] = {}
    for field in fields(cls.DESCRIPTOR).values():
        members = [f.name for f in fields(cls.DESCRIPTOR).values() if f.oneof and f.oneof == field.oneof]
        if members and field.name != members[variant % len(members)]:
            continue
        if field.message is not None:
            value: Any = full(getattr(types, field.message.name), variant)
        else:
            plain = {"string": "x", "bool": True, "int32": 1, "bytes": b"x", "enum": 1, "value": {"bool_value": True}}
            value = plain.get(field.kind, {})
        values[field.name] = {"one": value, "many": [value], "map": {"k": value}}[field.shape]
    return cls(**values)


def required_below(message: Any, path: str = "") -> Iterator[tuple[str, Any, str]]:
    """Every REQUIRED field at and below a message: its path, the message that has it, and its name."""
    for field in fields(message.DESCRIPTOR).values():
        where = member(path, field.json_name)
        if field.required and getattr(message, field.name):
            yield where, message, field.name
        value = getattr(message, field.name)
        if field.message is not None and field.shape == "one" and message.HasField(field.name):
            yield from required_below(value, where)
        elif field.message is not None and field.shape == "many":
            yield from (found for i, x in enumerate(value) for found in required_below(x, element(where, i)))
        elif field.message is not None and field.shape == "map":
            yield from (found for key in value for found in required_below(value[key], entry(where, key)))


@pytest.mark.parametrize("variant", range(5))
@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__name__)
def test_each_required_field_at_every_depth(cls: Any, variant: int) -> None:
    """Cleared alone, each is named by the check on messages, by the diagnosis, and refused by the fast reader."""
    whole = full(cls, variant)
    assert paths(whole) == []
    assert protojson.read(cls, protojson.to_dict(whole), None, need=True) == whole
    for i in range(len(list(required_below(whole)))):
        message = cls()
        message.CopyFrom(whole)
        path, owner, name = list(required_below(message))[i]
        owner.ClearField(name)
        assert paths(message) == [path]
        document = protojson.to_dict(message)
        assert protojson.read(cls, document, None, need=True) is None
        findings = Findings()
        protojson.diagnose(cls, document, None, findings, need=True)
        assert [p.path for p in findings.problems if p.severity == "error"] == [path]


def test_ensure_valid() -> None:
    ensure_valid(types.GetTaskRequest(id="t"))
    with pytest.raises(CardError) as caught:
        ensure_valid(types.GetTaskRequest())
    assert caught.value.subject == "GetTaskRequest"
    assert str(caught.value).startswith("GetTaskRequest is not valid, 1 problem:")
