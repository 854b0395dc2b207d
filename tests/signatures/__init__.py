"""Signatures of cards: what they cover, whose keys count, and what is returned."""
