"""What is in a folder, a line for each name: what it is, and what it is called."""

from __future__ import annotations

import stat
from dataclasses import dataclass

from amplifier_modkit.paths.errors import naming, shown
from amplifier_modkit.paths.folders import Folder, is_link
from amplifier_modkit.paths.walk import Place


@dataclass(frozen=True, slots=True)
class Listing:
    """Some of the names in a folder."""

    lines: list[str]
    total: int


def list_folder(place: Place, first: int, limit: int) -> Listing:
    """The names from number ``first`` on, in order; names that deceive are shown with what they are made of."""
    with naming(str(place.path)), place.folder.enter(place.name) as folder:
        names = sorted(folder.names())
        chosen = names[first - 1 : first - 1 + limit]
        return Listing([_line(folder, name) for name in chosen], len(names))


def _line(folder: Folder, name: str) -> str:
    facts = folder.look(name)
    if facts is None:
        return f"GONE {shown(name)}"
    if is_link(facts):
        return f"LINK {shown(name)}"
    if stat.S_ISDIR(facts.st_mode):
        return f"DIR  {shown(name)}"
    return f"FILE {shown(name)}" if stat.S_ISREG(facts.st_mode) else f"OTHER {shown(name)}"
