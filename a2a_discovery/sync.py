"""The blocking twins of the async names."""

from __future__ import annotations

from a2a_discovery._sync.agent import Agent
from a2a_discovery._sync.catalog import Catalog
from a2a_discovery._sync.discovery import discover
from a2a_discovery._sync.keys import JwksResolver
from a2a_discovery._sync.resolver import CardResolver

__all__ = ["Agent", "CardResolver", "Catalog", "JwksResolver", "discover"]
