"""Serving an agent (extra ``server``)."""
