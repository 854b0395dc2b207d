"""A directory of 10,000 cards, read, checked and searched; beside it a2a-sdk parses and validates the same files.

One of the cards is bad, so that what is measured passes it over. Memory is what Python and protobuf ask the system for
while the cards are kept: the resident size of a process of its own, with and without them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from a2a_discovery.sync import Catalog
from bench.table import report

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its generated code is older than the protobuf runtime
    from a2a.client.card_resolver import parse_agent_card
    from a2a.utils.proto_utils import validate_proto_required_fields

ROOT = Path(__file__).resolve().parent.parent
CARD = json.loads((ROOT / "tests" / "cases" / "bench_card.json").read_bytes())
CARDS = 10_000
BAD = 4321
TAGS = [f"tag-{number}" for number in range(50)]
MODES = ["text/plain", "application/json", "image/png", "text/csv"]

_OURS = "from a2a_discovery.sync import Catalog; kept = Catalog.from_directory(sys.argv[1])"
_THEIRS = "from bench.catalogs import sdk_read_all, Path; kept = sdk_read_all(Path(sys.argv[1]))"
_GROWTH = """
import gc, sys
def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096
{warm_up}
before = resident()
{work}
print(resident() - before)
"""


def generate(directory: Path) -> None:
    """The cards: names, tags and modes of one differ from those of the next."""
    for number in range(CARDS):
        skills = [
            {
                **skill,
                "id": f"skill-{number}-{place}",
                "tags": [*skill["tags"], TAGS[(number * 7 + place) % len(TAGS)]],
                "outputModes": [MODES[(number + place) % len(MODES)]],
            }
            for place, skill in enumerate(CARD["skills"])
        ]
        card = {**CARD, "name": f"Planner {number}", "skills": skills}
        if number == BAD:
            card["name"] = number
        (directory / f"{number:05}.json").write_text(json.dumps(card, indent=2))


def sdk_read(data: bytes) -> Any:
    """What a2a-sdk does to have a card that is read and checked."""
    card = parse_agent_card(json.loads(data))
    validate_proto_required_fields(card)
    return card


def sdk_read_all(directory: Path) -> list[Any]:
    """The same for the cards of a directory."""
    cards = []
    for path in sorted(directory.glob("*.json")):
        try:
            cards.append(sdk_read(path.read_bytes()))
        except Exception:  # noqa: S112 - whatever it raises, the card is bad
            continue
    return cards


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that a call takes, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def growth(work: str, directory: Path, few: Path) -> int:
    """By how many bytes a process grows that keeps the cards of ``directory``, once it has kept those of ``few``."""
    warm_up = work.replace("sys.argv[1]", "sys.argv[2]")
    script = _GROWTH.format(warm_up=warm_up, work=work)
    command = [sys.executable, "-W", "ignore", "-c", script, str(directory), str(few)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout)


def main() -> None:
    """Speed, memory and searches."""
    with tempfile.TemporaryDirectory() as many, tempfile.TemporaryDirectory() as few:
        directory = Path(many)
        generate(directory)
        for path in sorted(directory.iterdir())[:100]:
            (Path(few) / path.name).write_bytes(path.read_bytes())
        sdk_read_all(Path(few))
        rounds = [
            (timed(lambda: Catalog.from_directory(directory)), timed(lambda: sdk_read_all(directory))) for _ in range(3)
        ]
        ours, theirs = (min(seconds for seconds, _ in side) for side in zip(*rounds, strict=True))
        catalog = rounds[0][0][1]
        bad = [Path(failure.reference).name for failure in catalog.failures]
        assert (len(catalog), bad) == (CARDS - 1, [f"{BAD:05}.json"])
        name = f"read {CARDS:,} cards of a directory, per second"
        report(name, f"{CARDS / ours:,.0f}", f"{CARDS / theirs:,.0f}", theirs / ours, 4)
        ours, theirs = (growth(work, directory, Path(few)) / CARDS for work in (_OURS, _THEIRS))
        report("memory per card (resident)", f"{ours / 1e3:.1f} kB", f"{theirs / 1e3:.1f} kB", theirs / ours, 0.75)
        took = [timed(lambda: catalog.find(tags=["tag-3"], produces=["text/csv"])) for _ in range(5)]
        assert took[0][1]
        print(
            f"{f'find by tag and mode in {CARDS:,} cards':<44} {median(seconds for seconds, _ in took) * 1e3:>11.1f} ms"
        )
