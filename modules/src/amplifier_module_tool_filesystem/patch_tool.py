"""The tool ``apply_patch``: changes to several files at once, all of them or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amplifier_core.models import ToolResult
from amplifier_modkit.paths.io_threads import Leave
from amplifier_module_tool_filesystem.begin_patch import BEGIN, read_begin_patch
from amplifier_module_tool_filesystem.desk import Desk
from amplifier_module_tool_filesystem.file_tool import FileTool
from amplifier_module_tool_filesystem.inputs import text_in
from amplifier_module_tool_filesystem.patch_commit import FileChange, commit
from amplifier_module_tool_filesystem.patch_plan import PatchPlan
from amplifier_module_tool_filesystem.patches import FilePatch
from amplifier_module_tool_filesystem.problems import PatchError
from amplifier_module_tool_filesystem.unified_diff import read_unified_diff


class ApplyPatchTool(FileTool):
    """Applies patches."""

    name = "apply_patch"
    description = (
        "Changes several files at once, all of them or none. Takes a unified diff as 'git diff' writes it (files may "
        "be changed, made, removed, renamed), or this form:\n"
        "*** Begin Patch\n*** Add File: path\n+line\n*** Update File: path\n*** Move to: new path (optional)\n"
        "@@ a line before the place (optional)\n unchanged line\n-line to remove\n+line to add\n"
        "*** Delete File: path\n*** End Patch\n"
        "Files that are changed or removed must have been read with read_file in this session."
    )
    input_schema = {  # noqa: RUF012 - the protocol of tools has it as an attribute
        "type": "object",
        "properties": {"patch": {"type": "string", "description": "The whole patch"}},
        "required": ["patch"],
    }

    async def work(self, given: dict[str, Any]) -> ToolResult:
        """Patches in a thread, and tells of every file that was written."""
        text = text_in(given, "patch")
        async with self.desk.writing:
            changes = await self.desk.io.run(lambda leave: _patch(self.desk, text, leave))
        for change in changes:
            await self.desk.tell_written(change.path, change.size)
        return ToolResult(output={"files_changed": len(changes), "files": [_shown(change) for change in changes]})


def _patch(desk: Desk, text: str, leave: Leave) -> Sequence[FileChange]:
    with PatchPlan(desk) as plan:
        plan.add(_read(text))
        return commit(desk, plan, leave)


def _read(text: str) -> list[FilePatch]:
    is_ours = text.lstrip().startswith(BEGIN)
    patches = read_begin_patch(text.lstrip()) if is_ours else read_unified_diff(text)
    if not patches:
        raise PatchError(f"The patch changes no file. Give a unified diff, or one that begins with '{BEGIN}'.")
    return patches


def _shown(change: FileChange) -> dict[str, Any]:
    shown: dict[str, Any] = {"file_path": str(change.path), "action": change.action, "bytes": change.size}
    return shown | ({"moved_from": str(change.moved_from)} if change.moved_from else {})
