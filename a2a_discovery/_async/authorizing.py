"""What goes along with a call because the card demands it."""

from __future__ import annotations

from collections.abc import Mapping

from a2a_discovery._async.tokens import TokenSource
from a2a_discovery._authorization import NOTHING, Authorization
from a2a_discovery._grants import Grant
from a2a_discovery._requirements import Demands, Destination
from a2a_discovery.policy import Url, UrlPolicy
from a2a_discovery.security import CredentialStore
from a2a_discovery.types import AgentCard


class Authorizer:
    """Meets the demands of one card.

    Args:
        card: the card.
        store: the client's credentials, None when it has none.
        card_url: where the card came from, None when that is not known.
        policy: which URLs of authorization servers may be called.
        connect_timeout: seconds for one connection.
    """

    def __init__(
        self,
        card: AgentCard,
        store: CredentialStore | None,
        card_url: Url | None,
        policy: UrlPolicy,
        *,
        connect_timeout: float,
    ) -> None:
        self._demands = Demands(card, store or CredentialStore(), card_url)
        self._tokens = TokenSource(self._demands.store.tokens, policy, connect_timeout=connect_timeout)
        self._anonymous = store is None and not card.security_requirements

    async def aclose(self) -> None:
        """End what runs in the background."""
        await self._tokens.aclose()

    async def authorize(
        self, destination: Destination, skill: str | None, rejected: Mapping[Grant, str]
    ) -> Authorization:
        """What goes along with a call to ``destination``, with other tokens than the ``rejected`` ones.

        Raises:
            CredentialsRequiredError: no alternative of the card's can be met.
            TokenError: the first one that can be met needs a token, and there is none to be had.
        """
        if self._anonymous and skill is None:
            return NOTHING
        proofs = self._demands.proofs(destination, skill)
        tokens = {}
        for proof in proofs:
            if isinstance(proof.value, Grant):
                tokens[proof.value] = await self._tokens.token(proof.value, rejected.get(proof.value))
        return Authorization.of(proofs, tokens)
