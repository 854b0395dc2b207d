"""What the tests of credentials share: cards that demand some, agents that record, and an authorization server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs

from a2a_discovery import protojson, types as t
from tests.agent.common import STREAM_HEAD, card, encoded, operation_of, reply, sse
from tests.servers import Exchange, Server

SECRET = "s3cret-Value"


def bearer() -> t.SecurityScheme:
    return http("Bearer")


def http(scheme: str) -> t.SecurityScheme:
    return t.SecurityScheme(http_auth_security_scheme=t.HTTPAuthSecurityScheme(scheme=scheme))


def api_key(location: str, name: str = "X-Key") -> t.SecurityScheme:
    return t.SecurityScheme(api_key_security_scheme=t.APIKeySecurityScheme(location=location, name=name))


def oidc(url: str) -> t.SecurityScheme:
    return t.SecurityScheme(open_id_connect_security_scheme=t.OpenIdConnectSecurityScheme(open_id_connect_url=url))


def oauth(flow: str, **urls: str) -> t.SecurityScheme:
    return t.SecurityScheme(oauth2_security_scheme=t.OAuth2SecurityScheme(flows=t.OAuthFlows(**{flow: urls})))  # type: ignore[arg-type]


def demanding(
    schemes: Mapping[str, t.SecurityScheme], *alternatives: Mapping[str, Sequence[str]], made: t.AgentCard
) -> t.AgentCard:
    """``made``, with these schemes and requirements; without ``alternatives`` each scheme is one."""
    for name, scheme in schemes.items():
        made.security_schemes[name].CopyFrom(scheme)
    made.security_requirements.extend(requirement(a) for a in alternatives or [{name: ()} for name in schemes])
    return made


def requirement(schemes: Mapping[str, Sequence[str]]) -> t.SecurityRequirement:
    return t.SecurityRequirement(schemes={name: t.StringList(list=scopes) for name, scopes in schemes.items()})


class Agents(Server):
    """An agent that publishes the card which ``make_card(own URL)`` gives, and refuses calls as ``refuses`` says."""

    def __init__(
        self, make_card: Callable[[str], t.AgentCard], refuses: Callable[[Exchange], bool] = lambda _: False, **tls: Any
    ) -> None:
        super().__init__(self._answer, keep_alive=True, **tls)
        self.refuses = refuses
        self._make_card = make_card

    @property
    def called(self) -> list[Exchange]:
        """The requests that were calls."""
        return [exchange for exchange in self.seen if exchange.verb == "POST"]

    def _answer(self, exchange: Exchange) -> None:
        exchange.read_body()
        if exchange.verb == "GET":
            body = protojson.dumps(self._make_card(self.url))
            exchange.answer(200, body, "Content-Type: application/json")
        elif self.refuses(exchange):
            exchange.answer(401, b"", 'WWW-Authenticate: Bearer error="invalid_token"')
        elif operation_of(exchange).streaming:
            exchange.send(STREAM_HEAD, sse(exchange, reply("SendStreamingMessage")))
            exchange.end()
        else:
            exchange.answer(200, encoded(exchange, reply("SendMessage")), "Content-Type: application/json")


def one_interface(url: str, binding: str = "JSONRPC") -> t.AgentCard:
    path = "/rpc" if binding == "JSONRPC" else ""
    return card(t.AgentInterface(url=f"{url}{path}", protocol_binding=binding, protocol_version="1.0"))


class Tokens(Server):
    """An authorization server: ``/token``, ``/device`` and a provider's document; counts what it gives out.

    ``answers`` holds what ``/token`` answers next, each a status and an object; when there is none left, it gives
    ``token-1``, ``token-2`` and so on.
    """

    def __init__(self, **fields: Any) -> None:
        super().__init__(self._answer)
        self.fields = fields
        self.answers: list[tuple[int, Any]] = []
        self.forms: list[dict[str, str]] = []
        self.document: dict[str, Any] | None = None
        self.given = 0

    @property
    def token_url(self) -> str:
        return f"{self.url}/token"

    @property
    def discovery_url(self) -> str:
        return f"{self.url}/.well-known/openid-configuration"

    def _answer(self, exchange: Exchange) -> None:
        form = parse_qs(exchange.read_body().decode())
        if exchange.target == "/.well-known/openid-configuration":
            document = self.document or {
                "issuer": self.url,
                "token_endpoint": self.token_url,
                "device_authorization_endpoint": f"{self.url}/device",
            }
            exchange.answer(200, json.dumps(document).encode(), "Content-Type: application/json")
            return
        self.forms.append({name: " ".join(values) for name, values in form.items()})
        if exchange.target == "/device":
            code = {"device_code": "dev-1", "user_code": "ABCD", "verification_uri": "https://as.test/d"}
            status, answer = 200, {**code, "expires_in": 60, "interval": 0.01, **self.fields.get("device", {})}
        elif self.answers:
            status, answer = self.answers.pop(0)
        else:
            self.given += 1
            status, answer = 200, {"access_token": f"token-{self.given}", "token_type": "Bearer", **self.fields}
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        exchange.answer(status, body, "Content-Type: application/json")


@contextmanager
def tokens_and_agent(
    scheme: Callable[[Tokens], t.SecurityScheme], scopes: Sequence[str] = ("run",), **fields: Any
) -> Iterator[tuple[Tokens, Agents]]:
    """An authorization server, and an agent whose only scheme, ``s``, names it."""
    with (
        Tokens(**fields) as tokens,
        Agents(lambda url: demanding({"s": scheme(tokens)}, {"s": scopes}, made=one_interface(url))) as agent,
    ):
        yield tokens, agent
