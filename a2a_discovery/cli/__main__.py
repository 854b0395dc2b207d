"""``python -m a2a_discovery.cli`` is ``a2a-discovery``."""

from __future__ import annotations

from a2a_discovery.cli import main

if __name__ == "__main__":
    main()
