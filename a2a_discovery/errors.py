"""The exceptions of the library.

::

    A2ADiscoveryError
    ├── CardError                     a document does not fit its message; .problems
    ├── SignatureError                a card's signatures are not what the policy demands; .verification .url
    ├── NoSupportedInterfaceError     no entry of supportedInterfaces can be used; .skipped
    ├── TenantMismatchError           the request names another tenant than the interface
    ├── FetchError                    no card was had from a URL; .url .status .retry_after .challenge
    │   └── FetchTimeoutError         a time limit ran out
    ├── CredentialsRequiredError      the card demands credentials that the client lacks; .alternatives
    ├── TokenError                    an authorization server gave no token; .url .status .error
    ├── MissingExtraError             a part of the library whose extra is not installed
    ├── PushNotificationError         a webhook request is not one that the agent was told to send
    ├── TransportError                a call did not reach the agent, or its answer did not come back; .url .sent
    │   ├── CallTimeoutError          a time limit ran out; .phase .seconds
    │   └── StreamInterruptedError    a stream ended before its task did; .task_id .state
    └── A2AError                      an error of the protocol; .code .reason .metadata .details .local
        ├── TaskNotFoundError …       one class per error of §3.3.2
        └── …

What a server sends never raises anything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from a2a_discovery._requirements import Unmet
    from a2a_discovery.interfaces import Skipped
    from a2a_discovery.problems import Problem
    from a2a_discovery.verification import Verification


_SHOWN = 50


class A2ADiscoveryError(Exception):
    """The root of every exception that the library raises."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword arguments would not survive the way through a process pool otherwise.
        return _restore, (type(self), self.args, self.__dict__)


def _restore(cls: type[A2ADiscoveryError], args: tuple[Any, ...], state: dict[str, Any]) -> A2ADiscoveryError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


class CardError(A2ADiscoveryError):
    """A document, most often a card, does not fit the message that it should hold.

    Attributes:
        problems: every problem found, errors and warnings, in the order in which they were found.
        subject: what was read: ``"AgentCard"``, the name of another message, ``"AI catalog"`` or ``"list of cards"``.
        url: where the document came from, when it was fetched.
    """

    def __init__(self, problems: Sequence[Problem], *, subject: str = "AgentCard", url: str | None = None) -> None:
        self.problems = tuple(problems)
        self.subject = subject
        self.url = url
        super().__init__(problems, subject, url)

    def __str__(self) -> str:
        errors = [p for p in self.problems if p.severity == "error"]
        count = "1 problem" if len(errors) == 1 else f"{len(errors)} problems"
        origin = f" from {self.url}" if self.url else ""
        lines = [f"{self.subject}{origin} is not valid, {count}:", *(f"  {p}" for p in errors[:_SHOWN])]
        if len(errors) > _SHOWN:
            lines.append(f"  and {len(errors) - _SHOWN:,} more, see .problems")
        return "\n".join(lines)


class SignatureError(A2ADiscoveryError):
    """A card's signatures (§8.4) are not what the policy demands.

    Attributes:
        verification: the outcome, and the reason for each signature.
        url: where the card came from, when it was fetched.
    """

    def __init__(self, verification: Verification, *, url: str | None = None) -> None:
        self.verification = verification
        self.url = url
        super().__init__(verification, url)

    def __str__(self) -> str:
        origin = f" from {self.url}" if self.url else ""
        if self.verification.outcome == "absent":
            return f"the card{origin} is not signed"
        lines = [f"no signature of the card{origin} is verified:"]
        lines += [f"  [{s.index}] {s.outcome}: {s.reason}" for s in self.verification.signatures]
        return "\n".join(lines)


class NoSupportedInterfaceError(A2ADiscoveryError):
    """No entry of ``supportedInterfaces`` can be used (§8.3.2).

    Attributes:
        skipped: the reason why each entry was passed over, in the card's order.
    """

    def __init__(self, skipped: Sequence[Skipped]) -> None:
        self.skipped = tuple(skipped)
        super().__init__(skipped)

    def __str__(self) -> str:
        if not self.skipped:
            return "the card names no interface at all"
        return "\n".join(
            ["none of the card's interfaces can be used:", *(f"  [{s.index}] {s.reason}" for s in self.skipped)]
        )


