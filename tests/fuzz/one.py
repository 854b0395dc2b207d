"""One target under libFuzzer, whose options are the arguments: ``python -m tests.fuzz.one TARGET -runs=1000 CORPUS``."""

from __future__ import annotations

import logging
import os
import sys

import atheris

with atheris.instrument_imports(include=["a2a_discovery"]):
    from tests.fuzz.targets import TARGETS

if __name__ == "__main__":
    logging.disable()
    target = TARGETS[sys.argv.pop(1)]
    # To merge corpora, libFuzzer starts the program that it takes itself for.
    sys.argv[0] = os.environ.get("FUZZ_PROGRAM", sys.argv[0])
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
