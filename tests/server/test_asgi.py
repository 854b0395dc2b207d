"""One application over real connections: bytes on the wire, paths, limits (§9, §11)."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from a2a_discovery import A2AError, TaskNotFoundError, UnsupportedOperationError, protojson
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery.bindings import rest
from a2a_discovery.server import AgentHandler, asgi_app
from a2a_discovery.types import (
    ListTasksResponse,
    Message,
    Part,
    Role,
    SendMessageResponse,
    StreamResponse,
    Task,
    TaskPushNotificationConfig,
)
from tests.asgi import serving
from tests.server.common import VERSION, call, card, message, send

SAID = Message(message_id="a", role=Role.ROLE_AGENT, parts=[Part(text="hi\u2028there")])
TENANTS = ["billing", "a/b", "../admin", "ü x", "a?b#c", "..", "%2F"]


class Scripted(AgentHandler):
    """Does what the text of the message says, and remembers its requests."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.closed: list[str] = []

    async def send_message(self, request: Any, context: Any) -> Any:
        self.requests.append(request)
        match request.message.parts[0].text:
            case "raise":
                raise ValueError("secret")
            case "missing":
                raise TaskNotFoundError("no task t")
            case "challenge":
                raise A2AError("who are you?", code=-32040, http_status=401, challenge="Bearer", retry_after=3)
            case "strange":
                raise A2AError("strange", http_status=200)
            case "infinite":
                bad = SendMessageResponse(message=SAID)
                bad.message.metadata["x"] = float("inf")
                return bad
            case "header":
                said = ", ".join(f"{k}={v}" for k, v in context.service_params.items() if k.startswith("x-"))
                return SendMessageResponse(message=message(said))
        return SendMessageResponse(message=SAID)

    async def send_streaming_message(self, request: Any, context: Any) -> AsyncIterator[Any]:
        self.requests.append(request)
        text = request.message.parts[0].text
        try:
            if text == "first":
                raise UnsupportedOperationError("not at all")
            if text == "slow":
                await asyncio.sleep(0.5)
            yield StreamResponse(message=SAID)
            if text == "later":
                raise UnsupportedOperationError("not any more")
            if text == "raise":
                raise ValueError("secret")
            if text == "hang":
                await asyncio.sleep(60)
        finally:
            self.closed.append(text)

    async def get_task(self, request: Any, context: Any) -> Any:
        self.requests.append(request)
        return Task(id=request.id)

    cancel_task = get_task

    async def list_tasks(self, request: Any, context: Any) -> Any:
        self.requests.append(request)
        return ListTasksResponse(page_size=50)

    async def subscribe_to_task(self, request: Any, context: Any) -> AsyncIterator[Any]:
        self.requests.append(request)
        yield StreamResponse(task=Task(id=request.id))

    async def create_task_push_notification_config(self, request: Any, context: Any) -> Any:
        self.requests.append(request)
        return TaskPushNotificationConfig(task_id=request.task_id, id="c", url="https://hook.test")

    get_task_push_notification_config = create_task_push_notification_config

    async def list_task_push_notification_configs(self, request: Any, context: Any) -> Any:
        self.requests.append(request)
        return OPERATIONS["ListTaskPushNotificationConfigs"].response()

    async def delete_task_push_notification_config(self, request: Any, context: Any) -> Any:
        self.requests.append(request)
        return OPERATIONS["DeleteTaskPushNotificationConfig"].response()

    async def get_extended_agent_card(self, request: Any, context: Any) -> Any:
        self.requests.append(request)
        return card()


HANDLER = Scripted()


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    app = asgi_app(card(), HANDLER, keep_alive=0.1, max_request_bytes=10_000)
    with serving(app) as url, httpx.Client(base_url=url, trust_env=False, headers=VERSION) as client:
        yield client


def rpc(client: httpx.Client, text: str, method: str = "SendMessage") -> httpx.Response:
    return client.post("/rpc", json=call(method, send(text)))


def posted(client: httpx.Client, text: str, verb: str = "send") -> httpx.Response:
    return client.post(f"/rest/message:{verb}", content=protojson.dumps(send(text)))


def test_jsonrpc(client: httpx.Client) -> None:
    answer = rpc(client, "x")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    said = protojson.dumps(SAID)
    assert answer.content == b'{"jsonrpc":"2.0","id":1,"result":{"message":' + said + b"}}"


