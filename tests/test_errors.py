"""The exceptions: one tree, one table, and they survive a process pool."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import a2a_discovery
from a2a_discovery import (
    A2ADiscoveryError,
    A2AError,
    CardError,
    FetchError,
    NoSupportedInterfaceError,
    Problem,
    Skipped,
    errors,
)

PROBLEM = Problem("name", "required", "error", "this REQUIRED field is missing", "§5.7")

# §3.3.2 and §5.4: class, JSON-RPC code, HTTP status, gRPC status, ErrorInfo reason.
TABLE = [
    ("TaskNotFoundError", -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
    ("TaskNotCancelableError", -32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
    ("PushNotificationNotSupportedError", -32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    ("UnsupportedOperationError", -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
    ("ContentTypeNotSupportedError", -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
    ("InvalidAgentResponseError", -32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
    ("ExtendedAgentCardNotConfiguredError", -32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
    ("ExtensionSupportRequiredError", -32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"),
    ("VersionNotSupportedError", -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_the_table(row: tuple[Any, ...]) -> None:
    name, code, http_status, grpc_status, reason = row
    error = getattr(a2a_discovery, name)(local=True)
    assert isinstance(error, A2AError)
    assert (error.code, error.http_status, error.grpc_status, error.reason) == (code, http_status, grpc_status, reason)
    assert reason in str(error)


def test_the_table_has_every_named_error() -> None:
    assert {cls.__name__ for cls in A2AError.__subclasses__()} == {row[0] for row in TABLE}


ERRORS = [
    CardError([PROBLEM], subject="Task", url="https://a.test"),
    NoSupportedInterfaceError([Skipped(0, "its version is 0.3")]),
    FetchError(
        "no", url="https://a.test", status=404, redirects=["https://b.test"], retry_after=1.0, challenge="Bearer"
    ),
    errors.FetchTimeoutError("slow", url="https://a.test"),
    errors.TenantMismatchError("a", "b"),
    errors.MissingExtraError("a part", "all"),
    errors.TransportError("broken"),
    errors.TaskNotFoundError("gone", metadata={"taskId": "t"}, details=[{"a": 1}], local=True),
    A2AError("odd", code=502),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_errors_survive_copying_and_pickling(error: A2ADiscoveryError, duplicate: Any) -> None:
    again = duplicate(error)
    assert type(again) is type(error)
    assert vars(again) == vars(error)
    assert str(again) == str(error)
