"""What the sample agents do: little, but in the ways that real ones answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from a2a_discovery.server.content import Content
from a2a_discovery.server.turns import Turn

_STEP_SECONDS: Final = 0.1


async def runner_of_tests(turn: Turn) -> None:
    """Streams a test run: a log that grows, and a report."""
    await turn.working("Checking out the commit")
    passed = ("test_charge", "test_refund", "test_rounding")
    for i, name in enumerate(passed):
        await asyncio.sleep(_STEP_SECONDS)
        last = i == len(passed) - 1
        await turn.artifact(f"{name} passed\n", artifact_id="log", name="log", append=i > 0, last=last)
    await turn.artifact({"passed": len(passed), "failed": 0}, artifact_id="report", name="report")
    await turn.complete(f"{len(passed)} tests passed, none failed")


async def code_reviewer(turn: Turn) -> str:
    """Answers with a message, without a task."""
    lines = len(turn.text.splitlines())
    return f"Read {lines} {'line' if lines == 1 else 'lines'}: no defects found. Add a test for the rounding."


async def deployer(turn: Turn) -> None:
    """Deploys for the tenant of the request; asks before it touches production."""
    confirmed = turn.task is not None
    if "production" in turn.text.lower() and not confirmed:
        await turn.input_required("Production: answer this to confirm.")
        return
    await turn.working("Rolling out")
    await asyncio.sleep(_STEP_SECONDS)
    result: dict[str, Any] = {"tenant": turn.tenant, "deployed": True}
    await turn.artifact(result, artifact_id="deployment", name="deployment")
    await turn.complete(f"Deployed for tenant {turn.tenant or '(none)'}")


RUNS: Final[dict[str, Callable[[Turn], Awaitable[Content | None]]]] = {
    "test-runner": runner_of_tests,
    "code-reviewer": code_reviewer,
    "deployer": deployer,
}
"""Name to the function of the agent."""
