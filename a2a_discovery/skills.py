"""The skills of a card (§4.4.5): found by tags, words and media types, and the parts that they do not take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from a2a_discovery._media_types import covers, overlaps, parse
from a2a_discovery.dataclasses import as_message
from a2a_discovery.problems import Problem, element, member, quoted, shorten
from a2a_discovery.types import AgentCard, AgentSkill, Message, Part, SendMessageRequest

# What a part is that does not say so; of bytes and URLs nothing is known.
_IMPLIED: Final = {"text": "text/plain;charset=utf-8", "data": "application/json"}
_SHOWN: Final = 20


def find_skills(
    card: Any,
    *,
    tags: str | Iterable[str] = (),
    text: str | None = None,
    accepts: str | Iterable[str] = (),
    produces: str | Iterable[str] = (),
) -> list[AgentSkill]:
    """The skills that fit all that is asked, in the card's order; all of them when nothing is.

    A skill's own ``input_modes`` and ``output_modes`` stand in place of the card's defaults when it has any (§4.4.5).

    Args:
        card: an ``AgentCard``, which is not changed, or its betterproto dataclass. What is returned are its own
            skills, not copies.
        tags: a skill has each of these tags; case does not count, nor do blanks around them.
        text: each of its words occurs in a skill's id, name, description, tags or examples; case does not count.
        accepts: media types or ranges that the client sends: ``"image/png"``, ``"text/*"``. For each of them, an input
            mode covers it or is covered by it (RFC 9110 §12.5.1).
        produces: the same for what the client wants to get, and the output modes.
    """
    card = as_message(card, AgentCard)
    wanted = {_folded(tag) for tag in _several(tags)}
    words = (text or "").casefold().split()
    takes = _Modes(accepts, card.default_input_modes)
    gives = _Modes(produces, card.default_output_modes)
    return [
        skill
        for skill in card.skills
        if wanted <= {_folded(tag) for tag in skill.tags}
        and _mentions(skill, words)
        and takes.fit(skill.input_modes)
        and gives.fit(skill.output_modes)
    ]


def check_parts(card: Any, message: Any, skill: str | None = None) -> list[Problem]:
    """The parts of a message whose media type no input mode accepts: ContentTypeNotSupportedError (§3.3.2).

    A text that names no media type is ``text/plain;charset=utf-8``, and data is ``application/json``; bytes and URLs
    that name none are not judged. What is no media type is accepted by an equal mode only.

    Args:
        card: an ``AgentCard``, or its betterproto dataclass.
        message: a ``Message`` or a ``SendMessageRequest``, or the dataclass of one.
        skill: the id of the skill that the message is meant for, whose own modes count when it has any; without it,
            the card's default modes count.

    Returns:
        One problem of the rule ``"mode"`` for each such part, empty when there is none.

    Raises:
        ValueError: the card has no such skill.
        TypeError: ``message`` is neither.
    """
    card = as_message(card, AgentCard)
    own = () if skill is None else skill_of(card, skill).input_modes
    modes = own or card.default_input_modes
    accepted = [parse(mode) for mode in modes]
    problems = []
    for path, part in _parts(message):
        given = part.media_type or _IMPLIED.get(part.WhichOneof("content") or "")
        if not given:
            continue
        media_type = parse(given)
        if not any(covers(mode, media_type) for mode in accepted):
            told = f"{_named(given)} is no media type that {_taker(skill)} takes; {_listed(modes)}"
            problems.append(Problem(member(path, "mediaType"), "mode", "error", told, "§3.3.2"))
    return problems


def skill_of(card: AgentCard, skill: str) -> AgentSkill:
    """The skill whose id is ``skill``.

    Raises:
        ValueError: the card has no such skill.
    """
    for declared in card.skills:
        if declared.id == skill:
            return declared
    raise ValueError(f"the card has no skill with the id {skill!r}")


class _Modes:
    """Media types that are asked for, held against the modes of one skill after the other."""

    def __init__(self, asked: str | Iterable[str], defaults: Sequence[str]) -> None:
        self._asked = [parse(text) for text in _several(asked)]
        # Once for all skills without modes of their own: a hostile card has many of both.
        self._by_default = self._overlap(defaults)

    def fit(self, own: Sequence[str]) -> bool:
        """Whether each overlaps one of a skill's modes."""
        return self._overlap(own) if own else self._by_default

    def _overlap(self, modes: Sequence[str]) -> bool:
        if not self._asked:
            return True
        known = [parse(mode) for mode in modes]
        return all(any(overlaps(asked, mode) for mode in known) for asked in self._asked)


def _several(given: str | Iterable[str]) -> Iterable[str]:
    return (given,) if isinstance(given, str) else given


def _folded(tag: str) -> str:
    return tag.strip().casefold()


def _mentions(skill: AgentSkill, words: Sequence[str]) -> bool:
    if not words:
        return True
    # A word holds no blank, so none is found across the border of two fields.
    said = "\n".join((skill.id, skill.name, skill.description, *skill.tags, *skill.examples)).casefold()
    return all(word in said for word in words)


def _parts(given: Any) -> list[tuple[str, Part]]:
    message = as_message(given)
    if isinstance(message, SendMessageRequest):
        message, path = message.message, "message.parts"
    elif isinstance(message, Message):
        path = "parts"
    else:
        raise TypeError(f"expected Message or SendMessageRequest, found {message.DESCRIPTOR.name}")
    return [(element(path, i), part) for i, part in enumerate(message.parts)]


def _taker(skill: str | None) -> str:
    return "the agent" if skill is None else f"its skill {_named(skill)}"


def _listed(modes: Sequence[str]) -> str:
    if not modes:
        return "the card names none"
    more = f" and {len(modes) - _SHOWN:,} more" if len(modes) > _SHOWN else ""
    return f"it takes {', '.join(_named(mode) for mode in modes[:_SHOWN])}{more}"


def _named(text: str) -> str:
    return quoted(shorten(text))
