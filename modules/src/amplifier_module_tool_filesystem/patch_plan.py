"""What a patch will do, worked out in full before anything is done; every file is judged and held open."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from amplifier_modkit.paths.walk import Place
from amplifier_module_tool_filesystem.changes import require_changeable, require_known
from amplifier_module_tool_filesystem.contents import TextFile, read_any_file
from amplifier_module_tool_filesystem.desk import Desk
from amplifier_module_tool_filesystem.hunks import apply_hunks
from amplifier_module_tool_filesystem.patches import FilePatch, content_of
from amplifier_module_tool_filesystem.problems import EncodingError, PatchError
from amplifier_module_tool_filesystem.texts import TextForm

MOST_FILES = 200
"""Files that one patch may change: all of them are held open at once."""


@dataclass(slots=True)
class PlannedFile:
    """A file of the patch: what it was, and what it will be."""

    place: Place
    former: TextFile | None
    """``None`` if there was none."""
    text: str | None
    """``None`` if there will be none."""
    form: TextForm
    mode: int | None = None
    moved_from: PlannedFile | None = None

    @property
    def is_changed(self) -> bool:
        """Whether it will be another than it was."""
        return self.text != (None if self.former is None else self.former.text) or self.mode is not None

    @property
    def data(self) -> bytes:
        """The content that it will have."""
        return self.form.encode(self.text or "")


class PatchPlan:
    """The files of one patch, by their resolved path; to be closed."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._files: dict[str, PlannedFile] = {}
        self._open = ExitStack()

    def add(self, patches: Iterable[FilePatch]) -> None:
        """Works out each part on what the ones before have left; raises for the first that cannot be done."""
        for patch in patches:
            steps = {"add": self._add, "delete": self._delete, "update": self._update}
            steps[patch.action](patch)
        for file in self.changed():
            _require_encodable(file)

    def changed(self) -> list[PlannedFile]:
        """The files that will be others than they were, in the order of the patch."""
        return [file for file in self._files.values() if file.is_changed]

    def _add(self, patch: FilePatch) -> None:
        file = self._file(patch.path)
        if file.text is not None:
            raise PatchError(f"The patch adds {patch.path}, which is there already. Update it instead.")
        file.text, file.mode = content_of(patch.hunks), patch.mode if patch.mode == 0o755 else None

    def _delete(self, patch: FilePatch) -> None:
        file = self._file(patch.path)
        _require_no_link(file)
        # A diff tells what is removed, and that must be what is there.
        text = self._patched(file, patch)
        if patch.hunks and text:
            raise PatchError(
                f"The patch removes {patch.path}, which has more lines than the patch tells. Read it again."
            )
        file.text = None

    def _update(self, patch: FilePatch) -> None:
        file = self._file(patch.path)
        text = self._patched(file, patch)
        if patch.new_path is None:
            file.text, file.mode = text, patch.mode
            return
        _require_no_link(file)
        target = self._file(patch.new_path)
        if target.text is not None:
            raise PatchError(f"The patch moves {patch.path} to {patch.new_path}, which is there already.")
        former_mode = None if file.place.facts is None else file.place.facts.st_mode
        target.text, target.form, target.moved_from = text, file.form, file
        target.mode = patch.mode or former_mode
        file.text = None

    def _patched(self, file: PlannedFile, patch: FilePatch) -> str:
        if file.text is None:
            raise PatchError(f"The patch changes {patch.path}, and there is no such file. Check the path, or add it.")
        if patch.hunks and file.former is not None and not file.former.is_text:
            raise PatchError(f"The patch changes lines of {patch.path}, which is no text file.")
        return apply_hunks(file.text, patch.hunks, patch.path)

    def _file(self, path: str) -> PlannedFile:
        place = self._open.enter_context(self._desk.policy.visit(path, "read", "write"))
        known = self._files.get(str(place.path))
        if known is not None:
            place.close()
            return known
        if len(self._files) == MOST_FILES:
            raise PatchError(f"The patch changes more than {MOST_FILES} files. Split it.")
        require_changeable(place)
        former = self._former(place)
        form = TextForm() if former is None else former.form
        file = PlannedFile(place, former, None if former is None else former.text, form)
        self._files[str(place.path)] = file
        return file

    def _former(self, place: Place) -> TextFile | None:
        if place.facts is None:
            return None
        with self._desk.policy.open_place(place) as file:
            former = read_any_file(file)
        require_known(self._desk, place, former.data)
        return former

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.close()


def _require_encodable(file: PlannedFile) -> None:
    try:
        file.form.encode(file.text or "")
    except EncodingError as error:
        raise EncodingError(f"{file.place.path}: {error}") from error


def _require_no_link(file: PlannedFile) -> None:
    if file.place.is_linked:
        raise PatchError(
            f"The patch removes or moves a link to {file.place.path}, which would leave the link without its file. "
            "Name the file itself."
        )
