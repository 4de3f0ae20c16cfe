"""The command ``amplifier``: runs one agent turn in the terminal."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from amplifier.demo.turn import DEFAULT_PROMPT, run_turn

_PIECE_DELAY_S = 0.02
"""How long a terminal shows a piece before the next one comes."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command with ``argv`` (the process's own arguments by default) and returns the exit code."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.version:
        return _show_version()
    if not arguments.prompt.strip():
        parser.error("the prompt is empty: say what to do, or leave it out for an example")
    try:
        delay_s = _PIECE_DELAY_S if sys.stdout.isatty() else 0.0
        is_clean = asyncio.run(run_turn(arguments.prompt, _print, delay_s))
    except KeyboardInterrupt:
        print("amplifier: interrupted", file=sys.stderr)
        return 130
    except RuntimeError as error:
        print(f"amplifier: {error}", file=sys.stderr)
        return 1
    return 0 if is_clean else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="amplifier",
        description="Runs one agent turn: a scripted model, a real tool, and a transcript of what happens.",
    )
    parser.add_argument("prompt", nargs="?", default=DEFAULT_PROMPT, help="what to ask (default: %(default)r)")
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    return parser


def _show_version() -> int:
    # Looking into the installed metadata takes longer than the rest of the start.
    from importlib.metadata import version

    print(f"amplifier {version('amplifier')}")
    return 0


def _print(text: str) -> None:
    # Told at once, piece by piece, also into a pipe; and never stopped by a terminal that cannot show a character.
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), end="", flush=True)


if __name__ == "__main__":
    sys.exit(main())
