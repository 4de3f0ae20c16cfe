"""Project instructions: the AGENTS.md of the user and the nearest one of the project, CLAUDE.md where there is none."""

from __future__ import annotations

from pathlib import Path

from amplifier.bundles.mentions import Passage, Reader
from amplifier.paths import Places

NAMES = ("AGENTS.md", "CLAUDE.md")


def read_instructions(places: Places, reader: Reader) -> list[Passage]:
    """The user's own instructions, then those of the project, which are nearer to the work; either may be missing."""
    own, nearest = instruction_files(places)
    found = [
        reader.read_file(own, (places.home,), is_own=True) if own else None,
        reader.read_file(nearest, (places.project_dir,)) if nearest else None,
    ]
    return [passage for passage in found if passage is not None and passage.text]


def instruction_files(places: Places) -> tuple[Path | None, Path | None]:
    """The file of the user and that of the project, where there is one."""
    return _first_of(places.home, NAMES), _nearest(places)


def _nearest(places: Places) -> Path | None:
    """The file nearest to the working directory, at most up to the project's; an AGENTS.md anywhere goes first."""
    folders = (places.working_dir, *places.working_dir.parents)
    inside = [folder for folder in folders if folder.is_relative_to(places.project_dir)]
    candidates = (folder / name for name in NAMES for folder in inside)
    return next((file for file in candidates if _is_of_project(file, places)), None)


def _is_of_project(file: Path, places: Places) -> bool:
    # A link in a cloned project must not bring a file of the user's into the prompt.
    return file.is_file() and file.resolve().is_relative_to(places.project_dir.resolve())


def _first_of(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)
