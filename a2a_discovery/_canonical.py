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

_SIGNATURES: Final = "signatures"
_GONE: Final = object()  # a default that the canonical form leaves out
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
        raise _refusal(document, text)
    return document


def section_8_4_1(document: Mapping[str, Any]) -> bytes:
    """The form of §8.4.1: REQUIRED fields and what has presence stay as they are, other defaults go.

    Members that the schema does not know stay: whoever signed may know a newer one.

    Raises:
        CardError: the document does not fit an AgentCard.
    """
    writer = _Writer()
    unsigned = {key: value for key, value in document.items() if key != _SIGNATURES}
    try:
        canonical = writer.message(_CARD, unsigned)
        return orjson.dumps(canonical, option=orjson.OPT_SORT_KEYS) if writer.plain else _rfc8785(canonical)
    except (UnfitError, ValueError, OverflowError, orjson.JSONEncodeError):
        raise _refusal(unsigned, None) from None


def sdk_form(document: Mapping[str, Any]) -> bytes:
    """The form that the Python and JavaScript SDKs sign: known fields alone, and nothing that is empty, anywhere.

    Raises:
        CardError: the document does not fit an AgentCard.
    """
    unsigned = {key: value for key, value in document.items() if key != _SIGNATURES}
    card = protojson.read(AgentCard, unsigned, None, need=False)
    if card is None:
        findings = Findings()
        card = protojson.diagnose(AgentCard, unsigned, None, findings, need=False)
        if card is None or not findings.valid:
            raise CardError(findings.problems)
    written = _stripped(protojson.to_dict(card))
    return _rfc8785(_Writer().free({} if written is None else written, 0))


class _Writer:
    """One card to plain Python values, ready to be written.

    Attributes:
        plain: whether orjson writes them as RFC 8785 says: whole numbers only, and keys whose order is the same in
            UTF-8 and UTF-16.
    """

    def __init__(self) -> None:
        self.plain = True

    def message(self, descriptor: Descriptor, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise UnfitError
        plan = _plan(descriptor)
        written = {}
        for key, given in value.items():
            member = plan.get(key)
            if member is None:
                written[self.key(key)] = self.free(given, 0)
                continue
            name, write = member
            if key != name and name in value:
                raise UnfitError  # both spellings
            result = _GONE if given is None else write(self, given)
            if result is not _GONE:
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
        if isinstance(value, Mapping):
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


def _rfc8785(value: Any) -> bytes:
    """``value`` as RFC 8785 says, whatever it holds; raises ValueError when it cannot be written."""
    import rfc8785

    return rfc8785.dumps(value)


_Write = Callable[[_Writer, Any], Any]


@cache
def _plan(descriptor: Descriptor) -> Mapping[str, tuple[str, _Write]]:
    """JSON name and writer of each field, by either of its spellings."""
    plan = {}
    for name, field in fields(descriptor).items():
        has_presence = descriptor.fields_by_name[field.name].has_presence
        plan[name] = (name, _field(field, keep=field.required or field.may_be_default or has_presence))
    return plan | {proto_name: plan[name] for proto_name, name in proto_names(descriptor).items()}


def _field(field: Field, *, keep: bool) -> _Write:
    one = _one(field)

    def many(writer: _Writer, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise UnfitError
        return [one(writer, x) for x in value] if value or keep else _GONE

    def mapped(writer: _Writer, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise UnfitError
        return {writer.key(key): one(writer, x) for key, x in value.items()} if value or keep else _GONE

    def single(writer: _Writer, value: Any) -> Any:
        written = one(writer, value)
        return written if keep or written else _GONE

    return {"one": single, "many": many, "map": mapped}[field.shape]


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
    if not isinstance(value, Mapping):
        raise UnfitError
    return writer.free(value, 0)


def _stripped(value: Any) -> Any:
    """``value`` without empty strings, arrays and objects and nulls, at any depth; None when nothing is left."""
    if isinstance(value, dict):
        kept = {key: x for key, given in value.items() if (x := _stripped(given)) is not None}
        return kept or None
    if isinstance(value, list):
        return [x for given in value if (x := _stripped(given)) is not None] or None
    return None if value == "" else value


def _refusal(document: Any, text: bytes | None) -> CardError:
    """The error that says all that is wrong with a document that has no canonical form."""
    findings = Findings()
    protojson.diagnose(AgentCard, document, text, findings, need=False)
    if findings.valid:
        message = f"a member that the schema does not know is no JSON, or nested deeper than {_MAX_LEVELS} levels"
        return CardError([Problem("", "depth", "error", message, "RFC 8785")])
    return CardError(findings.problems)
