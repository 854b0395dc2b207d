"""What an agent implements: one coroutine per operation, for all bindings."""

from __future__ import annotations

from a2a_discovery._gen.handler import HandlerOperations
from a2a_discovery.errors import UnsupportedOperationError


class AgentHandler(HandlerOperations):
    """Answers the operations of an agent (§3.1); a subclass overrides those that it offers.

    Each method takes the request message and a ``CallContext``, and returns the response message; those that stream are
    async generators of ``StreamResponse``. What is not overridden is refused with UnsupportedOperationError (-32004).
    An ``A2AError`` that a method raises is what the client gets. Any other exception is logged, and the client gets an
    internal error (-32603) that says nothing of it; so does an answer that holds what JSON cannot, such as an infinite
    number. A deletion may return None.

    Before a method is called, the version, the card's flags, its required extensions and the request have been checked:
    its REQUIRED fields, and that no number, enum, part or role in it is one that a client may not send.
    """

    def _unsupported(self, operation: str) -> Exception:
        return UnsupportedOperationError(f"this agent does not offer {operation}")

    async def aclose(self) -> None:
        """Release what the handler holds; an ASGI server calls it when it shuts down."""
