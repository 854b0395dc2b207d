"""Pages of a list (§3.1.4): their size, and tokens that name a place in it."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from typing import Final

from a2a_discovery.bindings.faults import invalid_params
from a2a_discovery.errors import A2AError
from a2a_discovery.problems import Problem

DEFAULT_PAGE_SIZE: Final = 50
MAX_PAGE_SIZE: Final = 100

_NUMBERS = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})*")


def wrong(field: str, message: str) -> A2AError:
    """The error for one field of a request that cannot be taken (-32602), ``field`` by its JSON name."""
    return invalid_params([Problem(field, "value", "error", message, "§3.3.2")])


def page_size(wanted: int | None) -> int:
    """How many items a page holds at most; ``None`` is the default.

    Raises:
        A2AError: it is not between 1 and 100 (-32602).
    """
    if wanted is None:
        return DEFAULT_PAGE_SIZE
    if not 1 <= wanted <= MAX_PAGE_SIZE:
        raise wrong("pageSize", f"{wanted} is not between 1 and {MAX_PAGE_SIZE}")
    return wanted


def history_length(wanted: int | None) -> int | None:
    """How many messages of a history are returned; ``None`` is all (§3.2.4).

    Raises:
        A2AError: it is negative (-32602).
    """
    if wanted is not None and wanted < 0:
        raise wrong("historyLength", f"{wanted} is negative: 0 means none, and without it all are returned")
    return wanted


def encode_token(*numbers: int) -> str:
    """A page token that holds ``numbers``."""
    return urlsafe_b64encode(".".join(map(str, numbers)).encode()).decode().rstrip("=")


def decode_token(token: str, count: int) -> list[int]:
    """The ``count`` numbers that a page token holds.

    Raises:
        A2AError: it is no token that was given out (-32602).
    """
    try:
        text = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4)).decode("ascii")
    except (Error, ValueError):
        text = ""
    numbers = [int(number) for number in text.split(".")] if _NUMBERS.fullmatch(text) else []
    if len(numbers) != count or encode_token(*numbers) != token:
        raise bad_token()
    return numbers


def bad_token() -> A2AError:
    """The error for a page token that was not given out."""
    return wrong("pageToken", "this is not a token that this agent gave out; start again without one")
