"""JSON <-> messages, by the ProtoJSON mapping of protobuf: canonical names, enums by name, null means unset.

``loads`` reads any message of the schema, ``dumps`` and ``to_dict`` write one. Reading checks the form, not whether
REQUIRED fields are there: that is what ``validate`` and ``parse_card`` are for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import orjson
from google.protobuf.message import Message

from a2a_discovery._diagnosis import Diagnosis, describe
from a2a_discovery._duplicates import duplicates, has_duplicates
from a2a_discovery._forms import UnfitError, UnwritableError
from a2a_discovery._gen.readers import READERS
from a2a_discovery._gen.writers import WRITERS
from a2a_discovery._schema import is_request, path_of
from a2a_discovery.errors import CardError
from a2a_discovery.problems import Findings, Problem

MAX_BYTES = 64 * 1024 * 1024
"""The largest document that ``loads`` reads, in bytes."""

_BOM = b"\xef\xbb\xbf"
_JSON = "RFC 8259"

M = TypeVar("M", bound=Message)


def loads(cls: type[M], data: bytes | str | Mapping[str, Any], *, max_bytes: int = MAX_BYTES) -> M:
    """Read a message from JSON.

    Args:
        cls: the message class, one of ``a2a_discovery.types``.
        data: JSON text in UTF-8 (a byte order mark is passed over), or the object decoded from it.
        max_bytes: the largest text that is read.

    Raises:
        CardError: it is not JSON, or does not fit ``cls``; ``.problems`` names everything that is wrong. Unknown
            members are ignored; unknown enum names, keys that stand twice and wrong types are not.
    """
    if not (isinstance(cls, type) and issubclass(cls, Message) and cls.DESCRIPTOR.name in READERS):
        raise TypeError(f"{cls!r} is not a message class of a2a_discovery.types")
    subject = cls.DESCRIPTOR.name
    document, text = decode(data, max_bytes=max_bytes, subject=subject)
    message = read(cls, document, text, need=False)
    if message is not None:
        return message
    findings = Findings()
    message = diagnose(cls, document, text, findings, need=False)
    if message is None or not findings.valid:
        raise CardError(findings.problems, subject=subject)
    return message


def to_dict(message: Message) -> dict[str, Any]:
    """Write a message as a JSON object.

    Fields that hold their default are left out, as ProtoJSON does, but for the REQUIRED ones that may hold it (an empty
    ``ListTasksResponse`` has all of its four fields). Whole numbers in a Struct come back as int.

    Raises:
        CardError: it holds what JSON cannot: an infinite number, a time outside the years 1 to 9999, or a Struct nested
            beyond all bounds.
    """
    if not isinstance(message, Message) or message.DESCRIPTOR.name not in WRITERS:
        raise TypeError(f"{type(message).__name__} is not a message of a2a_discovery.types")
    name = message.DESCRIPTOR.name
    try:
        return WRITERS[name](message)
    except UnwritableError as exc:
        raise _unwritable(name, "value", f"{exc}: write another value") from exc
    except RecursionError as exc:
        raise _unwritable(name, "depth", "this is nested too deep to be written; make it flatter") from exc


def dumps(message: Message) -> bytes:
    """Write a message as JSON text in UTF-8, without white space; see ``to_dict``."""
    document = to_dict(message)
    try:
        return orjson.dumps(document)
    except orjson.JSONEncodeError as exc:
        problem = "this is nested too deep to be written; make it flatter"
        raise _unwritable(message.DESCRIPTOR.name, "depth", problem) from exc


def decode(data: Any, *, max_bytes: int, subject: str) -> tuple[Any, bytes | None]:
    """Decode JSON text; what is decoded already passes through. The second value is the text, if there was one.

    Raises:
        CardError: it is no JSON document in UTF-8 (rule ``syntax``), or too large (``size``).
    """
    if isinstance(data, str):
        try:
            text = data.removeprefix("\ufeff").encode()
        except UnicodeEncodeError as exc:
            raise _unreadable(subject, "syntax", "the text holds half a surrogate pair, which is no character") from exc
    elif isinstance(data, bytes | bytearray | memoryview):
        text = bytes(data).removeprefix(_BOM)
    else:
        return data, None
    if len(text) > max_bytes:
        raise _unreadable(
            subject, "size", f"the document has {len(text):,} bytes; at most {max_bytes:,} are read", "limit"
        )
    try:
        return orjson.loads(text), text
    except orjson.JSONDecodeError as exc:
        raise _unreadable(subject, "syntax", _syntax(text, exc)) from exc


def read(cls: type[M], document: Any, text: bytes | None, *, need: bool) -> M | None:
    """The fast path: a message, or None when only the diagnosis can tell."""
    try:
        if text is not None and has_duplicates(document, text):
            return None
        return cls(**READERS[cls.DESCRIPTOR.name](document, need))
    except (UnfitError, TypeError, ValueError, OverflowError):
        # What protobuf's constructor refuses (half a surrogate pair in a dict, say) it words for itself.
        return None


def diagnose(cls: type[M], document: Any, text: bytes | None, findings: Findings, *, need: bool) -> M | None:
    """The exact path: note every problem, and read what can be read; None when the root is no object."""
    descriptor: Any = cls.DESCRIPTOR
    if text is not None:
        for place in duplicates(text):
            if findings.full("error"):
                break
            message = "this key stands here twice, and readers differ in which one they take; keep one"
            findings.error(path_of(descriptor, place), "duplicate", message, "RFC 7493 §2.3")
    if not isinstance(document, Mapping):
        article = "an" if descriptor.name[0] in "AEIOU" else "a"
        message = f"found {describe(document)}; {article} {descriptor.name} is a JSON object"
        findings.error("", "type", message, "ProtoJSON")
        return None
    walk = Diagnosis(findings, need=need, asked=is_request(descriptor))
    return cls(**walk.message(descriptor, document, ""))


def _syntax(text: bytes, exc: orjson.JSONDecodeError) -> str:
    start = text.lstrip()[:1]
    if not start:
        return "the document is empty; a JSON object is needed"
    if start == b"<":
        return "this is HTML or XML, not JSON"
    place = f"(line {exc.lineno}, column {exc.colno})"
    if "depth" in exc.msg or "recursion" in exc.msg.lower():
        return f"this is nested deeper than the 1,024 levels of arrays and objects that are read {place}"
    if "infinity" in exc.msg:
        return f"this holds a number that is too large for a double {place}"
    return f"this is not JSON: {exc.msg} {place}"


def _unreadable(subject: str, rule: Any, message: str, source: str = _JSON) -> CardError:
    return CardError([Problem("", rule, "error", message, source)], subject=subject)


def _unwritable(subject: str, rule: Any, message: str) -> CardError:
    return CardError([Problem("", rule, "error", message, "ProtoJSON")], subject=subject)
