"""The tool ``write_file``: a whole file, new or in place of one that was read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from amplifier_core.models import ToolResult
from amplifier_modkit.paths.checkpoints import former_content
from amplifier_modkit.paths.io_threads import Leave
from amplifier_module_tool_filesystem.changes import (
    Change,
    folders_made,
    require_changeable,
    require_known,
    write,
)
from amplifier_module_tool_filesystem.desk import Desk
from amplifier_module_tool_filesystem.file_tool import FileTool
from amplifier_module_tool_filesystem.inputs import path_in, text_in
from amplifier_module_tool_filesystem.problems import EncodingError
from amplifier_module_tool_filesystem.texts import TextForm, decoded, in_form_of


class WriteFileTool(FileTool):
    """Writes whole files."""

    name = "write_file"
    description = (
        "Writes a file, with the folders on its way. A file that is there already is overwritten, and must have been "
        "read with read_file in this session first; to change a part of it, edit_file is better. Encoding, line ends "
        "and mode of the former file are kept."
    )
    input_schema = {  # noqa: RUF012 - the protocol of tools has it as an attribute
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "Path of the file"},
            "content": {"type": "string", "description": "The whole content of the file"},
        },
        "required": ["file_path", "content"],
    }

    async def work(self, given: dict[str, Any]) -> ToolResult:
        """Writes in a thread, and tells that a file was written."""
        path, content = path_in(given), text_in(given, "content")
        path = await self.desk.path_for(path)
        async with self.desk.writing:
            change = await self.desk.io.run(lambda leave: _write(self.desk, path, content, leave))
        await self.desk.tell_written(change.path, change.size)
        output: dict[str, Any] = {"file_path": str(change.path), "bytes": change.size}
        return ToolResult(output=output | ({"warning": change.warning} if change.warning else {}))


def _write(desk: Desk, path: str, content: str, leave: Leave) -> Change:
    with desk.policy.visit(path, "write") as place:
        require_changeable(place)
        data, warning = TextForm().encode(content), None
        with folders_made(desk, place, leave):
            require_changeable(place)
            former = former_content(place)
            require_known(desk, place, former)
            if former is not None:
                data, warning = _in_form_of(former, content)
            change = write(desk, place, former, data, leave)
            return change if warning is None else replace(change, warning=warning)


def _in_form_of(former: bytes, content: str) -> tuple[bytes, str | None]:
    """The content in the form of the former one, or in UTF-8 and with a warning if that cannot hold it."""
    found = decoded(former)
    if found is None:
        return TextForm().encode(content), None
    text, form = found
    written = in_form_of(content, text)
    try:
        return form.encode(written), None
    except EncodingError:
        return TextForm().encode(written), f"The file was {form.encoding}, which lacks a character; it is UTF-8 now."