def test_rest(client: httpx.Client) -> None:
    answer = posted(client, "x")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/a2a+json")
    assert answer.content == b'{"message":' + protojson.dumps(SAID) + b"}"
    assert client.delete("/rest/tasks/t/pushNotificationConfigs/c").content == b"{}"


INFO = b'{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"%b","domain":"a2a-protocol.org"}'


def test_an_error_over_jsonrpc(client: httpx.Client) -> None:
    answer = rpc(client, "missing")
    told = b'{"code":-32001,"message":"no task t","data":[' + INFO % b"TASK_NOT_FOUND" + b"]}"
    assert (answer.status_code, answer.content) == (200, b'{"jsonrpc":"2.0","id":1,"error":' + told + b"}")


def test_an_error_over_rest(client: httpx.Client) -> None:
    answer = posted(client, "missing")
    told = b'{"code":404,"status":"NOT_FOUND","message":"no task t","details":[' + INFO % b"TASK_NOT_FOUND" + b"]}"
    assert (answer.status_code, answer.content) == (404, b'{"error":' + told + b"}")
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("text", ["raise", "infinite"])
def test_what_is_none_of_the_clients_business(
    client: httpx.Client, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "a2a_discovery"):
        one, two = rpc(client, text), posted(client, text)
    assert (one.json()["error"]["code"], two.status_code) == (-32603, 500)
    assert "secret" not in one.text + two.text
    assert len(caplog.records) == 2


def test_a_challenge_keeps_its_status(client: httpx.Client) -> None:
    for answer in (rpc(client, "challenge"), posted(client, "challenge")):
        assert answer.status_code == 401
        assert (answer.headers["www-authenticate"], answer.headers["retry-after"]) == ("Bearer", "3")
    assert posted(client, "strange").status_code == 500


@pytest.mark.parametrize(
    ("body", "code", "request_id"),
    [
        (b"{", -32700, None),
        (b"\xff", -32700, None),
        (b"", -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]', -32600, None),
        (b'{"jsonrpc":"2.0","method":"GetTask","params":{"id":"x"}}', -32600, None),
        (b'{"jsonrpc":"1.0","id":7,"method":"GetTask"}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":"a","method":"message/send"}', -32601, "a"),
        (b'{"jsonrpc":"2.0","id":"a","method":"GetTask","params":[1]}', -32602, "a"),
        (b'{"jsonrpc":"2.0","id":"a","method":"GetTask","params":{}}', -32602, "a"),
    ],
)
def test_what_is_no_request(client: httpx.Client, body: bytes, code: int, request_id: Any) -> None:
    answer = client.post("/rpc", content=body)
    assert (answer.status_code, answer.json()["id"], answer.json()["error"]["code"]) == (200, request_id, code)


def test_a_client_of_03_learns_that_it_is_one(client: httpx.Client) -> None:
    body = {"jsonrpc": "2.0", "id": 5, "method": "message/send", "params": {}}
    answer = client.post("/rpc", json=body, headers={"A2A-Version": ""})
    assert (answer.json()["id"], answer.json()["error"]["code"]) == (5, -32009)
    answer = client.post("/rest/v1/message:send", content=b"{}", headers={"A2A-Version": "0.3"})
    assert (answer.status_code, answer.json()["error"]["details"][0]["reason"]) == (400, "VERSION_NOT_SUPPORTED")


def test_methods(client: httpx.Client) -> None:
    answer = client.get("/rpc")
    assert (answer.status_code, answer.headers["allow"], answer.json()["error"]["code"]) == (405, "POST", -32600)
    answer = client.put("/rest/tasks/t")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    answer = client.post("/.well-known/agent-card.json")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    for path in ("/", "/rest/nothing/here", "/restful", "/rpc/x"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, 404)


@pytest.mark.parametrize(
    "path", ["/rest/tasks", "/rest/tasks/t", "/rest/tasks/t:subscribe", "/.well-known/agent-card.json"]
)
def test_head(client: httpx.Client, path: str) -> None:
    head, get = client.head(path), client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == get.headers["content-type"]
    assert head.headers.get("content-length") == get.headers.get("content-length")


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "application/xml; a=json"])
def test_media_types_that_are_not_taken(client: httpx.Client, media_type: str) -> None:
    headers = {"Content-Type": media_type}
    answer = client.post("/rpc", content=json.dumps(call("SendMessage", send())), headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32005)
    answer = client.post("/rest/message:send", content=protojson.dumps(send()), headers=headers)
    assert (answer.status_code, answer.json()["error"]["details"][0]["reason"]) == (400, "CONTENT_TYPE_NOT_SUPPORTED")
    assert client.post("/rest/tasks/t:cancel", headers=headers).status_code == 200


