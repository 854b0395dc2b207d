"""Calls of an agent, over each binding, in both worlds."""
