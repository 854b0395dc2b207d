"""The blocking twins of the async names."""

from __future__ import annotations

from a2a_discovery._sync.resolver import CardResolver

__all__ = ["CardResolver"]
