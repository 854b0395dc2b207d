# Generated from a2a_discovery/_async/authorizing.py by codegen/sync.py; do not edit.
"""What goes along with a call because the card demands it."""

from __future__ import annotations

from collections.abc import Mapping

from a2a_discovery._sync.tokens import TokenSource
from a2a_discovery._authorization import NOTHING, Authorization
from a2a_discovery._grants import Grant
from a2a_discovery._requirements import Demands, Destination
from a2a_discovery.policy import Url, UrlPolicy
from a2a_discovery.security import CredentialStore
from a2a_discovery.types import AgentCard


class Authorizer:
    """Meets the demands of a card.

    Args:
        store: the client's credentials, None when it has none.
        card_url: where the card came from, None when that is not known.
        policy: which URLs of authorization servers may be called.
        connect_timeout: seconds for one connection.
    """

    def __init__(
        self,
        store: CredentialStore | None,
        card_url: Url | None,
        policy: UrlPolicy,
        *,
        connect_timeout: float,
    ) -> None:
        self._has_store = store is not None
        self._store = store or CredentialStore()
        self._card_url = card_url
        self._tokens = TokenSource(self._store.tokens, policy, connect_timeout=connect_timeout)

    def close(self) -> None:
        """End what runs in the background."""
        self._tokens.close()

    def authorize(
        self,
        card: AgentCard,
        destination: Destination,
        skill: str | None,
        rejected: Mapping[Grant, str],
        *,
        anonymous: bool = True,
    ) -> Authorization:
        """What goes along with a call to ``destination``, with other tokens than the ``rejected`` ones.

        Args:
            card: the card that demands it.
            destination: where the call goes.
            skill: the id of the skill whose own demands count too.
            rejected: the tokens that the agent did not take.
            anonymous: whether a call without credentials will do, where the card is content with that.

        Raises:
            CredentialsRequiredError: no alternative of the card's can be met.
            TokenError: the first one that can be met needs a token, and there is none to be had.
        """
        if anonymous and not self._has_store and skill is None and not card.security_requirements:
            return NOTHING
        demands = Demands(card, self._store, self._card_url)
        proofs = demands.proofs(destination, skill, anonymous=anonymous)
        tokens = {}
        for proof in proofs:
            if isinstance(proof.value, Grant):
                tokens[proof.value] = self._tokens.token(proof.value, rejected.get(proof.value))
        return Authorization.of(proofs, tokens)
