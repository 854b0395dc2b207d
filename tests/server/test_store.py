"""Tasks in memory: pages that stay stable, and a number that stays bounded (§3.1.4)."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from a2a_discovery import A2AError, TaskNotFoundError
from a2a_discovery.server import MemoryTaskStore
from a2a_discovery.server.store import Record, now
from a2a_discovery.types import ListTasksRequest, StreamResponse, TaskState, TaskStatus, TaskStatusUpdateEvent
from tests.server.common import message


def put(store: MemoryTaskStore, record: Record, state: str) -> None:
    status = TaskStatus(state=f"TASK_STATE_{state}", timestamp=now())
    store.apply(record, StreamResponse(status_update=TaskStatusUpdateEvent(status=status)))


def filled(count: int, **settings: Any) -> tuple[MemoryTaskStore, list[Record]]:
    store = MemoryTaskStore(**settings)
    return store, [store.create("", "c", message()) for _ in range(count)]


def ids(tasks: Any) -> list[str]:
    return [task.id for task in tasks]


def test_the_newest_change_comes_first() -> None:
    store, (a, b, c) = filled(3)
    put(store, a, "WORKING")
    page = store.page(ListTasksRequest())
    assert ids(page.tasks) == [a.task.id, c.task.id, b.task.id]
    assert (page.page_size, page.total_size, page.next_page_token) == (50, 3, "")


def test_each_task_is_on_one_page_while_tasks_change() -> None:
    store, records = filled(5)
    first = store.page(ListTasksRequest(page_size=2))
    put(store, records[0], "WORKING")  # not shown yet
    put(store, records[4], "WORKING")  # shown already
    store.create("", "c", message())
    second = store.page(ListTasksRequest(page_size=2, page_token=first.next_page_token))
    put(store, records[0], "COMPLETED")
    third = store.page(ListTasksRequest(page_size=2, page_token=second.next_page_token))
    seen = [*ids(first.tasks), *ids(second.tasks), *ids(third.tasks)]
    assert seen == ids(r.task for r in reversed(records))
    assert (second.total_size, third.total_size, third.next_page_token) == (5, 5, "")


def test_a_token_is_good_twice() -> None:
    store, _ = filled(3)
    token = store.page(ListTasksRequest(page_size=1)).next_page_token
    pages = [store.page(ListTasksRequest(page_size=1, page_token=token)) for _ in range(2)]
    assert pages[0] == pages[1]


@pytest.mark.parametrize("token", ["x", "MQ", "ä", "OTk5OTkuMQ", "MS4x=", " MS4x"])
def test_a_token_of_somebody_else(token: str) -> None:
    store, _ = filled(3)
    with pytest.raises(A2AError) as caught:
        store.page(ListTasksRequest(page_token=token))
    assert (caught.value.code, caught.value.field_violations[0][0]) == (-32602, "pageToken")


@pytest.mark.parametrize(("field", "value"), [("page_size", 0), ("page_size", 101), ("history_length", -1)])
def test_a_number_out_of_range(field: str, value: int) -> None:
    with pytest.raises(A2AError) as caught:
        MemoryTaskStore().page(ListTasksRequest(**{field: value}))
    assert caught.value.code == -32602


def test_filters() -> None:
    store, (a, b) = filled(2)
    other = store.create("", "other", message())
    put(store, b, "WORKING")
    assert ids(store.page(ListTasksRequest(context_id="other")).tasks) == [other.task.id]
    assert ids(store.page(ListTasksRequest(status=TaskState.TASK_STATE_WORKING)).tasks) == [b.task.id]
    a.task.status.timestamp.FromSeconds(10)
    b.task.status.timestamp.FromSeconds(20)
    other.task.status.timestamp.FromSeconds(30)
    found = store.page(ListTasksRequest(status_timestamp_after=Timestamp(seconds=20), page_size=1))
    assert (found.total_size, len(found.tasks)) == (2, 1)


def test_history_and_artifacts() -> None:
    store, (record,) = filled(1)
    store.add_message(record, message("second"))
    record.task.artifacts.add(artifact_id="a")
    (task,) = store.page(ListTasksRequest()).tasks
    assert ([m.parts[0].text for m in task.history], len(task.artifacts)) == (["hello", "second"], 0)
    (task,) = store.page(ListTasksRequest(history_length=1, include_artifacts=True)).tasks
    assert ([m.parts[0].text for m in task.history], len(task.artifacts)) == (["second"], 1)
    (task,) = store.page(ListTasksRequest(history_length=0)).tasks
    assert len(task.history) == 0
    assert len(record.task.history) == 2


def test_a_tenant_sees_its_own() -> None:
    store = MemoryTaskStore()
    mine, yours = store.create("a", "c", message()), store.create("b", "c", message())
    assert ids(store.page(ListTasksRequest(tenant="a")).tasks) == [mine.task.id]
    for tenant in ("", "a"):
        with pytest.raises(TaskNotFoundError):
            store.find(tenant, yours.task.id)


def test_the_oldest_that_ended_goes_first_then_the_oldest_that_waits() -> None:
    store, (a, b, c) = filled(3, max_tasks=3)
    put(store, b, "INPUT_REQUIRED")
    put(store, c, "COMPLETED")
    store.create("", "c", message())
    assert store.find("", b.task.id) is b
    store.create("", "c", message())
    assert [len(store), store.find("", a.task.id)] == [3, a]
    for gone in (b, c):
        with pytest.raises(TaskNotFoundError):
            store.find("", gone.task.id)
    with pytest.raises(A2AError, match="too much to do") as caught:
        store.create("", "c", message())
    assert (caught.value.http_status, caught.value.grpc_status) == (503, "RESOURCE_EXHAUSTED")


def test_timestamps_have_milliseconds() -> None:
    assert now().nanos % 1_000_000 == 0
