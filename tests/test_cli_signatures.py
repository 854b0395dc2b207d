"""Signed cards on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import protojson, sign_card
from a2a_discovery._canonical import canonical_form
from tests.commands import UNSAFE, cli
from tests.signatures.common import CARD, EC, document, jwks, public, signature, signed

BENCH_CARD = Path(__file__).parent / "cases" / "bench_card.json"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return written(tmp_path / "keys.json", jwks(public(EC)))


def written(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def card(tmp_path: Path) -> Path:
    path = tmp_path / "card.json"
    path.write_bytes(protojson.dumps(sign_card(CARD, EC, kid="k1")))
    return path


def test_a_verified_card_is_drawn_with_the_outcome(card: Path, keys: Path) -> None:
    done = cli("card", "get", card, "--keys", keys)
    assert (done.returncode, done.stderr) == (0, "")
    assert "signature: verified (ES256, kid k1, form section-8.4.1)" in done.stdout
    assert "signature: " not in cli("card", "get", card).stdout


def test_keys_as_pem(card: Path, tmp_path: Path) -> None:
    pem = tmp_path / "key.pem"
    pem.write_bytes(EC.as_pem(private=False))
    assert cli("card", "check", card, "--keys", pem).stdout == (
        f"{card}: valid, no problems; signature verified (ES256, kid k1, form section-8.4.1)\n"
    )


def test_json_has_the_card_that_is_covered_and_the_outcome(tmp_path: Path, keys: Path) -> None:
    made = signed(None, {}, signature(document())) | {"iconUrl": document()["iconUrl"]}
    got = json.loads(cli("card", "get", written(tmp_path / "c.json", made), "--keys", keys, "-o", "json").stdout)
    assert got["card"] == protojson.to_dict(CARD)
    assert got["verification"] == {
        "outcome": "verified",
        "accepted": True,
        "form": "section-8.4.1",
        "signatures": [
            {
                "index": 0,
                "outcome": "invalid",
                "reason": 'it has no "protected" and "signature" in base64url',
                "alg": None,
                "kid": None,
                "form": None,
            },
            {"index": 1, "outcome": "verified", "reason": "", "alg": "ES256", "kid": "k1", "form": "section-8.4.1"},
        ],
    }
    checked = json.loads(cli("card", "check", tmp_path / "c.json", "--keys", keys, "-o", "json").stdout)
    assert checked["verification"] == got["verification"]
    assert {p["path"] for p in checked["problems"]} == {"signatures[0].protected", "signatures[0].signature"}


@pytest.mark.parametrize("command", ["get", "check"])
def test_a_card_that_is_not_signed_is_refused_where_that_is_demanded(command: str, keys: Path) -> None:
    done = cli("card", command, BENCH_CARD, "--keys", keys)
    assert (done.returncode, done.stderr) == (1, f"a2a-discovery: the card from {BENCH_CARD} is not signed\n")
    taken = cli("card", command, BENCH_CARD, "--keys", keys, "--signatures", "if-present")
    assert (taken.returncode, taken.stderr) == (0, "")
    assert "signature: none" in taken.stdout or "signature none" in taken.stdout
    assert cli("card", command, BENCH_CARD, "--keys", keys, "--signatures", "off").returncode == 0


@pytest.mark.parametrize("command", ["get", "check"])
@pytest.mark.parametrize("policy", ["require", "if-present"])
def test_a_card_that_was_changed_is_refused(command: str, policy: str, tmp_path: Path, keys: Path) -> None:
    card = written(tmp_path / "card.json", signed() | {"name": "Mallory"})
    done = cli("card", command, card, "--keys", keys, "--signatures", policy)
    assert done.returncode == 1
    assert "[0] invalid: " in done.stderr
    outcome = json.loads(cli("card", "check", card, "--keys", keys, "-o", "json").stdout)["verification"]
    assert (outcome["outcome"], outcome["accepted"]) == ("invalid", False)


@pytest.mark.parametrize("command", ["get", "check"])
def test_verified_bytes_that_hold_no_valid_card(command: str, tmp_path: Path, keys: Path) -> None:
    made = document() | {"capabilities": {}}
    card = written(tmp_path / "card.json", signed(made, payload=canonical_form(made, "sdk")))
    done = cli("card", command, card, "--keys", keys)
    assert done.returncode == 1
    assert "capabilities" in done.stdout + done.stderr
    assert cli("card", command, card).returncode == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--signatures", "require"], "needs --keys FILE"),
        (["--keys", "missing.json"], "cannot be read"),
        (["--keys", str(BENCH_CARD)], "holds no keys"),
        (["--signatures", "always"], "always"),
    ],
)
def test_what_cannot_be_meant(options: list[str], message: str, card: Path) -> None:
    done = cli("card", "get", card, *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_nothing_of_a_signature_reaches_the_terminal_as_it_is(tmp_path: Path, keys: Path) -> None:
    kid = "".join(UNSAFE)
    made = signed(header={"alg": "ES256", "kid": kid})
    written(keys, jwks(public(EC, kid)))
    for command in ("get", "check"):
        done = cli("card", command, written(tmp_path / "card.json", made), "--keys", keys)
        assert done.returncode == 0
        assert not set(UNSAFE) & set(done.stdout + done.stderr)
