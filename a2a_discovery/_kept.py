"""The records of a cache: where a card is kept, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from a2a_discovery._freshness import Freshness
from a2a_discovery.fetched import ResolvedCard

if TYPE_CHECKING:
    from uuid import UUID

    import hishel

    from a2a_discovery.types import AgentCard
    from a2a_discovery.verification import Verification

# Fields that say what is wanted and not who wants it: which of them matter, the answer's Vary says. Any other may be a
# credential.
_SELECTING: Final = frozenset(
    ["accept", "accept-encoding", "accept-language", "a2a-extensions", "a2a-version", "user-agent"]
)
_NEUTRAL: Final = frozenset([*_SELECTING, "connection", "host"])
_MOST_READINGS: Final = 16


class Place(NamedTuple):
    """Where a card is kept: what two requests have to have in common for one to be answered with the other's card.

    Attributes:
        url: the URL asked.
        caller: a digest of all that may say who asks; empty for anybody.
        deny_private: whether only public addresses are asked.
    """

    url: str
    caller: str
    deny_private: bool

    @classmethod
    def of(cls, url: str, headers: Mapping[str, str], *, client: str, deny_private: bool) -> Place:
        """The place for a request with ``headers`` through ``client``, a name for what it may add unseen, or ``""``."""
        told = sorted((name.lower(), value) for name, value in headers.items() if name.lower() not in _NEUTRAL)
        return cls(url, sha256(repr((client, told)).encode()).hexdigest() if client or told else "", deny_private)

    @property
    def may_be_stored(self) -> bool:
        """Whether the card may leave the process: what may hold a secret does not, a query included."""
        return not self.caller and "?" not in self.url

    @property
    def storage_key(self) -> str:
        """The place in a storage."""
        return sha256(f"a2a-discovery {self.deny_private} {self.url}".encode()).hexdigest()


def selecting(headers: Mapping[str, str]) -> dict[str, str]:
    """Those of the request's fields that may select among the variants of a card (RFC 9111 §4.1)."""
    return {name.lower(): value for name, value in headers.items() if name.lower() in _SELECTING}


def selection(headers: Mapping[str, str]) -> str:
    """The same as one text, equal where they are."""
    return repr(sorted(selecting(headers).items()))


class Profile:
    """The checks of one resolver; what passed them is known by this object."""


UNSIGNED: Final = Profile()
"""The checks of all resolvers that look at no signature."""


@dataclass(frozen=True, eq=False)
class KeptCard:
    """An answer that holds a card.

    Attributes:
        id: its name in the cache and the storage.
        request: the request that it answers, without what may be a credential.
        url: the URL that answered.
        headers: the answer's header fields, names in lower case.
        body: the card's bytes.
        born: the Unix time from which its age counts (RFC 9111 §4.2.3).
        freshness: what it says of its own use.
        fresh_until: the Unix time at which it becomes stale.
        revalidate_at: when it is to be revalidated.
        readings: what it answers with, by what it has passed; never handed out itself, since anybody could change the
            card in it.
        found_for: the ``selection`` of requests for which the state machine took it while it is fresh.
    """

    id: UUID
    request: hishel.Request
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    born: float
    freshness: Freshness
    fresh_until: float
    revalidate_at: datetime
    readings: dict[Profile, ResolvedCard] = field(default_factory=dict, repr=False)
    found_for: set[str] = field(default_factory=set, repr=False)

    def passed(self, profile: Profile, card: AgentCard, verification: Verification | None) -> None:
        """Note that it has passed, and how it reads."""
        if len(self.readings) >= _MOST_READINGS:
            # A resolver that looks at signatures has a profile of its own, and may be gone.
            self.readings.pop(next(iter(self.readings)), None)
        self.readings[profile] = ResolvedCard(
            card=card,
            url=self.url,
            requested_url=self.url,
            data=self.body,
            headers=self.headers,
            verification=verification,
            source="cache",
            revalidate_at=self.revalidate_at,
        )

    def age(self, now: float) -> float:
        """Seconds since it was made or revalidated at its origin."""
        return max(0.0, now - self.born)

    @property
    def variant(self) -> str:
        """The ``selection`` of its request."""
        return selection(self.request.headers)

    def serves_stale(self, now: float, seconds: int) -> bool:
        """Whether less than ``seconds`` have passed since it became stale."""
        return now < self.fresh_until + seconds
