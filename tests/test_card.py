"""Cards: what is accepted, what is rejected, and what is said about it."""

from __future__ import annotations

import copy
import json
import sys
from typing import Any

import pytest

from a2a_discovery import CardError, inspect_card, parse_card
from a2a_discovery.card import MAX_CARD_BYTES
from tests.cases import CASES, body, load

CARDS = load("cards")
GOOD: dict[str, Any] = json.loads((CASES / "bench_card.json").read_bytes())


def changed(**members: Any) -> dict[str, Any]:
    return copy.deepcopy(GOOD) | members


def found(data: Any) -> set[tuple[str, str, str]]:
    return {(p.severity, p.path, p.rule) for p in inspect_card(data).problems}


@pytest.mark.parametrize("case", CARDS, ids=lambda c: c["name"])
def test_cases(case: dict[str, Any]) -> None:
    data = body(case)
    report = inspect_card(data)
    assert {(p, r) for p, r in case["problems"]} <= {(p.path, p.rule) for p in report.errors}
    assert {(p, r) for p, r in case.get("warnings", [])} <= {(p.path, p.rule) for p in report.warnings}
    if case["expect"] == "accept":
        assert parse_card(data) == report.card
        assert not report.errors
    else:
        assert report.card is None
        with pytest.raises(CardError) as caught:
            parse_card(data)
        assert caught.value.problems == report.problems


@pytest.mark.parametrize("case", [c for c in CARDS if "body" in c], ids=lambda c: c["name"])
def test_decoded_documents_are_read_like_text(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case["body"])
    assert inspect_card(case["body"]) == inspect_card(body(case))
    assert case["body"] == before


@pytest.mark.parametrize("case", [c for c in CARDS if "raw" not in c], ids=lambda c: c["name"])
def test_text_and_bytes_are_read_alike(case: dict[str, Any]) -> None:
    data = body(case)
    assert inspect_card(data.decode()) == inspect_card(bytearray(data)) == inspect_card(memoryview(data))  # type: ignore[arg-type]


def test_every_message_names_what_was_found_and_what_to_write() -> None:
    for case in CARDS:
        for problem in inspect_card(body(case)).errors:
            assert problem.source
            assert problem.message[0].islower()
            assert "lf.a2a" not in problem.message
            if problem.rule == "required":
                assert "write" in problem.message


def test_a_good_card_has_nothing_to_say() -> None:
    assert found(json.dumps(GOOD)) == set()


def test_the_message_of_an_old_card_holds_the_new_form() -> None:
    case = next(c for c in CARDS if c["name"] == "a 0.3 card")
    problems = {p.path: p.message for p in inspect_card(case["body"]).problems}
    assert '{"url": "https://agent.test/v03", "protocolBinding": "JSONRPC"' in problems["supportedInterfaces"]
    assert '{"url": "https://agent.test/rest", "protocolBinding": "HTTP+JSON"' in problems["supportedInterfaces"]
    assert "extendedAgentCard" in problems["supportsAuthenticatedExtendedCard"]
    assert "protocolBinding" in problems["preferredTransport"]


@pytest.mark.parametrize(
    ("scheme", "instead"),
    [
        ({"type": "http", "scheme": "bearer"}, '{"httpAuthSecurityScheme": {"scheme": "bearer"}}'),
        (
            {"type": "apiKey", "in": "header", "name": "K"},
            '{"apiKeySecurityScheme": {"location": "header", "name": "K"}}',
        ),
        ({"type": "mutualTLS"}, '{"mtlsSecurityScheme": {}}'),
        (
            {"type": "openIdConnect", "openIdConnectUrl": "u"},
            '{"openIdConnectSecurityScheme": {"openIdConnectUrl": "u"}}',
        ),
        ({"type": "oauth2", "flows": {}}, '{"oauth2SecurityScheme": {"flows": {}}}'),
        ({"type": "passkey"}, "one of the kinds of 1.0"),
    ],
)
def test_old_schemes_are_errors_that_say_the_new_form(scheme: dict[str, Any], instead: str) -> None:
    report = inspect_card(changed(securitySchemes={"s": scheme, "keycloak": {}, "terminalKey": {}}))
    (problem,) = report.errors
    assert (problem.path, problem.rule) == ('securitySchemes["s"]', "legacy")
    assert instead in problem.message


def test_an_api_key_whose_place_has_its_old_name() -> None:
    scheme = {"apiKeySecurityScheme": {"in": "header", "name": "K"}}
    report = inspect_card(changed(securitySchemes={**GOOD["securitySchemes"], "s": scheme}))
    (problem,) = report.problems
    assert problem.path == 'securitySchemes["s"].apiKeySecurityScheme.location'
    assert '"in", the name of 0.3, stands in its place: rename it, "header"' in problem.message


def test_a_flag_that_is_gone() -> None:
    card = changed(capabilities={"stateTransitionHistory": True})
    assert found(card) == {("warning", "capabilities.stateTransitionHistory", "legacy")}