class TenantMismatchError(A2ADiscoveryError):
    """The request already names another tenant than the selected interface does (§8.3.2)."""

    def __init__(self, requested: str, declared: str) -> None:
        self.requested = requested
        self.declared = declared
        super().__init__(requested, declared)

    def __str__(self) -> str:
        declared = f"declares {self.declared!r}" if self.declared else "declares none"
        return f"the request names tenant {self.requested!r}, but the selected interface {declared}"


class FetchError(A2ADiscoveryError):
    """No card was had from a URL.

    Attributes:
        url: the URL asked for, the last one when there were redirects.
        status: the HTTP status, or None when there was no answer.
        content_type: the answer's Content-Type, or None.
        redirects: the URLs that redirected here, in order.
        first_bytes: the start of the answer's body, at most 200 bytes.
        retry_after: what Retry-After asks for, in seconds from now, or None (RFC 9110 §10.2.3).
        challenge: the answer's WWW-Authenticate, or None (RFC 9110 §11.6.1).
    """

    def __init__(
        self,
        message: str,
        *,
        url: str,
        status: int | None = None,
        content_type: str | None = None,
        redirects: Sequence[str] = (),
        first_bytes: bytes = b"",
        retry_after: float | None = None,
        challenge: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.url = url
        self.status = status
        self.content_type = content_type
        self.redirects = tuple(redirects)
        self.first_bytes = first_bytes
        self.retry_after = retry_after
        self.challenge = challenge


class FetchTimeoutError(FetchError):
    """A time limit of a fetch ran out; the message says which."""


class CredentialsRequiredError(A2ADiscoveryError):
    """The card demands credentials, and no alternative of its requirements can be met (§7); nothing was sent.

    Attributes:
        alternatives: each alternative of the card, in its order, and what is missing for it. For the extended card they
            are the schemes that the card declares, where its requirements demand none.
    """

    def __init__(self, alternatives: Sequence[Unmet]) -> None:
        self.alternatives = tuple(alternatives)
        super().__init__(self.alternatives)

    def __str__(self) -> str:
        if not self.alternatives:
            return "the agent demands credentials (§3.1.11), and its card declares no scheme for them"
        lines = ["the agent demands credentials, and none of its alternatives can be met:"]
        for unmet in self.alternatives[:_SHOWN]:
            lines.append(f"  {' and '.join(unmet.schemes) or 'no credentials'}")
            lines += [f"    {scheme}: {reason}" for scheme, reason in unmet.missing.items()]
        if len(self.alternatives) > _SHOWN:
            lines.append(f"  and {len(self.alternatives) - _SHOWN} more, see .alternatives")
        return "\n".join(lines)


class TokenError(A2ADiscoveryError):
    """An authorization server gave no access token.

    Attributes:
        url: the endpoint that was asked.
        status: the HTTP status, or None when there was no answer.
        error: the error code that it gave, as ``"invalid_client"``, or empty (RFC 6749 §5.2, RFC 8628 §3.5).
    """

    def __init__(self, message: str, *, url: str, status: int | None = None, error: str = "") -> None:
        super().__init__(f"no token from {url}: {message}")
        self.message = message
        self.url = url
        self.status = status
        self.error = error


class MissingExtraError(A2ADiscoveryError):
    """A part of the library was used whose optional dependency is not installed."""

    def __init__(self, part: str, extra: str) -> None:
        self.part = part
        self.extra = extra
        super().__init__(f"{part} needs an optional dependency: pip install 'a2a-discovery[{extra}]'")


class PushNotificationError(A2ADiscoveryError):
    """A webhook request (§4.3.3) is not one that the agent was told to send; the message says why, without secrets."""


class TransportError(A2ADiscoveryError):
    """A call did not reach the agent, or its answer did not come back whole.

    Attributes:
        url: the interface's URL, without its query.
        sent: False when it is certain that nothing of the request was sent, so that it may be sent elsewhere.
    """

    def __init__(self, message: str, *, url: str = "", sent: bool = True) -> None:
        super().__init__(message)
        self.message = message
        self.url = url
        self.sent = sent


class CallTimeoutError(TransportError):
    """A time limit of a call ran out.

    Attributes:
        phase: which limit: ``"connect"``, ``"unary"`` (the whole call), or ``"idle"`` (a silent stream).
        seconds: the limit.
    """

    def __init__(self, message: str, *, phase: str, seconds: float, url: str = "", sent: bool = True) -> None:
        super().__init__(message, url=url, sent=sent)
        self.phase = phase
        self.seconds = seconds


class StreamInterruptedError(TransportError):
    """A stream ended before its task reached a terminal or interrupted state (§3.1.2, §11.7).

    Attributes:
        task_id: the task that the stream told of, empty when it told of none.
        state: the last state of the task, a number of the enum ``TaskState``; 0 when none came.
    """

    def __init__(self, message: str, *, task_id: str = "", state: int = 0, url: str = "") -> None:
        super().__init__(message, url=url)
        self.task_id = task_id
        self.state = state


class A2AError(A2ADiscoveryError):
    """An error of the protocol (§3.3.2), sent by the agent or, when ``local``, raised in its stead.

    A subclass fixes the facts of one named error (§5.4); the base class carries any other code.

    Attributes:
        code: the JSON-RPC error code.
        reason: the ErrorInfo reason (``TASK_NOT_FOUND``), empty when there is none.
        message: what the agent, or the library, says.
        metadata: the ErrorInfo metadata.
        details: the details as they came, each a JSON object.
        http_status: the HTTP status that came, or that a server answers with (§5.4).
        grpc_status: the same for gRPC, by name: ``"NOT_FOUND"``.
        retry_after: the seconds after which to try again, by Retry-After or RetryInfo, or None.
        challenge: the answer's WWW-Authenticate, or None (RFC 9110 §11.6.1).
        local: True when the card already gave the answer and nothing was sent.
    """

    code: int = -32603
    http_status: int = 500
    grpc_status: str = "INTERNAL"
    reason: str = ""
    default_message: ClassVar[str] = "the agent reported an error"

    def __init__(
        self,
        message: str = "",
        *,
        code: int | None = None,
        reason: str | None = None,
        metadata: Mapping[str, str] | None = None,
        details: Sequence[Mapping[str, Any]] = (),
        http_status: int | None = None,
        grpc_status: str | None = None,
        retry_after: float | None = None,
        challenge: str | None = None,
        local: bool = False,
    ) -> None:
        self.message = message or self.default_message
        super().__init__(self.message)
        if code is not None:
            self.code = code
        if reason is not None:
            self.reason = reason
        if http_status is not None:
            self.http_status = http_status
        if grpc_status is not None:
            self.grpc_status = grpc_status
        self.metadata = dict(metadata or {})
        self.details = tuple(details)
        self.retry_after = retry_after
        self.challenge = challenge
        self.local = local

    @property
    def field_violations(self) -> tuple[tuple[str, str], ...]:
        """Path and description of each field that the agent finds wrong (google.rpc.BadRequest in the details)."""
        named = (v for d in self.details if isinstance(d.get("fieldViolations"), list) for v in d["fieldViolations"])
        return tuple((str(v.get("field", "")), str(v.get("description", ""))) for v in named if isinstance(v, dict))

    def __str__(self) -> str:
        return f"{self.message} ({self.reason or type(self).__name__}, {self.code})"


class TaskNotFoundError(A2AError):
    """The task does not exist, or this client may not see it."""

    code, http_status, grpc_status, reason = -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"
    default_message = "there is no such task"


class TaskNotCancelableError(A2AError):
    """The task is in a state that cannot be canceled."""

    code, http_status, grpc_status, reason = -32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"
    default_message = "the task cannot be canceled any more"


class PushNotificationNotSupportedError(A2AError):
    """The agent sends no push notifications."""

    code, http_status, grpc_status, reason = -32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"
    default_message = "the agent does not support push notifications"


class UnsupportedOperationError(A2AError):
    """The agent does not offer the operation."""

    code, http_status, grpc_status, reason = -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"
    default_message = "the agent does not support this operation"


class ContentTypeNotSupportedError(A2AError):
    """A media type in the request is not one that the agent takes."""

    code, http_status, grpc_status, reason = -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"
    default_message = "the agent does not take this media type"


class InvalidAgentResponseError(A2AError):
    """The agent's answer does not conform to the specification."""

    code, http_status, grpc_status, reason = -32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"
    default_message = "the agent's answer does not conform to the protocol"


class ExtendedAgentCardNotConfiguredError(A2AError):
    """The agent announces an extended card, but has none."""

    code, http_status, grpc_status, reason = -32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
    default_message = "the agent has no extended card"


class ExtensionSupportRequiredError(A2AError):
    """The agent demands an extension that the client did not declare."""

    code, http_status, grpc_status, reason = -32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"
    default_message = "the agent demands an extension that was not declared"


class VersionNotSupportedError(A2AError):
    """The agent does not speak the version in A2A-Version."""

    code, http_status, grpc_status, reason = -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"
    default_message = "the agent does not speak this protocol version"
