"""Fuzz targets, and the corpus that keeps them alive without the fuzzer."""
