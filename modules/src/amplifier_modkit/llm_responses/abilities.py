"""What is known of a model by its id: whether it reasons, how hard, and which wishes it refuses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_GPT = re.compile(r"gpt-(\d+)(?:\.(\d+))?(.*)")
_O_SERIES = re.compile(r"o\d")
_RESEARCH = "deep-research"
_FIRST_REASONING = (5, 0)
_FIRST_THAT_MAY_NOT_REASON = (5, 1)
_FIRST_WITH_CACHE_OPTIONS = (5, 6)
_FIRST_THAT_ALWAYS_REASONS = (6, 1)

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_AT_LEAST_LOW = EFFORTS[2:]


@dataclass(frozen=True, slots=True)
class Abilities:
    """``reasons`` is ``None`` for a model nobody here knows: then every wish is passed on as it is."""

    reasons: bool | None = None
    efforts: tuple[str, ...] = EFFORTS
    samples_without_effort: bool = True
    has_cache_options: bool = False
    runs_in_background: bool = False

    def samples(self, effort: str | None) -> bool:
        """Whether temperature and top_p mean anything to it at that effort."""
        return not self.reasons or (effort == "none" and self.samples_without_effort)


@lru_cache(maxsize=256)
def abilities_of(model: str) -> Abilities:
    """What the model with that id can do; a name before a slash only says by way of whom it is reached."""
    name = model.rpartition("/")[2]
    is_research = _RESEARCH in name
    if _O_SERIES.match(name):
        return Abilities(True, ("low", "medium", "high"), samples_without_effort=False, runs_in_background=is_research)
    found = _GPT.match(name)
    if found is None:
        return Abilities(runs_in_background=is_research)
    version = int(found[1]), int(found[2] or 0)
    if version < _FIRST_REASONING or "-chat" in found[3]:
        return Abilities(False)
    always = version >= _FIRST_THAT_ALWAYS_REASONS or "astra" in found[3]
    return Abilities(
        True,
        _AT_LEAST_LOW if always else EFFORTS,
        samples_without_effort=version >= _FIRST_THAT_MAY_NOT_REASON,
        has_cache_options=version >= _FIRST_WITH_CACHE_OPTIONS,
        runs_in_background=is_research,
    )
