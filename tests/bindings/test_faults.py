"""Errors on the wire: the case file, and both directions of the table."""

from __future__ import annotations

import base64
import json
from typing import Any

import orjson
import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from hypothesis import given, strategies as st

from a2a_discovery import errors
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery.bindings import answers, faults, grpc, jsonrpc, rest
from a2a_discovery.errors import A2ADiscoveryError, A2AError, TaskNotFoundError
from a2a_discovery.problems import Problem
from tests.cases import load

NAMED = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, A2AError)][1:]
SEND = OPERATIONS["SendMessage"]


def decode(binding: str, status: int, body: bytes) -> Any:
    if status >= 400:
        raise faults.from_http(status, {}, body)
    message = jsonrpc.decode_response(SEND, body, "1") if binding == "JSONRPC" else rest.decode_response(SEND, body)
    answers.check(SEND, message, strict=False)
    return message


@pytest.mark.parametrize("case", load("errors"), ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    with pytest.raises(A2AError) as caught:
        decode(case["binding"], case["status"], json.dumps(case["body"]).encode())
    assert type(caught.value).__name__ == (case["error"] or "A2AError")


def there_and_back(binding: str, error: A2AError) -> A2AError:
    if binding == "JSONRPC":
        document = orjson.loads(jsonrpc.encode_error("1", error))
        return faults.from_jsonrpc(document["error"])
    if binding == "HTTP+JSON":
        status, body = faults.to_http(error)
        return faults.from_http(status, {}, body)
    code, text, details = grpc.encode_error(error)
    return grpc.decode_error(code, text, [(grpc.STATUS_DETAILS, details)])


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
@pytest.mark.parametrize("kind", NAMED, ids=lambda kind: kind.__name__)
def test_each_named_error_survives_each_binding(kind: type[A2AError], binding: str) -> None:
    found = there_and_back(binding, kind("what happened", metadata={"taskId": "t"}))
    assert type(found) is kind
    assert (found.message, found.metadata, found.reason) == ("what happened", {"taskId": "t"}, kind.reason)
    assert not found.local


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
@pytest.mark.parametrize("code", [-32700, -32600, -32601, -32602, -32603])
def test_the_errors_of_json_rpc_keep_their_code(code: int, binding: str) -> None:
    found = there_and_back(binding, faults.standard(code, "m"))
    assert (type(found), found.code) == (A2AError, code)


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
def test_field_violations_are_kept(binding: str) -> None:
    error = faults.invalid_params([Problem("message.parts", "required", "error", "missing", "§5.7")])
    found = there_and_back(binding, error)
    assert found.field_violations == (("message.parts", "missing"),)


def test_a_grpc_status_alone_names_no_error() -> None:
    found = grpc.decode_error("NOT_FOUND", "gone", [])
    assert (type(found), found.grpc_status, found.message) == (A2AError, "NOT_FOUND", "gone")


def test_an_unknown_detail_of_grpc_is_kept_as_it_came() -> None:
    status = status_pb2.Status(code=5, message="m")
    status.details.add(type_url="type.googleapis.com/example.Unknown", value=b"\x01")
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason="TASK_NOT_FOUND", domain="a2a-protocol.org"))
    found = grpc.decode_error("NOT_FOUND", "m", [(grpc.STATUS_DETAILS, status.SerializeToString())])
    assert isinstance(found, TaskNotFoundError)
    assert found.details[0] == {"@type": "type.googleapis.com/example.Unknown", "value": "AQ=="}


def nested(depth: int) -> any_pb2.Any:
    packed = any_pb2.Any(type_url="type.googleapis.com/google.rpc.ErrorInfo")
    for _ in range(depth):
        inner, packed = packed, any_pb2.Any()
        packed.Pack(inner)
    return packed


@pytest.mark.parametrize(
    "detail",
    [
        any_pb2.Any(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=b"\xff"),
        any_pb2.Any(type_url="type.googleapis.com/google.protobuf.Value", value=b"\x11" + b"\xff" * 8),
        nested(500),
    ],
    ids=["corrupt", "not a number", "deep"],
)
def test_a_detail_of_grpc_that_cannot_be_read_is_kept_as_it_came(detail: any_pb2.Any) -> None:
    status = status_pb2.Status(code=5, message="m", details=[detail])
    found = grpc.decode_error("NOT_FOUND", "m", [(grpc.STATUS_DETAILS, status.SerializeToString())])
    assert found.details == ({"@type": detail.type_url, "value": base64.b64encode(detail.value).decode()},)


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
@pytest.mark.parametrize("depth", [200, 250, 900])
def test_what_another_agent_said_can_be_passed_on_however_deep(binding: str, depth: int) -> None:
    error = faults.from_jsonrpc({"code": -32001, "message": "m", "data": orjson.loads("[" * depth + "]" * depth)})
    assert isinstance(there_and_back(binding, error), TaskNotFoundError)


def test_what_no_agent_wrote_is_a_generic_error_with_status_and_text() -> None:
    found = faults.from_http(
        503, {"retry-after": "7", "www-authenticate": 'Bearer realm="x"'}, b"<h1>Service\nUnavailable</h1>"
    )
    assert type(found) is A2AError
    assert (found.http_status, found.retry_after, found.challenge) == (503, 7.0, 'Bearer realm="x"')
    assert found.message == "it answered 503 Service Unavailable: <h1>Service Unavailable</h1>"


def test_retry_info_in_the_details_is_a_delay() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"}]
    assert faults.from_jsonrpc({"code": -32603, "message": "m", "data": details}).retry_after == 1.5


def test_details_that_are_no_objects_are_kept() -> None:
    assert faults.from_jsonrpc({"code": -32001, "message": "m", "data": "boom"}).details == ({"data": "boom"},)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(
                [
                    "error",
                    "code",
                    "message",
                    "details",
                    "data",
                    "@type",
                    "metadata",
                    "fieldViolations",
                    "retryDelay",
                    "jsonrpc",
                    "id",
                    "result",
                    "status",
                    "reason",
                ]
            ),
            inner,
        )
    ),
    max_leaves=20,
)


@given(
    st.one_of(JSON.map(orjson.dumps), st.binary()),
    st.sampled_from(["JSONRPC", "HTTP+JSON"]),
    st.sampled_from([200, 400, 401, 599]),
)
def test_whatever_comes_only_our_errors_are_raised(body: bytes, binding: str, status: int) -> None:
    try:
        decode(binding, status, body)
    except A2ADiscoveryError as error:
        assert str(error)
        if isinstance(error, A2AError):
            assert isinstance(error.field_violations, tuple)


@given(st.binary(), st.sampled_from(["NOT_FOUND", "X"]))
def test_whatever_details_come_over_grpc_an_error_is_made(details: bytes, code: str) -> None:
    assert isinstance(grpc.decode_error(code, "m", [(grpc.STATUS_DETAILS, details)]), A2AError)
