"""What the fuzzer found worth keeping, without the fuzzer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("target", TARGETS)
def test_corpus(target: str) -> None:
    files = sorted((CORPUS / target).iterdir())
    assert files
    for file in files:
        try:
            TARGETS[target](file.read_bytes())
        except Exception as exc:
            exc.add_note(f"the input is {file}")
            raise


def test_there_is_no_corpus_of_nothing() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)
