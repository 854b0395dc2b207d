"""Many things at the same time, but not too many, for both worlds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeAlias, TypeVar

import anyio

T = TypeVar("T")
R = TypeVar("R")

Progress: TypeAlias = Callable[[int, int], object]
"""Is told how many things are done, and how many there are in all."""


async def async_turn() -> None:
    """Let other tasks run, where nothing is waited for."""
    await asyncio.sleep(0)


def sync_turn() -> None:
    """Nothing: threads take turns by themselves."""


async def async_each(
    call: Callable[[T], Awaitable[R]], items: Sequence[T], *, limit: int, progress: Progress | None = None
) -> list[R]:
    """What ``call`` gives for each of ``items``, in their order; at most ``limit`` tasks are at work.

    Whatever ends it, none of its tasks is left behind; what one of them raises is raised.
    """
    results: dict[int, R] = {}
    waiting = iter(enumerate(items))

    async def work() -> None:
        for index, item in waiting:
            results[index] = await call(item)
            if progress is not None:
                progress(len(results), len(items))

    try:
        async with anyio.create_task_group() as group:
            for _ in range(min(limit, len(items))):
                group.start_soon(work)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [results[index] for index in range(len(items))]


def sync_each(call: Callable[[T], R], items: Sequence[T], *, limit: int, progress: Progress | None = None) -> list[R]:
    """The same with threads; ``progress`` is called in the caller's, and one at a time needs no other."""
    if limit == 1:
        results = []
        for item in items:
            results.append(call(item))
            if progress is not None:
                progress(len(results), len(items))
        return results
    with ThreadPoolExecutor(limit, "a2a-discovery") as pool:
        futures = [pool.submit(call, item) for item in items]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                if progress is not None:
                    progress(done, len(items))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]
