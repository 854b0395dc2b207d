"""From ``proto/a2a.proto`` to all that is generated in ``a2a_discovery``."""
