"""The command ``amplifier``, also as ``python -m amplifier``."""

from __future__ import annotations

import sys

from amplifier.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
