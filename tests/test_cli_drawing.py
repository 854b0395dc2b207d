"""The card as the command line draws it, on a console of the test's own."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from a2a_discovery import parse_card
from a2a_discovery._schema import fields
from a2a_discovery.cli import draw, terminal
from a2a_discovery.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from tests.cases import CASES


def drawn(card: AgentCard, width: int = 120) -> str:
    stream = io.StringIO()
    draw.draw_card(card, "here").show(Console(file=stream, width=width))
    return stream.getvalue()


def full_card() -> AgentCard:
    return parse_card((CASES / "bench_card.json").read_bytes())


@pytest.mark.parametrize("message", [AgentCard, AgentInterface, AgentCapabilities, AgentSkill])
def test_every_field_is_drawn_and_the_required_ones_are_marked(message: Any) -> None:
    rows = [line.split() for line in drawn(full_card()).splitlines()]
    for field in fields(message.DESCRIPTOR).values():
        expected = ["*", field.json_name] if field.required else [field.json_name]
        assert any(row[: len(expected)] == expected for row in rows), field.json_name


def test_an_absent_field_is_dim() -> None:
    sheet = io.StringIO()
    draw.draw_card(full_card(), "here").show(Console(file=sheet, width=120, force_terminal=True))
    assert "\x1b[2msignatures\x1b[0m" in sheet.getvalue()
    assert "\x1b[2miconUrl\x1b[0m" not in sheet.getvalue()


def test_entries_before_the_chosen_one_have_their_reason() -> None:
    card = full_card()
    card.supported_interfaces[0].protocol_version = "0.3"
    text = drawn(card)
    assert "supportedInterfaces[0]  passed over: its version is 0.3" in text
    assert "→ supportedInterfaces[1]  chosen" in text
    assert "supportedInterfaces[2]  not needed: [1] comes first" in text


def test_no_entry_may_be_usable() -> None:
    card = full_card()
    for interface in card.supported_interfaces:
        interface.protocol_version = "0.3"
    text = drawn(card)
    assert text.count("passed over") == 3
    assert "none of them can be used" in text
    assert "→ supportedInterfaces" not in text


def test_operations_are_allowed_or_refused_with_their_error() -> None:
    card = full_card()
    card.capabilities.ClearField("push_notifications")
    card.capabilities.streaming = False
    rows = {words[0]: words[1:] for line in drawn(card).splitlines() if (words := line.split())}
    assert rows["SendMessage"] == ["allowed"]
    assert rows["SubscribeToTask"] == ["refused:", "UnsupportedOperationError", "(-32004)"]
    assert rows["ListTaskPushNotificationConfigs"] == ["refused:", "PushNotificationNotSupportedError", "(-32003)"]


@pytest.mark.parametrize("width", [20, 40, 59, 60, 80, 120])
def test_lines_fit_and_nothing_is_cropped(width: int) -> None:
    text = drawn(full_card(), width)
    assert max(map(len, text.splitlines())) <= width
    assert "https://harbour.example/icons/planner.svg" in "".join(text.split())
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_line_breaks_of_a_description_stay_in_its_column() -> None:
    card = full_card()
    card.description = "First.\n\n  SendMessage refused\x85Last."
    lines = drawn(card).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("* description"))
    column = lines[start].index("First.")
    assert [line[:column].strip() for line in lines[start + 1 : start + 4]] == ["", "", ""]
    assert lines[start + 3][column:] == "Last."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1bb", "a\\x1bb"),
        ("a\u202eb", "a\\u202eb"),
        ("a\tb\r\nc", "a b c"),
        ("👩\u200d🔬", "👩\u200d🔬"),
        ("\udc80", "\\udc80"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert terminal.clean(text) == shown
