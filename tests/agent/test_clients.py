"""A client or channel of the caller's: used, left alone, not closed; an own one is closed."""

from __future__ import annotations

import gc
from typing import Any

import httpx
import pytest

from a2a_discovery.errors import TransportError
from tests.agent.common import BINDINGS, GET, HTTP, METHODS, call, card, failure, interface, site, task
from tests.servers import World

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("binding", HTTP)
async def test_the_callers_client_is_used_and_left_alone(world: World, binding: str) -> None:
    options: dict[str, Any] = {
        "headers": {"X-Own": "1"},
        "params": {"key": "v"},
        "cookies": {"session": "s"},
        "auth": ("user", "pw"),
        "timeout": 7,
    }
    with site(binding) as found:
        async with world.client(**options) as client:
            before = (dict(client.headers), str(client.params), dict(client.cookies), client.timeout)
            async with world.agent(found.card(), client=client) as agent:
                for name in METHODS:
                    await call(agent, name)
                    params = found.params()
                    assert params["x-own"] == "1" and params["cookie"] == "session=s"
                    assert params["authorization"].startswith("Basic ")
                    assert found.server.seen[-1].target.endswith("key=v")  # type: ignore[union-attr]
            assert not client.is_closed
            assert (dict(client.headers), str(client.params), dict(client.cookies), client.timeout) == before
            assert str(client.params) == "key=v"


async def test_params_of_the_client_do_not_replace_the_query_of_the_interface(world: World) -> None:
    with site("JSONRPC") as found:
        async with (
            world.client(params={"key": "v"}) as client,
            world.agent(card(interface("JSONRPC", f"{found.url}?own=1")), client=client) as agent,
        ):
            await agent.get_task(GET)
    assert set(found.server.seen[0].target.partition("?")[2].split("&")) == {"own=1", "key=v"}  # type: ignore[union-attr]


async def test_redirects_are_not_followed(world: World) -> None:
    from tests.servers import Server

    with Server(lambda exchange: exchange.answer(307, b"", f"Location: {exchange.origin}/other")) as server:
        async with (
            world.client(follow_redirects=True) as client,
            world.agent(card(interface("JSONRPC", server.url)), client=client) as agent,
        ):
            for name in ("SendMessage", "SendStreamingMessage"):
                error, _ = await failure(agent, name)
                assert error.http_status == 307
        assert [exchange.target for exchange in server.seen] == ["/", "/"]


async def test_the_callers_channel_is_used_and_left_open(world: World) -> None:
    with site("GRPC") as found:
        async with world.channel(found.url) as channel:
            # The address of the card is not called then.
            for _ in range(2):
                async with world.agent(card(interface("GRPC", "grpc.test:443")), channel=channel) as agent:
                    assert await agent.get_task(GET) == task()
        assert found.calls() == ["GetTask", "GetTask"]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_an_own_connection_is_closed(world: World, binding: str) -> None:
    with site(binding) as found:
        async with world.agent(found.card()) as agent:
            await agent.get_task(GET)
        error, _ = await failure(agent, "GetTask")
        assert isinstance(error, TransportError)
        error, _ = await failure(agent, "SubscribeToTask")
        assert isinstance(error, TransportError)
        assert found.calls() == ["GetTask"]
    gc.collect()


@pytest.mark.parametrize("binding", HTTP)
async def test_no_cookies_are_kept_and_no_tracks_left(world: World, binding: str) -> None:
    from tests.servers import Server

    def handler(exchange: Any) -> None:
        exchange.answer(404, b"", "Set-Cookie: a=b")

    with Server(handler) as server:
        async with world.agent(card(interface(binding, server.url))) as agent:
            await failure(agent, "GetTask")
            await failure(agent, "GetTask")
        assert "cookie" not in server.seen[1].headers
        assert server.seen[1].headers["user-agent"] == "a2a-discovery"


@pytest.mark.parametrize("binding", HTTP)
async def test_a_transport_that_answers_from_memory(world: World, binding: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        body = b'{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}'
        if binding == "JSONRPC":
            body = b'{"jsonrpc":"2.0","id":"%b","result":%b}'
            number = b"1" if b"GetTask" in request.content else b"2"
            inner = b'{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}'
            inner = inner if number == b"1" else b'{"task":%b}' % inner
            return httpx.Response(200, content=body % (number, inner), headers={"content-type": "application/json"})
        if "subscribe" in str(request.url):
            return httpx.Response(
                200, content=b'data: {"task":%b}\n\n' % body, headers={"content-type": "text/event-stream"}
            )
        return httpx.Response(200, content=body)

    async with (
        world.client(transport=httpx.MockTransport(answer)) as client,
        world.agent(card(interface(binding, "https://h.test")), client=client) as agent,
    ):
        assert await agent.get_task(GET) == task()
        assert [event.task for event in await call(agent, "SubscribeToTask")] == [task()]
