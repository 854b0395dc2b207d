"""The betterproto view: it converts both ways, and the checks take it."""

from __future__ import annotations

import json

import pytest

from a2a_discovery import parse_card, require_capability, select_interface, types, validate, with_tenant
from a2a_discovery.dataclasses import as_message, classes, from_dataclass, to_dataclass
from a2a_discovery.errors import UnsupportedOperationError
from tests.cases import CASES
from tests.interop.sdk import a2a_pb2 as official

CARD = parse_card((CASES / "bench_card.json").read_bytes())


def test_a_card_there_and_back() -> None:
    card = to_dataclass(CARD)
    assert type(card) is classes().AgentCard
    assert card.supported_interfaces[0].tenant == "rotterdam"
    assert card.capabilities.extended_agent_card is True
    assert from_dataclass(card) == CARD
    assert json.loads(card.to_json())["supportedInterfaces"][1]["protocolBinding"] == "GRPC"


def test_nanoseconds_and_unknown_fields_survive() -> None:
    status = types.TaskStatus(state=2, timestamp={"seconds": -1, "nanos": 123_456_789})  # type: ignore[arg-type]
    assert from_dataclass(to_dataclass(status)) == status
    newer = types.StringList.FromString(types.Part(text="x", filename="y").SerializeToString())
    assert from_dataclass(to_dataclass(newer)).SerializeToString() == newer.SerializeToString()


def test_the_checks_take_dataclasses() -> None:
    card = to_dataclass(CARD)
    assert validate(card) == []
    assert select_interface(card).index == 0
    interface = to_dataclass(select_interface(card).interface)
    request = classes().GetTaskRequest(id="t")
    copied = with_tenant(request, interface)
    assert (type(copied), copied.tenant, request.tenant) == (classes().GetTaskRequest, "rotterdam", "")
    card.name = ""
    card.capabilities.streaming = None
    assert [p.path for p in validate(card)] == ["name"]
    with pytest.raises(UnsupportedOperationError):
        require_capability(card, "SubscribeToTask")


@pytest.mark.parametrize("stranger", [object(), "card", {"name": "x"}, official.AgentCard])
def test_anything_else_is_a_type_error(stranger: object) -> None:
    with pytest.raises(TypeError, match=r"a2a_discovery\.types"):
        as_message(stranger)


def test_a_message_of_another_library_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"lf\.a2a\.v1\.AgentCard"):
        to_dataclass(official.AgentCard())
