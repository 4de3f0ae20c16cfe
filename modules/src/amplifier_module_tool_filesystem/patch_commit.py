"""Does what a patch plan says: every file or none. What was done is undone when something fails on the way."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from amplifier_modkit.paths.errors import naming
from amplifier_modkit.paths.io_threads import Leave
from amplifier_modkit.paths.replacing import make_folders, replace_file, require_unchanged, temporary_name
from amplifier_module_tool_filesystem.changes import remove_folders, require_changeable
from amplifier_module_tool_filesystem.desk import Desk
from amplifier_module_tool_filesystem.ledger import Fingerprint
from amplifier_module_tool_filesystem.patch_plan import PatchPlan, PlannedFile
from amplifier_module_tool_filesystem.problems import PatchError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FileChange:
    """What was done to one file."""

    path: Path
    action: Literal["added", "updated", "deleted", "moved"]
    size: int
    moved_from: Path | None = None


@dataclass(slots=True)
class _Commit:
    """What was done so far, and how to undo it."""

    undo: list[tuple[Path, Callable[[], object]]] = field(default_factory=list[tuple[Path, Callable[[], object]]])
    tidy: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])
    notes: list[tuple[Path, Fingerprint | None]] = field(default_factory=list[tuple[Path, Fingerprint | None]])


def commit(desk: Desk, plan: PatchPlan, leave: Leave) -> list[FileChange]:
    """Carries out the plan and tells what was done; raises what failed, after all was undone.

    Raises ``PatchError`` with the names of the files that could not be brought back.
    """
    changed = plan.changed()
    done = _Commit()
    leave.take()
    for file in changed:
        former = None if file.former is None else file.former.data
        desk.checkpoint(file.place, former, None if file.text is None else file.data)
    try:
        for file in changed:
            if file.text is not None:
                _write(desk, file, done)
        for file in changed:
            if file.text is None:
                _remove(file, done)
    except BaseException as error:
        _roll_back(done, error)
        raise
    _tidy_up(done)
    for path, fingerprint in done.notes:
        desk.ledger.forget(path) if fingerprint is None else desk.ledger.note(path, fingerprint)
    return _told(changed)


def _write(desk: Desk, file: PlannedFile, done: _Commit) -> None:
    place, data = file.place, file.data
    made = make_folders(place)
    if made:
        done.undo.append((place.path, lambda: remove_folders(desk, made)))
    require_changeable(place)
    former_facts = place.facts
    facts = replace_file(place, data, mode=file.mode)
    place.facts = facts
    former = file.former
    if former is None or former_facts is None:
        done.undo.append((place.path, lambda: place.folder.remove_file(place.name)))
    else:
        done.undo.append((place.path, lambda: replace_file(place, former.data, mode=former_facts.st_mode)))
    done.notes.append((place.path, Fingerprint.of(facts, data)))


def _remove(file: PlannedFile, done: _Commit) -> None:
    place = file.place
    aside = temporary_name(place.name)
    with naming(str(place.path)):
        require_unchanged(place)
        place.folder.rename(place.name, aside)
    done.undo.append((place.path, lambda: place.folder.rename(aside, place.name)))
    done.tidy.append(lambda: place.folder.remove_file(aside))
    done.notes.append((place.path, None))


def _roll_back(done: _Commit, cause: BaseException) -> None:
    left: list[str] = []
    for path, undo in reversed(done.undo):
        try:
            undo()
        except OSError:
            logger.exception("A patch failed, and %s could not be brought back", path)
            left.append(str(path))
    if left:
        raise PatchError(
            f"The patch failed ({cause}), and these files could not be brought back: {', '.join(left)}. Look at them "
            "before you go on."
        ) from cause


def _tidy_up(done: _Commit) -> None:
    for tidy in done.tidy:
        with suppress(OSError):
            tidy()


def _told(changed: list[PlannedFile]) -> list[FileChange]:
    told: list[FileChange] = []
    sources = {id(file.moved_from) for file in changed}
    for file in changed:
        path = file.place.path
        if file.text is None:
            if id(file) not in sources:
                told.append(FileChange(path, "deleted", 0))
        elif file.moved_from is not None:
            told.append(FileChange(path, "moved", len(file.data), file.moved_from.place.path))
        else:
            told.append(FileChange(path, "added" if file.former is None else "updated", len(file.data)))
    return told
