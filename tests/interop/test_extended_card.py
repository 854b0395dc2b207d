"""The extended cards of both SDKs, over each binding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from a2a_discovery import CredentialsRequiredError, Support, sync
from tests.interop.js_peer import js_server
from tests.interop.peer import BINDINGS, Peer
from tests.interop.sdk_server import sdk_server


@pytest.fixture(scope="module", params=[sdk_server, js_server], ids=["python", "javascript"])
def peer(request: pytest.FixtureRequest) -> Iterator[Peer]:
    serve: Callable[..., AbstractContextManager[Peer]] = request.param
    with serve(tenant="acme") as running:
        yield running


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_extended_card_takes_the_place_of_the_public_one(peer: Peer, binding: str) -> None:
    support = Support(bindings={binding: ["1.0"]})
    # Their cards declare no scheme, so the caller brings what it has.
    with sync.discover(peer.url, support=support, service_params={"X-Key": "k"}) as agent:
        public = {skill.id for skill in agent.card.skills}
        card = agent.extended_card()
        assert agent.card == card and {skill.id for skill in card.skills} > public
        assert agent.interface.protocol_binding == binding and agent.interface.tenant == "acme"
        agent.send_message("message: still here")
        assert agent.refresh_card() == card, "the version is the same"


def test_nobody_asks_for_it_anonymously(peer: Peer) -> None:
    with sync.discover(peer.url) as agent, pytest.raises(CredentialsRequiredError, match="declares no scheme"):
        agent.extended_card()
