"""An agent that has a public card and an extended one, both of which change as a test wants."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import grpc
import pytest

from a2a_discovery import BearerToken, CredentialStore, protojson, types as t
from tests.agent.common import STREAM_HEAD, card, encoded, interface, operation_of, reply, sse, started, status
from tests.agent.grpc_server import GrpcServer
from tests.security.common import bearer, demanding
from tests.servers import Exchange, Server, World

JSON = "Content-Type: application/json"
TOKEN = "T0ken-Value"
LIFE = 60.0
EXTENDED = "GetExtendedAgentCard"
HTTP_STATUS = {grpc.StatusCode.UNAUTHENTICATED: 401, grpc.StatusCode.PERMISSION_DENIED: 403}


class Host:
    """An agent over one binding; its public card is over HTTP. A context manager.

    Attributes:
        public: the public card.
        extended: what comes for the extended one: a card, a JSON object, JSON text, a gRPC status to refuse with, or a
            list of these of which each call takes one and the last one stays.
        tokens: the tokens that calls for the extended card are taken with; None for any.
        catalog: the text of its AI catalog.
        status: the HTTP status with which the public card comes.
        cache_control: how long that may be used.
        before_card: called when the public card is to be sent, which is the one of before.
        hold: called before the extended card is answered.
        between: called between the two events of a stream.
    """

    def __init__(self, binding: str, *, port: int = 0) -> None:
        self.binding = binding
        self.web = Server(self._answer, keep_alive=True, port=port)
        self.grpc = GrpcServer(self._answer_grpc) if binding == "GRPC" else None
        self.card_url = self.web.card_url
        self.url = self.grpc.url if self.grpc else self.web.url + ("/rpc" if binding == "JSONRPC" else "")
        self.public = self.make()
        self.extended: Any = self.make(skill="hidden")
        self.tokens: set[str] | None = None
        self.catalog = ""
        self.status = 200
        self.cache_control = f"max-age={LIFE:.0f}"
        self.before_card: Callable[[], object] = bool
        self.hold: Callable[[], object] = bool
        self.between: Callable[[], object] = bool
        self.fetched = 0
        self.calls: list[tuple[str, dict[str, str]]] = []

    def __enter__(self) -> Host:
        self.web.__enter__()
        if self.grpc:
            self.grpc.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.grpc:
            self.grpc.__exit__(kind, exc, traceback)
        self.web.__exit__(kind, exc, traceback)

    def make(self, version: str = "1", skill: str = "s", tenant: str = "", *, scheme: bool = True) -> t.AgentCard:
        """A card of this agent, which declares the scheme ``token`` and demands nothing."""
        made = card(interface(self.binding, self.url, tenant))
        made.version, made.skills[0].id = version, skill
        if scheme:
            demanding({"token": bearer()}, {}, made=made)
            del made.security_requirements[:]
        return made

    def asked(self) -> int:
        """How often the extended card was asked for."""
        return [name for name, _ in self.calls].count(EXTENDED)

    def _next(self, name: str, params: dict[str, str]) -> Any:
        self.calls.append((name, params))
        if name != EXTENDED:
            return reply(name)
        self.hold()
        if self.tokens is not None and params.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            return grpc.StatusCode.UNAUTHENTICATED
        if isinstance(self.extended, list):
            return self.extended.pop(0) if len(self.extended) > 1 else self.extended[0]
        return self.extended

    def _events(self) -> Iterator[t.StreamResponse]:
        yield started()
        self.between()
        yield status()

    def _answer_grpc(self, name: str, request: t.GetTaskRequest, context: Any) -> Any:
        answer = self._next(name, {**{m.key: m.value for m in context.invocation_metadata()}, "tenant": request.tenant})
        if isinstance(answer, grpc.StatusCode):
            context.abort(answer, "refused")
        if isinstance(answer, dict | str):
            return protojson.loads(t.AgentCard, answer)
        return self._events() if name == "SendStreamingMessage" else answer

    def _answer(self, exchange: Exchange) -> None:
        exchange.read_body()
        if "agent-card.json" in exchange.target:
            self.fetched += 1
            body = protojson.dumps(self.public)
            self.before_card()
            exchange.answer(self.status, body, JSON, f"Cache-Control: {self.cache_control}")
            return
        if "ai-catalog.json" in exchange.target:
            exchange.answer(200, self.catalog.encode(), JSON)
            return
        operation = operation_of(exchange)
        answer = self._next(operation.name, exchange.headers)
        if isinstance(answer, grpc.StatusCode):
            exchange.answer(HTTP_STATUS[answer], b"{}", JSON)
        elif operation.streaming:
            exchange.send(STREAM_HEAD)
            for event in self._events():
                exchange.send(sse(exchange, event))
            exchange.end()
        else:
            text = json.dumps(answer) if isinstance(answer, dict) else answer
            exchange.answer(200, _enveloped(exchange, text) if isinstance(text, str) else encoded(exchange, text), JSON)


def _enveloped(exchange: Exchange, text: str) -> bytes:
    if not exchange.target.startswith("/rpc"):
        return text.encode()
    return b'{"jsonrpc":"2.0","id":"%b","result":%b}' % (json.loads(exchange.body)["id"].encode(), text.encode())


class Clock:
    """Unix time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def ticking(resolver: Any) -> Clock:
    """The clock that ``resolver`` goes by from now on."""
    clock = Clock()
    getattr(resolver, "blocking", resolver).clock = clock
    return clock


def store(**more: Any) -> CredentialStore:
    return CredentialStore({"token": BearerToken(TOKEN), **more})


def agent_of(world: World, host: Host, **options: Any) -> Any:
    return world.agent(host.public, **{"card_url": host.card_url, "credentials": store(), **options})


async def failing(agent: Any, kind: type[Exception], **options: Any) -> Any:
    """The error with which the extended card does not come; the card in force stays."""
    before = agent.card
    with pytest.raises(kind) as caught:
        await agent.extended_card(**options)
    assert agent.card is before
    return caught.value


@asynccontextmanager
async def connected(
    world: World, host: Host, resolver_options: Any = None, **options: Any
) -> AsyncIterator[tuple[Any, Clock]]:
    """An agent whose card lives for a minute of the clock that comes with it."""
    async with world.resolver(**(resolver_options or {})) as resolver:
        clock = ticking(resolver)
        found = await resolver.resolve(host.card_url)
        async with world.agent(found, resolver=resolver, credentials=store(), **options) as agent:
            yield agent, clock


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING and r.name == "a2a_discovery"]
    caplog.clear()
    return found
