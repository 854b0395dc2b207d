"""The exact reading of a JSON document against a message: every problem named, the rarer legal forms accepted.

The fast readers (``_gen/readers.py``) take the plain canonical form only. What they refuse comes here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from google.protobuf.descriptor import Descriptor

from a2a_discovery._forms import MAX_NESTING, UnfitError, read_timestamp, wrap_value
from a2a_discovery._schema import Field, example, fields, proto_names
from a2a_discovery.problems import Findings, element, entry, member, quoted, shorten

_BAD: Final = object()  # nothing could be read here, and the problem is noted
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
# A quoted number may have an exponent or zeros behind its point, as one without quotes may.
_NUMBER = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,2})?")
_PROTOJSON = "ProtoJSON"


class _TooDeepError(Exception):
    pass


def describe(value: Any) -> str:
    """What was found, in few words: ``the number 7``, ``an array``."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"the string {quoted(shorten(value))}"
    if isinstance(value, bool):
        return f"the value {str(value).lower()}"
    if isinstance(value, int | float):
        return "a huge number" if 10**30 <= abs(value) < float("inf") else f"the number {value}"
    if isinstance(value, Mapping):
        return "an object"
    return "an array" if isinstance(value, Sequence) else f"a Python {type(value).__name__}"


class Diagnosis:
    """One walk over a document.

    Args:
        findings: where problems are noted.
        need: whether a REQUIRED field that is missing is a problem (§5.7).
        asked: whether a client sends it.
    """

    def __init__(self, findings: Findings, *, need: bool, asked: bool) -> None:
        self._findings = findings
        self._need = need
        self._asked = asked

    def message(self, descriptor: Descriptor, value: Mapping[str, Any], path: str, level: int = 0) -> dict[str, Any]:
        """Read a JSON object; the result is the message's constructor arguments, without what could not be read."""
        found = self._by_field(descriptor, value, path)
        read: dict[str, Any] = {}
        members: dict[str, list[str]] = {f.oneof: [] for f in fields(descriptor).values() if f.oneof}
        for json_name, field in fields(descriptor).items():
            where, given = found.get(json_name, (member(path, json_name), None))
            present = json_name in found and (given is not None or (field.kind == "value" and field.shape == "one"))
            if present:
                if field.oneof:
                    members[field.oneof].append(json_name)
                result = self._field(field, given, where, level)
                if result is not _BAD:
                    read[field.name] = result
            if self._need:
                self._check_required(field, json_name in found, given, where)
        for oneof, names in members.items():
            self._check_oneof(descriptor, oneof, names, path)
        return read

    @property
    def _goes_on(self) -> bool:
        return not self._findings.full("error")

    def _by_field(self, descriptor: Descriptor, value: Mapping[Any, Any], path: str) -> dict[str, tuple[str, Any]]:
        """The members that are fields: JSON name -> where it stands, and its value."""
        known, spelled = fields(descriptor), proto_names(descriptor)
        found: dict[str, tuple[str, Any]] = {}
        for key, given in value.items():
            if key in known:
                if key in found:
                    self._twice(path, key, spelled)
                found[key] = (member(path, key), given)
            elif key in spelled:
                json_name = spelled[key]
                message = f'this is the field\'s proto name; write "{json_name}"'
                self._findings.warn(member(path, key), "spelling", message, "§5.5")
                if json_name in found:
                    self._twice(path, json_name, spelled)
                else:
                    found[json_name] = (member(path, key), given)
        return found

    def _twice(self, path: str, json_name: str, spelled: Mapping[str, str]) -> None:
        (proto_name,) = [name for name, other in spelled.items() if other == json_name]
        message = f'the field stands here twice, as "{json_name}" and as "{proto_name}"; keep "{json_name}"'
        self._findings.error(member(path, json_name), "duplicate", message, _PROTOJSON)

    def _check_required(self, field: Field, given_at_all: bool, value: Any, path: str) -> None:
        if value is None and field.may_be_default:
            message = f'this REQUIRED field is not there and is read as empty; write "{field.json_name}": {{}}'
            self._findings.warn(path, "value", message.replace("{}", _empty(field)), "§5.7")
        if not field.required or (value is not None and not _is_empty(field, value)):
            return
        state = "is missing" if not given_at_all else "is null, which means missing" if value is None else "is empty"
        message = f'this REQUIRED field {state}; write "{field.json_name}": {example(field, asked=self._asked)}'
        self._findings.error(path, "required", message, "§5.7")

    def _check_oneof(self, descriptor: Descriptor, oneof: str, names: list[str], path: str) -> None:
        known = [f.json_name for f in fields(descriptor).values() if f.oneof == oneof]
        if len(names) > 1:
            message = f"only one of {_listed(names)} may be here; remove the others"
            self._findings.error(path, "oneof", message, _PROTOJSON)
        elif not names:
            message = f"this holds none of {_listed(known)}, so a client can do nothing with it"
            self._findings.warn(path, "oneof", message, _PROTOJSON)

    def _field(self, field: Field, value: Any, path: str, level: int) -> Any:
        if field.shape == "one":
            return self._one(field, value, path, level)
        if field.shape == "map":
            if not isinstance(value, Mapping):
                return self._wrong_type(path, value, f"an object; write {example(field, asked=self._asked)}")
            # A map entry is a message of its own on the wire.
            pairs = ((key, self._entry(field, key, x, path, level + 1)) for key, x in value.items() if self._goes_on)
            return {key: x for key, x in pairs if x is not _BAD}
        if not isinstance(value, list | tuple):
            return self._wrong_type(path, value, f"an array; write {example(field, asked=self._asked)}")
        items = (self._one(field, x, element(path, i), level) for i, x in enumerate(value) if self._goes_on)
        return [x for x in items if x is not _BAD]

    def _entry(self, field: Field, key: Any, value: Any, path: str, level: int) -> Any:
        if not isinstance(key, str):
            return self._wrong_type(path, key, "a string as the key")
        return self._one(field, value, entry(path, key), level) if self._is_text(path, key) else _BAD

    def _one(self, field: Field, value: Any, path: str, level: int) -> Any:
        if field.message is not None:
            if not isinstance(value, Mapping):
                return self._wrong_type(path, value, f"an object; write {example(field, one=True, asked=self._asked)}")
            return self.message(field.message, value, path, level + 1)
        if field.kind == "string":
            if not isinstance(value, str):
                return self._wrong_type(path, value, f"a string{_quoted(value)}")
            return str(value) if self._is_text(path, value) else _BAD
        if field.kind == "bool":
            if isinstance(value, bool):
                return value
            instead = f": write {value}" if value in ("true", "false") else ""
            return self._wrong_type(path, value, f"true or false{instead}")
        if field.kind == "int32":
            number = _int32(value)
            return self._wrong_type(path, value, "a whole number of 32 bits") if number is None else number
        if field.kind == "enum":
            return self._enum(field, value, path)
        if field.kind in ("struct", "value"):
            return self._free(field, value, path, level)
        return self._scalar(field, value, path)

    def _enum(self, field: Field, value: Any, path: str) -> Any:
        assert field.enum is not None
        if isinstance(value, str):
            known = field.enum.values_by_name.get(value)
            if known is not None:
                return known.number
        elif (number := _int32(value)) is not None:
            return number
        names = [v.name for v in field.enum.values][1:]
        return self._wrong_type(path, value, f"one of {_listed(names)}")

    def _scalar(self, field: Field, value: Any, path: str) -> Any:
        if field.kind == "bytes":
            read = _base64(value)
            return self._wrong_type(path, value, "a string of base64") if read is None else read
        try:
            return read_timestamp(value)
        except UnfitError:
            return self._wrong_type(path, value, "a time of RFC 3339; write 2026-01-31T12:00:00Z")

    def _free(self, field: Field, value: Any, path: str, level: int) -> Any:
        if field.kind == "struct" and not isinstance(value, Mapping):
            return self._wrong_type(path, value, "an object")
        # A Struct stands where a Value one level up would have put it.
        try:
            plain = self._plain(value, path, level if field.kind == "struct" else level + 1)
        except _TooDeepError:
            message = f"this is nested deeper than the {MAX_NESTING} messages that protobuf reads; make it flatter"
            self._findings.error(path, "depth", message, "protobuf")
            return _BAD
        return plain if plain is _BAD or field.kind == "struct" else wrap_value(plain)

    def _plain(self, value: Any, path: str, level: int) -> Any:
        """A copy of a free JSON value in plain Python types; ``level`` is that of the Value that holds it."""
        if level > MAX_NESTING:
            raise _TooDeepError
        if isinstance(value, Mapping):
            if level + 1 > MAX_NESTING:
                raise _TooDeepError
            pairs = ((key, self._plain_entry(key, x, path, level)) for key, x in value.items() if self._goes_on)
            return {key: x for key, x in pairs if x is not _BAD}
        if isinstance(value, list | tuple):
            if level + 1 > MAX_NESTING:
                raise _TooDeepError
            items = (self._plain(x, element(path, i), level + 2) for i, x in enumerate(value) if self._goes_on)
            return [x for x in items if x is not _BAD]
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str(value) if self._is_text(path, value) else _BAD
        if isinstance(value, int | float):
            return self._double(value, path)
        return self._wrong_type(path, value, "a JSON value")

    def _plain_entry(self, key: Any, value: Any, path: str, level: int) -> Any:
        if not isinstance(key, str):
            return self._wrong_type(path, key, "a string as the key")
        return self._plain(value, entry(path, key), level + 3) if self._is_text(path, key) else _BAD

    def _double(self, value: float, path: str) -> Any:
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
        if number - number != 0:  # infinite, or not a number
            return self._wrong_type(path, value, "a number that fits a double")
        return value

    def _is_text(self, path: str, value: str) -> bool:
        try:
            value.encode()
        except UnicodeEncodeError:
            message = "this string holds half a surrogate pair, which is no character; write valid Unicode"
            self._findings.error(path, "syntax", message, "RFC 8259 §8.2")
            return False
        return True

    def _wrong_type(self, path: str, value: Any, wanted: str) -> Any:
        self._findings.error(path, "type", f"found {describe(value)} where there has to be {wanted}", _PROTOJSON)
        return _BAD


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _quoted(value: Any) -> str:
    plain = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**30
    return f'; write "{value}"' if plain else ""


