"""Server-sent events: the case file, cut in every way, and the limit."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from a2a_discovery.bindings.sse import EventSizeError, Parser, encode
from tests.cases import load

CASES = load("sse")


def read(*chunks: bytes) -> list[str]:
    parser = Parser()
    return [event.decode() for chunk in chunks for event in parser.feed(chunk)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    chunks = [base64.b64decode(chunk) for chunk in case["chunks"]]
    assert read(*chunks) == case["events"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_byte_by_byte_it_reads_the_same(case: dict[str, Any]) -> None:
    stream = b"".join(base64.b64decode(chunk) for chunk in case["chunks"])
    assert read(*(stream[i : i + 1] for i in range(len(stream)))) == case["events"]


def test_a_line_end_that_is_cut_in_two_is_one() -> None:
    assert read(b"data: A\r", b"\ndata: B\r", b"\n\r", b"\n") == ["A\nB"]


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n")).filter(lambda t: t != "")


@given(st.lists(TEXT), st.sampled_from(["\n", "\r", "\r\n"]), st.lists(st.integers(1, 40)))
def test_wherever_it_is_cut_the_events_are_the_same(texts: list[str], end: str, cuts: list[int]) -> None:
    stream = "".join(f": note{end}data: {text}{end}id: 1{end}{end}" for text in texts).encode()
    chunks, at = [], 0
    for cut in cuts:
        chunks.append(stream[at : at + cut])
        at += cut
    assert read(*chunks, stream[at:]) == texts


@given(st.lists(st.binary()))
def test_any_bytes_are_read(chunks: list[bytes]) -> None:
    parser = Parser()
    for chunk in chunks:
        parser.feed(chunk)


def test_what_is_written_is_read() -> None:
    document = {"text": "a\u2028b\u2029c\x85d"}
    written = encode(json.dumps(document, ensure_ascii=False).encode())
    assert [json.loads(data) for data in Parser().feed(written)] == [document]
    # What splits text at every line end that Unicode knows reads the same.
    assert len(written.decode().splitlines()) == 2


@pytest.mark.parametrize("line", [b"data: " + b"x" * 100, b"x" * 101, b"data: 1\n" * 60])
def test_an_event_beyond_the_limit_is_told_with_those_before_it(line: bytes) -> None:
    parser = Parser(limit=100)
    with pytest.raises(EventSizeError) as caught:
        parser.feed(b"data: A\n\n" + line)
    assert caught.value.events == [b"A"]


def test_the_limit_is_one_event_not_the_stream() -> None:
    parser = Parser(limit=100)
    assert len([event for _ in range(50) for event in parser.feed(b"data: " + b"x" * 60 + b"\n\n")]) == 50


def test_a_long_event_in_small_pieces_takes_no_time() -> None:
    parser = Parser()
    for _ in range(100_000):
        parser.feed(b"x")
    assert parser.feed(b"\ndata: A\n\n") == [b"A"]
