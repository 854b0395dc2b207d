"""Many cards at once: what was read, what could not be, and which agents have a skill that fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from a2a_discovery.errors import A2ADiscoveryError
from a2a_discovery.skills import find_skills
from a2a_discovery.types import AgentCard, AgentSkill
from a2a_discovery.verification import Verification

C = TypeVar("C", bound="BaseCatalog")


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A card of a catalog.

    Attributes:
        reference: what named it: a host, a URL, a path, or the place in a document (``#/entries/3``, RFC 6901 §6).
        card: the card; when its signature is verified, read from the bytes that this covers.
        url: the URL that it was fetched from, the last one when there were redirects; None for one that was inline or
            in a file.
        identifier: what the AI catalog calls it, None where there was none.
        display_name: the name that the AI catalog shows it by, None where there was none.
        verification: what became of the card's signatures; None when they were not looked at.
    """

    reference: str
    card: AgentCard
    url: str | None = None
    identifier: str | None = None
    display_name: str | None = None
    verification: Verification | None = None


@dataclass(frozen=True, slots=True)
class CatalogFailure:
    """What should have been a card of a catalog, or a catalog within one.

    Attributes:
        reference: what named it, as for ``CatalogEntry``.
        error: why there is no card; without the frames it was raised in, which would keep whole documents in memory.
        identifier: what the AI catalog calls it, None where there was none.
    """

    reference: str
    error: A2ADiscoveryError
    identifier: str | None = None

    def __post_init__(self) -> None:
        link: BaseException | None = self.error
        while link is not None:
            link.__traceback__ = None
            link = link.__cause__ or link.__context__


@dataclass(frozen=True, slots=True)
class Match:
    """An agent that has a skill that was looked for.

    Attributes:
        entry: the agent.
        skills: its skills that fit, in the card's order.
        score: what it is ranked by.
    """

    entry: CatalogEntry
    skills: tuple[AgentSkill, ...]
    score: int


@dataclass(frozen=True, slots=True, repr=False)
class BaseCatalog:
    """What was read of many cards, and what could not be.

    Attributes:
        entries: the cards, in the order in which they were named.
        failures: what could not be read, in that order.
    """

    entries: tuple[CatalogEntry, ...] = ()
    failures: tuple[CatalogFailure, ...] = ()

    @classmethod
    def of(cls: type[C], results: Iterable[CatalogEntry | CatalogFailure]) -> C:
        """The catalog of what ``fetch_card`` gave for each of many references."""
        results = list(results)
        return cls(
            tuple(result for result in results if isinstance(result, CatalogEntry)),
            tuple(result for result in results if isinstance(result, CatalogFailure)),
        )

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[CatalogEntry]:
        return iter(self.entries)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.entries)} cards, {len(self.failures)} failures>"

    def find(
        self,
        *,
        tags: str | Iterable[str] = (),
        text: str | None = None,
        accepts: str | Iterable[str] = (),
        produces: str | Iterable[str] = (),
    ) -> list[Match]:
        """The agents that have a skill that meets all criteria, the best first; those of ``find_skills``.

        Each fitting skill scores 1, and 1 more for every word of ``text`` that is in its name or one of its tags; the
        highest sum comes first, and ties keep the catalog's order.
        """
        tags, accepts, produces = _several(tags), _several(accepts), _several(produces)
        words = (text or "").casefold().split()
        matches = []
        for entry in self.entries:
            skills = tuple(find_skills(entry.card, tags=tags, text=text, accepts=accepts, produces=produces))
            if skills:
                matches.append(Match(entry, skills, sum(1 + _headlined(skill, words) for skill in skills)))
        return sorted(matches, key=lambda match: -match.score)


def _headlined(skill: AgentSkill, words: Iterable[str]) -> int:
    """How many of the words are in the skill's name or in one of its tags."""
    heads = [head.casefold() for head in (skill.name, *skill.tags)]
    return sum(any(word in head for head in heads) for word in words)


def _several(values: str | Iterable[str]) -> tuple[str, ...]:
    # Each card is held against them: an iterator would be used up by the first.
    return (values,) if isinstance(values, str) else tuple(values)
