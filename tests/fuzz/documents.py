"""What has to hold for documents that name cards, and for what servers say of keeping them."""

from __future__ import annotations

import hishel

from a2a_discovery._ai_catalog import SUBJECT, Crawl, read_ai_catalog
from a2a_discovery._kept import Place, selection
from a2a_discovery._listing import LIST, Item, decode, read_list
from a2a_discovery._media_types import covers, overlaps
from a2a_discovery._response import ResponseHead
from a2a_discovery.cache import CardCache
from a2a_discovery.errors import CardError
from tests.fuzz.texts import grown

_NOW = 1_800_000_000.0
_PLACE = Place("https://h.test/card.json", "", False)
_REQUEST = hishel.Request("GET", _PLACE.url, hishel.Headers({"accept": "application/json"}))


def catalog(data: bytes) -> None:
    """An AI catalog or a list of cards is read, or refused as a whole; what is wrong with an entry is that entry's."""
    text = grown(data)
    try:
        document, repeated = decode(text, SUBJECT)
    except CardError as exc:
        assert str(exc)
        return
    crawl = Crawl(Item((), "#"), 3)
    for read in (lambda: read_ai_catalog(document, repeated), lambda: read_list(document, repeated)):
        try:
            items = read()
        except CardError as exc:
            assert str(exc) and exc.subject in (SUBJECT, LIST)
            continue
        crawl.take(items)
        for item in items:
            assert item.error is None or str(item.error)
            assert item.named_by is None
    assert [item.order for item in crawl.items] == sorted(item.order for item in crawl.items)


def media_types(data: bytes) -> None:
    """Two texts as media types: each covers itself, and what one covers has something in common with it."""
    one, _, other = data.decode("utf-8", "surrogateescape").partition("\n")
    assert covers(one, one) and overlaps(one, one)
    assert overlaps(one, other) == overlaps(other, one) == (covers(one, other) or covers(other, one))


def cache(data: bytes) -> None:
    """Two heads of answers, apart by an empty line: the first comes with a card, the second with the 304 to it."""
    first, _, second = data.decode("latin-1").partition("\n\n")
    now = _NOW
    kept = CardCache(clock=lambda: now)
    plan = kept.plan(_REQUEST, ())
    card = kept.received(plan, _PLACE, _head(first), b"{}", asked=now, answered=now)
    if card is None:
        return
    kept.keep(_PLACE, card)
    for head in (second, second):
        plan = kept.plan(_REQUEST, kept.at(_PLACE))
        if plan.hit is not None:
            assert now < plan.hit.fresh_until and not plan.hit.freshness.no_cache
            plan.hit.found_for.add(selection(_REQUEST.headers))
            assert kept.fresh(_PLACE, selection(_REQUEST.headers), now) is plan.hit
            now = plan.hit.fresh_until
            assert kept.fresh(_PLACE, selection(_REQUEST.headers), now) is None
            plan = kept.plan(_REQUEST, kept.at(_PLACE))
        assert plan.hit is None
        card = kept.revalidated(plan, _PLACE, _head(head), asked=now, answered=now + 1)
        if card is None:
            return
        kept.keep(_PLACE, card)


def _head(text: str) -> dict[str, str]:
    fields = (line.partition(":") for line in text.split("\n"))
    return dict(ResponseHead.read(200, [(name.strip(), value.strip()) for name, _, value in fields if name]).headers)
