"""Measurements side by side with a2a-sdk; ``python -m bench`` prints ratios."""
