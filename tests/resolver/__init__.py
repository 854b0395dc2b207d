"""The resolver, async and sync, against servers that behave and servers that do not."""
