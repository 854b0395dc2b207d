"""The Python SDK of the protocol's authors, imported without the warnings of its older generated code."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from a2a.types import a2a_pb2

__all__ = ["a2a_pb2"]