@pytest.mark.parametrize("media_type", ["application/json", "Application/JSON; charset=utf-8", "application/a2a+json"])
def test_media_types_that_are(client: httpx.Client, media_type: str) -> None:
    headers = {"Content-Type": media_type}
    body = json.dumps(call("SendMessage", send()))
    assert "result" in client.post("/rpc", content=body, headers=headers).json()
    assert client.post("/rest/message:send", content=protojson.dumps(send()), headers=headers).status_code == 200


def test_a_large_body(client: httpx.Client) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(11):
            yield b" " * 1000

    for body in (b" " * 10_001, pieces()):
        answer = client.post("/rpc", content=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, -32600)
    assert client.post("/rest/message:send", content=b" " * 10_001).status_code == 413


def test_headers_are_service_parameters(client: httpx.Client) -> None:
    headers = [("X-One", "1"), ("x-two", "a"), ("X-Two", "b")]
    answer = client.post("/rpc", json=call("SendMessage", send("header")), headers=[*VERSION.items(), *headers])
    assert answer.json()["result"]["message"]["parts"][0]["text"] == "x-one=1, x-two=a, b"


def test_a_stream(client: httpx.Client) -> None:
    said = protojson.dumps(SAID).replace("\u2028".encode(), b"\\u2028")
    event = b'{"message":' + said + b"}"
    answer = rpc(client, "x", "SendStreamingMessage")
    assert answer.content == b'data: {"jsonrpc":"2.0","id":1,"result":' + event + b"}\n\n"
    other = posted(client, "x", "stream")
    assert other.content == b"data: " + event + b"\n\n"
    for found in (answer, other):
        assert found.headers["content-type"] == "text/event-stream"
        assert (found.headers["cache-control"], found.headers["x-accel-buffering"]) == ("no-cache", "no")


def test_an_error_before_the_first_event(client: httpx.Client) -> None:
    answer = rpc(client, "first", "SendStreamingMessage")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert (answer.json()["id"], answer.json()["error"]["code"]) == (1, -32004)
    answer = posted(client, "first", "stream")
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "not at all")


