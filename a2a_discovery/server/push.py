"""Push notifications (§3.5.3, §4.3): a task's events, posted to the URLs that clients named."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import httpx

from a2a_discovery._clients import async_client
from a2a_discovery._guard import AsyncGuard
from a2a_discovery.bindings.rest import MEDIA_TYPE
from a2a_discovery.policy import UrlPolicy, UrlRefusedError, parse_url
from a2a_discovery.push import TOKEN_HEADER
from a2a_discovery.server.paging import wrong
from a2a_discovery.types import TaskPushNotificationConfig

MAX_WAITING: Final = 1_000
"""How many events wait for one configuration; beyond, the oldest are dropped."""

_log = logging.getLogger("a2a_discovery")

_SCHEME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD = re.compile(r"[\t\x20-\x7e]*")
_READ = 64 * 1024
_CLOSING_SECONDS = 5.0


def check_config(config: TaskPushNotificationConfig, policy: UrlPolicy) -> None:
    """Do nothing when a configuration can be used.

    Raises:
        A2AError: its URL must not be called, or its secrets fit into no header (-32602); nothing secret is quoted.
    """
    try:
        policy.check(parse_url(config.url))
    except UrlRefusedError as exc:
        raise wrong("url", f"this URL is not called: {exc}") from exc
    if not _FIELD.fullmatch(config.token):
        raise wrong("token", "this holds what no HTTP header may hold (RFC 9110 §5.5)")
    if config.HasField("authentication"):
        if not _SCHEME.fullmatch(config.authentication.scheme):
            raise wrong("authentication.scheme", "this is the name of no HTTP authentication scheme (RFC 9110 §11.1)")
        if not _FIELD.fullmatch(config.authentication.credentials):
            raise wrong("authentication.credentials", "this holds what no HTTP header may hold (RFC 9110 §5.5)")


class PushSender:
    """Posts events, each configuration for itself: a receiver that is slow or gone holds up nothing but its own queue.

    Args:
        client: sends the posts, and stays open; by default there is one of the sender's own. Redirects are not followed
            in any case.
        timeout: seconds for one try (§4.3.3 recommends 10 to 30).
        attempts: how often an event is tried, when the receiver cannot be reached or answers 429 or 5xx.
        backoff: seconds before the second try; doubled before each further one.
    """

    def __init__(
        self,
        client: httpx.AsyncClient | None = None,
        *,
        timeout: float = 15.0,
        attempts: int = 4,
        backoff: float = 0.5,
    ) -> None:
        self._own_client = client is None
        # By whether proxies of the environment are left out.
        self._clients = {} if client is None else dict.fromkeys((True, False), client)
        self._timeout = timeout
        self._attempts = attempts
        self._backoff = backoff
        self._workers: set[asyncio.Task[None]] = set()

    def delivery(self, config: TaskPushNotificationConfig, number: int, policy: UrlPolicy | None = None) -> Delivery:
        """The queue of one configuration; ``number`` is its place among those of its task.

        ``policy`` says which addresses may be posted to; ``check_config`` has looked at the URL.
        """
        return Delivery(config, number, self, policy or UrlPolicy())

    def start(self, delivery: Delivery) -> asyncio.Task[None]:
        """Work on a queue until it is empty."""
        worker = asyncio.get_running_loop().create_task(self._work(delivery))
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)
        return worker

    async def aclose(self) -> None:
        """Give what is under way a few seconds, then stop; a client that was passed in stays open."""
        if workers := set(self._workers):
            _, late = await asyncio.wait(workers, timeout=_CLOSING_SECONDS)
            for worker in late:
                worker.cancel()
            if late:
                await asyncio.wait(late)
        while self._own_client and self._clients:
            await self._clients.popitem()[1].aclose()

    async def _work(self, delivery: Delivery) -> None:
        for body in delivery.take():
            await self._deliver(delivery, body)

    async def _deliver(self, delivery: Delivery, body: bytes) -> None:
        for attempt in range(self._attempts):
            if attempt:
                await asyncio.sleep(self._backoff * 2 ** (attempt - 1))
            if delivery.closed:
                return
            failure, again = await self._post(delivery.config, body, delivery.policy)
            if not failure:
                return
            _log.debug("push notification to %s: %s", _place(delivery.config), failure)
            if not again:
                break
        _log.warning("push notification to %s was given up: %s", _place(delivery.config), failure)

    async def _post(self, config: TaskPushNotificationConfig, body: bytes, policy: UrlPolicy) -> tuple[str, bool]:
        """Post once; the reason of a failure, empty for none, and whether another try may help."""
        client = self._clients.get(policy.deny_private)
        if client is None:
            client = self._clients[policy.deny_private] = _new_client(policy)
        try:
            async with asyncio.timeout(self._timeout):
                guard = AsyncGuard.of(policy, parse_url(config.url), own_client=self._own_client)
                request = client.build_request(
                    "POST",
                    config.url,
                    content=body,
                    headers=_headers(config),
                    extensions=None if guard is None else {"trace": guard.trace},
                )
                response = await client.send(request, stream=True, follow_redirects=False)
                try:
                    if guard is not None:
                        await guard.check_answer(response)
                    return await _outcome(response)
                finally:
                    await response.aclose()
        except (TimeoutError, httpx.TimeoutException):
            return f"no answer within {self._timeout:g} s", True
        except UrlRefusedError as exc:
            return f"it is not called: {exc}", False
        except (httpx.RequestError, OSError) as exc:
            return f"it cannot be reached ({type(exc).__name__})", True
        except Exception as exc:
            # What the HTTP layers raise besides may quote a header, so that only its kind is told.
            return f"it cannot be sent ({type(exc).__name__})", False


class Delivery:
    """A push configuration, and the events that wait to be posted for it, in order.

    Attributes:
        config: where and how to post; it may be replaced.
        number: the configuration's place among those of its task.
        policy: which addresses may be posted to.
        closed: whether nothing is to be posted any more.
    """

    def __init__(self, config: TaskPushNotificationConfig, number: int, sender: PushSender, policy: UrlPolicy) -> None:
        self.config = config
        self.number = number
        self.policy = policy
        self.closed = False
        self._sender = sender
        self._waiting: deque[bytes] = deque()
        self._worker: asyncio.Task[None] | None = None

    def put(self, body: bytes) -> None:
        """Add an event, a ``StreamResponse`` in its JSON form; it is posted after those before it."""
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.popleft()
            _log.warning("push notifications to %s are dropped: too many wait", _place(self.config))
        self._waiting.append(body)
        if self._worker is None or self._worker.done():
            self._worker = self._sender.start(self)

    def take(self) -> Iterator[bytes]:
        """The events that wait, those included that come meanwhile."""
        while self._waiting and not self.closed:
            yield self._waiting.popleft()

    def close(self) -> None:
        """Post nothing more (§3.1.10)."""
        self.closed = True
        self._waiting.clear()


def _headers(config: TaskPushNotificationConfig) -> dict[str, str]:
    headers = {"Content-Type": MEDIA_TYPE, "User-Agent": "a2a-discovery"}
    if config.token:
        headers[TOKEN_HEADER] = config.token
    if config.authentication.credentials:
        headers["Authorization"] = f"{config.authentication.scheme} {config.authentication.credentials}"
    return headers


async def _outcome(response: httpx.Response) -> tuple[str, bool]:
    with suppress(httpx.StreamError, httpx.TransportError):
        # A body that is read to its end leaves the connection usable; nobody needs to wait for a long one.
        read = 0
        async for chunk in response.aiter_raw():
            read += len(chunk)
            if read > _READ:
                break
    if response.is_success:
        return "", False
    return f"it answered {response.status_code}", response.status_code == 429 or response.status_code >= 500


def _place(config: TaskPushNotificationConfig) -> str:
    """The URL without what may be secret, for a log."""
    try:
        return parse_url(config.url).without_query()
    except UrlRefusedError:
        return "an unusable URL"


def _new_client(policy: UrlPolicy) -> httpx.AsyncClient:
    # So many connections as there are receivers: one that is slow must not hold up another. Each try has a limit as a
    # whole.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    return async_client(policy, timeout=None, limits=limits)
