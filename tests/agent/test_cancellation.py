"""A cancelled call ends as usual, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from a2a_discovery import types as t
from a2a_discovery._async.agent import AsyncAgent
from a2a_discovery.errors import TransportError
from tests.agent.common import BINDINGS, GET, card, eventually, failure, interface, site, started, task
from tests.servers import Exchange, Server, World

pytestmark = pytest.mark.anyio


class Slow:
    """An agent that answers nothing, or one event only, until it is released; ``left`` counts those who went away."""

    def __init__(self) -> None:
        self.called = threading.Semaphore(0)
        self.release = threading.Event()

    def __call__(self, name: str) -> Any:
        if name == "GetTask":
            self.called.release()
            self.release.wait(5)
            return task()
        return self._events()

    def _events(self) -> Iterator[Any]:
        yield started()
        self.called.release()
        self.release.wait(5)


async def unary(agent: AsyncAgent) -> None:
    await agent.get_task(GET)


async def stream(agent: AsyncAgent) -> None:
    async for _ in agent.send_streaming_message("hi"):
        pass


async def resumed(agent: AsyncAgent) -> None:
    async for _ in agent.subscribe_to_task(t.SubscribeToTaskRequest(id="t"), resume=True):
        pass


async def waits(agent: AsyncAgent) -> None:
    await agent.wait("t")


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("call", [unary, stream, resumed, waits])
async def test_cancelled(binding: str, call: Any) -> None:
    slow = Slow()
    with site(binding, slow) as found:
        async with AsyncAgent(found.card()) as agent:
            before = asyncio.all_tasks()
            task_ = asyncio.create_task(call(agent))
            await asyncio.to_thread(slow.called.acquire)
            task_.cancel("by the caller")
            with pytest.raises(asyncio.CancelledError):
                await task_
            assert task_.cancelled()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await call(agent)
            await eventually(lambda: asyncio.all_tasks() <= before)
        slow.release.set()
    gc.collect()


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("call", [unary, stream])
async def test_an_agent_that_is_closed_during_a_call(binding: str, call: Any) -> None:
    slow = Slow()
    with site(binding, slow) as found:
        agent = AsyncAgent(found.card())
        running = asyncio.create_task(call(agent))
        await asyncio.to_thread(slow.called.acquire)
        await agent.aclose()
        with pytest.raises(TransportError):
            await running
        slow.release.set()


@pytest.mark.parametrize("name", ["GetTask", "SendStreamingMessage"])
async def test_a_blocking_agent_that_is_closed_during_a_call(name: str) -> None:
    slow = Slow()
    with site("GRPC", slow) as found:
        agent = World("sync").agent(found.card())
        running = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(failure(agent, name))))
        await asyncio.to_thread(slow.called.acquire)
        agent.blocking.close()
        error, _ = await running
        assert isinstance(error, TransportError)
        slow.release.set()


@pytest.mark.parametrize("name", ["unary", "stream"])
async def test_a_cancelled_call_hangs_up(name: str) -> None:
    ended: list[bytes] = []

    def handler(exchange: Exchange) -> None:
        exchange.read_body()
        if name == "stream":
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hi\n\n")
        ended.append(exchange.connection.recv(1))

    with Server(handler) as server:
        async with AsyncAgent(card(interface("JSONRPC", server.url))) as agent:
            task_ = asyncio.create_task(unary(agent) if name == "unary" else stream(agent))
            await eventually(lambda: server.seen and server.seen[0].body)
            await asyncio.sleep(0.05)
            task_.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task_
            await eventually(lambda: ended)
    assert ended == [b""]
    gc.collect()


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("call", [unary, stream])
async def test_cancelled_while_connecting(binding: str, call: Any) -> None:
    with Server(lambda exchange: exchange.stopped.wait(5), raw=True) as server:
        url = f"https://127.0.0.1:{server.port}"
        async with AsyncAgent(card(interface(binding, url))) as agent:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await call(agent)
    gc.collect()
