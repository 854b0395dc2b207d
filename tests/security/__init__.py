"""Credentials: which are sent, where they go, and where they never go."""
