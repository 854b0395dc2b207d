"""Extensions (§4.6): which ones a call declares, and which ones a card demands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from a2a_discovery.dataclasses import as_message
from a2a_discovery.errors import ExtensionSupportRequiredError
from a2a_discovery.types import AgentCard

HEADER: Final = "A2A-Extensions"
"""The service parameter that lists the extensions of a call (§3.2.6)."""


def declared(values: Iterable[str]) -> tuple[str, ...]:
    """The URIs in the values of ``A2A-Extensions``, each of which may list several; in order, without repeats."""
    uris = (uri.strip() for value in values for uri in value.split(","))
    return tuple(dict.fromkeys(uri for uri in uris if uri))


def wanted(card: Any, uris: Iterable[str]) -> tuple[str, ...]:
    """Those of ``uris`` that the card lists: to declare another one would promise what nobody understands."""
    uris = tuple(uris)
    if not uris:
        return ()
    listed = {extension.uri for extension in as_message(card, AgentCard).capabilities.extensions}
    return tuple(uri for uri in uris if uri in listed)


def check_required(card: Any, uris: Iterable[str], *, local: bool = False) -> None:
    """Do nothing when ``uris`` has every extension that the card demands (§3.3.4).

    Args:
        card: the agent's card.
        uris: the extensions that are declared.
        local: whether a client asks, before the call, and not the agent.

    Raises:
        ExtensionSupportRequiredError: it lacks some; the message names them.
    """
    extensions = as_message(card, AgentCard).capabilities.extensions
    if not extensions:
        return
    has = set(uris)
    lacking = [extension.uri for extension in extensions if extension.required and extension.uri not in has]
    if lacking:
        told = f"the agent demands extensions that were not declared: {', '.join(lacking)}"
        raise ExtensionSupportRequiredError(told, local=local)
