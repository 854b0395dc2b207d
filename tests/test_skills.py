"""Skills found by tags, words and media types (§4.4.5), and the parts that a card's modes do not take (§3.3.2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from a2a_discovery import Problem, check_parts, find_skills, types as t
from a2a_discovery._media_types import overlaps
from a2a_discovery.dataclasses import to_dataclass
from a2a_discovery.skills import skill_of
from tests.strategies import json_values
from tests.test_properties import many

CARD = t.AgentCard(
    default_input_modes=["text/plain", "application/json"],
    default_output_modes=["text/markdown"],
    skills=[
        t.AgentSkill(
            id="review",
            name="Review a change",
            description="Finds bugs; speaks of the Straße.",
            tags=["Code", " review "],
            examples=["What is wrong with this diff?"],
            input_modes=["text/x-diff"],
        ),
        t.AgentSkill(id="draw", name="Draw", description="Makes pictures.", tags=["art"], output_modes=["image/*"]),
        t.AgentSkill(id="fix", name="Fix", description="Mends code.", tags=["code", "art", "Gruß"]),
        t.AgentSkill(id="odd", name="Odd", description="Whatever.", tags=["x"], input_modes=["text"]),
    ],
)


def found(**asked: Any) -> list[str]:
    before = t.AgentCard.FromString(CARD.SerializeToString())
    ids = [skill.id for skill in find_skills(CARD, **asked)]
    assert before == CARD
    assert [skill.id for skill in find_skills(to_dataclass(CARD), **asked)] == ids
    return ids


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        ({}, ["review", "draw", "fix", "odd"]),
        ({"tags": []}, ["review", "draw", "fix", "odd"]),
        ({"tags": "code"}, ["review", "fix"]),
        ({"tags": " CODE\n"}, ["review", "fix"]),
        ({"tags": ["art", "Code"]}, ["fix"]),
        ({"tags": {"review", "code"}}, ["review"]),
        ({"tags": "GRUSS"}, ["fix"]),
        ({"tags": "cod"}, []),
        ({"tags": ""}, []),
        ({"text": ""}, ["review", "draw", "fix", "odd"]),
        ({"text": " \n"}, ["review", "draw", "fix", "odd"]),
        ({"text": "MENDS"}, ["fix"]),
        ({"text": "code"}, ["review", "fix"]),
        ({"text": "diff bugs"}, ["review"]),
        ({"text": "diff pictures"}, []),
        ({"text": "STRASSE"}, ["review"]),
        ({"text": "odd"}, ["odd"]),
        ({"text": "changeFinds"}, []),
        ({"accepts": "text/plain"}, ["draw", "fix"]),
        ({"accepts": "text/x-diff"}, ["review"]),
        ({"accepts": "Text/Plain; charset=utf-8"}, ["draw", "fix"]),
        ({"accepts": "text/*"}, ["review", "draw", "fix"]),
        ({"accepts": ["text/plain", "application/json"]}, ["draw", "fix"]),
        ({"accepts": ["text/x-diff", "application/json"]}, []),
        ({"accepts": "TEXT"}, ["odd"]),
        ({"accepts": "*/*"}, ["review", "draw", "fix"]),
        ({"accepts": ""}, []),
        ({"produces": "image/png"}, ["draw"]),
        ({"produces": "text/markdown"}, ["review", "fix", "odd"]),
        ({"produces": ["image/*", "text/*"]}, []),
        ({"tags": "art", "text": "code", "accepts": "text/plain", "produces": "text/*"}, ["fix"]),
        ({"tags": "art", "text": "code", "accepts": "text/plain", "produces": "image/png"}, []),
    ],
    ids=str,
)
def test_all_that_is_asked_has_to_fit(asked: dict[str, Any], ids: list[str]) -> None:
    assert found(**asked) == ids


@pytest.mark.parametrize("name", ["tags", "accepts", "produces"])
def test_what_is_asked_may_be_an_iterator(name: str) -> None:
    values = {"tags": ["art"], "accepts": ["text/plain"], "produces": ["image/png"]}[name]
    assert find_skills(CARD, **{name: iter(values)}) == find_skills(CARD, **{name: values}) != []


def test_a_card_without_skills_and_one_of_another_kind() -> None:
    assert find_skills(t.AgentCard()) == []
    with pytest.raises(TypeError, match="expected AgentCard"):
        find_skills(t.AgentSkill())


MODES = st.lists(st.sampled_from(["text/plain", "text/*", "image/png", "*/*", "text", "text/plain;a=b"]), max_size=3)


@many
@given(MODES, MODES, MODES)
def test_own_modes_stand_in_place_of_the_defaults(asked: list[str], own: list[str], defaults: list[str]) -> None:
    for side, name in (("input", "accepts"), ("output", "produces")):
        skill = t.AgentSkill(id="s", **{f"{side}_modes": own})
        card = t.AgentCard(skills=[skill], **{f"default_{side}_modes": defaults})
        fits = all(any(overlaps(a, mode) for mode in own or defaults) for a in asked)
        assert bool(find_skills(card, **{name: asked})) == fits


PARTS = [
    t.Part(text="x"),
    t.Part(text="x", media_type="text/x-diff"),
    t.Part(data={"struct_value": {}}),  # type: ignore[arg-type]
    t.Part(raw=b"x"),
    t.Part(url="https://h.test/x"),
    t.Part(raw=b"x", media_type="image/png"),
    t.Part(url="https://h.test/x", media_type="image/png"),
    t.Part(media_type="image/png"),
    t.Part(),
]


def refused(modes: list[str], parts: list[t.Part] = PARTS) -> list[int]:
    message = t.Message(parts=parts)
    problems = check_parts(t.AgentCard(default_input_modes=modes), message)
    assert {(p.rule, p.severity, p.source) for p in problems} <= {("mode", "error", "§3.3.2")}
    assert [p.path for p in problems] == [f"parts[{int(p.path[6:-11])}].mediaType" for p in problems]
    return [int(p.path[6:-11]) for p in problems]


@pytest.mark.parametrize(
    ("modes", "indices"),
    [
        (["*/*"], []),
        (["text/plain"], [1, 2, 5, 6, 7]),
        (["text/plain;charset=UTF-8"], [1, 2, 5, 6, 7]),
        (["text/plain;charset=latin-1"], [0, 1, 2, 5, 6, 7]),
        (["text/*", "application/json"], [5, 6, 7]),
        (["IMAGE/PNG"], [0, 1, 2]),
        (["text"], [0, 1, 2, 5, 6, 7]),
        ([], [0, 1, 2, 5, 6, 7]),
    ],
)
def test_parts_that_no_mode_accepts(modes: list[str], indices: list[int]) -> None:
    assert refused(modes) == indices


def test_a_range_in_a_part_and_what_is_no_media_type() -> None:
    parts = [t.Part(text="x", media_type=kind) for kind in ("text/*", "text", "Text", "text/plain")]
    assert refused(["text/plain"], parts) == [0, 1, 2]
    assert refused(["TEXT"], parts) == [0, 3]
    assert refused(["text/plain;a=b"], parts) == [0, 1, 2, 3]


def test_the_message_names_the_media_type_and_the_modes() -> None:
    message = t.Message(parts=[t.Part(text="x"), t.Part(raw=b"x", media_type="image/png")])
    assert check_parts(CARD, message) == [
        Problem(
            "parts[1].mediaType",
            "mode",
            "error",
            '"image/png" is no media type that the agent takes; it takes "text/plain", "application/json"',
            "§3.3.2",
        )
    ]
    (problem, _) = check_parts(CARD, message, "review")
    assert problem.message == (
        '"text/plain;charset=utf-8" is no media type that its skill "review" takes; it takes "text/x-diff"'
    )
    (problem, _) = check_parts(t.AgentCard(), message)
    assert problem.message.endswith("takes; the card names none")


def test_a_hostile_card_makes_no_long_message() -> None:
    card = t.AgentCard(default_input_modes=["x" * 1_000] * 10_000)
    (problem,) = check_parts(card, t.Message(parts=[t.Part(text="x", media_type="y" * 10_000)]))
    assert len(problem.message) < 2_000 and "and 9,980 more" in problem.message


@pytest.mark.parametrize("skill", ["fix", "draw"])
def test_a_skill_without_input_modes_has_the_defaults(skill: str) -> None:
    message = t.Message(parts=PARTS)
    assert [p.path for p in check_parts(CARD, message, skill)] == [p.path for p in check_parts(CARD, message)] != []


def test_the_modes_of_a_skill_count_for_it_only() -> None:
    message = t.Message(parts=[t.Part(text="x", media_type="text/x-diff")])
    assert check_parts(CARD, message, skill="review") == []
    assert check_parts(CARD, message) != []


@pytest.mark.parametrize("skill", ["", "Review", "nothing"])
def test_an_unknown_skill(skill: str) -> None:
    with pytest.raises(ValueError, match=f"no skill with the id '{skill}'"):
        check_parts(CARD, t.Message(), skill)
    with pytest.raises(ValueError, match=f"no skill with the id '{skill}'"):
        skill_of(CARD, skill)


def test_requests_and_dataclasses() -> None:
    message = t.Message(parts=[t.Part(text="x"), t.Part(raw=b"x", media_type="image/png")])
    request = t.SendMessageRequest(message=message)
    before = t.SendMessageRequest.FromString(request.SerializeToString())
    (problem,) = check_parts(CARD, message)
    (in_request,) = check_parts(CARD, request)
    assert (problem.path, in_request.path) == ("parts[1].mediaType", "message.parts[1].mediaType")
    assert check_parts(to_dataclass(CARD), to_dataclass(message)) == [problem]
    assert check_parts(to_dataclass(CARD), to_dataclass(request)) == [in_request]
    assert request == before
    assert check_parts(CARD, t.SendMessageRequest()) == check_parts(CARD, t.Message()) == []


@pytest.mark.parametrize("given", [t.Task(), t.Part(text="x"), "x", None])
def test_what_is_no_message(given: Any) -> None:
    with pytest.raises(TypeError):
        check_parts(CARD, given)


@many
@given(st.lists(st.text(max_size=12), max_size=3), st.text(max_size=12), json_values)
def test_no_text_of_a_card_or_a_message_is_an_exception(modes: list[str], kind: str, text: Any) -> None:
    card = t.AgentCard(
        default_input_modes=modes, skills=[t.AgentSkill(id="s", tags=modes, examples=modes, output_modes=modes)]
    )
    problems = check_parts(card, t.Message(parts=[t.Part(text=str(text), media_type=kind)]))
    assert all(isinstance(problem, Problem) for problem in problems)
    assert len(find_skills(card, tags=modes, text=" ".join(modes), accepts=modes, produces=modes)) == 1
