"""The server side: the core, its bindings, and the handler that keeps tasks."""
