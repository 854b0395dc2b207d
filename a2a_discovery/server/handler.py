"""What an agent implements: one coroutine per operation, for all bindings."""

from __future__ import annotations

from a2a_discovery._gen.handler import HandlerOperations
from a2a_discovery.errors import UnsupportedOperationError


class AgentHandler(HandlerOperations):
    """Answers the operations of an agent (§3.1); a subclass overrides those that it offers.

    Each method takes the request message and a ``CallContext``, and returns the response message; those that stream are
    async generators of ``StreamResponse``. What is not overridden is refused with UnsupportedOperationError (-32004).
    An ``A2AError`` that a method raises is what the client gets. Any other exception is logged, and the client gets an
    internal error (-32603) that says nothing of it.

    Before a method is called, the version, the card's flags, its required extensions and the REQUIRED fields of the
    request have been checked.
    """

    def _unsupported(self, operation: str) -> Exception:
        return UnsupportedOperationError(f"this agent does not offer {operation}")

    async def aclose(self) -> None:
        """Release what the handler holds; an ASGI server calls it when it shuts down."""
