# Generated from a2a_discovery/_async/discovery.py by codegen/sync.py; do not edit.
"""From a host to an agent that can be called."""

from __future__ import annotations

import os
from collections.abc import Iterator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from a2a_discovery import protojson
from a2a_discovery._sync.agent import Agent
from a2a_discovery._sync.resolver import CardResolver
from a2a_discovery._files import card_file
from a2a_discovery.dataclasses import as_message
from a2a_discovery.fetched import ResolvedCard
from a2a_discovery.interfaces import Support
from a2a_discovery.policy import UrlPolicy
from a2a_discovery.reference import card_url as reference_url
from a2a_discovery.security import CredentialStore
from a2a_discovery.types import AgentCard
from a2a_discovery.verification import SignaturePolicy

if TYPE_CHECKING:
    from a2a_discovery.cache import CardCache, Storage


@contextmanager
def discover(
    reference: str | os.PathLike[str] | bytes | Mapping[str, Any] | ResolvedCard | Any,
    *,
    card_url: str | None = None,
    headers: Mapping[str, str] | None = None,
    support: Support | None = None,
    policy: UrlPolicy | None = None,
    client: httpx.Client | None = None,
    channel: Any = None,
    credentials: CredentialStore | None = None,
    extensions: Iterable[str] = (),
    service_params: Mapping[str, str] | None = None,
    connect_timeout: float = 5.0,
    timeout: float = 60.0,
    idle_timeout: float = 300.0,
    strict_responses: bool = False,
    fallback: bool = False,
    retries: int = 0,
    signatures: SignaturePolicy = "off",
    keys: Any = None,
    cache: CardCache | Storage | None = None,
    catalog: bool = False,
) -> Iterator[Agent]:
    """Fetch the card of ``reference``, check it, choose an interface, and give the agent to call (§8.2, §8.3.2).

    The card is revalidated when its lifetime is over, as for ``AsyncAgent``.

    Args:
        reference: a host, a base URL or the card's own URL. Or the card itself: a path of its file, its JSON as bytes
            or decoded, an ``AgentCard`` or its betterproto dataclass, or what a resolver found.
        card_url: where a card that is given came from, as for ``AsyncAgent``; a URL says that itself.
        headers: request headers of the fetches of the card alone, most often credentials.
        support: as for ``AsyncAgent``, like all that follow; ``policy`` and ``client`` serve the fetch too.
        policy: which URLs may be called.
        client: makes the requests over HTTP, and stays open.
        channel: a ``grpc.aio`` channel that makes the calls over GRPC, and stays open.
        credentials: what the client has for the schemes that the card demands (§7); none of it goes along with the
            fetch of the card.
        extensions: URIs of extensions that this client understands.
        service_params: further headers or gRPC metadata of every call.
        connect_timeout: seconds for one connection.
        timeout: seconds for a whole call with one answer.
        idle_timeout: seconds of silence after which a stream is given up.
        strict_responses: whether a missing REQUIRED field in a response is an error.
        fallback: whether the next supported interface is tried where one cannot be connected to.
        retries: how often a call that is safe to repeat is repeated.
        signatures: whether the card has to be signed, as for ``CardResolver``, and the extended card too.
        keys: whose signatures count, as for ``CardResolver``.
        cache: keeps the card beyond this agent, as for ``CardResolver``.
        catalog: whether the host's AI catalog (``/.well-known/ai-catalog.json``) is asked first: its first agent, in
            its order, whose card is valid and can be used is taken. Without one, the host's own card is. Credentials
            stay with the host that was asked, wherever the agent is.

    Raises:
        FetchError: there is no card to be had.
        CardError: there is one, but it is not valid.
        SignatureError: its signatures are not what ``signatures`` demands.
        NoSupportedInterfaceError: no interface of it can be used.
        ValueError: there is a ``card_url`` beside a reference to a host or URL.
    """
    if cache is None:
        # Of an agent's own, to revalidate its card with.
        from a2a_discovery.cache import CardCache

        cache = CardCache(max_entries=1)
    with CardResolver(
        client,
        headers=headers,
        policy=policy,
        connect_timeout=connect_timeout,
        signatures=signatures,
        keys=keys,
        cache=cache,
    ) as resolver:
        if isinstance(reference, str):
            if card_url is not None:
                raise ValueError(f"{reference!r} says itself where the card is: card_url is for a card that is given")
            # Whoever redirects us elsewhere, or names another agent, does not decide whom we trust.
            card_url = reference_url(reference)
            card: Any = _located(resolver, reference, support, policy, catalog=catalog)
        else:
            card = _given(resolver, reference, card_url)
        agent = Agent(
            card,
            card_url=card_url,
            resolver=resolver,
            support=support,
            policy=policy,
            client=client,
            channel=channel,
            credentials=credentials,
            extensions=extensions,
            service_params=service_params,
            connect_timeout=connect_timeout,
            timeout=timeout,
            idle_timeout=idle_timeout,
            strict_responses=strict_responses,
            fallback=fallback,
            retries=retries,
        )
        with agent:
            yield agent


def _located(
    resolver: CardResolver, reference: str, support: Support | None, policy: UrlPolicy | None, *, catalog: bool
) -> ResolvedCard:
    if catalog:
        # Only where it is asked for is it worth its import.
        from a2a_discovery._sync.catalog import card_in_catalog

        found = card_in_catalog(resolver, reference, support, policy)
        if found is not None:
            return found
    return resolver.resolve(reference)


def _given(resolver: CardResolver, card: Any, card_url: str | None) -> ResolvedCard | AgentCard:
    """A card that is there, checked like one that is fetched."""
    if isinstance(card, ResolvedCard):
        return card
    if isinstance(card, os.PathLike):
        card = card_file(Path(card))
    elif isinstance(card, bytearray | memoryview):
        card = bytes(card)
    elif not isinstance(card, bytes | Mapping):
        card = protojson.to_dict(as_message(card, AgentCard))
    return (resolver.read(card, url=card_url))[0]
