"""Both worlds, and an environment in which nothing outside this machine is asked."""

from tests.fixtures import environment, one_loop, only_authority, tls, world

__all__ = ["environment", "one_loop", "only_authority", "tls", "world"]
