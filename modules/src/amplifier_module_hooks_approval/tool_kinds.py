"""What is known about tools by their names, and what a tool says about itself.

Whatever is not known to be harmless counts as a tool that changes something.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal, cast

Risk = Literal["low", "medium", "high"]

BASH, WEB_FETCH, APPLY_PATCH = "bash", "web_fetch", "apply_patch"

PATH_KEYS = {
    "read_file": "file_path",
    "write_file": "file_path",
    "edit_file": "file_path",
    "grep": "path",
    "glob": "path",
}
"""Tools about one path, and where their input has it."""

EDITS = frozenset({"write_file", "edit_file", APPLY_PATCH})
"""Tools that change files and do nothing else."""

# ``bash_jobs`` looks after commands that were allowed before, ``mcp_servers`` after servers that the plan names.
_HARMLESS = frozenset({"read_file", "grep", "glob", "todo", "web_search", "bash_jobs", "mcp_servers"})
# Of these it does not matter what they say of themselves: the claim of a server is nobody's promise.
_CHANGING = (BASH, *EDITS, "task", "delegate", "mcp_*", "mcp__*")


def changes_something(name: str, tool_input: Mapping[str, Any], tool: Any) -> bool:
    """Whether a call may write, run or send something."""
    if name == WEB_FETCH:
        return tool_input.get("save_to_file") is not None
    if name in _HARMLESS:
        return False
    if any(fnmatchcase(name.casefold(), pattern) for pattern in _CHANGING):
        return True
    return not says(tool, "read_only")


def says(tool: Any, statement: str) -> bool:
    """Whether a tool says so of itself, as an attribute or in its ``metadata``."""
    metadata = getattr(tool, "metadata", None)
    told = cast("Mapping[str, Any]", metadata).get(statement) if isinstance(metadata, Mapping) else None
    return getattr(tool, statement, told) is True or told is True


def risk_of(name: str, *, changes: bool) -> Risk:
    """How much a call may do, for those who ask people."""
    if not changes:
        return "low"
    return "medium" if name in EDITS else "high"
