"""The tool ``edit_file``: exact replacements in a file that was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amplifier_core.models import ToolResult
from amplifier_modkit.paths.io_threads import Leave
from amplifier_module_tool_filesystem.changes import Change, require_changeable, require_known, write
from amplifier_module_tool_filesystem.contents import read_text_file
from amplifier_module_tool_filesystem.desk import Desk
from amplifier_module_tool_filesystem.edits import Edit, apply_edits
from amplifier_module_tool_filesystem.file_tool import FileTool
from amplifier_module_tool_filesystem.inputs import flag_in, objects_in, path_in, text_in
from amplifier_module_tool_filesystem.problems import InputError

_EDIT_PROPERTIES = {
    "old_string": {"type": "string", "description": "The text to replace, exactly as the file has it"},
    "new_string": {"type": "string", "description": "The text to put in its place"},
    "replace_all": {"type": "boolean", "default": False, "description": "Replace every match, not just one"},
}


@dataclass(frozen=True, slots=True)
class _Edited:
    change: Change
    count: int


class EditFileTool(FileTool):
    """Edits files."""

    name = "edit_file"
    description = (
        "Replaces text in a file that was read with read_file in this session. old_string must be exactly what the "
        "file has, without the line numbers of read_file, and only once, unless replace_all is true. Several "
        "replacements go into 'edits': they are made in order, each on what the one before has left, and all of them "
        "or none. Encoding, line ends and mode of the file are kept."
    )
    input_schema = {  # noqa: RUF012 - the protocol of tools has it as an attribute
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "Path of the file"},
            **_EDIT_PROPERTIES,
            "edits": {
                "type": "array",
                "description": "Several replacements, in place of old_string and new_string",
                "items": {
                    "type": "object",
                    "properties": _EDIT_PROPERTIES,
                    "required": ["old_string", "new_string"],
                },
            },
        },
        "required": ["file_path"],
    }

    async def work(self, given: dict[str, Any]) -> ToolResult:
        """Edits in a thread, and tells that a file was written."""
        path, edits = path_in(given), _edits_in(given)
        path = await self.desk.path_for(path)
        async with self.desk.writing:
            edited = await self.desk.io.run(lambda leave: _edit(self.desk, path, edits, leave))
        change = edited.change
        await self.desk.tell_written(change.path, change.size)
        output: dict[str, Any] = {
            "file_path": str(change.path),
            "replacements_made": edited.count,
            "bytes_written": change.size,
        }
        return ToolResult(output=output | ({"warning": change.warning} if change.warning else {}))


def _edits_in(given: Mapping[str, Any]) -> list[Edit]:
    several = objects_in(given, "edits")
    if several is None:
        return [_edit_in(given)]
    if given.get("old_string") is not None or given.get("new_string") is not None:
        raise InputError("Give either 'old_string' and 'new_string', or 'edits', and not both.")
    return [_edit_in(each) for each in several]


def _edit_in(given: Mapping[str, Any]) -> Edit:
    return Edit(text_in(given, "old_string"), text_in(given, "new_string"), flag_in(given, "replace_all"))


def _edit(desk: Desk, path: str, edits: Sequence[Edit], leave: Leave) -> _Edited:
    # What does not fit is told with lines of the file, so it must be one that may be read.
    with desk.policy.visit(path, "read", "write") as place:
        require_changeable(place)
        with desk.policy.open_place(place) as file:
            former = read_text_file(file)
        require_known(desk, place, former.data)
        text, count = apply_edits(former.text, edits)
        return _Edited(write(desk, place, former.data, former.form.encode(text), leave), count)
