"""Which of a card's alternatives is met, and what is told when none is (§7)."""

from __future__ import annotations

import pickle
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import (
    ApiKey,
    BasicCredentials,
    BearerToken,
    ClientCertificate,
    CredentialsRequiredError,
    CredentialStore,
    HttpCredentials,
    OAuthClient,
    types as t,
)
from a2a_discovery._grants import Grant
from a2a_discovery._requirements import Demands, Destination, Unmet
from a2a_discovery.policy import parse_url
from tests.security.common import api_key, bearer, demanding, http, oauth, oidc, one_interface, requirement

HOST = "https://agent.test"
SCHEMES = {
    "bearer": bearer(),
    "basic": http("Basic"),
    "header": api_key("header", "X-Key"),
    "query": api_key("query", "key"),
    "cookie": api_key("cookie", "sid"),
    "mtls": t.SecurityScheme(mtls_security_scheme=t.MutualTlsSecurityScheme()),
    "unknown": t.SecurityScheme(),
}
ALL = {
    "bearer": BearerToken("T"),
    "basic": BasicCredentials("u", "p"),
    "header": ApiKey("K"),
    "query": ApiKey("K"),
    "cookie": ApiKey("K"),
    "unknown": ApiKey("K"),
    "undeclared": ApiKey("K"),
}


def used(
    *alternatives: Mapping[str, Any],
    store: Mapping[str, Any] = ALL,
    binding: str = "JSONRPC",
    skill: str | None = None,
    skill_needs: tuple[Mapping[str, Any], ...] = (),
    schemes: Mapping[str, t.SecurityScheme] = SCHEMES,
    given: bool = False,
    url: str = HOST,
) -> list[str]:
    """The places of what is sent: ``header Authorization``."""
    card = demanding(schemes, *alternatives, made=one_interface(url))
    if not alternatives:
        del card.security_requirements[:]
    card.skills[0].security_requirements.extend(map(requirement, skill_needs))
    demands = Demands(card, CredentialStore(store), parse_url(url))
    proofs = demands.proofs(Destination(parse_url(url), binding, given), skill)
    return [f"{proof.place} {proof.name}".strip() for proof in proofs]


def unmet(*alternatives: Mapping[str, Any], **options: Any) -> tuple[Unmet, ...]:
    with pytest.raises(CredentialsRequiredError) as caught:
        used(*alternatives, **options)
    assert pickle.loads(pickle.dumps(caught.value)).alternatives == caught.value.alternatives
    return caught.value.alternatives


def test_the_first_that_can_be_met_is_used() -> None:
    assert used({"bearer": ()}, {"header": ()}) == ["header Authorization"]
    assert used({"mtls": ()}, {"header": ()}, {"bearer": ()}) == ["header X-Key"]
    assert used({"header": (), "mtls": ()}, {"query": ()}) == ["query key"]


def test_a_set_is_met_as_a_whole() -> None:
    assert sorted(used({"bearer": (), "header": (), "cookie": ()})) == [
        "cookie sid",
        "header Authorization",
        "header X-Key",
    ]
    (alternative,) = unmet({"bearer": (), "mtls": ()})
    assert (sorted(alternative.schemes), list(alternative.missing)) == (["bearer", "mtls"], ["mtls"])


def test_an_empty_one_is_anonymous() -> None:
    assert used({}, {"bearer": ()}) == []
    assert used({"mtls": ()}, {}) == []


@pytest.mark.parametrize("name", ["unknown", "undeclared"])
def test_what_nobody_knows_is_never_met(name: str) -> None:
    (alternative,) = unmet({name: ()})
    assert {"unknown": "does not know", "undeclared": "does not declare"}[name] in alternative.missing[name]
    assert used({name: ()}, {"header": ()}) == ["header X-Key"]


def test_two_schemes_cannot_share_a_header() -> None:
    (alternative,) = unmet({"bearer": (), "basic": ()})
    assert "Authorization" in next(iter(alternative.missing.values()))


def test_without_requirements_what_there_is_goes_along() -> None:
    assert used(store={"header": ApiKey("K")}) == ["header X-Key"]
    assert used(store={}) == []
    assert used(store={"undeclared": ApiKey("K")}) == []


def test_a_skill_adds_its_own() -> None:
    needs = ({"header": ()},)
    assert used({"bearer": ()}, skill_needs=needs) == ["header Authorization"]
    assert used({"bearer": ()}, skill="s", skill_needs=needs) == ["header Authorization", "header X-Key"]
    assert used(skill="s", skill_needs=needs) == ["header X-Key"]
    assert used({"mtls": ()}, {"bearer": ()}, skill="s", skill_needs=({"mtls": ()}, {"cookie": ()})) == [
        "header Authorization",
        "cookie sid",
    ]
    assert len(unmet({"mtls": ()}, {"unknown": ()}, skill="s", skill_needs=needs * 2)) == 4
    with pytest.raises(ValueError, match="no skill"):
        used({"bearer": ()}, skill="other")


