"""What Ollama tells about a model: its window, and what it can do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from amplifier_core.capabilities import LOCAL, STREAMING, THINKING, TOOLS, VISION

_ABILITIES = {"tools": TOOLS, "thinking": THINKING, "vision": VISION}
_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """One model: the longest window it was trained for, the one that its file sets, and its abilities."""

    longest: int | None = None
    chosen: int | None = None
    capabilities: tuple[str, ...] = ()

    @property
    def thinks(self) -> bool:
        """Whether it can think before it answers."""
        return THINKING in self.capabilities


def read_facts(shown: Mapping[str, Any]) -> ModelFacts:
    """The facts in the answer to ``/api/show``."""
    info: Any = shown.get("model_info")
    details: Mapping[str, Any] = cast("Any", info) if isinstance(info, Mapping) else {}
    lengths = [value for key, value in details.items() if key.endswith(".context_length") and type(value) is int]
    written = _NUM_CTX.search(str(shown.get("parameters") or ""))
    listed: Any = shown.get("capabilities")
    told = cast("list[Any]", listed) if isinstance(listed, list) else []
    abilities = tuple(_ABILITIES[each] for each in told if each in _ABILITIES)
    longest = max(lengths, default=None)
    if shown.get("remote_host"):
        # It runs elsewhere, where memory is nobody's concern, and takes all that it was made for.
        return ModelFacts(longest, longest, (STREAMING, *abilities))
    return ModelFacts(longest, int(written[1]) if written else None, (STREAMING, LOCAL, *abilities))


def loaded_window(running: Mapping[str, Any], model: str) -> int | None:
    """The window that a model is loaded with, as the answer to ``/api/ps`` tells."""
    listed: Any = running.get("models")
    for each in cast("list[Any]", listed) if isinstance(listed, list) else ():
        if isinstance(each, Mapping):
            entry = cast("Mapping[str, Any]", each)
            window = entry.get("context_length")
            if model in (entry.get("name"), entry.get("model")) and type(window) is int and window > 0:
                return window
    return None
