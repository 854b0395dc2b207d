"""The bytes that a card's signature covers: canonical forms of a card, as it was received (§8.4.1, RFC 8785)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import orjson
from google.protobuf.descriptor import Descriptor

from a2a_discovery import protojson
from a2a_discovery._duplicates import has_duplicates
from a2a_discovery._extras import require_signing
from a2a_discovery._forms import UnfitError
from a2a_discovery._schema import Field, fields, proto_names
from a2a_discovery.errors import CardError
from a2a_discovery.problems import Findings, Problem
from a2a_discovery.types import AgentCard
from a2a_discovery.verification import Form

_SIGNATURES: Final = "signatures"
_SCHEMES: Final = "securitySchemes"
# Arrays and objects within each other in free JSON: twice what protobuf reads, and within the reach of every writer.
_MAX_LEVELS: Final = 200
_SAFE: Final = 2**53 - 1
_CARD: Final[Descriptor] = AgentCard.DESCRIPTOR  # type: ignore[assignment]


def read_document(data: bytes | str | Mapping[str, Any], *, max_bytes: int) -> Mapping[str, Any]:
    """The JSON object of a card, in which no key stands twice.

    Raises:
        CardError: it is none.
        MissingExtraError: the extra ``signing`` is not installed.
    """
    require_signing()
    document, text = protojson.decode(data, max_bytes=max_bytes, subject="AgentCard")
    if not isinstance(document, Mapping) or (text is not None and has_duplicates(document, text)):
        raise refusal(document, text)
    return document


def canonical_form(document: Mapping[str, Any], form: Form = "section-8.4.1") -> bytes:
    """One canonical form of a card, as ``CanonicalCard`` has it."""
    return CanonicalCard(document).form(form)


class CanonicalCard:
    """The canonical forms of a card.

    ``section-8.4.1``: REQUIRED fields and what has presence stay as they are, other defaults go. Members that the
    schema does not know stay: whoever signed may know a newer one.

    ``sdk``: known fields alone, and nothing that is empty, anywhere, as the Python and JavaScript SDKs have it.

    ``js-sdk``: what the JavaScript SDK makes of a card object of its own: it loses the schemes, which are oneofs.

    Args:
        document: the card's JSON, as it was received.

    Raises:
        CardError: it does not fit an AgentCard.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._unsigned = {key: value for key, value in document.items() if key != _SIGNATURES}
        self._writer = _Writer()
        try:
            self._written = self._writer.message(_CARD, self._unsigned)
            self._section_8_4_1 = self._writer.dumps(self._written)
        except (UnfitError, ValueError, OverflowError, orjson.JSONEncodeError):
            raise refusal(self._unsigned, None) from None

    def form(self, form: Form) -> bytes:
        """The bytes of one form."""
        if form == "section-8.4.1":
            return self._section_8_4_1
        known = self._written
        if self._writer.met_unknown:
            known = _Writer(keep_unknown=False).message(_CARD, self._unsigned)
        if form == "js-sdk":
            known = {key: value for key, value in known.items() if key != _SCHEMES}
        return self._writer.dumps(_stripped(known) or {})


class _Writer:
    """One card to plain Python values, ready to be written.

    Attributes:
        plain: whether orjson writes them as RFC 8785 says: whole numbers only, and keys whose order is the same in
            UTF-8 and UTF-16.
        met_unknown: whether there were members that the schema does not know.
    """

    def __init__(self, *, keep_unknown: bool = True) -> None:
        self.plain = True
        self.met_unknown = False
        self._keep_unknown = keep_unknown

    def dumps(self, written: Any) -> bytes:
        """What was made of a card, or a part of it, as RFC 8785 says; raises ValueError when it cannot be written."""
        if self.plain:
            return orjson.dumps(written, option=orjson.OPT_SORT_KEYS)
        import rfc8785

        return rfc8785.dumps(written)

    def message(self, descriptor: Descriptor, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict | Mapping):
            raise UnfitError
        plan = _plan(descriptor)
        written: dict[str, Any] = {}
        for key, given in value.items():
            member = plan.get(key)
            if member is None:
                self.met_unknown = True
                if self._keep_unknown:
                    written[self.key(key)] = self.free(given, 0)
                continue
            name, keep, write = member
            if key != name and name in value:
                raise UnfitError  # both spellings
            if given is not None:
                result = given if write is _string and type(given) is str else write(self, given)
                if result or keep:
                    written[name] = result
        return written

    def free(self, value: Any, level: int) -> Any:
        """Any JSON value, untouched but for its numbers, which are doubles (RFC 8785 §3.2.2.3)."""
        if isinstance(value, str) or value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return self._number(value)
        if level >= _MAX_LEVELS:
            raise UnfitError
        if isinstance(value, dict | Mapping):
            return {self.key(key): self.free(x, level + 1) for key, x in value.items()}
        if isinstance(value, list | tuple):
            return [self.free(x, level + 1) for x in value]
        raise UnfitError

    def key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise UnfitError
        if not key.isascii():
            self.plain = False
        return key

    def _number(self, value: float) -> int | float:
        if -_SAFE <= value <= _SAFE and value == int(value):
            return int(value)
        self.plain = False
        return float(value)


_Write = Callable[[_Writer, Any], Any]


@cache
def _plan(descriptor: Descriptor) -> Mapping[str, tuple[str, bool, _Write]]:
    """JSON name of each field, whether its default stays, and its writer, by either of its spellings."""
    plan = {}
    for name, field in fields(descriptor).items():
        has_presence = descriptor.fields_by_name[field.name].has_presence
        plan[name] = (name, field.required or field.may_be_default or has_presence, _field(field))
    return plan | {proto_name: plan[name] for proto_name, name in proto_names(descriptor).items()}


def _field(field: Field) -> _Write:
    one = _one(field)

    def many(writer: _Writer, value: Any) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise UnfitError
        return [one(writer, x) for x in value]

    def mapped(writer: _Writer, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict | Mapping):
            raise UnfitError
        return {writer.key(key): one(writer, x) for key, x in value.items()}

    return {"one": one, "many": many, "map": mapped}[field.shape]


def _one(field: Field) -> _Write:
    if field.message is not None:
        message = field.message
        return lambda writer, value: writer.message(message, value)
    # A card has no other fields; one that comes to the schema stops here, when the tests read their first card.
    return {"string": _string, "bool": _bool, "struct": _struct}[field.kind]


def _string(_: _Writer, value: Any) -> str:
    if not isinstance(value, str):
        raise UnfitError
    return value


def _bool(_: _Writer, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UnfitError
    return value


def _struct(writer: _Writer, value: Any) -> Any:
    if not isinstance(value, dict | Mapping):
        raise UnfitError
    return writer.free(value, 0)


def _stripped(value: Any) -> Any:
    """``value`` without empty strings, arrays and objects and nulls, at any depth; None when nothing is left."""
    kind = type(value)
    if kind is str:
        return value or None
    if kind is dict:
        kept = {}
        for key, given in value.items():
            x = given if type(given) is str else _stripped(given)
            if x is not None and x != "":
                kept[key] = x
        return kept or None
    if kind is list:
        return [x for given in value if (x := _stripped(given)) is not None] or None
    return value


def refusal(document: Any, text: bytes | None) -> CardError:
    """The error that says all that is wrong with a document that has no canonical form."""
    findings = Findings()
    protojson.diagnose(AgentCard, document, text, findings, need=False)
    if findings.valid:
        message = f"a member that the schema does not know is no JSON, or nested deeper than {_MAX_LEVELS} levels"
        return CardError([Problem("", "depth", "error", message, "RFC 8785")])
    return CardError(findings.problems)
