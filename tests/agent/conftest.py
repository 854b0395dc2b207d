"""Both worlds, and an environment in which nothing outside this machine is asked."""

from tests.fixtures import anyio_backend, environment, only_authority, tls, world

__all__ = ["anyio_backend", "environment", "only_authority", "tls", "world"]
