"""What has to hold for any bytes, one function for each place where bytes of somebody else come in.

A target returns, or raises what it found: an AssertionError, or an exception that is none of the library's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import orjson

from a2a_discovery import CardError, inspect_card, parse_card, protojson, select_interface
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery._redirects import RedirectChain
from a2a_discovery._response import ResponseHead, retry_after
from a2a_discovery.bindings import answers, faults, grpc, jsonrpc, rest, sse
from a2a_discovery.card import CardReport
from a2a_discovery.errors import A2ADiscoveryError, A2AError, FetchError, NoSupportedInterfaceError
from a2a_discovery.policy import Url, UrlPolicy, UrlRefusedError, parse_grpc_address, parse_url
from a2a_discovery.problems import Findings
from a2a_discovery.push import read_push_notification
from a2a_discovery.reference import card_url
from a2a_discovery.types import AgentCard
from tests.fuzz import documents, trust
from tests.fuzz.texts import GROWN, grown

_STATUSES = (200, 400, 401, 404, 429, 500, 503, 999)
_CODES = ("NOT_FOUND", "UNAVAILABLE", "INTERNAL", "X")


def card(data: bytes) -> None:
    """A card's text: the readers agree, and a card can be written and read again."""
    text = grown(data)
    report = inspect_card(text)
    assert (report.card is None) == bool(report.errors)
    try:
        found = parse_card(text)
    except CardError as exc:
        assert exc.problems == report.problems and str(exc)
    else:
        assert found == report.card
        assert parse_card(protojson.dumps(found)) == found
        with suppress(NoSupportedInterfaceError):
            select_interface(found)
    _readers_agree(text, report)


def _readers_agree(text: bytes, report: CardReport) -> None:
    try:
        document, plain = protojson.decode(text, max_bytes=2 * GROWN, subject="AgentCard")
    except CardError:
        return
    for need in (True, False):
        findings = Findings()
        quick = protojson.read(AgentCard, document, plain, need=need)
        exact = protojson.diagnose(AgentCard, document, plain, findings, need=need)
        if quick is not None:
            assert findings.valid and quick == exact
    # What was decoded elsewhere reads the same, but for a string, which is text itself, and for keys that stand twice,
    # which nobody sees there.
    if not (isinstance(document, str) or any(problem.rule == "duplicate" for problem in report.errors)):
        assert inspect_card(document) == report


def server_sent_events(data: bytes) -> None:
    """A stream of events: wherever it is cut, they are those of the standard, and no more is held than the limit."""
    size, stream = (data[0] % 16 + 1, data[1:]) if data else (1, b"")
    expected = _events(stream)
    for pieces in ([stream], [stream[i : i + size] for i in range(0, len(stream), size)]):
        parser = sse.Parser()
        assert [event for piece in pieces for event in parser.feed(piece)] == expected
        found: list[bytes] = []
        parser = sse.Parser(limit=64)
        try:
            for piece in pieces:
                found += parser.feed(piece)
                assert parser._size + len(parser._line) <= 64
        except sse.EventSizeError as exc:
            found += exc.events
            assert found == expected[: len(found)]
        else:
            assert found == expected


def _events(stream: bytes) -> list[bytes]:
    """The standard's own words (WHATWG HTML §9.2.6) for a whole stream."""
    lines = re.split(rb"\r\n|\r|\n", stream)[:-1]  # what follows the last line end is incomplete
    events, data = [], []
    for number, line in enumerate(lines):
        if number == 0:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            if data:
                events.append(b"\n".join(data))
            data = []
            continue
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
    return events


def json_rpc(data: bytes) -> None:
    """The body of an answer of each operation, and of a request."""
    operation, body = _operation(data)
    message = _answer(operation, lambda: jsonrpc.decode_response(operation, body, "1"))
    if message is not None:
        written = _written(lambda: jsonrpc.encode_response("1", message))
        assert written is None or jsonrpc.decode_response(operation, written, "1") == message
    try:
        call = jsonrpc.decode_request(body)
    except jsonrpc.RequestError as exc:
        _error(exc.error)
        orjson.loads(jsonrpc.encode_error(exc.id, exc.error))
    else:
        again = jsonrpc.encode_request(call.operation, call.request, "7")
        assert jsonrpc.decode_request(again) == jsonrpc.Call("7", call.operation, call.request)


