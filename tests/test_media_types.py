"""Media types and ranges (RFC 9110 §8.3.1, §12.5.1): what equals, covers and overlaps what."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from a2a_discovery import inspect_card
from a2a_discovery._media_types import MediaRange, covers, is_media_range, overlaps, parse
from tests.cases import CASES
from tests.test_properties import many

TOKENS = st.text("abAB01!#$%&'*+.^_`|~-", min_size=1, max_size=4)
NAMES = TOKENS.filter(lambda name: name.lower() != "q")
VALUES = st.text('aB \t;=,"\\/é€\U0001f600', max_size=4)
BLANKS = st.text(" \t", max_size=2)
PARAMETERS = st.dictionaries(NAMES, VALUES, max_size=3)
PAIRS = st.tuples(TOKENS.filter(lambda kind: kind != "*"), TOKENS) | st.just(("*", "*"))
ANYTHING = st.text(max_size=20) | st.text('aA*/;=" \\q,', max_size=12)


def quoted(value: str) -> str:
    return '"' + "".join(f"\\{c}" if c in '"\\' else c for c in value) + '"'


def written(pair: tuple[str, str], parameters: dict[str, str]) -> str:
    return "/".join(pair) + "".join(f";{name}={quoted(value)}" for name, value in parameters.items())


SPELLED = st.builds(written, PAIRS, PARAMETERS)
# Few of them, so that one often covers another.
NEAR = st.builds(
    written,
    st.sampled_from([("*", "*"), ("text", "*"), ("text", "plain"), ("TEXT", "html")]),
    st.dictionaries(st.sampled_from(["a", "B", "charset"]), st.sampled_from(["x", "X"]), max_size=2),
)
EITHER = NEAR | SPELLED | st.sampled_from(["", "text", "TEXT", "*", "*/plain", "text/plain "])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("text/plain", "TEXT/Plain"),
        ("text/plain;charset=utf-8", 'text/plain ; Charset="UTF-8"'),
        ("text/plain;a=b;c=d", "text/plain; c=d ;a=b"),
        ("text/plain;a=b", 'text/plain;a="\\b"'),
        ("text/plain", "text/plain;"),
        ("text/plain", "text/plain ; ;"),
        ("text/plain", "text/plain;q=0.5"),
        ("text/plain;a=b", "text/plain;Q=1;a=b"),
        ("application/vnd.x+json", "application/VND.X+JSON"),
    ],
)
def test_two_spellings_of_one(one: str, other: str) -> None:
    assert parse(one) == parse(other)
    assert is_media_range(one) and is_media_range(other)
    assert covers(one, other) and covers(other, one) and overlaps(one, other)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("*/*", "text/*"),
        ("*/*", "image/png;x=y"),
        ("text/*", "text/plain"),
        ("TEXT/*;charset=utf-8", "text/plain;charset=UTF-8;a=b"),
        ("text/plain", "text/plain;charset=utf-8"),
        ("text/plain;a=b", "text/plain;a=b;c=d"),
        ("*/*;a=b", "text/plain;a=b"),
    ],
)
def test_one_covers_the_other_only(wide: str, narrow: str) -> None:
    assert covers(wide, narrow) and not covers(narrow, wide)
    assert overlaps(wide, narrow) and overlaps(narrow, wide)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("text/plain", "text/html"),
        ("text/*", "image/png"),
        ("text/plain", "application/plain"),
        ("text/plain;a=b", "text/plain;a=B"),
        ("text/plain;a=b", "text/plain;c=d"),
        ("text/*;a=b", "text/plain"),
        ("application/*+json", "application/a+json"),
        ("text", "text/plain"),
        ("text", "text/*"),
        ("*/*", "text"),
        ("*/*", ""),
        ("*", "text/plain"),
        ("*", "*/*"),
        ("*/plain", "text/plain"),
    ],
)
def test_nothing_in_common(one: str, other: str) -> None:
    assert not covers(one, other) and not covers(other, one) and not overlaps(one, other) and not overlaps(other, one)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "text",
            "/",
            "text/",
            "/plain",
            "*",
            "*/plain",
            "text/plain/x",
            "text /plain",
            "text/ plain",
            " text/plain",
        ),
        *("text/plain ", "text/plain,text/html", "text/plain a=b", "text/plain;a", "text/plain;a=", "text/plain;=b"),
        *("text/plain;a =b", "text/plain;a= b", 'text/plain;a="b', 'text/plain;a="b"c', 'text/plain;a="\\"'),
        *('text/plain;a="\n"', "text/plain\n", "téxt/plain", "text/plain;a=é"),
    ],
)
def test_what_is_no_media_type_equals_only_itself(text: str) -> None:
    assert not is_media_range(text)
    assert parse(text) == MediaRange(text.casefold())
    assert covers(text, text.upper().lower()) and overlaps(text, text)
    for other in ("*/*", "text/plain", f"{text}x"):
        assert not overlaps(text, other)


@pytest.mark.parametrize("mode", ["text/plain", "*/*", "text", "*/plain", "text/plain;a = b", "text/plain;a=", "a%/b"])
def test_a_card_is_warned_of_what_is_none_and_of_nothing_else(mode: str) -> None:
    document = json.loads((CASES / "bench_card.json").read_bytes()) | {"defaultInputModes": ["text/plain", mode]}
    warned = [problem.path for problem in inspect_card(document).warnings if "Modes" in problem.path]
    assert warned == ([] if is_media_range(mode) else ["defaultInputModes[1]"])


def test_case_does_not_count_in_what_is_no_media_type_either() -> None:
    assert covers("Text", "tEXT") and covers("Straße", "STRASSE")


@many
@given(PAIRS, PARAMETERS, st.lists(BLANKS, min_size=12, max_size=12), st.booleans())
def test_every_spelling_is_read(pair: tuple[str, str], parameters: dict[str, str], blanks: list[str], up: bool) -> None:
    blank = iter(blanks)
    text = "/".join(pair)
    for name, value in parameters.items():
        plain = value and all(c in "aB" for c in value)
        text += f"{next(blank)};{next(blank)}{name.upper() if up else name}={value if plain else quoted(value)}"
    text += f"{next(blank)};{next(blank)}q=0.1"
    known = frozenset(
        (name.lower(), value.lower() if name.lower() == "charset" else value) for name, value in parameters.items()
    )
    assert parse(text) == MediaRange(pair[0].lower(), pair[1].lower(), known)


@many
@given(EITHER, EITHER, EITHER)
def test_to_cover_is_an_order(a: str, b: str, c: str) -> None:
    assert covers(a, a)
    if covers(a, b) and covers(b, c):
        assert covers(a, c)
    assert (covers(a, b) and covers(b, a)) == (parse(a) == parse(b))
    assert overlaps(a, b) == overlaps(b, a) == (covers(a, b) or covers(b, a))


@many
@given(ANYTHING)
def test_no_text_is_an_exception(text: str) -> None:
    read = parse(text)
    assert is_media_range(text) == bool(read.subtype)
    assert covers(text, text) and overlaps(read, text)
    assert covers("*/*", text) == is_media_range(text)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "a/" + "b" * 1_000_000 + "é",
        "a/b" + ";" * 1_000_000 + "é",
        "a/b" + " " * 1_000_000 + "é",
        "a/b" + " ;" * 500_000 + " é",
        "a/b" + ";a=b" * 300_000 + "é",
        "a/b;" + "c" * 1_000_000,
        'a/b;c="' + "\\" * 1_000_000,
        'a/b;c="' + 'd\\"' * 300_000,
        'a/b;c=""' * 200_000,
    ],
    ids=lambda text: f"{text[:8]}...",
)
def test_a_hostile_text_is_read_in_one_pass(text: str) -> None:
    # One that goes back over what it read would take hours for any of these.
    assert not is_media_range(text) and parse(text) == MediaRange(text.casefold())
