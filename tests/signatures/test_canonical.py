"""The bytes that a signature covers (§8.4.1, RFC 8785)."""

from __future__ import annotations

import json
from typing import Any

import pytest
import rfc8785
from google.api import field_behavior_pb2
from google.protobuf import json_format
from google.protobuf.message import Message
from hypothesis import given, strategies as st

from a2a_discovery import CardError, protojson
from a2a_discovery.signatures import canonical_json
from a2a_discovery.types import AgentCard
from tests.cases import load
from tests.signatures.common import CARD, some
from tests.strategies import arguments, json_values

REQUIRED = field_behavior_pb2.FieldBehavior.REQUIRED


@pytest.mark.parametrize("case", load("canonical"), ids=lambda case: case["name"])
def test_cases(case: dict[str, Any]) -> None:
    assert canonical_json(case["card"]).decode() == case["canonical"]
    assert canonical_json(json.dumps(case["card"])).decode() == case["canonical"]
    assert canonical_json(json.dumps(case["card"], indent=3).encode()).decode() == case["canonical"]


def by_presence(message: Message) -> dict[str, Any]:
    """What §8.4.1 leaves of a message whose fields without presence are all written out."""
    kept: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        required = REQUIRED in field.GetOptions().Extensions[field_behavior_pb2.field_behavior]  # type: ignore[index]
        if message.HasField(field.name) if field.has_presence else value or required:
            kept[field.json_name] = _plain(value)
    return kept


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        if value.DESCRIPTOR.full_name == "google.protobuf.Struct":
            return json.loads(json_format.MessageToJson(value), parse_int=float)
        return by_presence(value)
    if isinstance(value, str | bool):
        return value
    return {key: _plain(value[key]) for key in value} if hasattr(value, "items") else [_plain(x) for x in value]


@some
@given(arguments(AgentCard.DESCRIPTOR), st.booleans())
def test_presence_decides_what_stays(chosen: dict[str, Any], proto_names: bool) -> None:
    card = AgentCard(**chosen)
    received = json_format.MessageToDict(
        card, always_print_fields_with_no_presence=True, preserving_proto_field_name=proto_names
    )
    expected = by_presence(card)
    expected.pop("signatures", None)
    assert canonical_json(received) == rfc8785.dumps(expected)
    assert canonical_json(json.dumps(received)) == rfc8785.dumps(expected)


@some
@given(arguments(AgentCard.DESCRIPTOR), st.text(max_size=5).map(lambda name: f"x-{name}"), json_values)
def test_what_the_schema_does_not_know_stays_untouched(chosen: dict[str, Any], name: str, value: Any) -> None:
    received = protojson.to_dict(AgentCard(**chosen))
    known = json.loads(canonical_json(received))
    assert canonical_json(received | {name: value}) == rfc8785.dumps(_doubles(known | {name: value}))


def _doubles(value: Any) -> Any:
    if isinstance(value, list):
        return [_doubles(x) for x in value]
    if isinstance(value, dict):
        return {key: _doubles(x) for key, x in value.items()}
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("1.0", "1"),
        ("-0.0", "0"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("1E-7", "1e-7"),
        ("0.000001", "0.000001"),
        ("9007199254740993", "9007199254740992"),
        ("18446744073709551616", "18446744073709552000"),
        ("333333333.33333329", "333333333.3333333"),
    ],
)
def test_numbers_are_those_of_ecmascript(number: str, written: str) -> None:
    assert canonical_json(f'{{"x": [{number}]}}').decode() == f'{{"x":[{written}]}}'


def test_keys_stand_in_the_order_of_utf_16() -> None:
    assert canonical_json({"x": {"\ufb33": 1, "\U0001f600": 2, "a": 3, "é": 4}}).decode() == (
        '{"x":{"a":3,"é":4,"\U0001f600":2,"\ufb33":1}}'
    )


def test_strings_are_escaped_no_more_than_has_to_be() -> None:
    text = "".join(map(chr, range(0x20))) + '"\\/\x7f\u2028é'
    expected = rfc8785.dumps({"name": text, "x": 0.5})
    assert canonical_json({"name": text, "x": 0.5}) == expected
    assert canonical_json({"name": text}) == expected.replace(b',"x":0.5', b"")


@pytest.mark.parametrize(
    ("received", "rule"),
    [
        ("[]", "type"),
        ("{", "syntax"),
        ('{"name": "a", "name": "a"}', "duplicate"),
        ('{"x": {"a": 1, "\\u0061": 1}}', "duplicate"),
        ('{"iconUrl": null, "icon_url": "a"}', "duplicate"),
        ('{"name": 7}', "type"),
        ('{"skills": {}}', "type"),
        ('{"skills": [null]}', "type"),
        ('{"capabilities": []}', "type"),
        ('{"capabilities": {"streaming": "true"}}', "type"),
        ('{"x": ' + "[" * 300 + "]" * 300 + "}", "depth"),
        ({"x": object()}, "depth"),
        ({"x": float("nan")}, "depth"),
        ({"x": 10**400}, "depth"),
        ({"name": "\ud800"}, "syntax"),
        ({7: "a"}, "depth"),
    ],
)
def test_what_has_no_canonical_form_is_a_card_error(received: Any, rule: str) -> None:
    with pytest.raises(CardError) as caught:
        canonical_json(received)
    assert [p.rule for p in caught.value.problems if p.severity == "error"] == [rule]


def test_a_message_counts_as_the_json_that_is_written_of_it() -> None:
    assert canonical_json(CARD) == canonical_json(protojson.dumps(CARD))
