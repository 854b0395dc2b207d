"""The command line, ``a2a-discovery`` (extra ``cli``)."""

from __future__ import annotations

import sys

from a2a_discovery.errors import MissingExtraError

_EXTRA = ("rich", "typer")


def main() -> None:
    """Run the command line on ``sys.argv`` and exit: 0 done, 1 failed, 2 usage, 3 no card, 4 credentials, 5 timeout."""
    try:
        from a2a_discovery.cli.app import run
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.partition(".")[0] not in _EXTRA:
            raise
        sys.exit(str(MissingExtraError("the command line", "cli")))
    except KeyboardInterrupt:
        sys.exit(130)
    run()
