"""Ordered selection (§8.3.2)."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from a2a_discovery import NoSupportedInterfaceError, Support, UrlPolicy, parse_card, select_interface
from a2a_discovery.interfaces import major_minor, similar_binding
from a2a_discovery.types import AgentCard, AgentInterface
from tests.cases import body, load
from tests.interop.sdk import a2a_pb2 as official

SELECTED = [c for c in load("cards") if "select" in c]


def card(*interfaces: tuple[str, str, str]) -> AgentCard:
    names = ("url", "protocol_binding", "protocol_version")
    return AgentCard(supported_interfaces=[AgentInterface(**dict(zip(names, i, strict=True))) for i in interfaces])


@pytest.mark.parametrize("case", SELECTED, ids=lambda c: c["name"])
def test_cases(case: dict[str, Any]) -> None:
    support = Support({b: ["1.0"] for b in case["support"]}) if "support" in case else None
    parsed = parse_card(body(case))
    if case["select"] is None:
        with pytest.raises(NoSupportedInterfaceError) as caught:
            select_interface(parsed, support)
        assert [s.index for s in caught.value.skipped] == list(range(len(parsed.supported_interfaces)))
        return
    selection = select_interface(parsed, support)
    assert selection.index == case["select"]
    assert selection.interface == parsed.supported_interfaces[selection.index]
    assert [s.index for s in selection.skipped] == list(range(selection.index))


def test_reasons_say_what_was_found_and_what_is_spoken() -> None:
    interfaces = card(
        ("https://a.test", "jsonrpc", "1.0"),
        ("https://a.test", "urn:ws", "1.0"),
        ("https://a.test", "JSONRPC", "0.3"),
        ("https://a.test", "JSONRPC", "latest"),
        ("http://a.test", "JSONRPC", "1.0"),
    )
    with pytest.raises(NoSupportedInterfaceError) as caught:
        select_interface(interfaces, Support({"JSONRPC": ["1.0"]}))
    reasons = [s.reason for s in caught.value.skipped]
    assert reasons[0].endswith("was JSONRPC meant?")
    assert reasons[1] == "its binding is 'urn:ws', and this client speaks JSONRPC"
    assert reasons[2] == "its version is 0.3, and this client speaks 1.0 over JSONRPC"
    assert "not Major.Minor" in reasons[3]
    assert "TLS" in reasons[4]
    assert "[4]" in str(caught.value)


def test_a_card_without_interfaces() -> None:
    with pytest.raises(NoSupportedInterfaceError, match="no interface at all"):
        select_interface(card())


def test_binding_and_version_are_looked_at_together() -> None:
    interfaces = card(("https://a.test", "JSONRPC", "1.1"), ("https://b.test", "HTTP+JSON", "1.1"))
    assert select_interface(interfaces, Support({"JSONRPC": ["1.0"], "HTTP+JSON": ["1.1"]})).index == 1


def test_the_policy_decides_about_the_url() -> None:
    interfaces = card(("http://a.test", "JSONRPC", "1.0"), ("https://b.test", "JSONRPC", "1.0"))
    assert select_interface(interfaces).index == 1
    assert select_interface(interfaces, policy=UrlPolicy(allow_http=True)).index == 0


def test_the_policy_knows_where_the_card_came_from() -> None:
    interfaces = card(("http://a.test", "JSONRPC", "1.0"), ("https://b.test", "JSONRPC", "1.0"))
    selection = select_interface(interfaces, policy=UrlPolicy().within("https://a.test/card.json"))
    assert selection.index == 1 and "X-Forwarded-Proto" in selection.skipped[0].reason
    with pytest.raises(NoSupportedInterfaceError, match="and same_origin is asked for"):
        select_interface(interfaces, policy=UrlPolicy(same_origin=True).within("https://a.test/card.json"))


def test_the_selection_is_a_copy() -> None:
    interfaces = card(("https://a.test", "JSONRPC", "1.0"))
    before = copy.deepcopy(interfaces)
    select_interface(interfaces).interface.tenant = "other"
    assert interfaces == before


def test_support_is_immutable() -> None:
    bindings = {"JSONRPC": ["1.0"]}
    support = Support(bindings)
    bindings["JSONRPC"].append("2.0")
    bindings["GRPC"] = ["1.0"]
    assert dict(support.bindings) == {"JSONRPC": ("1.0",)}
    with pytest.raises(TypeError):
        support.bindings["GRPC"] = ("1.0",)  # type: ignore[index]


def test_support_takes_major_minor_only() -> None:
    assert dict(Support({"JSONRPC": "1.0"}).bindings) == {"JSONRPC": ("1.0",)}
    for version in ("1", "1.0.1", "", "latest", 1.0):
        with pytest.raises(ValueError, match=r"not Major\.Minor"):
            Support({"JSONRPC": [version]})  # type: ignore[list-item]


@pytest.mark.parametrize("bindings", ["JSONRPC", ["JSONRPC"], None])
def test_support_takes_a_mapping(bindings: object) -> None:
    with pytest.raises(TypeError, match="mapping"):
        Support(bindings)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Support"):
        select_interface(AgentCard(), {"JSONRPC": ["1.0"]})  # type: ignore[arg-type]


def test_support_survives_copying_and_pickling() -> None:
    support = Support({"JSONRPC": ["1.0"], "GRPC": ["1.0"]})
    for again in (copy.copy(support), copy.deepcopy(support), pickle.loads(pickle.dumps(support))):
        assert again == support
        assert isinstance(again.bindings, type(support.bindings))


@pytest.mark.parametrize("stranger", [AgentInterface(), None, {"supportedInterfaces": []}, official.AgentCard()])
def test_what_is_no_card_is_a_type_error(stranger: object) -> None:
    with pytest.raises(TypeError, match=r"AgentCard|a2a_discovery\.types"):
        select_interface(stranger)


def test_default_support_is_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dict(Support.default().bindings) == dict.fromkeys(["JSONRPC", "HTTP+JSON", "GRPC"], ("1.0",))
    monkeypatch.setattr("a2a_discovery.interfaces.find_spec", lambda name: None)
    assert "GRPC" not in Support.default().bindings


@pytest.mark.parametrize(
    ("version", "plain"),
    [("1.0", "1.0"), ("1.0.1", "1.0"), ("0.3", "0.3"), ("12.34.56", "12.34")]
    + [
        (v, None)
        for v in ("1", "", "01.0", "1.00", "1.0rc1", "1.0.x", "v1.0", " 1.0", "1.0 ", "1.0\n", "١.0", "1.0.0.0")
    ],
)
def test_major_minor(version: str, plain: str | None) -> None:
    assert major_minor(version) == plain


@pytest.mark.parametrize(
    ("name", "meant"),
    [("json-rpc", "JSONRPC"), ("jsonrpc 2.0", "JSONRPC"), ("gRPC", "GRPC"), ("http+json", "HTTP+JSON"), ("REST", "HTTP+JSON"), ("ws", None)],
)  # fmt: skip
def test_similar_bindings(name: str, meant: str | None) -> None:
    assert similar_binding(name) == meant