def test_a_new_scheme_may_keep_its_old_type_beside() -> None:
    scheme = {"type": "http", "httpAuthSecurityScheme": {"scheme": "bearer"}}
    card = parse_card(changed(securitySchemes={"s": scheme}, securityRequirements=[]))
    assert card.security_schemes["s"].http_auth_security_scheme.scheme == "bearer"


def test_an_old_requirement_in_a_skill() -> None:
    card = changed()
    card["skills"][1]["securityRequirements"] = [{"keycloak": []}]
    card["skills"][0]["security"] = [{"keycloak": []}]
    assert found(card) == {
        ("error", "skills[1].securityRequirements[0]", "legacy"),
        ("warning", "skills[0].security", "legacy"),
    }


def test_an_empty_requirement_is_anonymous_and_fine() -> None:
    assert found(changed(securityRequirements=[{}, {"schemes": {}}])) == set()


def test_security_at_the_top_is_a_warning() -> None:
    assert found(changed(security=[{"a": []}])) == {("warning", "security", "legacy")}


@pytest.mark.parametrize(
    ("members", "path", "rule"),
    [
        ({"defaultOutputModes": ["text/plain; charset=utf-8", "json"]}, "defaultOutputModes[1]", "value"),
        ({"documentationUrl": "javascript:alert(1)"}, "documentationUrl", "url"),
        ({"provider": {"organization": "o", "url": "/x"}}, "provider.url", "url"),
        (
            {"securitySchemes": {"keycloak": GOOD["securitySchemes"]["keycloak"], "terminalKey": {"apiKeySecurityScheme": {"location": "body", "name": "n"}}}},
            'securitySchemes["terminalKey"].apiKeySecurityScheme.location',
            "value",
        ),
        (
            {"securitySchemes": {"terminalKey": GOOD["securitySchemes"]["terminalKey"], "keycloak": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "http://id.test/x"}}}},
            'securitySchemes["keycloak"].openIdConnectSecurityScheme.openIdConnectUrl',
            "url",
        ),
        ({"skills": [GOOD["skills"][0], GOOD["skills"][0]]}, "skills[1].id", "value"),
        ({"supportedInterfaces": [{"url": "https://a.test", "protocolBinding": "grpc", "protocolVersion": "1.0"}]}, "supportedInterfaces[0].protocolBinding", "value"),
        ({"securityRequirements": [{"schemes": {"a": {"list": []}}}]}, 'securityRequirements[0].schemes["a"]', "reference"),
        ({"securityRequirements": [{"unheardOf": {"a": 1}}]}, "securityRequirements[0]", "value"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)  # fmt: skip
def test_advice(members: dict[str, Any], path: str, rule: str) -> None:
    report = inspect_card(changed(**members))
    assert report.card is not None
    assert {(p.path, p.rule) for p in report.problems} == {(path, rule)}


def test_absent_scopes_are_read_as_empty() -> None:
    flows = {"clientCredentials": {"tokenUrl": "https://t.test"}}
    card = changed(securitySchemes={**GOOD["securitySchemes"], "o": {"oauth2SecurityScheme": {"flows": flows}}})
    assert found(card) == {
        ("warning", 'securitySchemes["o"].oauth2SecurityScheme.flows.clientCredentials.scopes', "value")
    }


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"securitySchemes": {"b": {}, "b": {}}}', 'securitySchemes["b"]'),
        ('{"skills": [{}, {"id": "a", "id": "a"}]}', "skills[1].id"),
        ('{"name": "a", "n\\u0061me": "b"}', "name"),
        ('{"capabilities": {"extensions": [{"params": {"a": {"b": 1, "b": 2}}}]}}', 'capabilities.extensions[0].params["a"]["b"]'),
        ('{"x-unknown": {"a b": [{"c": 1, "c": 1}]}}', '["x-unknown"]["a b"][0].c'),
        ('{"name" : "with \\" and : {", "name"\n:\t"x"}', "name"),
    ],
)  # fmt: skip
def test_keys_that_stand_twice_are_named(text: str, path: str) -> None:
    assert ("error", path, "duplicate") in found(text)


def test_lenient_reading_returns_what_could_be_read() -> None:
    card = parse_card(
        {"name": 7, "description": "d", "skills": ["s", {"id": "a"}], "defaultInputModes": ["a/b", None]}, strict=False
    )
    assert (card.name, card.description) == ("", "d")
    assert [s.id for s in card.skills] == ["a"]
    assert list(card.default_input_modes) == ["a/b"]
    for nothing in (b"[]", b"{", "null", b""):
        with pytest.raises(CardError):
            parse_card(nothing, strict=False)


def test_the_error_reads_well() -> None:
    with pytest.raises(CardError) as caught:
        parse_card({**GOOD, "name": "", "skills": []})
    lines = str(caught.value).splitlines()
    assert lines[0] == "AgentCard is not valid, 2 problems:"
    assert lines[1].strip().startswith("name: this REQUIRED field is empty; write")
    assert len(lines) == 3


