"""What an edit would change, as a diff, before it is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

_MOST_BYTES = 1 << 20


def proposed_diff(tool_name: str, tool_input: Mapping[str, Any], working_dir: Path) -> str | None:
    """The diff that a call of a tool for files stands for; ``None`` where it cannot be told."""
    if tool_name == "apply_patch":
        patch = tool_input.get("patch")
        return patch if isinstance(patch, str) else None
    named = tool_input.get("file_path")
    if tool_name not in ("write_file", "edit_file") or not isinstance(named, str):
        return None
    before = text_in(working_dir / Path(named).expanduser())
    after = tool_input.get("content") if tool_name == "write_file" else _edited(before, tool_input)
    if before is None or not isinstance(after, str) or before == after:
        return None
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), named, named, lineterm="")
    return "\n".join(lines)


def text_in(path: Path) -> str | None:
    """The text of a file; nothing where there is none yet, ``None`` for one that is no text or too long."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8") if path.stat().st_size <= _MOST_BYTES else None
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError):
        return None


def _edited(before: str | None, tool_input: Mapping[str, Any]) -> str | None:
    edits: Any = tool_input.get("edits")
    each = cast("list[Any]", edits) if isinstance(edits, list) else [dict(tool_input)]
    text = before
    for edit in each:
        fields: Mapping[str, Any] = cast("dict[str, Any]", edit) if isinstance(edit, dict) else {}
        old, new = fields.get("old_string"), fields.get("new_string")
        if text is None or not isinstance(old, str) or not isinstance(new, str) or not old or old not in text:
            return None
        text = text.replace(old, new) if fields.get("replace_all") else text.replace(old, new, 1)
    return text
