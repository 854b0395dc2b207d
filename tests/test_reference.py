"""From a reference to the card's URL."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from a2a_discovery.errors import FetchError
from a2a_discovery.policy import parse_url
from a2a_discovery.reference import WELL_KNOWN_PATH, card_url, read_url
from tests.cases import load

CASES = load("urls")
IDN = "भारत.भारत"
CARD = "/.well-known/agent-card.json"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["reference"])
def test_case(case: dict[str, str | None]) -> None:
    reference = case["reference"]
    assert reference is not None
    if case["url"] is None:
        with pytest.raises(FetchError):
            card_url(reference)
    else:
        assert card_url(reference) == case["url"]


@pytest.mark.parametrize(
    ("reference", "url"),
    [
        ("localhost", f"http://localhost{CARD}"),
        ("app.localhost:3000", f"http://app.localhost:3000{CARD}"),
        ("127.0.0.1:8000/", f"http://127.0.0.1:8000{CARD}"),
        ("127.9.9.9", f"http://127.9.9.9{CARD}"),
        ("[::1]:8080", f"http://[::1]:8080{CARD}"),
        ("[::1]", f"http://[::1]{CARD}"),
        ("[2001:db8::1]:8443/a", f"https://[2001:db8::1]:8443/a{CARD}"),
        ("http://[::1]:8080/a", f"http://[::1]:8080/a{CARD}"),
        ("192.168.1.5:8000", f"https://192.168.1.5:8000{CARD}"),
        ("agent.test:8443/a/b/", f"https://agent.test:8443/a/b{CARD}"),
        ("agent.test/a", f"https://agent.test/a{CARD}"),
        ("agent:8080/a", f"https://agent:8080/a{CARD}"),
        ("localhost/a", f"http://localhost/a{CARD}"),
        ("agent", f"https://agent{CARD}"),
        ("agent.test/cards/x.json", "https://agent.test/cards/x.json"),
        ("agent.test?tenant=x", "https://agent.test?tenant=x"),
        ("agent.test#about", f"https://agent.test{CARD}"),
        ("bücher.test", f"https://bücher.test{CARD}"),
        (" \t https://h.test \r\n", f"https://h.test{CARD}"),
        ("HTTPS://H.Test/Agents", f"https://h.test/Agents{CARD}"),
        ("https://h.test:443", f"https://h.test{CARD}"),
        ("http://h.test:80", f"http://h.test{CARD}"),
        ("http://h.test:443", f"http://h.test:443{CARD}"),
        ("https://h.test//", f"https://h.test{CARD}"),
        ("https://h.test/x.JSON", "https://h.test/x.JSON"),
        ("https://h.test/x.json/", f"https://h.test/x.json{CARD}"),
        ("https://h.test/a#x.json", f"https://h.test/a{CARD}"),
        ("https://h.test/a?x=1#y", "https://h.test/a?x=1"),
        ("https://h.test/a?u=https://b.test/c", "https://h.test/a?u=https://b.test/c"),
        ("https://h.test/@team/agent", f"https://h.test/@team/agent{CARD}"),
        ("h.test/@team", f"https://h.test/@team{CARD}"),
    ],
)
def test_reads(reference: str, url: str) -> None:
    assert card_url(reference) == url


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("   ", "empty"),
        ("file:///etc/passwd", "'file'"),
        ("grpc://h.test", "'grpc'"),
        ("mailto:someone", "no scheme that is fetched"),
        ("data:application/json,{}", "no scheme that is fetched"),
        ("https:h.test", "two slashes are missing"),
        ("http:80", "two slashes are missing"),
        ("https://", "names no host"),
        ("https:///card.json", "names no host"),
        ("https://:8080", "host or port cannot be read"),
        ("//h.test", "path without a host"),
        ("/card.json", "path without a host"),
        ("./card.json", "path without a host"),
        ("../a", "path without a host"),
        ("card.json", "a file or a relative path"),
        ("cards/x.json", "a file or a relative path"),
        ("h.test:", "neither|number"),
        ("h.test:x", "number"),
        ("h.test:0", "port 0"),
        ("h.test:65536", "'h.test:65536' is no .* port 65536 does not exist"),
        ("https://h.test:99999", "port 99999 does not exist"),
        ("https://h.test:-1", "cannot be read"),
        ("https://[::1", "cannot be read"),
        ("::1", r"brackets"),
        ("2001:db8::1", r"brackets"),
        ("0.0.0.0:8000", "listen on"),
        ("https://h.test/a b", "space"),
        ("h.test/a\nb", "space"),
        ("https://h.test/\x00", "control"),
        ("https://h.test\\@evil.test", "character"),
        ("https://h.test/\ud800", "surrogate"),
        ("?x=1", "neither"),
        ("#x", "neither"),
        ("two words", "space|neither"),
    ],
)
def test_refuses(reference: str, reason: str) -> None:
    with pytest.raises(FetchError, match=reason) as caught:
        card_url(reference)
    str(caught.value).encode()


@pytest.mark.parametrize(
    "reference",
    [
        "https://user:s3cret@h.test",
        "https://s3cret@h.test",
        "user:s3cret@h.test",
        "s3cret@h.test",
        "https://user:s3cret/x@h.test",
        "https://user:s3cret#x@h.test",
        "https://user:s3cret?x@h.test/a@b",
        "https://user:s3cret%40h.test",
        "https://user:s3cret\uff20h.test",
        "https:user:s3cret@h.test",
        "https:/user:s3cret@h.test",
        "ftp://user:s3cret@h.test",
        "https://user:s3 cret@h.test/s3cret@",
        "https://user:s3cret@h.test:0",
        "user:s3cret/x@h.test",
    ],
)
@pytest.mark.parametrize("read", [card_url, read_url])
def test_password_is_not_echoed(reference: str, read: object) -> None:
    assert callable(read)
    with pytest.raises(FetchError) as caught:
        read(reference)
    told = f"{caught.value} {caught.value.url} {caught.value.__cause__}"
    assert "s3cret" not in told and "s3 cret" not in told
    assert "***@" in caught.value.url


@given(st.text(st.characters()) | st.from_regex(r"(https?://)?[\w.:@\[\]-]{0,12}([/?#][\w.@:]{0,6})?", fullmatch=True))
def test_any_text_gives_a_url_or_a_refusal(reference: str) -> None:
    try:
        url = card_url(reference)
    except FetchError as exc:
        str(exc).encode()
        return
    assert str(parse_url(url)) == url == card_url(url)


@pytest.mark.parametrize("text", [":" * 50_000 + "]", "@" * 50_000 + " ", "a." * 50_000 + " ", "%40" * 50_000 + "\\"])
def test_a_long_text_is_refused_as_soon_as_a_short_one(text: str) -> None:
    with pytest.raises(FetchError) as caught:  # within the time of a test: some patterns would take hours
        card_url(text)
    assert len(str(caught.value)) < 500


def test_does_not_need_an_http_client() -> None:
    code = "import sys, a2a_discovery.reference; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_bare_host_in_any_script() -> None:
    assert card_url(IDN) == f"https://{IDN}{WELL_KNOWN_PATH}"
    assert card_url(f"{IDN}:8443/a") == f"https://{IDN}:8443/a{WELL_KNOWN_PATH}"
    with pytest.raises(TypeError, match="str"):
        card_url(None)  # type: ignore[arg-type]
