"""What is wrong with a document: one ``Problem`` per finding, errors and warnings alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

T = TypeVar("T")

Severity = Literal["error", "warning"]
Rule = Literal[
    "syntax",  # not one JSON document in UTF-8
    "size",  # larger than the limit of the reader
    "depth",  # nested deeper than a protobuf message may be
    "duplicate",  # one field given twice
    "type",  # a JSON value of another type than the field's
    "oneof",  # two members of a oneof, or (warning) none that is known
    "required",  # a REQUIRED field that is missing or empty
    "legacy",  # a shape of A2A 0.3
    "mode",  # a part of a media type that no mode of the card accepts
    "spelling",  # warning: a field by its proto name
    "reference",  # warning: a name that nothing declares
    "value",  # warning: of the right type, but not what the field holds
    "url",  # warning: an address that no client should call
    "version",  # warning: a protocolVersion that is not Major.Minor
]


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding in a document.

    Attributes:
        path: where, in the document's own JSON names: ``skills[0].tags``, ``securitySchemes["b"]``,
            ``""`` for the root.
        rule: which rule is broken.
        severity: ``"error"`` makes the document invalid, ``"warning"`` does not.
        message: what was found and what to write instead, one sentence or two.
        source: the section or RFC that states the rule (``§5.7``).
    """

    path: str
    rule: Rule
    severity: Severity
    message: str
    source: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{where}{self.message} [{self.rule}, {self.source}]"


class Findings:
    """Collects problems, up to a limit of each severity that no document of an honest author reaches."""

    LIMIT = 10_000

    def __init__(self) -> None:
        self._found: dict[tuple[str, Rule, Severity], Problem] = {}
        self._counts: dict[Severity, int] = {"error": 0, "warning": 0}

    @property
    def problems(self) -> list[Problem]:
        """What was noted, in that order."""
        return list(self._found.values())

    @property
    def valid(self) -> bool:
        """Whether no error was noted."""
        return not self._counts["error"]

    def full(self, severity: Severity) -> bool:
        """Whether looking for more is of no use: a hostile document must not cost more time than a bad one."""
        return self._counts[severity] > self.LIMIT

    def while_room(self, severity: Severity, items: Iterable[T]) -> Iterator[T]:
        """The items, until the severity is full."""
        for item in items:
            if self.full(severity):
                return
            yield item

    def error(self, path: str, rule: Rule, message: str, source: str) -> None:
        """Note what makes the document invalid."""
        self._note(Problem(path, rule, "error", message, source))

    def warn(self, path: str, rule: Rule, message: str, source: str) -> None:
        """Note what does not."""
        self._note(Problem(path, rule, "warning", message, source))

    def amend(self, path: str, rule: Rule, addition: str) -> None:
        """Add to the message of an error what was found out about it since."""
        problem = self._found.get((path, rule, "error"))
        if problem is not None:
            self._found[path, rule, "error"] = replace(problem, message=f"{problem.message}; {addition}")

    def drop_warning(self, path: str, rule: Rule) -> None:
        """Take a warning back: an error says the same better."""
        self._found.pop((path, rule, "warning"), None)

    def _note(self, problem: Problem) -> None:
        severity = problem.severity
        self._counts[severity] += 1
        if self._counts[severity] > self.LIMIT:
            message = f"there are more than {self.LIMIT:,} problems of this severity; the rest is not listed"
            problem = Problem("", "size", severity, message, "this reader")
        self._found.setdefault((problem.path, problem.rule, severity), problem)


# json.dumps would make an encoder for each call.
quoted = json.JSONEncoder(ensure_ascii=False).encode

# Every problem below a key repeats it, and so does every step of a path.
_LONGEST_KEY = 120
_LONGEST_PATH = 600


def shorten(text: str, limit: int = 60) -> str:
    """The text, or its start when it is long."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def member(path: str, name: str) -> str:
    """The path of a field in the object at ``path``; a path that is very long is cut in its middle."""
    return _cut(f"{path}.{name}") if path else name


def entry(path: str, key: str) -> str:
    """The path of a map entry: ``securitySchemes["b"]``; a key that is very long is cut."""
    return _cut(f"{path}[{quoted(shorten(key, _LONGEST_KEY))}]")


def element(path: str, index: int) -> str:
    """The path of a list element: ``skills[0]``."""
    return f"{path}[{index}]"


def _cut(path: str) -> str:
    half = _LONGEST_PATH // 2
    return path if len(path) <= _LONGEST_PATH else f"{path[:half]}…{path[-half:]}"
