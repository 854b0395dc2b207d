"""The shells that do I/O."""
