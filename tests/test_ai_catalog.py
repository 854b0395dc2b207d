"""The AI catalog format and JSON lists: what they name, without fetching anything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from a2a_discovery import CardError, sync
from a2a_discovery._ai_catalog import MOST_ENTRIES, SUBJECT, Crawl, read_ai_catalog
from a2a_discovery._listing import Item, decode
from a2a_discovery.reference import catalog_url
from tests.resolver.common import CARD
from tests.strategies import damaged, json_values

CARD_TYPE = "application/a2a-agent-card+json"
CATALOG_TYPE = "application/ai-catalog+json"
URL = "https://h.test/card"
CARD_OBJECT = json.loads(CARD)


def document(*entries: Any, version: Any = "1.0", **members: Any) -> dict[str, Any]:
    return {"specVersion": version, "entries": list(entries), **members}


def entry(**members: Any) -> dict[str, Any]:
    return {"identifier": "urn:a", "displayName": "A", "type": CARD_TYPE, **members}


def read(*entries: Any) -> list[Item]:
    return read_ai_catalog(document(*entries))


def refused(item: Item) -> tuple[str, str]:
    assert isinstance(item.error, CardError) and item.error.subject == SUBJECT
    (problem,) = item.error.problems
    return problem.path, problem.message


def test_what_entries_name() -> None:
    items = read(entry(url=URL), entry(data=CARD_OBJECT), entry(type=CATALOG_TYPE, url="HTTPS://H.test:443/c#part"))
    assert [(item.reference, item.url, item.nested, item.order) for item in items] == [
        (URL, URL, False, (0,)),
        ("#/entries/1/data", None, False, (1,)),
        ("https://h.test/c", "https://h.test/c", True, (2,)),
    ]
    assert {(item.identifier, item.display_name, item.error) for item in items} == {("urn:a", "A", None)}
    assert items[1].data == CARD_OBJECT


@pytest.mark.parametrize(
    "media_type", [CARD_TYPE.upper(), f" {CARD_TYPE} ; version=1.0; x", "application/A2A-agent-card+json;"]
)
def test_types_are_compared_without_case_and_parameters(media_type: str) -> None:
    assert [item.url for item in read(entry(type=media_type, url=URL))] == [URL]
    assert [item.url for item in read(entry(type=None, mediaType=media_type, url=URL))] == [URL]


@pytest.mark.parametrize("media_type", ["application/mcp-server-card+json", "", "a2a", f"x{CARD_TYPE}", CARD_TYPE[:-1]])
def test_other_types_are_passed_over_whatever_they_hold(media_type: str) -> None:
    items = read(entry(type=media_type, url=7, data=7), entry(type=media_type, mediaType=CARD_TYPE), entry(url=URL))
    assert [item.order for item in items] == [(2,)]


@pytest.mark.parametrize(
    ("bad", "path", "reason"),
    [
        (entry(url=URL, data=CARD_OBJECT), "", "exactly one of .* found both"),
        (entry(), "", "exactly one of .* found neither"),
        (entry(url=None, data=None), "", "exactly one of .* found neither"),
        (entry(type=None, url=URL), ".type", "REQUIRED member is missing"),
        (entry(type=7, url=URL), ".type", "found the number 7 where there has to be a string"),
        (entry(type=None, mediaType=[], url=URL), ".mediaType", "found an array"),
        (7, "", "found the number 7 where there has to be an object"),
        (entry(url=["x"]), ".url", "found an array where there has to be a string"),
        (entry(data="{}"), ".data", "found the string .* where there has to be an object"),
        (entry(url="card.json"), ".url", "not absolute"),
        (entry(url="//h.test/card.json"), ".url", "not absolute"),
        (entry(url="ftp://h.test/x"), ".url", "its scheme is 'ftp'"),
        (entry(url="\udc80"), ".url", "half a character"),
    ],
)
def test_a_bad_entry_is_a_failure_of_its_own(bad: Any, path: str, reason: str) -> None:
    good, item, last = read(entry(url=URL), bad, entry(data={}))
    assert good.url == URL and good.error is None and last.data == {}
    assert refused(item)[0] == f"entries[1]{path}"
    with pytest.raises(CardError, match=reason):
        raise item.error
    assert item.reference == "#/entries/1" and item.identifier == ("urn:a" if isinstance(bad, dict) else None)


def test_a_password_is_not_told() -> None:
    (item,) = read(entry(url="https://user:s3cret@h.test/"))
    assert "s3cret" not in str(item.error) and "user name or password" in str(item.error)


@pytest.mark.parametrize(
    ("bad", "path", "reason"),
    [
        ([], "", "found an array; an AI catalog is a JSON object"),
        ({}, "entries", "REQUIRED member is missing"),
        ({"entries": {}}, "entries", "found an object where there has to be an array"),
        (document(version="2.0"), "specVersion", "a catalog of version 2.0; 1.0 is read"),
        (document(version="10.0"), "specVersion", "a catalog of version 10.0"),
        (document(version="1"), "specVersion", 'write "1.0"'),
        (document(version=1.0), "specVersion", 'write "1.0"'),
    ],
)
def test_what_is_no_catalog_at_all(bad: Any, path: str, reason: str) -> None:
    with pytest.raises(CardError, match=reason) as caught:
        read_ai_catalog(bad)
    assert caught.value.subject == "AI catalog"
    assert [problem.path for problem in caught.value.problems] == [path]


@pytest.mark.parametrize("version", ["1.0", "1.7", "1.0.3", "0.9", None])
def test_minor_versions_and_unknown_members_do_not_matter(version: Any) -> None:
    assert read_ai_catalog(document(entry(url=URL, tags=7), version=version, host=[])) != []


def text(*entries: str, more: str = "") -> str:
    return f'{{"specVersion": "1.0", "entries": [{", ".join(entries)}]{more}}}'


def test_keys_that_stand_twice_spoil_their_entry_alone() -> None:
    card = json.dumps(CARD_OBJECT)
    inner = text(
        f'{{"type": "{CARD_TYPE}", "data": {card}}}', f'{{"type": "{CARD_TYPE}", "data": {card[:-1]}, "name": ""}}}}'
    )
    found = sync.Catalog.from_json(
        text(
            f'{{"type": "{CARD_TYPE}", "data": {card[:-1]}, "name": "B"}}}}',
            f'{{"type": "{CARD_TYPE}", "data": {card}, "data": {card}}}',
            f'{{"type": "{CARD_TYPE}", "data": {card}, "x": 1, "x": 2}}',
            f'{{"type": "{CATALOG_TYPE}", "data": {inner}}}',
            f'{{"type": "{CARD_TYPE}", "data": {card}}}',
        )
    )
    assert [e.reference for e in found] == ["#/entries/3/data/entries/0/data", "#/entries/4/data"]
    assert [f.reference for f in found.failures] == [
        "#/entries/0/data",
        "#/entries/1",
        "#/entries/2",
        "#/entries/3/data/entries/1/data",
    ]
    assert [f.error.problems[0].path for f in found.failures] == ["name", "entries[1]", "entries[2]", "name"]  # type: ignore[attr-defined]
    assert {f.error.problems[0].rule for f in found.failures} == {"duplicate"}  # type: ignore[attr-defined]
    listed = sync.Catalog.from_json(f'[{card}, {card[:-1]}, "name": 1}}]')
    assert [e.reference for e in listed] == ["#/0"] and [f.reference for f in listed.failures] == ["#/1"]


def test_keys_that_stand_twice_at_the_top_spoil_it_all() -> None:
    for twice in (', "entries": []', ', "host": 1, "host": 2', ', "host": {"a": 1, "a": 2}'):
        with pytest.raises(CardError, match="stands here twice"):
            sync.Catalog.from_json(text(more=twice))
    with pytest.raises(CardError, match="very many keys"):
        sync.Catalog.from_json(text(more=', "x": {' + ", ".join(['"a": 1'] * 11_000) + "}"))


def test_a_list_of_cards_and_references() -> None:
    found = sync.Catalog.from_json(json.dumps([CARD_OBJECT, 7, {"name": "B"}, "not a host", "not a host", CARD_OBJECT]))
    assert [e.reference for e in found] == ["#/0", "#/5"]
    assert [e.card.name for e in found] == [CARD_OBJECT["name"]] * 2 and {e.url for e in found} == {None}
    assert [f.reference for f in found.failures] == ["#/1", "#/2", "not a host"]
    assert "found the number 7" in str(found.failures[0].error)


@pytest.mark.parametrize("data", ["7", b'"x"', "null", "{", b"\xff", "{}", '{"entries": 1}'])
def test_json_that_is_neither_list_nor_catalog(data: Any) -> None:
    with pytest.raises(CardError):
        sync.Catalog.from_json(data)


@pytest.mark.parametrize(
    ("reference", "url"),
    [
        ("agent.test", "https://agent.test/.well-known/ai-catalog.json"),
        ("localhost:1/a/", "http://localhost:1/a/.well-known/ai-catalog.json"),
        ("https://agent.test/list.json", "https://agent.test/list.json"),
        ("https://agent.test/list?x=1", "https://agent.test/list?x=1"),
    ],
)
def test_where_a_catalog_is(reference: str, url: str) -> None:
    assert catalog_url(reference) == url


def test_nested_inline_catalogs_keep_the_order_and_end() -> None:
    def nested(depth: int) -> dict[str, Any]:
        below = [] if depth == 0 else [entry(type=CATALOG_TYPE, data=nested(depth - 1), identifier=f"c{depth}")]
        return document(
            entry(data={**CARD_OBJECT, "name": f"before {depth}"}), *below, entry(data={"name": f"{depth}"})
        )

    found = sync.Catalog.from_ai_catalog(nested(3))
    assert [e.card.name for e in found] == [f"before {depth}" for depth in (3, 2, 1, 0)]
    assert [f.reference.count("/data") for f in found.failures] == [4, 3, 2, 1]
    found = sync.Catalog.from_ai_catalog(nested(4), base_url=URL)
    assert [e.card.name for e in found] == [f"before {depth}" for depth in (4, 3, 2, 1)]
    deepest = found.failures[0]
    assert "nested deeper than the 3 catalogs" in str(deepest.error) and deepest.identifier == "c1"
    assert deepest.reference == f"{URL}#{'/entries/1/data' * 4}"
    assert found.failures[1].error.url == URL  # type: ignore[attr-defined]
    assert len(sync.Catalog.from_ai_catalog(nested(2), max_depth=0)) == 1


def test_there_is_an_end_of_entries() -> None:
    def many(host: str) -> list[Item]:
        return read(*[entry(url=f"https://{host}/{i}") for i in range(MOST_ENTRIES - 1)])

    crawl = Crawl(Item((), "the list"), 3)
    assert crawl.take(many("h.test")) == [] and len(crawl.items) == MOST_ENTRIES - 1
    (nested,) = crawl.take(read_ai_catalog(document(entry(type=CATALOG_TYPE, url=URL)), order=(MOST_ENTRIES,)))
    assert [item.error for item in crawl.items if item.error] == []
    assert nested and crawl.take(many("a.test")) == []
    *cards, end = crawl.items
    assert len(cards) == MOST_ENTRIES - 1 and end.reference == "the list"
    assert "more than 10,000 entries" in str(end.error)
    assert len(read(*[7] * (MOST_ENTRIES + 100))) == MOST_ENTRIES + 1


def test_who_names_a_url() -> None:
    def named_by(url: str, *trail: str) -> str | None:
        return Item((), url, url=url, trail=trail).named_by

    home, away = "https://h.test/c", "https://a.test/c"
    assert named_by("https://h.test/x") is None
    assert named_by("https://h.test/x", home, "https://h.test/d") == home
    assert named_by("https://a.test/x", home) == home
    assert named_by("https://a.test/x", home, away) == home  # what is elsewhere gets no credentials by naming itself
    assert named_by("https://h.test/x", home, away) == away  # and cannot have them sent
    assert named_by("https://h.test/x", home, away, home) == away


texts = st.sampled_from([URL, "x", "", CARD_TYPE, CATALOG_TYPE, "1.0", "2.0"])
entries = st.fixed_dictionaries(
    {},
    optional={
        "type": texts | json_values,
        "mediaType": texts | json_values,
        "url": texts | json_values,
        "data": json_values | st.just(CARD_OBJECT),
        "identifier": json_values,
        "displayName": json_values,
    },
)
catalogs = st.recursive(
    st.fixed_dictionaries({"entries": st.lists(entries | json_values, max_size=4)}, optional={"specVersion": texts}),
    lambda inner: st.fixed_dictionaries(
        {"entries": st.lists(st.fixed_dictionaries({"type": st.just(CATALOG_TYPE), "data": inner}), max_size=3)}
    ),
    max_leaves=4,
)


@given(st.data())
def test_no_document_raises_anything_else(data: st.DataObject) -> None:
    wanted = data.draw(catalogs | json_values)
    if data.draw(st.booleans()):
        wanted = data.draw(damaged(wanted))
    raw = json.dumps(wanted).encode()
    for source in (wanted, raw, raw[: data.draw(st.integers(0, len(raw)))]):
        crawl = Crawl(Item((), "#"), 2)
        try:
            document, repeated = decode(source, SUBJECT)
            waiting = crawl.take(read_ai_catalog(document, repeated))
        except CardError as exc:
            assert exc.problems and exc.subject == SUBJECT and str(exc)
            continue
        while waiting:
            item = waiting.pop()
            try:
                waiting += crawl.take(read_ai_catalog(item.data, item.repeated, order=item.order))
            except CardError as exc:
                crawl.refuse(item, exc)
        for item in crawl.items:
            assert item.error is None or str(item.error)
            assert item.error or item.url or isinstance(item.data, dict)
