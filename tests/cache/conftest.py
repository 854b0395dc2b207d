"""Both worlds, and an environment in which nothing outside this machine is asked."""

from tests.fixtures import environment, only_authority, tls, world

__all__ = ["environment", "only_authority", "tls", "world"]
