"""What the measurements share: rounds that alternate between the two sides, and one line per result.

A ratio above 1 means that this library is faster (or, for the install, smaller).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from statistics import median

ROUNDS = 60

Sides = list[tuple[float, float]]


def heading() -> None:
    """The first line."""
    print(f"{'':<44} {'a2a-discovery':>14} {'the other':>14}   ratio", flush=True)


def report(name: str, ours: str, theirs: str, ratio: float, goal: float) -> None:
    """One line of the table; a ``goal`` of 0 is none."""
    verdict = f"  goal {goal:5.2f}x  {'ok' if ratio >= goal else 'TOO SLOW'}" if goal else ""
    print(f"{name:<44} {ours:>14} {theirs:>14} {ratio:7.2f}x{verdict}", flush=True)


def seconds(call: Callable[[], object], repeat: int) -> float:
    """The time of one call, in seconds, over ``repeat`` of them."""
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - start) / repeat


async def async_seconds(call: Callable[[], Awaitable[object]], repeat: int) -> float:
    """The same for a coroutine function."""
    start = time.perf_counter()
    for _ in range(repeat):
        await call()
    return (time.perf_counter() - start) / repeat


def conclude(name: str, pairs: Sides, goal: float) -> None:
    """The ratio of the medians of microseconds."""
    ours, theirs = (median(side) * 1e6 for side in zip(*pairs, strict=True))
    report(name, f"{ours:9.1f} µs", f"{theirs:9.1f} µs", theirs / ours, goal)


def compare(
    name: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    goal: float,
    repeat: int = 20,
    rounds: int = ROUNDS,
) -> None:
    """Alternate the two and print the ratio of their medians."""
    ours(), theirs()
    conclude(name, [(seconds(ours, repeat), seconds(theirs, repeat)) for _ in range(rounds)], goal)


async def compare_async(
    name: str,
    ours: Callable[[], Awaitable[object]],
    theirs: Callable[[], Awaitable[object]],
    *,
    goal: float,
    repeat: int = 100,
    rounds: int = 30,
) -> None:
    """The same for coroutine functions."""
    await ours(), await theirs()
    pairs = [(await async_seconds(ours, repeat), await async_seconds(theirs, repeat)) for _ in range(rounds)]
    conclude(name, pairs, goal)
