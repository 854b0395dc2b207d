"""``python -m bench``: this library beside a2a-sdk 1.3.0 in one run, as ratios of medians.

Rounds alternate between the two sides, so that whatever else the machine does hits both.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from statistics import median

from google.protobuf.json_format import MessageToJson

from a2a_discovery import parse_card, protojson
from bench import cache, calls, catalogs, signatures
from bench.catalogs import sdk_read
from bench.table import compare, heading, report

ROOT = Path(__file__).resolve().parent.parent
CARD = (ROOT / "tests" / "cases" / "bench_card.json").read_bytes()


def with_skills(count: int) -> bytes:
    """The bench card with ``count`` skills."""
    card = json.loads(CARD)
    card["skills"] = [{**card["skills"][i % len(card["skills"])], "id": f"skill-{i}"} for i in range(count)]
    return json.dumps(card, indent=2).encode()


def fresh_process(script: str) -> float:
    """The time that ``script`` takes in a new process, imports included, without the interpreter's own start."""
    timed = f"import time; start = time.perf_counter()\n{script}\nprint(time.perf_counter() - start)"
    command = [sys.executable, "-W", "ignore", "-c", timed]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout)


def compare_processes(name: str, ours: str, theirs: str, *, goal: float, rounds: int = 15) -> None:
    """Alternate fresh processes and print the ratio of their medians."""
    fresh_process(ours), fresh_process(theirs)  # the files are in the page cache from here on
    pairs = [(fresh_process(ours), fresh_process(theirs)) for _ in range(rounds)]
    ours_median, theirs_median = (median(side) * 1e3 for side in zip(*pairs, strict=True))
    report(name, f"{ours_median:9.1f} ms", f"{theirs_median:9.1f} ms", theirs_median / ours_median, goal)


def install(requirement: str) -> tuple[int, float]:
    """Packages, and their size in MB, of a new environment with only ``requirement`` in it."""
    with tempfile.TemporaryDirectory() as directory:
        venv.create(directory, with_pip=False)
        site = next(Path(directory).glob("lib/python*/site-packages"))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", f"--target={site}", requirement]
        subprocess.run(command, check=True, capture_output=True)
        size = sum(f.stat().st_size for f in site.rglob("*") if f.is_file())
        return len(list(site.glob("*.dist-info"))), size / 1e6


def main() -> None:
    """Print the table, or the parts of it that are named: ``python -m bench calls``."""
    parts = {
        "cards": cards,
        "cache": cache.main,
        "signatures": signatures.main,
        "catalogs": catalogs.main,
        "calls": calls.main,
    }
    heading()
    for name in sys.argv[1:] or parts:
        parts[name]()


def cards() -> None:
    """Cards, imports and installs."""
    many = with_skills(100)
    card, theirs = parse_card(CARD), sdk_read(CARD)
    compare("read and check: bench card (4 kB)", lambda: parse_card(CARD), lambda: sdk_read(CARD), goal=10)
    compare("read and check: 100 skills", lambda: parse_card(many), lambda: sdk_read(many), goal=10, repeat=3)
    compare("write: dumps, MessageToJson", lambda: protojson.dumps(card), lambda: MessageToJson(theirs), goal=5)
    compare_processes(
        "import; httpx and json_format",
        "import a2a_discovery",
        "import httpx, google.protobuf.json_format",
        goal=1 / 0.6,
    )
    path = ROOT / "tests" / "cases" / "bench_card.json"
    compare_processes(
        "import and read a card; import a2a.client",
        f"import a2a_discovery; a2a_discovery.parse_card(open({str(path)!r}, 'rb').read())",
        "import a2a.client",
        goal=1,
    )
    (ours_count, ours_size), (theirs_count, theirs_size) = install(str(ROOT)), install("a2a-sdk==1.3.0")
    report("packages of the base install", f"{ours_count}", f"{theirs_count}", 13 / ours_count, 1)
    sizes = f"{ours_size:>11.1f} MB {theirs_size:>11.1f} MB {theirs_size / ours_size:7.2f}x"
    print(f"{'size of the base install':<44} {sizes}")


if __name__ == "__main__":
    main()
