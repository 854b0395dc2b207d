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
_SCHEMES: Final = ("securitySchemes", "security_schemes")
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
    return _Writer().card(document)


def sdk_form(document: Mapping[str, Any]) -> bytes:
    """The form that the Python and JavaScript SDKs sign: known fields alone, and nothing that is empty, anywhere.

    Raises:
        CardError: the document does not fit an AgentCard.
    """
    return _SdkWriter().card(document)


def js_sdk_form(document: Mapping[str, Any]) -> bytes:
    """What the JavaScript SDK signs of a card object of its own: it loses the schemes then, which are oneofs.

    Raises:
        CardError: the document does not fit an AgentCard.
    """
    return sdk_form({key: value for key, value in document.items() if key not in _SCHEMES})


class _Writer:
    """One card to plain Python values, ready to be written.

    Attributes:
        plain: whether orjson writes them as RFC 8785 says: whole numbers only, and keys whose order is the same in
            UTF-8 and UTF-16.
    """

    def __init__(self) -> None:
        self.plain = True

    def card(self, document: Mapping[str, Any]) -> bytes:
        unsigned = {key: value for key, value in document.items() if key != _SIGNATURES}
        try:
            written = self.message(_CARD, unsigned)
            if self.plain:
                return orjson.dumps(written, option=orjson.OPT_SORT_KEYS)
            import rfc8785

            return rfc8785.dumps(written)
        except (UnfitError, ValueError, OverflowError, orjson.JSONEncodeError):
            raise _refusal(unsigned, None) from None

    def message(self, descriptor: Descriptor, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise UnfitError
        plan = _plan(descriptor)
        written: dict[str, Any] = {}
        for key, given in value.items():
            member = plan.get(key)
            if member is None:
                self.unknown(written, key, given)
                continue
            name, write = member
            if key != name and name in value:
                raise UnfitError  # both spellings
            result = _GONE if given is None else write(self, given)
            if result is not _GONE:
                written[name] = result
        return written

    def unknown(self, written: dict[str, Any], key: Any, value: Any) -> None:
        written[self.key(key)] = self.free(value, 0)

    def many(self, one: _Write, value: Any) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise UnfitError
        return [one(self, x) for x in value]

    def map(self, one: _Write, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise UnfitError
        return {self.key(key): one(self, x) for key, x in value.items()}

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


class _SdkWriter(_Writer):
    """Leaves out what the schema does not know, and what is empty once that is done within it."""

    def message(self, descriptor: Descriptor, value: Any) -> dict[str, Any]:
        return _without_empties(super().message(descriptor, value))

    def unknown(self, written: dict[str, Any], key: Any, value: Any) -> None:
        pass

    def many(self, one: _Write, value: Any) -> list[Any]:
        return [x for x in super().many(one, value) if not _is_empty(x)]

    def map(self, one: _Write, value: Any) -> dict[str, Any]:
        return _without_empties(super().map(one, value))

    def free(self, value: Any, level: int) -> Any:
        freed = super().free(value, level)
        if isinstance(freed, dict):
            return _without_empties(freed)
        return [x for x in freed if not _is_empty(x)] if isinstance(freed, list) else freed


def _without_empties(written: dict[str, Any]) -> dict[str, Any]:
    return {key: x for key, x in written.items() if not _is_empty(x)}


def _is_empty(written: Any) -> bool:
    """Whether this is an empty string, array or object, or null."""
    return not written and not isinstance(written, int | float)


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
        written = writer.many(one, value)
        return written if keep or written else _GONE

    def mapped(writer: _Writer, value: Any) -> Any:
        written = writer.map(one, value)
        return written if keep or written else _GONE

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


def _refusal(document: Any, text: bytes | None) -> CardError:
    """The error that says all that is wrong with a document that has no canonical form."""
    findings = Findings()
    protojson.diagnose(AgentCard, document, text, findings, need=False)
    if findings.valid:
        message = f"a member that the schema does not know is no JSON, or nested deeper than {_MAX_LEVELS} levels"
        return CardError([Problem("", "depth", "error", message, "RFC 8785")])
    return CardError(findings.problems)
