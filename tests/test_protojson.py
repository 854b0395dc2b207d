"""ProtoJSON: the rarer forms that are read, what is refused, and how values are written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct

from a2a_discovery import CardError, protojson, types
from tests.strategies import MESSAGES


def refused(cls: type[Message], document: Any) -> tuple[str, str]:
    with pytest.raises(CardError) as caught:
        protojson.loads(cls, json.dumps(document))
    (problem,) = [p for p in caught.value.problems if p.severity == "error"]
    return problem.path, problem.rule


@pytest.mark.parametrize(
    ("cls", "document"),
    [
        (types.GetTaskRequest, {"id": "t", "historyLength": "5"}),
        (types.GetTaskRequest, {"id": "t", "historyLength": 5.0}),
        (types.GetTaskRequest, {"id": "t", "historyLength": 1e3}),
        (types.GetTaskRequest, {"id": "t", "history_length": -5}),
        (types.Part, {"raw": "_-8"}),
        (types.Part, {"raw": "/+8="}),
        (types.Part, {"raw": "aGk"}),
        (types.Part, {"data": None}),
        (types.Part, {"data": {"fields": {"a": None}}}),
        (types.Message, {"role": 2, "messageId": None}),
        (types.TaskStatus, {"state": 99}),
        (types.TaskStatus, {"timestamp": "2024-02-29T23:59:59.123456789+05:30"}),
        (types.TaskStatus, {"timestamp": "0001-01-01T00:00:00Z"}),
        (types.TaskStatus, {"timestamp": "9999-12-31T23:59:59.999999999Z"}),
        (types.Task, {"metadata": {"a": [1, 1.5, None, True, {"b": []}], "": {}}}),
    ],
)
def test_rarer_forms_are_read_as_protobuf_reads_them(cls: type[Message], document: Any) -> None:
    assert protojson.loads(cls, json.dumps(document)) == json_format.ParseDict(document, cls())


@pytest.mark.parametrize(
    ("cls", "document", "path"),
    [
        (types.GetTaskRequest, {"historyLength": 2**31}, "historyLength"),
        (types.GetTaskRequest, {"historyLength": 1.5}, "historyLength"),
        (types.GetTaskRequest, {"historyLength": True}, "historyLength"),
        (types.GetTaskRequest, {"historyLength": "5 "}, "historyLength"),
        (types.GetTaskRequest, {"historyLength": "1.5"}, "historyLength"),
        (types.GetTaskRequest, {"historyLength": "1e10"}, "historyLength"),
        (types.GetTaskRequest, {"historyLength": "1_0"}, "historyLength"),
        (types.Part, {"raw": "a"}, "raw"),
        (types.Part, {"raw": "a b="}, "raw"),
        (types.Part, {"raw": [1]}, "raw"),
        (types.Message, {"role": "user"}, "role"),
        (types.Message, {"role": True}, "role"),
        (types.TaskStatus, {"state": "TASK_STATE_NEW"}, "state"),
        (types.TaskStatus, {"timestamp": "2024-02-30T00:00:00Z"}, "timestamp"),
        (types.TaskStatus, {"timestamp": "2024-01-01T00:00:00"}, "timestamp"),
        (types.TaskStatus, {"timestamp": "2024-01-01 00:00:00Z"}, "timestamp"),
        (types.TaskStatus, {"timestamp": "0001-01-01T00:00:00+00:01"}, "timestamp"),
        (types.TaskStatus, {"timestamp": "2024-01-01T00:00:00+24:00"}, "timestamp"),
        (types.TaskStatus, {"timestamp": 5}, "timestamp"),
        (types.Task, {"metadata": []}, "metadata"),
        (types.Task, {"history": {}}, "history"),
        (types.Task, {"history": [None]}, "history[0]"),
        (types.SecurityRequirement, {"schemes": {"a": ["x"]}}, 'schemes["a"]'),
    ],
)
def test_refused(cls: type[Message], document: Any, path: str) -> None:
    assert refused(cls, document) == (path, "type")


def test_a_oneof_takes_one() -> None:
    assert refused(types.Part, {"text": "a", "data": None}) == ("", "oneof")
    assert protojson.loads(types.Part, {"text": "a", "raw": None, "url": None}).text == "a"


def test_unknown_members_are_ignored_and_unknown_names_are_not() -> None:
    assert protojson.loads(types.Message, {"messageId": "m", "kind": "message"}).message_id == "m"
    with pytest.raises(CardError, match="ROLE_USER, ROLE_AGENT"):
        protojson.loads(types.Message, {"role": "ROLE_SYSTEM"})


@pytest.mark.parametrize(
    "text",
    [
        '{"id": "a", "x": 1, "x": 2}',
        '{"id": "a", "x": {"y": 1, "y": [1]}}',
        '{"id": "a", "x": [{"y": 1, "\\u0079": 1}]}',
        # Written again, the escaped quotes make up for those of the key that was dropped.
        '{"id": "\\u0022\\u0022", "x": 1, "x": 2}',
    ],
)
def test_a_key_that_stands_twice_is_seen_in_an_otherwise_good_document(text: str) -> None:
    with pytest.raises(CardError) as caught:
        protojson.loads(types.Task, text)
    assert [p.rule for p in caught.value.problems] == ["duplicate"]
    fine = text.replace('"x": 1, ', "").replace('"y": 1, ', "")
    assert protojson.loads(types.Task, fine).id


def nested(depth: int, wrap: Any) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda v: {"a": v}, lambda v: {"a": [v]}], ids=["objects", "both"])
@pytest.mark.parametrize("cls", [types.Task, types.StreamResponse], ids=lambda cls: cls.__name__)
def test_nesting_ends_where_protobuf_ends(cls: type[Message], wrap: Any) -> None:
    """The deepest Struct that is read can be sent over gRPC, and one level more could not."""
    read = 0
    for depth in range(60):
        metadata = nested(depth, wrap)
        document = {"metadata": metadata} if cls is types.Task else {"task": {"metadata": metadata}}
        arguments = document
        sendable = True
        try:
            cls.FromString(cls(**arguments).SerializeToString())
        except Exception:  # protobuf's DecodeError or EncodeError, by its version
            sendable = False
        if sendable:
            assert protojson.loads(cls, document) == cls(**arguments)
            assert protojson.loads(cls, json.dumps(document)) == cls(**arguments)
            read += 1
        else:
            assert refused(cls, document)[1] == "depth"
    assert 10 < read < 60


def test_defaults_are_left_out_but_for_those_that_are_required_and_may_be_default() -> None:
    assert protojson.to_dict(types.GetTaskRequest(id="")) == {}
    assert protojson.to_dict(types.GetTaskRequest(history_length=0)) == {"historyLength": 0}
    assert protojson.to_dict(types.AgentCapabilities(streaming=False)) == {"streaming": False}
    assert protojson.to_dict(types.ListTasksResponse()) == {
        "tasks": [],
        "nextPageToken": "",
        "pageSize": 0,
        "totalSize": 0,
    }
    assert protojson.to_dict(types.ClientCredentialsOAuthFlow(token_url="u")) == {"tokenUrl": "u", "scopes": {}}


@pytest.mark.parametrize(
    ("number", "text"),
    [(2.0, "2"), (-0.0, "-0.0"), (0.5, "0.5"), (1e300, "1e300"), (2.0**53, "9007199254740992"), (1e-7, "1e-7")],
)
def test_numbers_in_a_struct(number: float, text: str) -> None:
    task = types.Task(metadata={"n": number})
    written = protojson.dumps(task).decode()
    assert written.replace("e-07", "e-7").replace("e+300", "e300") == f'{{"metadata":{{"n":{text}}}}}'
    assert protojson.loads(types.Task, written) == task


@pytest.mark.parametrize(
    ("seconds", "nanos", "text"),
    [
        (0, 0, "1970-01-01T00:00:00Z"),
        (-62135596800, 1, "0001-01-01T00:00:00.000000001Z"),
        (1, 500_000_000, "1970-01-01T00:00:01.500Z"),
        (1, 1000, "1970-01-01T00:00:01.000001Z"),
    ],
)
def test_times(seconds: int, nanos: int, text: str) -> None:
    status = types.TaskStatus(timestamp={"seconds": seconds, "nanos": nanos})  # type: ignore[arg-type]
    assert protojson.to_dict(status) == {"timestamp": text} == json_format.MessageToDict(status)


def deep_task(depth: int) -> types.Task:
    task = types.Task()
    inner = task.metadata
    for _ in range(depth):
        inner = inner.fields["a"].struct_value
    inner.fields["a"].bool_value = True
    return task


@pytest.mark.parametrize(
    "message",
    [
        types.Task(metadata={"n": float("inf")}),
        types.Part(data={"number_value": float("nan")}),
        types.TaskStatus(timestamp={"seconds": 253402300800}),  # type: ignore[arg-type]
        types.TaskStatus(timestamp={"nanos": -1}),  # type: ignore[arg-type]
        deep_task(260),
        deep_task(2000),
    ],
    ids=["infinite", "nan", "year 10000", "negative nanos", "deep", "deeper"],
)
def test_what_has_no_json_form_is_an_error(message: Message) -> None:
    with pytest.raises(CardError) as caught:
        protojson.dumps(message)
    assert caught.value.problems[0].rule in ("value", "depth")


@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__name__)
def test_an_empty_object_is_an_empty_message(cls: type[Message]) -> None:
    assert protojson.loads(cls, b"{}") == cls() == protojson.loads(cls, {})


@pytest.mark.parametrize("text", ["1e3", "1000", "1000.0", "10E+2"])
def test_quoted_numbers_may_have_an_exponent(text: str) -> None:
    """The older json_format does not read them, the ProtoJSON mapping does."""
    assert protojson.loads(types.ListTasksRequest, json.dumps({"pageSize": text})).page_size == 1000


@pytest.mark.parametrize("stranger", [None, dict, "Task", Struct, types.Task()])
def test_what_is_no_message_class_is_a_type_error(stranger: Any) -> None:
    with pytest.raises(TypeError, match=r"a2a_discovery\.types"):
        protojson.loads(stranger, b"{}")
    with pytest.raises(TypeError, match=r"a2a_discovery\.types"):
        protojson.dumps(type(stranger))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "told"),
    [("[" * 2000 + "]" * 2000, "1,024 levels"), ("[1e999]", "too large for a double"), ("[,]", "not JSON")],
)
def test_limits_are_told_from_syntax(text: str, told: str) -> None:
    with pytest.raises(CardError, match=told):
        protojson.loads(types.Task, text)


def test_sizes_and_syntax() -> None:
    assert refused(types.Task, [])[1] == "type"
    with pytest.raises(CardError, match=r"at most 10 are read"):
        protojson.loads(types.Task, b'{"id": "task"}', max_bytes=10)
    with pytest.raises(CardError, match="HTML"):
        protojson.loads(types.Task, "<html>")
    with pytest.raises(CardError, match="line 2, column 1"):
        protojson.loads(types.Task, '{"id":\n}')
