"""Push notifications, posted to real receivers (§4.3)."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import httpx
import pytest
import uvicorn

from a2a_discovery import A2AError, TaskNotFoundError, UrlPolicy, protojson
from a2a_discovery.push import read_push_notification
from a2a_discovery.server import PushSender, TaskHandler, Turn
from a2a_discovery.server.push import MAX_WAITING
from a2a_discovery.types import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    StreamResponse,
    TaskPushNotificationConfig,
)
from tests.lookup import LOOPBACK, PUBLIC, call_loopback_public, looked_up
from tests.server.common import context, kinds, send, state

pytestmark = pytest.mark.anyio

CONTEXT = context()


class Receiver:
    """Answers posts on loopback with the statuses that it is told, then with 200, and keeps what came."""

    def __init__(self, *statuses: int, held: bool = False, location: str = "") -> None:
        self.statuses = list(statuses)
        self.go = asyncio.Event()
        if not held:
            self.go.set()
        self.location = location
        self.posts: list[tuple[dict[str, str], bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        await self.go.wait()
        self.posts.append(({k.decode(): v.decode() for k, v in scope["headers"]}, body))
        status = self.statuses.pop(0) if self.statuses else 200
        headers = [(b"location", self.location.encode())] if self.location else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def __aenter__(self) -> Receiver:
        self.server = uvicorn.Server(uvicorn.Config(self, port=0, lifespan="off", log_config=None, ws="none"))
        self.serving = asyncio.ensure_future(self.server.serve())
        while not self.server.started:
            await asyncio.sleep(0.01)
        self.url = f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}/hook?key=k3y"
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.server.should_exit = True
        await self.serving

    @property
    def events(self) -> list[Any]:
        return [protojson.loads(StreamResponse, body) for _, body in self.posts]


def config(url: str, **fields: Any) -> TaskPushNotificationConfig:
    return TaskPushNotificationConfig(url=url, **fields)


async def report(turn: Turn) -> None:
    await turn.working()
    for i in range(10):
        await turn.artifact(str(i), artifact_id="n", append=i > 0)
    await turn.complete("done")


async def posted(receiver: Receiver, count: int) -> None:
    async with asyncio.timeout(10):
        while len(receiver.posts) < count:
            await asyncio.sleep(0.01)


async def test_every_event_is_posted_in_order_with_its_proofs() -> None:
    async with Receiver() as receiver:
        handler = TaskHandler(report)
        wanted = config(
            receiver.url, token="t0ken", authentication=AuthenticationInfo(scheme="Bearer", credentials="s3cret")
        )
        task = (await handler.send_message(send(task_push_notification_config=wanted), CONTEXT)).task
        await posted(receiver, 13)
        await handler.aclose()
    events = receiver.events
    assert kinds(events[:2]) == ["task SUBMITTED", "status_update WORKING"]
    assert [e.artifact_update.artifact.parts[0].text for e in events[2:-1]] == [str(i) for i in range(10)]
    assert kinds(events[-1:]) == ["status_update COMPLETED"]
    for headers, body in receiver.posts:
        assert headers["content-type"] == "application/a2a+json"
        assert headers["x-a2a-notification-token"] == "t0ken"
        assert headers["authorization"] == "Bearer s3cret"
        assert body == protojson.dumps(protojson.loads(StreamResponse, body))
        read_push_notification(headers, body, token="t0ken", credentials="Bearer s3cret", task_ids=[task.id])


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_receiver_in_trouble_is_tried_again(status: int) -> None:
    async with Receiver(status, status) as receiver:
        handler = TaskHandler(report, push=PushSender(backoff=0.01))
        await handler.send_message(send(task_push_notification_config=config(receiver.url)), CONTEXT)
        await posted(receiver, 15)
        await handler.aclose()
    assert receiver.events[0] == receiver.events[1] == receiver.events[2]
    assert [e.WhichOneof("payload") for e in receiver.events].count("task") == 3


async def test_what_is_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async with Receiver() as elsewhere, Receiver(302, 404, location=elsewhere.url) as receiver:
        handler = TaskHandler(report, push=PushSender(backoff=0.01))
        wanted = config(
            receiver.url, token="t0ken", authentication=AuthenticationInfo(scheme="B", credentials="s3cret")
        )
        await handler.send_message(send(task_push_notification_config=wanted), CONTEXT)
        await posted(receiver, 13)
        await handler.aclose()
    assert elsewhere.posts == []
    assert kinds(receiver.events[:3]) == ["task SUBMITTED", "status_update WORKING", "artifact_update"]
    assert [r.levelno for r in caplog.records] == [logging.WARNING] * 2
    assert "it answered 302" in caplog.text
    assert not any(secret in caplog.text for secret in ("t0ken", "s3cret", "k3y"))


async def test_tries_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    async with Receiver(*[500] * 100) as receiver:
        sender = PushSender(attempts=3, backoff=0.01)
        sender.delivery(config(receiver.url), 1).put(b"{}")
        await sender.aclose()
    assert len(receiver.posts) == 3
    assert "was given up: it answered 500" in caplog.text


async def test_a_slow_or_dead_receiver_holds_up_nobody() -> None:
    async with Receiver(held=True) as slow, Receiver() as quick:
        handler = TaskHandler(report, push=PushSender(timeout=0.5, attempts=1, backoff=0.01))
        started = asyncio.get_running_loop().time()
        task = (await handler.send_message(send(task_push_notification_config=config(slow.url)), CONTEXT)).task
        assert asyncio.get_running_loop().time() - started < 0.4
        assert state(task) == "COMPLETED"
        await handler.send_message(send(task_push_notification_config=config(quick.url)), CONTEXT)
        await posted(quick, 13)
        assert asyncio.get_running_loop().time() - started < 2
        slow.go.set()
        await handler.aclose()


async def test_the_queue_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    async with Receiver() as receiver:
        sender = PushSender()
        delivery = sender.delivery(config(receiver.url), 1)
        for i in range(MAX_WAITING + 2):
            delivery.put(b"%d" % i)
        await posted(receiver, MAX_WAITING)
        await sender.aclose()
    assert [int(body) for _, body in receiver.posts] == list(range(2, MAX_WAITING + 2))
    assert len(caplog.records) == 2


async def asks(turn: Turn) -> None:
    await turn.input_required()


async def asking() -> tuple[TaskHandler, str]:
    handler = TaskHandler(asks)
    return handler, (await handler.send_message(send(tenant="t"), CONTEXT)).task.id


def of(task: str, url: str = "https://hook.test/x", **fields: Any) -> TaskPushNotificationConfig:
    return TaskPushNotificationConfig(tenant="t", task_id=task, url=url, **fields)


async def test_configurations_are_kept() -> None:
    handler, task = await asking()
    made = await handler.create_task_push_notification_config(of(task), CONTEXT)
    assert made.id
    assert await handler.create_task_push_notification_config(of(task, id="b"), CONTEXT) == of(task, id="b")
    await handler.create_task_push_notification_config(of(task, url="https://other.test", id="b"), CONTEXT)
    found = await handler.get_task_push_notification_config(
        GetTaskPushNotificationConfigRequest(tenant="t", task_id=task, id="b"), CONTEXT
    )
    assert found.url == "https://other.test"
    listed = ListTaskPushNotificationConfigsRequest(tenant="t", task_id=task, page_size=1)
    first = await handler.list_task_push_notification_configs(listed, CONTEXT)
    assert list(first.configs) == [made]
    listed.page_token = first.next_page_token
    second = await handler.list_task_push_notification_configs(listed, CONTEXT)
    assert (list(second.configs), second.next_page_token) == ([found], "")
    for _ in range(2):
        await handler.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(tenant="t", task_id=task, id="b"), CONTEXT
        )
    with pytest.raises(TaskNotFoundError):
        await handler.get_task_push_notification_config(
            GetTaskPushNotificationConfigRequest(tenant="t", task_id=task, id="b"), CONTEXT
        )
    with pytest.raises(TaskNotFoundError):
        await handler.list_task_push_notification_configs(
            ListTaskPushNotificationConfigsRequest(tenant="u", task_id=task), CONTEXT
        )


async def test_a_deleted_configuration_gets_nothing_more() -> None:
    async with Receiver(500) as receiver:
        handler = TaskHandler(asks, push=PushSender(backoff=0.1))
        task = (
            await handler.send_message(send(task_push_notification_config=config(receiver.url, id="c")), CONTEXT)
        ).task
        await posted(receiver, 1)
        await handler.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="c"), CONTEXT
        )
        await handler.send_message(send(task=task.id), CONTEXT)
        await asyncio.sleep(0.2)
        await handler.aclose()
    assert len(receiver.posts) == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"url": "http://hook.test"}, "url"),
        ({"url": "https://user:pw@hook.test"}, "url"),
        ({"url": "ftp://hook.test"}, "url"),
        ({"token": "a\r\nb: c"}, "token"),
        ({"token": "ü"}, "token"),
        ({"authentication": AuthenticationInfo(scheme="a b")}, "authentication.scheme"),
        ({"authentication": AuthenticationInfo(scheme="Bearer", credentials="s3cret\n")}, "authentication.credentials"),
    ],
)
async def test_what_is_refused(fields: dict[str, Any], field: str) -> None:
    handler, task = await asking()
    wanted = of(task, **fields)
    with pytest.raises(A2AError) as caught:
        await handler.create_task_push_notification_config(wanted, CONTEXT)
    assert (caught.value.code, caught.value.field_violations[0][0]) == (-32602, field)
    assert "s3cret" not in str(caught.value)
    wanted.task_id = ""
    with pytest.raises(A2AError) as caught:
        await handler.send_message(send(tenant="t", task_push_notification_config=wanted), CONTEXT)
    assert caught.value.code == -32602
    assert (
        await TaskHandler(asks, policy=UrlPolicy(allow_http=True)).send_message(
            send(task_push_notification_config=config("http://127.0.0.1:9")), CONTEXT
        )
    ).task


@pytest.mark.parametrize("answers", [[[LOOPBACK]], [[PUBLIC], [LOOPBACK]]])
@pytest.mark.parametrize("own_client", [True, False])
async def test_strangers_do_not_post_into_our_network(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, own_client: bool, answers: list[list[str]]
) -> None:
    looked_up(monkeypatch, *answers)
    policy = UrlPolicy(deny_private=True, allow_http=True)
    async with Receiver() as receiver, httpx.AsyncClient() as client:
        handler = TaskHandler(asks, policy=policy, push=PushSender(None if own_client else client, backoff=0.01))
        with pytest.raises(A2AError, match=r"127\.0\.0\.1 is a loopback address"):
            await handler.send_message(send(task_push_notification_config=config(receiver.url)), CONTEXT)
        named = config(receiver.url.replace(LOOPBACK, "agent.test"), id="c")
        await handler.send_message(send(task_push_notification_config=named), CONTEXT)
        await handler.aclose()
    assert receiver.posts == []
    assert "given up: it is not called: agent.test is at 127.0.0.1, a loopback address" in caplog.text


async def test_a_public_receiver_gets_its_posts(monkeypatch: pytest.MonkeyPatch) -> None:
    call_loopback_public(monkeypatch)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with Receiver() as receiver:
        handler = TaskHandler(asks, policy=UrlPolicy(deny_private=True))
        await handler.send_message(send(task_push_notification_config=config(receiver.url)), CONTEXT)
        await posted(receiver, 2)
        await handler.aclose()


async def test_a_configuration_of_another_task_or_tenant() -> None:
    for wanted in (config("https://hook.test", task_id="x"), config("https://hook.test", tenant="x")):
        with pytest.raises(A2AError) as caught:
            await TaskHandler(asks).send_message(send(task_push_notification_config=wanted), CONTEXT)
        assert caught.value.code == -32602
