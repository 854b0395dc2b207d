"""Rows of label and value under headings, wrapped to the console's width and never cropped."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_INDENT = 2
_LABELS_AT_MOST = 40
_SIDE_BY_SIDE = 60


@dataclass(frozen=True, slots=True)
class _Row:
    mark: Text
    label: Text
    value: Text
    depth: int

    @property
    def start(self) -> int:
        """The column in which the label begins."""
        return _INDENT * (self.depth + 1)


@dataclass(frozen=True, slots=True)
class _Line:
    text: Text
    indent: int


class Sheet:
    """Collects rows in blocks; the values of a block stand in one column."""

    def __init__(self) -> None:
        self._blocks: list[list[_Row | _Line]] = [[]]

    def line(self, text: Text, *, indent: int = 0) -> None:
        """Text of its own, each line of it indented by so many columns."""
        self._blocks[-1].append(_Line(text, indent))

    def block(self) -> None:
        """Begin a block, after an empty line."""
        self._blocks.append([_Line(Text(), 0)])

    def heading(self, title: str) -> None:
        """Begin a block with a heading."""
        self.block()
        self.line(Text(title.upper(), "bold cyan"))

    def row(self, label: Text, value: Text, *, mark: Text | None = None, depth: int = 0) -> None:
        """``mark`` (one column), ``label`` and ``value``; lines of the value stay in the value's column."""
        self._blocks[-1].append(_Row(mark or Text(" "), label, value, depth))

    def show(self, console: Console) -> None:
        """Print all rows."""
        for block in self._blocks:
            column = _value_column(block) if console.width >= _SIDE_BY_SIDE else 0
            for row in block:
                for line in _lines(row, console, column):
                    line.rstrip()
                    console.print(line, soft_wrap=True)


def _value_column(block: list[_Row | _Line]) -> int:
    ends = [row.start + cell_len(row.label.plain) for row in block if isinstance(row, _Row) and row.value]
    return max([end for end in ends if end <= _LABELS_AT_MOST], default=0) + 2


def _lines(row: _Row | _Line, console: Console, column: int) -> list[Text]:
    if isinstance(row, _Line):
        return _wrapped(row.text, console, row.indent)
    head = Text(" " * (row.start - _INDENT)).append_text(row.mark).append(" ").append_text(row.label)
    width = cell_len(head.plain)
    if not row.value:
        return _wrapped(head, console, 0)
    if width + 1 > column:
        # The label reaches into the values' column, or there is none: the value begins below.
        below = column or row.start + _INDENT
        return [*_wrapped(head, console, 0), *_wrapped(row.value, console, below)]
    first, *more = _wrapped(row.value, console, column)
    return [head.append_text(first[width:]), *more]


def _wrapped(text: Text, console: Console, column: int) -> list[Text]:
    """The lines of ``text``, each begun at ``column``."""
    lines = text.wrap(console, max(10, console.width - column), overflow="fold")
    return [Text(" " * column).append_text(line) for line in lines]
