"""The command ``amplifier``, also as ``python -m amplifier``."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Runs the command with the arguments of the process and returns the exit code."""
    # What a command imports stays to its end. To look through it for garbage after every 700 objects, as Python does
    # by itself, takes a good part of a short run and finds nothing.
    gc.set_threshold(20_000, 10, 10)

    from amplifier.cli.main import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
