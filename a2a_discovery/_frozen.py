"""Mappings that nobody changes, in records that can be copied and pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, TypeVar

V = TypeVar("V")


def frozen(mapping: Mapping[str, V]) -> Mapping[str, V]:
    """A copy of ``mapping`` that cannot be changed."""
    return MappingProxyType(dict(mapping))


class Picklable:
    """For dataclasses that freeze a mapping when they are made: pickle knows no ``MappingProxyType``."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        values = [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]
        return type(self), tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)
