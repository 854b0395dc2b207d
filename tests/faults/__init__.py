"""Servers that misbehave at every layer: each fault has its named error, in time, for a fetch and for a call.

What concerns one part only is with its tests: ``tests/resolver``, ``tests/agent/test_*_faults.py``.
"""
