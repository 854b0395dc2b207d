"""Webhook requests: the proof, the task, and whatever else comes."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from a2a_discovery import PushNotificationError, protojson, read_push_notification
from a2a_discovery.types import (
    AuthenticationInfo,
    Message,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)

EVENT = StreamResponse(status_update=TaskStatusUpdateEvent(task_id="t", context_id="c"))
BODY = protojson.dumps(EVENT)
TOKEN = {"x-a2a-NOTIFICATION-token": "s3cret"}
BEARER = {"AUTHORIZATION": "bearer  abc"}
CREDENTIALS = AuthenticationInfo(scheme="Bearer", credentials="abc")


@pytest.mark.parametrize("credentials", [CREDENTIALS, "Bearer abc"])
@pytest.mark.parametrize("headers", [TOKEN, BEARER, TOKEN | BEARER])
def test_one_right_proof_is_enough(headers: dict[str, str], credentials: AuthenticationInfo | str) -> None:
    assert read_push_notification(headers, BODY, token="s3cret", credentials=credentials, task_ids={"t"}) == EVENT


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic abc"},
        BEARER | {"X-A2A-Notification-Token": "other"},
        TOKEN | {"Authorization": "Bearer ABC"},
    ],
)
def test_a_missing_or_wrong_proof_is_refused_without_telling_it(headers: dict[str, str]) -> None:
    with pytest.raises(PushNotificationError) as caught:
        read_push_notification(headers, BODY, token="s3cret", credentials=CREDENTIALS)
    assert "s3cret" not in str(caught.value)
    assert "abc" not in str(caught.value)


def test_without_an_expectation_no_proof_is_asked_for() -> None:
    assert read_push_notification({}, BODY.decode()) == EVENT


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (StreamResponse(task=Task(id="t")), True),
        (StreamResponse(task=Task(id="x")), False),
        (StreamResponse(message=Message(task_id="t")), True),
        (StreamResponse(artifact_update=TaskArtifactUpdateEvent(task_id="x")), False),
    ],
)
def test_a_task_that_is_not_expected_is_refused(event: StreamResponse, expected: bool) -> None:
    body = protojson.dumps(event)
    if expected:
        assert read_push_notification({}, body, task_ids=["t"]) == event
    else:
        with pytest.raises(PushNotificationError, match="not expected"):
            read_push_notification({}, body, task_ids=["t"])


@given(st.binary() | st.text())
def test_whatever_the_body_only_our_error_is_raised(body: bytes | str) -> None:
    with pytest.raises(PushNotificationError):
        read_push_notification({}, body)
