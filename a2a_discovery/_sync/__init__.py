# Generated from a2a_discovery/_async/__init__.py by codegen/sync.py; do not edit.
"""The shells that do I/O."""
