"""Signatures of agent cards (§8.4, RFC 7515, RFC 8785); needs the extra ``signing``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from a2a_discovery import protojson
from a2a_discovery._canonical import read_document, section_8_4_1
from a2a_discovery._extras import signing_extra
from a2a_discovery.card import MAX_CARD_BYTES
from a2a_discovery.types import AgentCard


def canonical_json(card: bytes | str | Mapping[str, Any] | AgentCard) -> bytes:
    """The bytes that a signature of ``card`` covers (§8.4.1, RFC 8785).

    Of the JSON as it was received: REQUIRED fields and those with presence stay as they are there, other fields that
    hold their default go, so do ``signatures`` and null; Structs and members that the schema does not know stay
    untouched. A message counts as the JSON that ``protojson.dumps`` writes.

    Args:
        card: JSON text in UTF-8, the object decoded from it, or a card; at most 16 MiB of text.

    Raises:
        CardError: it does not fit an AgentCard, or a key stands twice in an object.
        MissingExtraError: the extra ``signing`` is not installed.
    """
    signing_extra("rfc8785")
    document = protojson.to_dict(card) if isinstance(card, AgentCard) else card
    return section_8_4_1(read_document(document, max_bytes=MAX_CARD_BYTES))
