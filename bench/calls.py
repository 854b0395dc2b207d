"""Calls against a server that answers with canned bytes: beside bare httpx and gRPC, and beside a2a-sdk 1.3.0."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from statistics import median
from typing import Any

import grpc
import httpx

from a2a_discovery import Agent, AsyncAgent
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery.bindings import jsonrpc
from a2a_discovery.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    Message,
    Part,
    Role,
    SendMessageRequest,
)
from bench.canned import EVENTS
from bench.table import Sides, async_seconds, compare, compare_async, report

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its generated code is older than the protobuf runtime
    from a2a.client import ClientConfig, ClientFactory
    from a2a.types import a2a_pb2

SEND = OPERATIONS["SendMessage"]
TEXT = "Run the unit tests for payments-api at commit 9f3c2e1"
CONCURRENT = 1000
# At most 1.15 times the bare call.
BARE = 1 / 1.15


@contextmanager
def canned() -> Iterator[tuple[str, str]]:
    """The canned server in a process of its own: its HTTP URL and its gRPC address."""
    command = [sys.executable, "-m", "bench.canned"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        http, grpc_port = server.stdout.readline().split()
        try:
            yield f"http://127.0.0.1:{http}/rpc", f"127.0.0.1:{grpc_port}"
        finally:
            server.kill()


def card(url: str, binding: str) -> AgentCard:
    """A card with one interface."""
    interface = AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0")
    return AgentCard(name="canned", supported_interfaces=[interface], capabilities=AgentCapabilities(streaming=True))


def request() -> SendMessageRequest:
    """What is sent by the sides that are bare."""
    return SendMessageRequest(message=Message(message_id="m", role=Role.ROLE_USER, parts=[Part(text=TEXT)]))


@asynccontextmanager
async def sdk_client(url: str, binding: str, *, streaming: bool) -> AsyncIterator[Any]:
    """a2a-sdk's client for the same card."""
    theirs = a2a_pb2.AgentCard.FromString(card(url, binding).SerializeToString())
    async with httpx.AsyncClient(trust_env=False) as http:
        config = ClientConfig(
            streaming=streaming,
            httpx_client=http,
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_protocol_bindings=[binding],
        )
        async with ClientFactory(config).create(theirs) as client:
            yield client


def sdk_request() -> Any:
    """The same message in a2a-sdk's classes."""
    return a2a_pb2.SendMessageRequest.FromString(request().SerializeToString())


async def last(events: AsyncIterator[Any]) -> None:
    """Read a stream to its end."""
    async for _ in events:
        pass


async def over_http(url: str) -> None:
    """JSON-RPC."""
    body = jsonrpc.encode_request(SEND, request(), "1")
    headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
    async with AsyncAgent(card(url, "JSONRPC")) as agent, httpx.AsyncClient() as bare:
        await compare_async(
            "unary, async; bare httpx",
            lambda: agent.send_message(TEXT),
            lambda: bare.post(url, content=body, headers=headers),
            goal=BARE,
        )
        async with sdk_client(url, "JSONRPC", streaming=False) as sdk:
            await compare_async(
                "unary, JSON-RPC; a2a-sdk",
                lambda: agent.send_message(TEXT),
                lambda: last(sdk.send_message(sdk_request())),
                goal=1,
            )
        async with sdk_client(url, "JSONRPC", streaming=True) as sdk:
            await streams("stream events, JSON-RPC; a2a-sdk", agent, sdk, goal=2)
        start = time.perf_counter()
        answers = await asyncio.gather(*(agent.send_message(TEXT) for _ in range(CONCURRENT)))
        rate = len(answers) / (time.perf_counter() - start)
        print(f"{f'{CONCURRENT} concurrent calls, all answered':<44} {rate:>10.0f} /s", flush=True)


def over_blocking_http(url: str) -> None:
    """JSON-RPC, sync."""
    body = jsonrpc.encode_request(SEND, request(), "1")
    headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
    with Agent(card(url, "JSONRPC")) as agent, httpx.Client() as bare:
        compare(
            "unary, sync; bare httpx",
            lambda: agent.send_message(TEXT),
            lambda: bare.post(url, content=body, headers=headers),
            goal=BARE,
            repeat=100,
            rounds=30,
        )


async def over_grpc(address: str) -> None:
    """GRPC."""
    async with AsyncAgent(card(address, "GRPC")) as agent, grpc.aio.insecure_channel(address) as channel:
        stub = channel.unary_unary(
            SEND.grpc_path,
            request_serializer=SEND.request.SerializeToString,
            response_deserializer=SEND.response.FromString,
        )

        async def bare() -> Any:
            return await stub(request())

        await compare_async("unary, gRPC; bare stub", lambda: agent.send_message(TEXT), bare, goal=BARE)
        async with sdk_client(address, "GRPC", streaming=False) as sdk:
            await compare_async(
                "unary, gRPC; a2a-sdk",
                lambda: agent.send_message(TEXT),
                lambda: last(sdk.send_message(sdk_request())),
                goal=1,
            )
        async with sdk_client(address, "GRPC", streaming=True) as sdk:
            await streams("stream events, gRPC; a2a-sdk", agent, sdk, goal=1)


async def streams(name: str, agent: AsyncAgent, sdk: Any, *, goal: float, rounds: int = 12) -> None:
    """Events per second, of whole streams."""

    async def ours() -> None:
        await last(agent.send_streaming_message(TEXT))

    async def theirs() -> None:
        await last(sdk.send_message(sdk_request()))

    await ours()
    await theirs()
    pairs: Sides = [(await async_seconds(ours, 1), await async_seconds(theirs, 1)) for _ in range(rounds)]
    mine, other = (EVENTS / median(side) for side in zip(*pairs, strict=True))
    report(name, f"{mine:10.0f} /s", f"{other:10.0f} /s", mine / other, goal)


def main() -> None:
    """Print the lines of the table."""
    with canned() as (url, address):
        asyncio.run(over_http(url))
        over_blocking_http(url)
        asyncio.run(over_grpc(address))
