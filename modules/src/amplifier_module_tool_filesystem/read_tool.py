"""The tool ``read_file``: lines of a text, a picture, what is in a folder, or what a file is that is neither."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amplifier_core.message_models import ImageBlock, TextBlock
from amplifier_core.models import ToolResult
from amplifier_modkit.paths.checkpoints import WHOLE_BYTES
from amplifier_modkit.paths.policy import OpenFile
from amplifier_modkit.paths.walk import Place
from amplifier_module_tool_filesystem.contents import read_whole
from amplifier_module_tool_filesystem.desk import Desk
from amplifier_module_tool_filesystem.file_tool import FileTool
from amplifier_module_tool_filesystem.inputs import path_in, whole_number_in
from amplifier_module_tool_filesystem.ledger import Fingerprint
from amplifier_module_tool_filesystem.listings import list_folder
from amplifier_module_tool_filesystem.media import image_block, image_type_of, kind_of
from amplifier_module_tool_filesystem.problems import InputError
from amplifier_module_tool_filesystem.slices import MOST_LINE_CHARS, Slice, slice_of_stream, slice_of_text
from amplifier_module_tool_filesystem.texts import HEAD_BYTES, decoded, form_of

_MOST_LINES = 2000
_EMPTY = "The file is empty."


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of reading: the output for the model, and what others are told."""

    output: dict[str, Any]
    path: Path | None = None
    """The file that was read; ``None`` for a folder."""
    bytes_read: int = 0
    image: ImageBlock | None = None


@dataclass(frozen=True, slots=True)
class _Wish:
    offset: int
    limit: int


class ReadFileTool(FileTool):
    """Reads files and folders."""

    name = "read_file"
    description = (
        "Reads a file, or lists a folder. Text comes as in 'cat -n': a line number, a tab, and the line; the number "
        f"and the tab are not part of the file. Up to {_MOST_LINES} lines from the beginning, unless offset and limit "
        f"say otherwise; lines of more than {MOST_LINE_CHARS} characters are cut. Pictures (PNG, JPEG, GIF, WebP) are "
        "shown. Paths are absolute, or start in the working directory; '@bundle:path' names a file of a bundle. A file "
        "must be read before it is edited or overwritten."
    )
    input_schema = {  # noqa: RUF012 - the protocol of tools has it as an attribute
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "Path of the file or folder"},
            "offset": {
                "type": "integer",
                "description": "Number of the first line, from 1; a negative one counts from the end (-1 is the last)",
            },
            "limit": {"type": "integer", "description": f"Number of lines to read (default {_MOST_LINES})"},
        },
        "required": ["file_path"],
    }

    async def work(self, given: dict[str, Any]) -> ToolResult:
        """Reads in a thread, and tells that a file was read."""
        wish = _Wish(whole_number_in(given, "offset", 1), whole_number_in(given, "limit", _MOST_LINES))
        if wish.limit < 1:
            raise InputError(f"'limit' must be 1 at least, not {wish.limit}.")
        path = await self.desk.path_for(path_in(given))
        reading = await self.desk.io.run(lambda leave: _read(self.desk, path, wish))
        if reading.path is not None:
            await self.desk.tell_read(reading.path, reading.bytes_read)
        if reading.image is None:
            return ToolResult(output=reading.output)
        about = TextBlock(text=f"{reading.path}: {reading.output['content']}")
        return ToolResult(output=reading.output, content=[about, reading.image])


def _read(desk: Desk, path: str, wish: _Wish) -> Reading:
    with desk.policy.visit(path, "read") as place:
        if place.is_folder:
            return _folder(place, wish)
        with desk.policy.open_place(place) as file:
            return _file(desk, file, wish)


def _folder(place: Place, wish: _Wish) -> Reading:
    first = max(1, wish.offset)
    listing = list_folder(place, first, wish.limit)
    output = {
        "file_path": str(place.path),
        "content": "\n".join(listing.lines),
        "is_directory": True,
        "entry_count": listing.total,
    }
    following = first + len(listing.lines)
    return Reading(output | ({"next_offset": following} if following <= listing.total else {}))


def _file(desk: Desk, file: OpenFile, wish: _Wish) -> Reading:
    head = file.stream.read(HEAD_BYTES)
    form = form_of(head)
    if form is None or image_type_of(head) is not None:
        return _no_text(desk, file, head)
    if file.facts.st_size > WHOLE_BYTES:
        found = slice_of_stream(file.stream, file.facts.st_size, form, wish.offset, wish.limit)
        desk.ledger.note(file.path, Fingerprint.of(file.facts, None))
        return Reading(_output(desk, file, found), file.path, found.bytes_read)
    data = head + read_whole(file.stream)
    found = decoded(data)
    return _no_text(desk, file, head) if found is None else _whole_text(desk, file, data, found[0], wish)


def _whole_text(desk: Desk, file: OpenFile, data: bytes, text: str, wish: _Wish) -> Reading:
    desk.ledger.note(file.path, Fingerprint.of(file.facts, data))
    output = _output(desk, file, slice_of_text(text, wish.offset, wish.limit))
    return Reading(output | ({"warning": _EMPTY} if not text else {}), file.path, len(data))


def _output(desk: Desk, file: OpenFile, found: Slice) -> dict[str, Any]:
    shown, count = _numbered(found, desk.config.max_read_chars)
    output: dict[str, Any] = {"file_path": str(file.path), "content": shown}
    if found.total is not None:
        output["total_lines"] = found.total
    elif found.estimate is not None:
        output["total_lines_estimate"] = found.estimate
    output |= {"lines_read": count, "offset": found.first}
    if count == 0 and found.total:
        output["warning"] = f"The file has {found.total} lines, and none from line {found.first} on."
    if found.has_more or count < len(found.lines):
        output["next_offset"] = found.first + count
    return output


def _numbered(found: Slice, max_chars: int) -> tuple[str, int]:
    lines: list[str] = []
    room = max_chars
    for number, line in enumerate(found.lines, found.first):
        room -= len(line) + 8
        if room < 0 and lines:
            break
        lines.append(f"{number:>6}\t{line}")
    return "\n".join(lines), len(lines)


def _no_text(desk: Desk, file: OpenFile, head: bytes) -> Reading:
    size, media_type = file.facts.st_size, image_type_of(head)
    output: dict[str, Any] = {"file_path": str(file.path), "bytes": size, "kind": kind_of(head)}
    desk.ledger.note(file.path, Fingerprint.of(file.facts, None))
    if media_type is None:
        output |= {"content": f"No text, and not shown: {kind_of(head)}, {size:,} bytes.", "is_binary": True}
        return Reading(output, file.path, len(head))
    if size > desk.config.max_image_bytes:
        most = f"{desk.config.max_image_bytes:,} bytes are the most"
        told = f"An image ({media_type}, {size:,} bytes), too large to be shown: {most}."
        return Reading(output | {"content": told, "is_image": True}, file.path, len(head))
    data = head + read_whole(file.stream)
    desk.ledger.note(file.path, Fingerprint.of(file.facts, data))
    told = f"An image ({media_type}, {len(data):,} bytes)."
    return Reading(output | {"content": told, "is_image": True}, file.path, len(data), image_block(data, media_type))
