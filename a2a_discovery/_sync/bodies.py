# Generated from a2a_discovery/_async/bodies.py by codegen/sync.py; do not edit.
"""Read the body of an answer within limits."""

from __future__ import annotations

import httpx

from a2a_discovery._deadline import Clock
from a2a_discovery._response import BodyReader, ResponseHead


def read_body(response: httpx.Response, limit: int, clock: Clock) -> tuple[ResponseHead, bytes]:
    """Head and whole body, of at most ``limit`` bytes after decompression; raises BodyError and what httpx raises."""
    head = ResponseHead.read(response.status_code, response.headers.multi_items())
    reader = BodyReader(head, limit)
    reader.check_head()
    if response.is_stream_consumed:
        # By a transport that answers from memory, or by an auth that had to see the body.
        reader.feed_decoded(response.content)
        return head, reader.finish()
    for chunk in response.iter_raw():
        clock.check()
        reader.feed(chunk)
    return head, reader.finish()