def big_card(skills: int, size: int) -> bytes:
    skill = GOOD["skills"][0]
    spare = (size - len(json.dumps(GOOD))) // skills - len(json.dumps({**skill, "id": "plan-12345"})) - 2
    many = [
        {**skill, "id": f"plan-{i:05}", "examples": [*skill["examples"], "x" * max(spare, 0)]} for i in range(skills)
    ]
    return json.dumps(changed(skills=many)).encode()


def test_a_card_of_two_mebibytes() -> None:
    data = big_card(5000, 2 * 1024 * 1024)
    assert len(data) > 2 * 1024 * 1024
    assert len(parse_card(data).skills) == 5000
    assert inspect_card(data).problems == ()


def test_a_card_that_is_too_large() -> None:
    assert found(b" " * (MAX_CARD_BYTES + 1)) == {("error", "", "size")}


def test_problems_are_bounded_and_no_error_is_lost_among_warnings() -> None:
    report = inspect_card(changed(defaultInputModes=["x"] * 50_000, name=7))
    assert len(report.problems) < 10_100
    assert [p.path for p in report.errors] == ["name"]
    assert len(inspect_card({"skills": [1] * 300_000}).errors) < 10_100
    skill = {"id": "a", "name": "a", "description": "a", "tags": ["a"], "input_modes": []}
    report = inspect_card(changed(skills=[skill] * 10_500 + [{**skill, "id": ""}]))
    assert [p.path for p in report.errors] == ["skills[10500].id"]


def test_long_keys_do_not_swell_the_paths() -> None:
    card = changed(securityRequirements=[{"schemes": {"k" * 100_000: {"list": [1] * 1000}}}])
    report = inspect_card(card)
    assert len(report.errors) == 1000
    assert max(len(p.path) + len(p.message) for p in report.problems) < 1000
    assert len(str(CardError(report.problems))) < 100_000
    deep = ('{"' + "k" * 118 + '-":') * 900 + "[" + ",".join(['{"a":1,"a":1}'] * 500) + "]" + "}" * 900
    report = inspect_card(deep)
    assert len({p.path for p in report.errors if p.rule == "duplicate"}) == 500
    assert len(str(CardError(report.problems))) < 100_000
    text = '{"' + "x" * 10_000 + '": {"a": 1, "a": 2}}'
    assert max(len(p.path) for p in inspect_card(text).errors) < 200
    assert max(len(p.path) for p in report.errors) <= 601


@pytest.mark.parametrize("old", ["url", "preferredTransport", "security", "supportsAuthenticatedExtendedCard"])
def test_any_old_name_without_interfaces_is_an_error(old: str) -> None:
    card = {name: value for name, value in GOOD.items() if name != "supportedInterfaces"} | {old: "https://a.test"}
    report = inspect_card(card)
    assert {(p.path, p.rule) for p in report.errors} == {("supportedInterfaces", "required"), (old, "legacy")}
    assert all("[]," not in p.message for p in report.errors)


def test_a_deep_or_cyclic_document_is_bounded() -> None:
    cycle: dict[str, Any] = {}
    cycle["a"] = cycle
    card = changed(capabilities={"extensions": [{"uri": "u", "params": cycle}]})
    assert found(card) == {("error", "capabilities.extensions[0].params", "depth")}
    # Near the end of the stack too, and in a member that nobody reads.
    depth = sys.getrecursionlimit() - 200

    def below(frames: int) -> set[tuple[str, str, str]]:
        return below(frames - 1) if frames else found(json.dumps(changed()))

    assert below(depth - 150) == set()
    for open_, close in (("[", "]"), ('{"a":', "}")):
        for count in (500, 1000, 5000):
            text = json.dumps(changed())[:-1] + ', "x": ' + open_ * count + "1" + close * count + "}"
            assert {rule for _, _, rule in found(text)} <= {"syntax"}


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 10**400, b"x", object(), {1: 2}, "\ud800", {"\ud800": 1}]
)
def test_decoded_documents_with_what_json_has_not(value: Any) -> None:
    report = inspect_card(changed(capabilities={"extensions": [{"uri": "u", "params": {"a": value}}]}))
    assert report.card is None
    assert all(p.path.startswith("capabilities.extensions[0].params") for p in report.errors)
    assert inspect_card(changed(name=value)).card is None
    assert inspect_card(changed(securitySchemes={"\ud800": {}})).card is None


def test_the_report_knows_where_the_card_came_from() -> None:
    data = changed(
        supportedInterfaces=[{"url": "http://a.test", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    )
    (warning,) = inspect_card(data, card_url="https://a.test/card.json").warnings
    assert warning.path == "supportedInterfaces[0].url" and "X-Forwarded-Proto" in warning.message
    (warning,) = inspect_card(data, card_url="https://b.test/card.json").warnings
    assert "X-Forwarded-Proto" not in warning.message