def _empty(field: Field) -> str:
    return {"one": '""' if field.kind == "string" else "0", "many": "[]", "map": "{}"}[field.shape]


def _is_empty(field: Field, value: Any) -> bool:
    """Whether a REQUIRED value of the right type is as good as missing; a message that is set, never."""
    if field.kind == "enum":
        return field.enum is not None and value in (0, field.enum.values_by_number[0].name)
    if field.shape == "one":
        return field.kind == "string" and value == ""
    return isinstance(value, Mapping if field.shape == "map" else list | tuple) and not value


def _int32(value: Any) -> int | None:
    if isinstance(value, str):
        value = float(value) if _NUMBER.fullmatch(value) else None
    if isinstance(value, bool):
        number = None
    elif isinstance(value, float):
        number = int(value) if value.is_integer() else None
    else:
        number = value if isinstance(value, int) else None
    return number if number is not None and -0x80000000 <= number <= 0x7FFFFFFF else None


def _base64(value: Any) -> bytes | None:
    if not isinstance(value, str) or not _BASE64.fullmatch(value):
        return None
    digits = value.rstrip("=")
    if len(digits) % 4 == 1:
        return None
    return base64.urlsafe_b64decode(digits.replace("+", "-").replace("/", "_") + "=" * (-len(digits) % 4))