def test_an_error_in_the_middle(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    answer = rpc(client, "later", "SendStreamingMessage")
    _, second = answer.text.strip().split("\n\n")
    told = '{"code":-32004,"message":"not any more","data":[' + (INFO % b"UNSUPPORTED_OPERATION").decode() + "]}"
    assert second == 'data: {"jsonrpc":"2.0","id":1,"error":' + told + "}"
    _, second = posted(client, "later", "stream").text.strip().split("\n\n")
    assert json.loads(second.removeprefix("data: "))["error"]["status"] == "FAILED_PRECONDITION"
    assert "secret" not in posted(client, "raise", "stream").text


def test_keep_alive(client: httpx.Client) -> None:
    answer = rpc(client, "slow", "SendStreamingMessage")
    comments, _, event = answer.content.partition(b"data: ")
    assert set(comments.split(b"\n\n")) == {b":", b""}
    assert comments.count(b":") >= 3
    assert b"result" in event


def test_a_client_that_goes_away_closes_the_generator(client: httpx.Client) -> None:
    HANDLER.closed.clear()
    with client.stream("POST", "/rest/message:stream", content=protojson.dumps(send("hang"))) as answer:
        chunks = answer.iter_bytes()  # dropped, it would close the connection
        next(chunks)
        assert HANDLER.closed == []
    limit = time.monotonic() + 5
    while not HANDLER.closed and time.monotonic() < limit:
        time.sleep(0.01)
    assert HANDLER.closed == ["hang"]


def test_a_client_that_goes_away_while_it_sends(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    address = (client.base_url.host, client.base_url.port)
    with socket.create_connection(address) as connection:
        connection.sendall(b"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        time.sleep(0.05)
    time.sleep(0.05)
    assert caplog.records == []
    assert rpc(client, "x").status_code == 200


def requests_of(tenant: str) -> list[tuple[str, Any]]:
    fields = {"id": "a/b", "task_id": "t ü", "url": "https://hook.test"}
    requests = []
    for operation in OPERATIONS.values():
        names = operation.request.DESCRIPTOR.fields_by_name
        request: Any = operation.request(tenant=tenant, **{k: v for k, v in fields.items() if k in names})
        if "message" in names:
            request.message.CopyFrom(message())
        requests.append((operation.name, request))
    return requests


@pytest.mark.parametrize("tenant", TENANTS)
def test_a_tenant_arrives_unchanged(client: httpx.Client, tenant: str) -> None:
    for name, request in requests_of(tenant):
        encoded = rest.encode_request(OPERATIONS[name], request)
        target = f"{client.base_url.copy_with(path='/rest')}{encoded.target}"
        url = httpx.URL(target)
        # httpx would resolve dot segments and encode anew; what is sent is what is meant.
        raw = client.build_request(encoded.verb, client.base_url, content=encoded.body)
        raw.url = url.copy_with(raw_path=f"/rest{encoded.target}".encode())
        HANDLER.requests.clear()
        answer = client.send(raw)
        assert answer.status_code == 200, (name, answer.text)
        if name != "GetExtendedAgentCard" or HANDLER.requests:
            assert HANDLER.requests == [request], name


def test_subscribe_by_post(client: httpx.Client) -> None:
    assert client.post("/rest/tasks/t:subscribe", content=b"{}").text == client.get("/rest/tasks/t:subscribe").text


@pytest.mark.parametrize("base", ["http://localhost:1/agents/one", "http://localhost:1"])
def test_mounted(base: str) -> None:
    """The card's paths are those of the whole, or those below the mount."""
    app = Starlette(routes=[Mount("/agents/one", asgi_app(card(base), HANDLER))])
    with serving(app) as url, httpx.Client(base_url=f"{url}/agents/one", trust_env=False, headers=VERSION) as client:
        assert client.get("/.well-known/agent-card.json").json()["name"] == "Agent"
        assert "result" in rpc(client, "x").json()
        HANDLER.requests.clear()
        assert client.get(f"/rest/{quote('a/b', safe='')}/tasks/x").status_code == 200
        assert HANDLER.requests[0].tenant == "a/b"


def test_other_paths_than_the_cards() -> None:
    app = asgi_app(card("https://agent.test/public"), HANDLER, jsonrpc_path="/inner/rpc", rest_path="/")
    with serving(app) as url, httpx.Client(base_url=url, trust_env=False, headers=VERSION) as client:
        assert "result" in client.post("/inner/rpc", json=call("SendMessage", send())).json()
        assert client.get("/tasks/x").json() == {"id": "x"}
        assert client.post("/public/rpc", json=call("SendMessage", send())).status_code == 404


async def asked(base: str, path: str, **scope: Any) -> list[Any]:
    """What the application sends, asked by a server that is none."""
    sent = []
    headers = [(b"a2a-version", b"1.0")]

    async def receive() -> Any:
        return {"type": "http.request"}

    async def collect_sent(event: Any) -> None:
        sent.append(event)

    HANDLER.requests.clear()
    whole = {"type": "http", "method": "GET", "path": path, "headers": headers, **scope}
    await asgi_app(card(base), HANDLER)(whole, receive, collect_sent)
    return sent


@pytest.mark.anyio
async def test_a_server_without_raw_path() -> None:
    sent = await asked("http://localhost:1", "/rest/ü x/tasks")
    assert (sent[0]["status"], HANDLER.requests[0].tenant) == (200, "ü x")


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/rest/tasks", "/a b/rest/tasks"])
async def test_a_server_that_puts_its_root_into_the_path_or_not(path: str) -> None:
    for base in ("http://localhost:1/a%20b", "http://localhost:1"):
        assert (await asked(base, path, root_path="/a b"))[0]["status"] == 200
    assert (await asked("http://localhost:1/other", path, root_path="/a b"))[0]["status"] == 404


@pytest.mark.anyio
async def test_no_body_for_head() -> None:
    for path in ("/rest/tasks", "/rest/nothing"):
        sent = await asked("http://localhost:1", path, method="HEAD")
        assert [event.get("body", b"") for event in sent] == [b"", b""]


@pytest.mark.anyio
async def test_the_servers_life() -> None:
    class Closing(AgentHandler):
        closed = False

        async def aclose(self) -> None:
            self.closed = True

    handler, events, sent = Closing(), ["startup", "shutdown"], []

    async def receive() -> Any:
        return {"type": f"lifespan.{events.pop(0)}"}

    async def collect_sent(event: Any) -> None:
        sent.append(event["type"])

    await asgi_app(card(), handler)({"type": "lifespan"}, receive, collect_sent)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert handler.closed
