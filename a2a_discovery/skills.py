"""Stub."""

from __future__ import annotations

from collections.abc import Iterable

from a2a_discovery.types import AgentCard, AgentSkill


def find_skills(
    card: AgentCard,
    *,
    tags: Iterable[str] = (),
    text: str | None = None,
    accepts: Iterable[str] = (),
    produces: Iterable[str] = (),
) -> list[AgentSkill]:
    """Stub."""
    words = (text or "").casefold().split()
    found = []
    for skill in card.skills:
        said = " ".join([skill.name, skill.description, *skill.tags]).casefold()
        modes_in, modes_out = (
            skill.input_modes or card.default_input_modes,
            skill.output_modes or card.default_output_modes,
        )
        if (
            set(tags) <= set(skill.tags)
            and all(word in said for word in words)
            and set(accepts) <= set(modes_in)
            and set(produces) <= set(modes_out)
        ):
            found.append(skill)
    return found
