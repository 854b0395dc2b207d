"""What holds for every message and every input: the readers agree, and nothing is lost or leaks."""

from __future__ import annotations

import json
import os
from typing import Any

import orjson
import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings, strategies as st

from a2a_discovery import CardError, inspect_card, parse_card, protojson, types, validate
from a2a_discovery._forms import UnfitError
from a2a_discovery._gen.readers import READERS
from a2a_discovery.dataclasses import from_dataclass, to_dataclass
from a2a_discovery.problems import Findings
from tests.strategies import MESSAGES, arguments, json_values, messages, near_documents

many = settings(
    max_examples=int(os.environ.get("PROPERTY_EXAMPLES", "2000")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def fast(cls: type[Message], document: Any, *, need: bool = False) -> Message | None:
    return protojson.read(cls, document, None, need=need)


def exact(cls: type[Message], document: Any, *, need: bool = False) -> tuple[Message | None, list[str]]:
    findings = Findings()
    message = protojson.diagnose(cls, document, None, findings, need=need)
    return message, [p.path for p in findings.problems if p.severity == "error"]


@many
@given(messages(), st.booleans(), st.booleans())
def test_readers_agree_on_valid_documents(message: Message, proto_names: bool, integers: bool) -> None:
    cls = type(message)
    document = json_format.MessageToDict(
        message, preserving_proto_field_name=proto_names, use_integers_for_enums=integers
    )
    reference = json_format.ParseDict(document, cls())
    read, errors = exact(cls, document)
    assert (read, errors) == (reference, [])
    assert protojson.loads(cls, json.dumps(document)) == reference
    if not proto_names and not integers:
        assert fast(cls, document) == reference


@many
@given(near_documents(), st.booleans())
def test_fast_reader_agrees_with_diagnosis(near: tuple[type[Message], Any], need: bool) -> None:
    cls, document = near
    read, errors = exact(cls, document, need=need)
    quick = fast(cls, document, need=need)
    if errors or read is None:
        assert quick is None
    elif quick is not None:
        assert quick == read


@many
@given(messages())
def test_what_is_written_is_read_again(message: Message) -> None:
    text = protojson.dumps(message)
    assert protojson.loads(type(message), text) == message
    assert orjson.loads(text) == protojson.to_dict(message)


@many
@given(messages())
def test_dataclasses_lose_nothing(message: Message) -> None:
    assert from_dataclass(to_dataclass(message)) == message


@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__name__)
def test_every_message_goes_through_every_path(cls: type[Message]) -> None:
    @settings(max_examples=30, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(arguments(cls.DESCRIPTOR))
    def check(chosen: dict[str, Any]) -> None:
        message = cls(**chosen)
        assert protojson.loads(cls, protojson.dumps(message)) == message
        assert from_dataclass(to_dataclass(message)) == message
        assert fast(cls, protojson.to_dict(message)) == message

    check()


@many
@given(messages())
def test_required_checks_agree(message: Message) -> None:
    """The check on messages, the fast reader and the diagnosis name the same fields."""
    cls = type(message)
    document = protojson.to_dict(message)
    paths = {p.path for p in validate(message)}
    _, errors = exact(cls, document, need=True)
    assert paths == set(errors)
    try:
        READERS[cls.DESCRIPTOR.name](document, True)
        complete = True
    except UnfitError:
        complete = False
    assert complete == (not paths)


@many
@given(
    json_values
    | st.dictionaries(st.sampled_from(list(types.AgentCard.DESCRIPTOR.fields_by_camelcase_name)), json_values)
)
def test_any_json_is_a_card_or_a_card_error(value: Any) -> None:
    for data in (value, json.dumps(value), json.dumps(value).encode()):
        if isinstance(data, str) and data is value:
            continue
        report = inspect_card(data)
        assert (report.card is None) == bool(report.errors)
        try:
            card = parse_card(data)
        except CardError as exc:
            assert exc.problems == report.problems
        else:
            assert card == report.card


@many
@given(st.binary(max_size=60) | st.text(max_size=60))
def test_any_bytes_are_a_card_or_a_card_error(data: bytes | str) -> None:
    try:
        parse_card(data)
    except CardError as exc:
        assert exc.problems
    assert inspect_card(data).errors


@many
@given(near_documents(), st.binary(max_size=3), st.integers(0, 400))
def test_damaged_text_gives_a_message_or_a_card_error(
    near: tuple[type[Message], Any], piece: bytes, position: int
) -> None:
    cls, document = near
    text = orjson.dumps(document)
    damaged = text[:position] + piece + text[position + 1 :]
    try:
        message = protojson.loads(cls, damaged)
    except CardError as exc:
        assert exc.subject == cls.DESCRIPTOR.name
        assert str(exc)
    else:
        assert isinstance(message, cls)
