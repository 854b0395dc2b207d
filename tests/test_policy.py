"""URLs: which can be read, and which may be called."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from a2a_discovery.policy import Url, UrlPolicy, UrlRefusedError, parse_grpc_address, parse_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://a.test", Url("https", "a.test", 443, "")),
        ("HTTPS://A.test:8443/x?y=1#z", Url("https", "a.test", 8443, "/x?y=1")),
        ("http://[::1]:80/", Url("http", "::1", 80, "/")),
        ("https://a.test:/x?", Url("https", "a.test", 443, "/x")),
        ("https://a_b.test./?", Url("https", "a_b.test.", 443, "/")),
        ("https://bücher.test/ü", Url("https", "bücher.test", 443, "/ü")),
        ("https://भारत.भारत/", Url("https", "भारत.भारत", 443, "/")),
        ("https://中国.cn", Url("https", "中国.cn", 443, "")),
        (f"https://{'b.' * 126}c.", Url("https", f"{'b.' * 126}c.", 443, "")),
        ("https://xn--bcher-kva.test", Url("https", "xn--bcher-kva.test", 443, "")),
    ],
)
def test_parse(text: str, url: Url) -> None:
    assert parse_url(text) == url
    assert parse_url(str(url)) == url


@pytest.mark.parametrize(
    "text",
    ["", "/rpc", "a.test", "//a.test", "ftp://a.test", "file:///etc/passwd", "javascript:alert(1)", "https://", "https:///rpc",
     "https://user@a.test", "https://user:pw@a.test", "https://a.test\\@b.test", "https://a.test/\x00", "https://a.test/ x",
     "https://a.test\n", "https://a.test:0", "https://a.test:99999", "https://a.test:x", "https://[::1", "https://[zz]",
     "https://0.0.0.0/", "http://[::]:8000", "http://[::1].evil.test/", "http://[::1]evil.test/", "http://evil.test[::1]/",
     "https://evil[::1]:80/", "https://[v1.evil.test]/x", "https://[127.0.0.1]/", "https://0/", "https://0x7f.1/", "https://127.1/",
     "https://00000000/", "https://[::ffff:0.0.0.0]/", "https://a..test/", "https://.test/", "https://*.test/", "https://a%2eb/",
     "https://0.0.0.0\u00ad/", "https://127.0.0.1\u200b/", "https://loc\u00adalhost/", "https://a\u2044b/", "https://127.0.0.\u0661/",
     "https://a\ud800b.test/", "https://\u202eabc.test/", "https://\U0001f600.test/", "https://１２７.0.0.1/", "https://a。test/", f"https://{'a' * 64}.test/", f"https://{'a.' * 127}test/", "https:a.test", "https://a.test\u00a0"],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(UrlRefusedError):
        parse_url(text)


def test_a_refusal_does_not_repeat_a_password() -> None:
    with pytest.raises(UrlRefusedError) as caught:
        parse_url("https://user:secret@a.test")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "url", "remark"),
    [
        ("g.test:443", "https://g.test", False),
        ("g.test", "https://g.test", False),
        ("G.test:50051", "https://g.test:50051", False),
        ("https://g.test:8443", "https://g.test:8443", False),
        ("https://g.test/a2a/grpc", "https://g.test", True),
        ("https://g.test/", "https://g.test", False),
        ("grpcs://g.test:1", "https://g.test:1", False),
        ("grpc://g.test:1", "https://g.test:1", False),
        ("dns:///g.test:443", "https://g.test", False),
        ("dns:g.test:443", "https://g.test", False),
        ("127.0.0.1:50051", "http://127.0.0.1:50051", False),
        ("localhost:50051", "http://localhost:50051", False),
        ("[::1]:50051", "http://[::1]:50051", False),
        ("https://localhost:1", "https://localhost:1", False),
        ("http://localhost:1", "http://localhost:1", False),
        ("http://g.test:1", "http://g.test:1", False),
    ],
)
def test_grpc_addresses(text: str, url: str, remark: bool) -> None:
    parsed, note = parse_grpc_address(text)
    assert (str(parsed), bool(note)) == (url, remark)


@pytest.mark.parametrize(
    "text",
    ["", ":443", "g.test:", "g.test:0", "g.test:99999", "g.test:x", "user@g.test:1", "unix:/tmp/s", "ftp://g.test:1", "::1",
     "g.test:1?x", "dns://8.8.8.8/g.test:1", "0.0.0.0:50051", "[::]:1", "g..test:1", "[::1].g.test:1", "0:1", "g test:1", "https://", "https://u:p@g.test"],
)  # fmt: skip
def test_no_grpc_address(text: str) -> None:
    with pytest.raises(UrlRefusedError):
        parse_grpc_address(text)


@pytest.mark.parametrize(
    ("url", "called"),
    [
        ("https://a.test", True),
        ("http://a.test", False),
        ("http://localhost:1", True),
        ("http://agent.localhost", True),
        ("http://127.9.9.9", True),
        ("http://[::1]", True),
        ("http://[::ffff:127.0.0.1]", True),
        ("http://localhost.", True),
        ("http://notlocalhost", False),
        ("http://192.168.0.1", False),
        ("http://localhost.a.test", False),
    ],
)
def test_plain_http_stays_on_this_machine(url: str, called: bool) -> None:
    if called:
        UrlPolicy().check(parse_url(url))
        return
    with pytest.raises(UrlRefusedError, match="https"):
        UrlPolicy().check(parse_url(url))
    UrlPolicy(allow_http=True).check(parse_url(url))


def refusal(policy: UrlPolicy, url: str, binding: str = "JSONRPC") -> str:
    """Why ``url`` is refused; empty when it is not."""
    try:
        policy.check_address(binding, url)
    except UrlRefusedError as exc:
        return str(exc)
    return ""


@pytest.mark.parametrize(
    ("url", "binding", "called"),
    [
        ("https://a.test/rpc", "JSONRPC", True),
        ("https://A.test.:443/other", "JSONRPC", True),
        ("https://a.test:8443/", "HTTP+JSON", False),
        ("https://b.test/", "JSONRPC", False),
        ("https://x.a.test/", "JSONRPC", False),
        ("http://a.test/", "JSONRPC", False),
        ("a.test:50051", "GRPC", True),
        ("a.test.:50051", "GRPC", True),
        ("b.test:443", "GRPC", False),
    ],
)
def test_same_origin(url: str, binding: str, called: bool) -> None:
    policy = UrlPolicy(same_origin=True, allow_http=True).within("https://a.test/.well-known/agent-card.json?key=k")
    reason = refusal(policy, url, binding)
    assert (reason == "") == called
    assert called or "it leaves https://a.test, and same_origin" in reason
    assert "key=k" not in repr(policy)


def test_same_origin_of_nowhere() -> None:
    for url, binding in [("https://a.test", "JSONRPC"), ("a.test:1", "GRPC")]:
        assert "card_url" in refusal(UrlPolicy(same_origin=True), url, binding)


@pytest.mark.parametrize("card_url", ["card.json", "", "file:///card.json", "https://u:p@a.test"])
def test_no_place_that_a_card_comes_from(card_url: str) -> None:
    with pytest.raises(ValueError, match="card_url"):
        UrlPolicy().within(card_url)


@pytest.mark.parametrize(
    ("entry", "url", "called"),
    [
        ("a.test", "https://a.test/x", True),
        ("A.test.", "https://a.TEST:1/x", True),
        ("a.test", "https://b.a.test", False),
        ("a.test", "https://nota.test", False),
        ("a.test:443", "https://a.test", True),
        ("a.test:444", "https://a.test", False),
        ("*.a.test", "https://b.c.a.test", True),
        ("*.a.test", "https://a.test", False),
        ("*.a.test", "https://nota.test", False),
        ("*.a.test:1", "https://b.a.test:1", True),
        ("*.a.test:1", "https://b.a.test", False),
        ("::1", "https://[0:0::1]", True),
        ("[::1]:1", "https://[::1]:1", True),
        ("[::1]:1", "https://[::1]:2", False),
        ("192.0.2.1", "https://[::ffff:192.0.2.1]", True),
        ("a.test", "http://a.test", False),
    ],
)
def test_allowed_hosts(entry: str, url: str, called: bool) -> None:
    policy = UrlPolicy(allow_hosts=["other.test", entry])
    assert (refusal(policy, url) == "") == called
    assert (refusal(UrlPolicy(allow_hosts=entry), url) == "") == called
    assert "allow_hosts" in refusal(UrlPolicy(allow_hosts=[]), "https://a.test")


@pytest.mark.parametrize(
    "entry", ["", "*", "*.", "a b", "https://a.test", "a.test/x", "u@a.test", "*.1.2.3.4", "a.*.test", "0.0.0.0:1"]
)
def test_no_host_to_allow(entry: str) -> None:
    with pytest.raises(ValueError, match="allow_hosts"):
        UrlPolicy(allow_hosts=[entry])


def test_a_policy_is_a_value() -> None:
    hosts = ["b.test", "a.test"]
    policy = UrlPolicy(allow_hosts=hosts, deny_private=True)
    hosts.append("c.test")
    assert policy == UrlPolicy(allow_hosts=("A.test", "b.test", "b.test"), deny_private=True)
    assert len({policy, policy.within(None), policy.within("https://a.test/x")}) == 2
    assert policy.within("https://a.test/x") == policy.within("https://a.test/y?z")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://localhost:1", "loopback"),
        ("https://agent.localhost.", "loopback"),
        ("http://127.0.0.1", "127.0.0.1 is a loopback"),
        ("https://[::ffff:10.0.0.1]", "private"),
        ("https://192.168.1.1", "private"),
        ("https://169.254.169.254/latest", "link-local"),
        ("https://[fd00:ec2::254]", "private"),
        ("https://[64:ff9b::7f00:1]", "loopback"),
        ("https://a.test", ""),
        ("https://1.1.1.1", ""),
        ("https://[2606:4700::1111]", ""),
    ],
)
def test_private_addresses_are_refused_at_once(url: str, told: str) -> None:
    policy = UrlPolicy(deny_private=True, allow_hosts=[parse_url(url).host])
    reason = refusal(policy, url)
    assert told in reason and (reason == "") == (told == "")
    address = url.removeprefix("http://").removeprefix("https://").partition("/")[0]
    assert (refusal(policy, address, "GRPC") == "") == (told == "")


def test_a_peer_that_cannot_be_looked_at_is_refused() -> None:
    for address in ("", "None", "/run/socket", "127.0.0.1", "fe80::1%eth0"):
        with pytest.raises(UrlRefusedError, match="deny_private"):
            UrlPolicy(deny_private=True).check_peer("a.test", address)
        UrlPolicy().check_peer("a.test", address)
    UrlPolicy(deny_private=True).check_peer("a.test", "1.1.1.1")


def test_a_card_whose_server_takes_itself_for_plain_http() -> None:
    policy = UrlPolicy().within("https://a.test/card.json")
    for url in ("http://a.test/rpc", "http://a.test:8000/rpc"):
        assert "X-Forwarded-Proto" in refusal(policy, url)
    for url in ("http://b.test/rpc", "http://x.a.test"):
        assert "X-Forwarded-Proto" not in refusal(policy, url) != ""
    assert "X-Forwarded-Proto" not in refusal(policy, "http://a.test:1", "GRPC") != ""
    assert "X-Forwarded-Proto" not in refusal(UrlPolicy().within("http://a.test"), "http://a.test") != ""
    assert "bind address" in refusal(policy, "http://0.0.0.0:8000/")


@given(st.text(max_size=30) | st.text("htps:/[]@.1a?#%", max_size=30))
def test_any_text_is_a_url_or_refused(text: str) -> None:
    for parse in (parse_url, lambda t: parse_grpc_address(t)[0]):
        try:
            url = parse(text)
        except UrlRefusedError:
            continue
        assert parse_url(str(url)) == url