def http_json(data: bytes) -> None:
    """The body of an answer of each operation, of an HTTP error, of a request, and of a push notification."""
    operation, body = _operation(data)
    message = _answer(operation, lambda: rest.decode_response(operation, body))
    if message is not None:
        written = _written(lambda: rest.encode_response(message))
        # Of a message, "error" is a member that it does not know.
        assert written is None or rest.decode_response(operation, written) == message
    _error(faults.from_http(_STATUSES[len(body) % len(_STATUSES)], {"retry-after": "1"}, body))
    with suppress(A2ADiscoveryError):
        read_push_notification({}, body)
    verb, _, left = body.partition(b" ")
    target, _, sent = left.partition(b"\n")
    path, _, query = target.decode("latin-1").partition("?")
    try:
        found = rest.match(verb.decode("latin-1"), path)
        rest.decode_request(found, query, sent)
    except A2AError as exc:
        _error(exc)


def grpc_wire(data: bytes) -> None:
    """The wire format of an answer of each operation, and the details of a status."""
    operation, body = _operation(data)
    message = _answer(operation, lambda: answers.from_wire(operation, body))
    if message is not None and answers.is_own(message):
        message.DiscardUnknownFields()  # JSON has no place for them
        written = _written(lambda: protojson.dumps(message))
        # A Value without a kind is written as null, so it is the text that has to be the same.
        assert written is None or protojson.dumps(protojson.loads(type(message), written)) == written
    text = body.decode("latin-1")
    metadata = [(grpc.STATUS_DETAILS, body), ("retry-after", text), ("www-authenticate", text), ("x-bin", body)]
    _error(grpc.decode_error(_CODES[len(body) % len(_CODES)], text, metadata))


def header_text(data: bytes) -> None:
    """URLs and header values: what is accepted leads to one place, whoever reads it."""
    text = grown(data).decode("utf-8", "surrogateescape")
    for parse in (parse_url, lambda address: parse_grpc_address(address)[0]):
        try:
            url = parse(text)
        except UrlRefusedError as exc:
            assert str(exc)
            continue
        assert parse_url(str(url)) == url
        with suppress(UrlRefusedError):
            UrlPolicy().check(url)
        _readers_of_urls_agree(url, str(url))
        if parse is parse_url:
            _readers_of_urls_agree(url, text)
    with suppress(FetchError):
        assert parse_url(card_url(text))
    head = ResponseHead.read(302, [("Location", text), ("Content-Type", text), ("content-type", text)])
    assert head.media_type == head.media_type.lower()
    with suppress(FetchError):
        RedirectChain("https://h.test/a?b", UrlPolicy(), 5).follow(head)
    seconds = retry_after(text)
    assert seconds is None or seconds >= 0


def _readers_of_urls_agree(url: Url, text: str) -> None:
    split = urlsplit(text)
    assert (split.hostname, split.port or {"http": 80, "https": 443}[split.scheme]) == (url.host, url.port)
    try:
        other = httpx.URL(text)
    except (httpx.InvalidURL, UnicodeError):
        return  # it goes nowhere then
    assert (other.port or {"http": 80, "https": 443}[other.scheme]) == url.port
    assert other.scheme == url.scheme
    # What the name service is asked for: the same letters, whatever IDNA has to say about some of them.
    labels = (label if label.isascii() else f"xn--{label.encode('punycode').decode()}" for label in url.host.split("."))
    assert other.raw_host.decode("ascii").lower() == ".".join(labels)


def _operation(data: bytes) -> tuple[Any, bytes]:
    """The operation that the first byte means, and the rest."""
    names = sorted(OPERATIONS)
    return OPERATIONS[names[data[0] % len(names)] if data else names[0]], grown(data[1:])


def _answer(operation: Any, read: Callable[[], Any]) -> Any:
    """The message that was read, or None where an error of the library said that there is none."""
    try:
        message = read()
        answers.check(operation, message, strict=False)
    except A2ADiscoveryError as exc:
        _error(exc)
        return None
    return message


def _error(error: A2ADiscoveryError) -> None:
    """Everything of an error can be looked at, and it can be passed on over each binding."""
    assert str(error) and repr(error)
    assert isinstance(error, A2AError) and isinstance(error.field_violations, tuple)
    orjson.loads(jsonrpc.encode_error("1", error))
    orjson.loads(faults.to_http(error)[1])


def _written(write: Callable[[], bytes]) -> bytes | None:
    """What was written, or None where JSON has no form for it."""
    try:
        return write()
    except CardError:
        return None


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "card": card,
    "sse": server_sent_events,
    "jsonrpc": json_rpc,
    "rest": http_json,
    "grpc": grpc_wire,
    "url": header_text,
    "canonical": trust.signed_card,
    "keys": trust.answers,
    "catalog": documents.catalog,
    "cache": documents.cache,
    "media": documents.media_types,
}