def test_scopes_of_card_and_skill_are_asked_for_together() -> None:
    schemes = {"s": oauth("client_credentials", token_url=f"{HOST}/t")}
    card = demanding(schemes, {"s": ["b", "a"]}, made=one_interface(HOST))
    card.skills[0].security_requirements.append(requirement({"s": ["c", "b"]}))
    demands = Demands(card, CredentialStore({"s": OAuthClient("id", "x")}), parse_url(HOST))
    (proof,) = demands.proofs(Destination(parse_url(HOST), "JSONRPC", False), "s")
    assert isinstance(proof.value, Grant)
    assert proof.value.scopes == ("b", "a", "c")


def test_any_number_of_alternatives_is_bounded() -> None:
    many = [{"mtls": (), f"x{i}": ()} for i in range(300)]
    assert len(unmet(*many, skill="s", skill_needs=tuple(many))) == 256


@pytest.mark.parametrize(
    ("scheme", "credential", "reason"),
    [
        (bearer(), ApiKey("k"), "does not take a ApiKey"),
        (http("Basic"), BearerToken("t"), "does not take"),
        (http("Digest"), BearerToken("t"), "does not take"),
        (http("two words"), HttpCredentials("t"), "names no HTTP authentication scheme"),
        (http(""), HttpCredentials("t"), "names no HTTP authentication scheme"),
        (api_key("header"), BearerToken("t"), "does not take"),
        (api_key("body"), ApiKey("k"), "header, query or cookie"),
        (api_key("header", "Content-Length"), ApiKey("k"), "cannot set"),
        (api_key("header", "A2A-Version"), ApiKey("k"), "cannot set"),
        (api_key("header", "a: b\r\nX"), ApiKey("k"), "cannot set"),
        (api_key("header", ":path"), ApiKey("k"), "cannot set"),
        (api_key("cookie", "a=b"), ApiKey("k"), "in a cookie"),
        (api_key("cookie", "a"), ApiKey("k; b=c"), "in a cookie"),
        (oauth("client_credentials", token_url=f"{HOST}/t"), ApiKey("k"), "does not take"),
        (oauth("client_credentials", token_url=f"{HOST}/t"), OAuthClient("id"), "no client_secret"),
        (oauth("client_credentials", token_url="https://evil.test/t"), OAuthClient("id", "s"), "token_origins"),
        (oauth("client_credentials", token_url="/t"), OAuthClient("id", "s"), "not absolute"),
        (
            oauth("client_credentials", token_url=f"{HOST}/t", refresh_url="https://evil.test/t"),
            OAuthClient("id", "s"),
            "refresh endpoint is at https://evil.test:443",
        ),
        (oauth("implicit"), OAuthClient("id", "s"), "implicit flow"),
        (oauth("password", token_url=f"{HOST}/t"), OAuthClient("id", "s"), "a refresh_token"),
        (oauth("authorization_code", token_url=f"{HOST}/t"), OAuthClient("id", "s"), "a refresh_token"),
        (oauth("device_code", token_url=f"{HOST}/t"), OAuthClient("id", "s"), "on_device_code"),
        (
            oauth("device_code", token_url=f"{HOST}/t", device_authorization_url="https://evil.test/d"),
            OAuthClient("id", on_device_code=print),
            "device authorization endpoint",
        ),
        (t.SecurityScheme(oauth2_security_scheme=t.OAuth2SecurityScheme()), OAuthClient("id", "s"), "no OAuth flow"),
        (oidc("https://evil.test/.well-known/openid-configuration"), OAuthClient("id", "s"), "discovery document"),
        (SCHEMES["mtls"], BearerToken("t"), "does not take"),
        (SCHEMES["mtls"], ClientCertificate(), "names no file"),
    ],
)
def test_why_a_scheme_is_not_met(scheme: t.SecurityScheme, credential: Any, reason: str) -> None:
    (alternative,) = unmet({"s": ()}, schemes={"s": scheme}, store={"s": credential})
    assert reason in alternative.missing["s"]
    assert reason in str(CredentialsRequiredError([alternative]))


def test_over_grpc_there_is_no_query() -> None:
    assert "query" in unmet({"query": ()}, binding="GRPC")[0].missing["query"]
    schemes = {"s": api_key("header", "key-bin")}
    assert used({"s": ()}, schemes=schemes, store={"s": ApiKey("k")}) == ["header key-bin"]
    assert unmet({"s": ()}, schemes=schemes, store={"s": ApiKey("k")}, binding="GRPC")


def test_a_certificate_needs_tls_and_a_connection_of_our_own(tls: tuple[ssl.SSLContext, Path]) -> None:
    pem = str(tls[1].with_name("server.pem"))
    own, theirs = {"mtls": ClientCertificate(pem)}, {"mtls": ClientCertificate()}
    assert used({"mtls": ()}, store=own) == ["certificate"]
    assert used({"mtls": ()}, store=theirs, given=True) == ["certificate"]
    assert "passed in" in unmet({"mtls": ()}, store=own, given=True)[0].missing["mtls"]
    assert "no TLS" in unmet({"mtls": ()}, store=own, url="http://localhost:1")[0].missing["mtls"]
    assert used({"mtls": ()}, store={"mtls": ClientCertificate(pem, password="p")}) == ["certificate"]
    assert unmet({"mtls": ()}, store={"mtls": ClientCertificate(pem, password="p")}, binding="GRPC")


@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_a_certificate_that_cannot_be_read_is_told_at_once(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "c.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(OSError, match=r"."):
        ClientCertificate(str(path))
