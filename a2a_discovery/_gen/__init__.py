"""All that `make gen` writes; nobody edits it."""
