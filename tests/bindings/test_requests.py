"""Requests over HTTP+JSON and JSON-RPC: paths, queries and bodies, and the way back at a server."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given, strategies as st

from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery._operation import Operation
from a2a_discovery.bindings import jsonrpc, rest
from a2a_discovery.errors import A2AError
from a2a_discovery.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from tests.strategies import arguments, texts

HARD = [
    "billing",
    "a/b",
    "../admin",
    "ü x",
    "a?b#c",
    "..",
    ".",
    "a%2Fb",
    "x:cancel",
    "tasks",
    "message:send",
    "\u2028",
    "+&=;",
]


def as_read(request: rest.HttpRequest) -> Any:
    """What a server reads that sees the target as it stands on the wire."""
    url = httpx.URL(f"http://agent.test/base{request.target}")
    path, _, query = url.raw_path.decode().removeprefix("/base").partition("?")
    return rest.match(request.verb, path).operation, rest.decode_request(
        rest.match(request.verb, path), query, request.body or b""
    )


@pytest.mark.parametrize("value", HARD)
def test_a_path_field_is_one_segment_whatever_it_holds(value: str) -> None:
    request = rest.encode_request(OPERATIONS["GetTask"], GetTaskRequest(tenant=value, id=value))
    assert request.target.count("/") == 3
    operation, message = as_read(request)
    assert (operation.name, message) == ("GetTask", GetTaskRequest(tenant=value, id=value))


def test_the_rest_of_a_get_is_its_query_in_camel_case() -> None:
    request = rest.encode_request(
        OPERATIONS["ListTasks"],
        ListTasksRequest(
            context_id="a b", status=TaskState.TASK_STATE_WORKING, page_size=5, include_artifacts=True, history_length=0
        ),
    )
    assert (
        request.target
        == "/tasks?contextId=a%20b&status=TASK_STATE_WORKING&pageSize=5&historyLength=0&includeArtifacts=true"
    )
    assert request.body is None


def test_a_tenant_in_the_path_is_in_no_query() -> None:
    request = rest.encode_request(OPERATIONS["ListTasks"], ListTasksRequest(tenant="a", page_size=5))
    assert request.target == "/a/tasks?pageSize=5"


def test_a_body_has_no_path_field_but_the_tenant() -> None:
    config = TaskPushNotificationConfig(tenant="a/b", task_id="t", id="c", url="https://hook.test/")
    request = rest.encode_request(OPERATIONS["CreateTaskPushNotificationConfig"], config)
    assert request.target == "/a%2Fb/tasks/t/pushNotificationConfigs"
    assert json.loads(request.body or b"") == {"tenant": "a/b", "id": "c", "url": "https://hook.test/"}
    assert as_read(request)[1] == config


def test_without_a_tenant_the_route_has_none() -> None:
    request = rest.encode_request(OPERATIONS["SendMessage"], SendMessageRequest(message=Message(message_id="m")))
    assert request.target == "/message:send"
    assert json.loads(request.body or b"") == {"message": {"messageId": "m"}}


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_a_server_takes_a_subscription_by_get_and_by_post(verb: str) -> None:
    request = rest.encode_request(OPERATIONS["SubscribeToTask"], SubscribeToTaskRequest(id="t"), verb=verb)
    assert as_read(request)[0].name == "SubscribeToTask"


def test_cancel_is_no_task_of_that_name() -> None:
    assert as_read(rest.encode_request(OPERATIONS["CancelTask"], CancelTaskRequest(id="t")))[0].name == "CancelTask"
    assert rest.match("GET", "/tasks/t").operation.name == "GetTask"


@pytest.mark.parametrize(
    ("verb", "path", "status"),
    [("GET", "/nothing", 404), ("GET", "/", 404), ("DELETE", "/tasks", 405), ("GET", "/message:send", 405)],
)
def test_what_is_not_there_is_told_from_what_takes_another_verb(verb: str, path: str, status: int) -> None:
    with pytest.raises(A2AError) as caught:
        rest.match(verb, path)
    assert caught.value.http_status == status
    assert ("allow" in caught.value.metadata) == (status == 405)


def test_a_path_and_a_body_that_differ_are_refused() -> None:
    with pytest.raises(A2AError) as caught:
        rest.decode_request(rest.match("POST", "/a/message:send"), "", b'{"tenant": "b"}')
    assert caught.value.field_violations[0][0] == "tenant"


@pytest.mark.parametrize(
    "query", ["pageSize=x", "status=NO_STATE", "includeArtifacts=maybe", "statusTimestampAfter=yesterday"]
)
def test_a_query_that_does_not_fit_is_invalid_params(query: str) -> None:
    with pytest.raises(A2AError) as caught:
        rest.decode_request(rest.match("GET", "/tasks"), query, b"")
    assert caught.value.code == -32602


def test_what_a_query_does_not_say_is_unset() -> None:
    assert rest.decode_request(rest.match("GET", "/tasks"), "pageSize=&unknown=1&status=", b"") == ListTasksRequest()


@st.composite
def calls(draw: st.DrawFn) -> tuple[Operation, Any]:
    """An operation with a request whose path fields are there, as the REQUIRED check sees to."""
    operation = OPERATIONS[draw(st.sampled_from(sorted(OPERATIONS)))]
    request = operation.request(**draw(arguments(operation.request.DESCRIPTOR)))
    for name in re.findall(r"\{(\w+)\}", operation.route.template):
        setattr(request, name, getattr(request, name) or draw(texts.filter(bool)))
    return operation, request


@given(calls())
def test_every_request_arrives_over_http_json_as_it_was(call: tuple[Operation, Any]) -> None:
    operation, request = call
    assert as_read(rest.encode_request(operation, request)) == (operation, request)


@given(calls())
def test_every_request_arrives_over_json_rpc_as_it_was(call: tuple[Operation, Any]) -> None:
    operation, request = call
    read = jsonrpc.decode_request(jsonrpc.encode_request(operation, request, "7"))
    assert (read.id, read.operation, read.request) == ("7", operation, request)


def test_the_target_is_a_path_to_every_parser() -> None:
    request = rest.encode_request(OPERATIONS["GetTask"], GetTaskRequest(id="//x?#@"))
    assert urlsplit("http://h" + request.target).path == request.target
