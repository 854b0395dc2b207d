"""What names the cards of a catalog: references, files, and JSON documents that list them; no I/O here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from a2a_discovery import protojson
from a2a_discovery._diagnosis import describe
from a2a_discovery._duplicates import Step, duplicates, has_duplicates
from a2a_discovery._schema import path_of
from a2a_discovery.errors import A2ADiscoveryError, CardError, FetchError
from a2a_discovery.policy import parse_url
from a2a_discovery.problems import Findings, Problem, Rule, element
from a2a_discovery.reference import card_url
from a2a_discovery.types import AgentCard

Place = tuple[Step, ...]

LIST: Final = "list of cards"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that names a card, or, when it is ``nested``, a further catalog.

    It is in the file ``path``, or in ``data``, or at ``url``; otherwise where ``reference`` leads by itself.

    Attributes:
        order: its place among the others.
        reference: what names it.
        identifier: what the document calls it.
        display_name: the name that the document shows it by.
        error: why there is no card to be read.
        repeated: the keys that stand twice in ``data``.
        trail: the URLs of the documents that lead here, as asked for and after redirects, the nearest last.
    """

    order: tuple[int, ...]
    reference: str
    identifier: str | None = None
    display_name: str | None = None
    error: A2ADiscoveryError | None = None
    path: Path | None = None
    data: Any = None
    url: str | None = None
    nested: bool = False
    repeated: tuple[Place, ...] = ()
    trail: tuple[str, ...] = ()

    @property
    def named_by(self) -> str | None:
        """The document that names ``url``, in whose origin alone credentials are sent.

        When any document of the trail is of another origin than ``url`` it is that one: nobody on the way may get
        hold of the credentials of those before, or choose what is asked with them.
        """
        if self.url is None or not self.trail:
            return None
        origin = parse_url(self.url).origin
        return next((url for url in reversed(self.trail) if parse_url(url).origin != origin), self.trail[0])


def references(named: Iterable[str]) -> list[Item]:
    """Each reference once; another spelling of the same URL is the same one.

    Raises:
        TypeError: one of them is no str.
    """
    return _once(_reference(reference, index) for index, reference in enumerate(named))


def read_list(values: Any, repeated: Iterable[Place]) -> list[Item]:
    """The cards of a JSON array of card objects and references.

    Raises:
        CardError: it is no array.
    """
    if not isinstance(values, list | tuple):
        raise problem(LIST, "", "type", f"found {describe(values)} where there has to be an array or an AI catalog")
    twice = by_index(repeated)
    return _once(
        _reference(value, index) if isinstance(value, str) else (None, _inline(value, index, tuple(twice[index])))
        for index, value in enumerate(values)
    )


def decode(data: Any, subject: str) -> tuple[Any, list[Place]]:
    """A JSON document, and the places at which a key stands twice in its object.

    Raises:
        CardError: it is no JSON, or far too many keys stand twice.
    """
    document, text = protojson.decode(data, max_bytes=protojson.MAX_BYTES, subject=subject)
    if text is None or not has_duplicates(document, text):
        return document, []
    places = list(islice(duplicates(text), Findings.LIMIT))
    if len(places) == Findings.LIMIT:
        raise problem(subject, "", "duplicate", "very many keys stand here twice", "RFC 7493 §2.3")
    return document, places


def by_index(places: Iterable[Place]) -> dict[Step, list[Place]]:
    """What is below each element of an array, from there on."""
    found = defaultdict(list)
    for place in places:
        found[place[0]].append(place[1:])
    return found


def doubled(subject: str, path: str) -> CardError:
    """The error of keys that stand twice."""
    message = "a key stands here twice, and readers differ in which one they take; keep one"
    return problem(subject, path, "duplicate", message, "RFC 7493 §2.3")


def doubled_in_card(place: Place) -> CardError:
    """The same for the key at ``place`` of a card."""
    card: Any = AgentCard.DESCRIPTOR
    return doubled(card.name, path_of(card, place))


def problem(subject: str, path: str, rule: Rule, message: str, source: str = "this reader") -> CardError:
    """The error of one problem."""
    return CardError([Problem(path, rule, "error", message, source)], subject=subject)


def _reference(reference: str, index: int) -> tuple[str, Item]:
    """The item of a reference, and what it has in common with other spellings of it."""
    try:
        return card_url(reference), Item((index,), reference)
    except FetchError as exc:
        return reference, Item((index,), reference, error=exc)


def _inline(value: Any, index: int, repeated: tuple[Place, ...]) -> Item:
    error = None
    if not isinstance(value, Mapping):
        message = f"found {describe(value)}; this is a card, an object, or a reference to one, a string"
        error = problem(LIST, element("", index), "type", message)
    return Item((index,), f"#/{index}", data=value, error=error, repeated=repeated)


def _once(named: Iterable[tuple[str | None, Item]]) -> list[Item]:
    """The items, those with a key once."""
    found: dict[Any, Item] = {}
    for key, item in named:
        found.setdefault(item.order if key is None else key, item)
    return list(found.values())
