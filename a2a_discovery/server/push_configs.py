"""The push configurations of a task (§3.1.7 to §3.1.10)."""

from __future__ import annotations

from typing import Final
from uuid import uuid4

from a2a_discovery.errors import TaskNotFoundError
from a2a_discovery.policy import UrlPolicy
from a2a_discovery.server.paging import decode_token, encode_token, page_size, wrong
from a2a_discovery.server.push import Delivery, PushSender, check_config
from a2a_discovery.server.store import Record
from a2a_discovery.types import (
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    SendMessageRequest,
    TaskPushNotificationConfig,
)

MAX_CONFIGS: Final = 100
"""How many configurations a task may have."""


class PushConfigs:
    """Keeps configurations beside their tasks.

    Args:
        sender: posts the events.
        policy: which URLs may be posted to.
    """

    def __init__(self, sender: PushSender, policy: UrlPolicy) -> None:
        self._sender = sender
        self._policy = policy
        self._count = 0

    def of_send(self, request: SendMessageRequest) -> TaskPushNotificationConfig | None:
        """The configuration in a send, checked; None when there is none.

        Raises:
            A2AError: it cannot be used, or names another task or tenant than the send does (-32602).
        """
        if not request.configuration.HasField("task_push_notification_config"):
            return None
        config = request.configuration.task_push_notification_config
        if config.task_id not in ("", request.message.task_id):
            raise wrong("configuration.taskPushNotificationConfig.taskId", "this is not the task of the message")
        if config.tenant not in ("", request.tenant):
            raise wrong("configuration.taskPushNotificationConfig.tenant", "this is not the tenant of the request")
        check_config(config, self._policy)
        return config

    def add(self, record: Record, config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
        """Keep a configuration; one of the same id is replaced, and one without an id gets one (§3.1.7).

        Raises:
            A2AError: it cannot be used, or the task has too many (-32602).
        """
        check_config(config, self._policy)
        kept = TaskPushNotificationConfig()
        kept.CopyFrom(config)
        kept.id = config.id or str(uuid4())
        kept.task_id = record.task.id
        kept.tenant = record.tenant
        known = record.deliveries.get(kept.id)
        if known is not None:
            known.config = kept
        elif len(record.deliveries) >= MAX_CONFIGS:
            raise wrong("taskId", f"this task has {MAX_CONFIGS} push configurations, which is as many as it may have")
        else:
            self._count += 1
            record.deliveries[kept.id] = self._sender.delivery(kept, self._count, self._policy)
        return _copy(kept)

    def get(self, record: Record, config_id: str) -> TaskPushNotificationConfig:
        """The configuration of that id.

        Raises:
            TaskNotFoundError: the task has none (§3.1.8).
        """
        delivery = record.deliveries.get(config_id)
        if delivery is None:
            raise TaskNotFoundError("the task has no such push configuration")
        return _copy(delivery.config)

    def page(
        self, record: Record, request: ListTaskPushNotificationConfigsRequest
    ) -> ListTaskPushNotificationConfigsResponse:
        """One page of a task's configurations, the oldest first (§3.1.9).

        Raises:
            A2AError: the page size is out of its range, or the token is none (-32602).
        """
        size = page_size(request.page_size or None)
        after = decode_token(request.page_token, 1)[0] if request.page_token else 0
        rest: list[Delivery] = [d for d in record.deliveries.values() if d.number > after]
        shown = rest[:size]
        token = encode_token(shown[-1].number) if len(rest) > size else ""
        return ListTaskPushNotificationConfigsResponse(configs=[d.config for d in shown], next_page_token=token)

    def delete(self, record: Record, config_id: str) -> None:
        """Forget a configuration, if there is one of that id, and what waits to be posted for it (§3.1.10)."""
        delivery = record.deliveries.pop(config_id, None)
        if delivery is not None:
            delivery.close()


def _copy(config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
    copy = TaskPushNotificationConfig()
    copy.CopyFrom(config)
    return copy
