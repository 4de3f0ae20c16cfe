"""Text of models and tools on its way to a terminal: nothing in it may steer the terminal."""

from __future__ import annotations

import re

# Line ends and tabs stay; bidirectional controls could show something else than what is there.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

# JSON escapes the lower ones itself. A lone surrogate cannot be written as UTF-8.
_NOT_IN_JSON = re.compile(r"[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    """``text`` without control characters but line ends and tabs."""
    return _CONTROLS.sub("", text)


def escaped(json_text: str) -> str:
    """``json_text`` that says the same without anything that would steer a terminal, or is no text at all."""
    return _NOT_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)


def one_line(text: str, most: int = 120) -> str:
    """``text`` on one line, cut to ``most`` characters."""
    flat = " ".join(harmless(text).split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
