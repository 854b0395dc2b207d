"""JSON forms of the values that are neither strings, numbers, booleans, lists nor messages (ProtoJSON).

``read_*`` takes the JSON form to what the message's constructor wants and raises ``UnfitError`` for anything else;
``write_*`` goes the other way and raises ``UnwritableError`` for what has no JSON form.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.struct_pb2 import Struct

# Protobuf's C and C++ parsers refuse messages nested deeper than this below the root, so such a message could not be
# sent over gRPC.
MAX_NESTING = 100

# A Struct this deep fits below any message of the schema; the diagnosis counts exactly. An object in a Struct costs
# three levels (the map entry, the Value, the Struct), an array two.
_SURE_DEPTH = 24

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# RFC 3339 with upper-case T and Z, as ProtoJSON has it.
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_MIN_SECONDS, _MAX_SECONDS = -62135596800, 253402300799  # years 1 to 9999


class UnfitError(Exception):
    """A value is not in the plain canonical form of its field; it never leaves the library."""


class UnwritableError(Exception):
    """A value has no JSON form; it never leaves the library."""


def read_bytes(v: Any) -> bytes:
    """Base64 with padding (RFC 4648 §4)."""
    if type(v) is not str:
        raise UnfitError
    try:
        return base64.b64decode(v, validate=True)
    except (binascii.Error, ValueError):
        raise UnfitError from None


def read_timestamp(v: Any) -> dict[str, int]:
    """RFC 3339 with at most nine fractional digits, years 1 to 9999."""
    found = _TIMESTAMP.fullmatch(v) if type(v) is str else None
    if found is None:
        raise UnfitError
    try:
        moment = datetime(*map(int, found.group(1, 2, 3, 4, 5, 6)), tzinfo=UTC)  # type: ignore[misc, arg-type]
    except ValueError:
        raise UnfitError from None
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    if found[8]:
        hours, minutes = int(found[9]), int(found[10])
        if hours > 23 or minutes > 59:
            raise UnfitError
        seconds -= (hours * 3600 + minutes * 60) * (1 if found[8] == "+" else -1)
        if not _MIN_SECONDS <= seconds <= _MAX_SECONDS:
            raise UnfitError
    return {"seconds": seconds, "nanos": int((found[7] or "").ljust(9, "0"))}


def read_struct(v: Any) -> Struct:
    """A JSON object."""
    return _struct(v, _SURE_DEPTH)


def read_value(v: Any) -> Any:
    """Any JSON value, null included."""
    return _value(v, _SURE_DEPTH)


# Protobuf's constructor takes a plain dict for a Struct too, but fills it in Python, at twice the time.
def _struct(v: Any, depth: int) -> Struct:
    if type(v) is not dict or not depth:
        raise UnfitError
    for key in v:
        if type(key) is not str:
            raise UnfitError
    return Struct(fields={key: _value(x, depth - 1) for key, x in v.items()})


def _value(v: Any, depth: int) -> Any:
    kind = type(v)
    if kind is str:
        return {"string_value": v}
    if kind is int or (kind is float and math.isfinite(v)):
        return {"number_value": v}
    if kind is dict:
        return {"struct_value": _struct(v, depth)}
    if kind is list and depth:
        return {"list_value": {"values": [_value(x, depth - 1) for x in v]}}
    if kind is bool:
        return {"bool_value": v}
    if v is None:
        return {"null_value": 0}
    raise UnfitError


def wrap_value(v: Any) -> dict[str, Any]:
    """The constructor arguments of the google.protobuf.Value that holds ``v``."""
    if v is None:
        return {"null_value": 0}
    if v is True or v is False:
        return {"bool_value": v}
    if type(v) is str:
        return {"string_value": v}
    if type(v) is dict:
        return {"struct_value": v}
    return {"list_value": v} if type(v) is list else {"number_value": v}


def write_bytes(v: bytes) -> str:
    """Base64 with padding."""
    return base64.b64encode(v).decode("ascii")


def write_timestamp(v: Any) -> str:
    """RFC 3339 in UTC with ``Z`` and 0, 3, 6 or 9 fractional digits."""
    seconds, nanos = v.seconds, v.nanos
    if not (_MIN_SECONDS <= seconds <= _MAX_SECONDS and 0 <= nanos <= 999_999_999):
        raise UnwritableError("a Timestamp lies outside the years 1 to 9999, or has nanos outside 0 to 999,999,999")
    text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    if not nanos:
        return f"{text}Z"
    digits = f"{nanos:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f"{text}.{digits}Z"


def write_struct(v: Any) -> dict[str, Any]:
    """A JSON object, its keys in order: protobuf's maps have one of their own in each process."""
    fields = v.fields
    return {key: write_value(fields[key]) for key in sorted(fields)}


def write_value(v: Any) -> Any:
    """Any JSON value; whole numbers come back as int where a double holds them exactly."""
    kind = v.WhichOneof("kind")
    if kind == "string_value":
        return v.string_value
    if kind == "number_value":
        return _number(v.number_value)
    if kind == "bool_value":
        return v.bool_value
    if kind == "struct_value":
        return write_struct(v.struct_value)
    if kind == "list_value":
        return [write_value(x) for x in v.list_value.values[:]]
    return None


def _number(v: float) -> int | float:
    if v.is_integer():
        # -0.0 stays a float, so that its sign survives.
        return int(v) if -(2**53) <= v <= 2**53 and (v or math.copysign(1, v) > 0) else v
    if not math.isfinite(v):
        raise UnwritableError(f"a Struct holds the number {v}, which JSON cannot")
    return v
