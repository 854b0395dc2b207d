"""Tests of the bindings, without I/O."""
