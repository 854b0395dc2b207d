"""The messages and enums of A2A 1.0, protobuf classes generated from ``proto/a2a.proto``.

Every binding shares these: there is no second type model.
"""

from __future__ import annotations

from a2a_discovery._gen.a2a_pb2 import *  # noqa: F403 - whatever the schema has, so that an update needs no edit here
