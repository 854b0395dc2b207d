# Generated from a2a_discovery/_async/grpc.py by codegen/sync.py; do not edit.
"""Calls over GRPC, from the operation table: there is no generated stub."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Callable, Mapping
from typing import Any

import grpc
import httpx
from google.protobuf.message import Message

from a2a_discovery import _call_errors, protojson
from a2a_discovery._channels import END, sync_channel, sync_close, sync_reader
from a2a_discovery._deadline import SyncAlarm, SyncSlots
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery._guard import sync_lookup
from a2a_discovery._operation import Operation
from a2a_discovery._watch import SyncWatch
from a2a_discovery.bindings import answers
from a2a_discovery.bindings.answers import CardDocument
from a2a_discovery.bindings.grpc import STATUS_DETAILS, decode_error, encode_metadata
from a2a_discovery.errors import A2ADiscoveryError, CardError, TransportError
from a2a_discovery.policy import Url, UrlPolicy, parse_grpc_address
from a2a_discovery.security import ClientCertificate


class GrpcTransport:
    """Calls one interface.

    Args:
        url: the interface's address.
        channel: makes the calls, and stays open; by default there is one of the transport's own.
        certificate: what a channel of the transport's own presents.
        policy: which addresses may be called, where the channel is the transport's own.
        connect_timeout: seconds for one try to connect, where the channel is the transport's own.
    """

    def __init__(
        self,
        url: str,
        channel: Any = None,
        certificate: ClientCertificate | None = None,
        *,
        policy: UrlPolicy,
        connect_timeout: float,
    ) -> None:
        self._url, _ = parse_grpc_address(url)
        self._own_channel = channel is None
        self._certificate = certificate
        self._policy = policy
        self._connect_timeout = connect_timeout
        self._alarm = SyncAlarm()
        self._opening = SyncSlots(1)
        self._looks_up = channel is None and policy.deny_private
        self._ready = not self._looks_up
        self._closed = False
        self._addresses: frozenset[str] = frozenset()
        self._channel: Any = None
        if self._ready:
            self._use(sync_channel(self._url, connect_timeout, certificate) if channel is None else channel)

    def _use(self, channel: Any) -> None:
        self._channel = channel
        self._calls = {name: _callable(channel, operation) for name, operation in OPERATIONS.items()}

    def _look_up(self, seconds: float, late: Callable[[Url, float], TransportError]) -> None:
        """Have a channel to addresses that may be called and to no others: gRPC's own lookup could find others.

        Raises:
            TransportError: there are none; ``late`` makes the one that says that the call's ``seconds`` are over.
        """
        with self._opening:
            if self._ready:
                return
            if self._closed:
                raise TransportError("the channel is closed", url=str(self._url), sent=False)
            try:
                found = sync_lookup(self._url.host, self._url.port, min(seconds, self._connect_timeout))
                for address in found:
                    self._policy.check_peer(self._url.host, address)
            except httpx.ConnectTimeout as exc:
                if seconds < self._connect_timeout:
                    raise late(self._url, seconds) from exc
                raise _call_errors.connect_timeout(self._url, self._connect_timeout) from exc
            except Exception as exc:
                raise _call_errors.http_error(self._url, exc, answered=False) from exc
            if self._addresses != frozenset(found):
                if self._channel is not None:
                    sync_close(self._channel)
                self._use(sync_channel(self._url, self._connect_timeout, self._certificate, found))
                self._addresses = frozenset(found)
            self._ready = True

    def unary(
        self,
        operation: Operation,
        request: Message,
        params: Mapping[str, str],
        timeout: float,
        query: str = "",  # noqa: ARG002
    ) -> Any:
        """One call with one answer, within ``timeout`` seconds; raises A2AError and TransportError."""
        end = time.monotonic() + timeout
        metadata = encode_metadata(params)
        if not self._ready:
            self._look_up(timeout, _call_errors.unary_timeout)
        call = self._calls[operation.name]
        try:
            data = call(request, timeout=end - time.monotonic(), metadata=metadata)
        except grpc.RpcError as exc:
            if exc.code() is grpc.StatusCode.DEADLINE_EXCEEDED and time.monotonic() >= end - 0.05:
                raise _call_errors.unary_timeout(self._url, timeout) from exc
            raise self._error(exc) from exc
        except asyncio.CancelledError as exc:
            raise self._ended(exc) from None
        except Exception as exc:
            raise self._failure(exc) from exc
        return answers.from_wire(operation, data)

    def card(
        self, operation: Operation, request: Message, params: Mapping[str, str], timeout: float, query: str = ""
    ) -> CardDocument:
        """The same for a card, as JSON."""
        message = self.unary(operation, request, params, timeout, query)
        try:
            return CardDocument(protojson.to_dict(message))
        except CardError as exc:
            return CardDocument(None, exc.problems)

    def stream(
        self,
        operation: Operation,
        request: Message,
        params: Mapping[str, str],
        idle: float,
        query: str = "",  # noqa: ARG002
    ) -> Generator[Any, None]:
        """One call with a stream of answers, at most ``idle`` seconds apart; raises A2AError and TransportError."""
        metadata = encode_metadata(params)
        if not self._ready:
            self._look_up(idle, _call_errors.idle_timeout)
        try:
            call = self._calls[operation.name](request, metadata=metadata)
        except Exception as exc:
            raise self._failure(exc) from exc
        watch = SyncWatch(idle, call.cancel, self._alarm)
        try:
            read = sync_reader(call)
            while (data := read()) is not END:
                watch.hold()
                yield answers.from_wire(operation, data)
                watch.go_on()
        except grpc.RpcError as exc:
            if watch.expired:
                raise _call_errors.idle_timeout(self._url, idle) from exc
            raise self._error(exc) from exc
        except asyncio.CancelledError as exc:
            ended = self._ended(exc)
            if watch.expired and ended is not exc:
                ended = _call_errors.idle_timeout(self._url, idle)
            raise ended from None
        except A2ADiscoveryError:
            raise
        except Exception as exc:
            raise self._failure(exc) from exc
        finally:
            watch.stop()
            call.cancel()

    def close(self) -> None:
        """Close the channel, unless it was passed in."""
        self._closed = True
        if self._own_channel and self._channel is not None:
            sync_close(self._channel)
        self._alarm.close()

    def _error(self, exc: Any) -> A2ADiscoveryError:
        code, text = exc.code(), exc.details() or ""
        metadata = [(name, value) for name, value in exc.trailing_metadata() or ()]
        said_by_the_agent = any(name in (STATUS_DETAILS, "retry-after") for name, _ in metadata)
        if not said_by_the_agent and _call_errors.is_grpcs_own(code.name, text):
            error = _call_errors.grpc_error(self._url, text, self._connect_timeout if self._own_channel else None)
            # The host may have moved.
            self._ready = error.sent or not self._looks_up
            return error
        return decode_error(code.name, text, metadata)

    def _failure(self, exc: Exception) -> TransportError:
        return TransportError(f"the call failed ({type(exc).__name__})", url=str(self._url))

    def _ended(self, exc: asyncio.CancelledError) -> BaseException:
        """What ``exc`` is: somebody cancels the task, or the call alone was ended, as by a closed channel."""
        task = asyncio.current_task()
        if task is None or task.cancelling():
            return exc
        return TransportError("the channel was closed during the call", url=str(self._url))


def _callable(channel: Any, operation: Operation) -> Any:
    make = channel.unary_stream if operation.streaming else channel.unary_unary
    # Answers are read here, where a failure can be told.
    return make(operation.grpc_path, request_serializer=operation.request.SerializeToString)
