"""The body of a request that a server got: JSON with a bounded number of values, no key of which stands twice."""

from __future__ import annotations

from typing import Any, Final

import orjson

from a2a_discovery._duplicates import Step, duplicates, has_duplicates
from a2a_discovery._schema import path_of
from a2a_discovery.bindings import faults
from a2a_discovery.errors import A2AError
from a2a_discovery.problems import Findings, Problem

MAX_VALUES: Final = 100_000
"""How many values a request may hold: objects, arrays, and what is in them. Each costs some microseconds."""

_MOST_NAMED: Final = 100


def decode(body: bytes) -> Any:
    """The JSON value that ``body`` is.

    Raises:
        A2AError: it is none (-32700).
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise faults.parse_error("the body is not JSON") from exc


def check_size(document: Any, body: bytes, max_values: int) -> None:
    """Do nothing when ``document``, decoded from ``body``, has at most ``max_values`` values.

    Raises:
        A2AError: it has more (HTTP 413).
    """
    if len(body) <= 2 * max_values:
        return  # there is a comma, a colon or a bracket for each value
    found = [document]
    for value in found:
        if type(value) is dict:
            found.extend(value.values())
        elif type(value) is list:
            found.extend(value)
        if len(found) > max_values:
            raise too_many(max_values)


def doubled(document: Any, body: bytes) -> list[tuple[Step, ...]]:
    """The places of the keys that their object holds twice (RFC 7493 §2.3): keys and indices from the root."""
    if not has_duplicates(document, body):
        return []
    return [place for _, place in zip(range(_MOST_NAMED), duplicates(body), strict=False)]


def twice(descriptor: Any, places: list[tuple[Step, ...]]) -> list[Problem]:
    """The problems of a request with keys that stand twice; ``places`` are those within the request message."""
    findings = Findings()
    for place in places:
        message = "this key stands here twice, and readers differ in which one they take; keep one"
        findings.error(path_of(descriptor, place), "duplicate", message, "RFC 7493 §2.3")
    return findings.problems


def too_large() -> A2AError:
    """The body has more bytes than are read."""
    error = faults.invalid_request("the request is too large")
    error.http_status = 413
    return error


def too_many(limit: int) -> A2AError:
    """The request has more values than are read."""
    error = faults.invalid_request(f"the request holds more than the {limit:,} values that are read")
    error.http_status = 413
    return error
