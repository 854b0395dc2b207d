"""Push notifications (§4.3.3) as the client's webhook receives them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hmac import compare_digest

from a2a_discovery import protojson
from a2a_discovery.errors import CardError, PushNotificationError
from a2a_discovery.types import AuthenticationInfo, StreamResponse

TOKEN_HEADER = "X-A2A-Notification-Token"  # noqa: S105 - the name of the header


def read_push_notification(
    headers: Mapping[str, str],
    body: bytes | str,
    *,
    token: str | None = None,
    credentials: AuthenticationInfo | str | None = None,
    task_ids: Collection[str] | None = None,
) -> StreamResponse:
    """Turn a webhook request into the event that it tells of.

    Agents prove themselves with the token of the push configuration, with its credentials, or with both: what is
    expected and comes has to be right, and one of them has to come. Without ``token`` and ``credentials`` anybody may
    have sent the request.

    Args:
        headers: the request's header fields, names in any case.
        body: the request's body, ProtoJSON.
        token: the ``token`` of the push configuration.
        credentials: its ``authentication``, or the whole value of Authorization: ``"Bearer s3cret"``.
        task_ids: the tasks that are expected; None is any.

    Raises:
        PushNotificationError: the proof is missing or wrong, the body is no event, or the task is not expected.
    """
    fields = {name.lower(): value.strip() for name, value in headers.items()}
    proofs = []
    if token is not None:
        proofs.append((TOKEN_HEADER, fields.get(TOKEN_HEADER.lower()), token))
    if credentials is not None:
        wanted = credentials if isinstance(credentials, str) else f"{credentials.scheme} {credentials.credentials}"
        sent = fields.get("authorization")
        proofs.append(("Authorization", None if sent is None else _plain(sent), _plain(wanted)))
    for name, value, expected in proofs:
        if value is not None and not compare_digest(value.encode(), expected.encode()):
            raise PushNotificationError(f"its {name} is not the one of the push configuration")
    if proofs and all(value is None for _, value, _ in proofs):
        names = " nor ".join(name for name, _, _ in proofs)
        raise PushNotificationError(f"it has no {names}, so anybody may have sent it")
    return _event(body, task_ids)


def _plain(authorization: str) -> str:
    """The scheme in lower case: it is compared without regard to case (RFC 9110 §11.1)."""
    scheme, _, rest = authorization.strip().partition(" ")
    return f"{scheme.lower()} {rest.strip()}"


def _event(body: bytes | str, task_ids: Collection[str] | None) -> StreamResponse:
    try:
        event = protojson.loads(StreamResponse, body)
    except CardError as exc:
        raise PushNotificationError(f"its body is no StreamResponse: {exc}") from exc
    kind = event.WhichOneof("payload")
    if kind is None:
        raise PushNotificationError("its body holds no task, message or update")
    payload = getattr(event, kind)
    task_id = payload.id if kind == "task" else payload.task_id
    if task_ids is not None and task_id not in task_ids:
        raise PushNotificationError("it tells of a task that is not expected")
    return event
