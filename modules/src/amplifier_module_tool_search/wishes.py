"""What a model wants from ``grep``: the schema of its input, and the input read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

from amplifier_module_tool_search import dialect
from amplifier_module_tool_search.config import SearchConfig
from amplifier_module_tool_search.engine import Query
from amplifier_module_tool_search.file_types import type_filter
from amplifier_module_tool_search.globs import FileFilter
from amplifier_module_tool_search.inputs import choice_in, flag_in, pattern_in, text_in, whole_number_in
from amplifier_module_tool_search.problems import InputError

Mode = Literal["files_with_matches", "content", "count"]
MODES: tuple[Mode, ...] = ("files_with_matches", "content", "count")
MOST_CONTEXT = 100

GREP_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {
            "type": "string",
            "description": "Regular expression in ripgrep's syntax, without look-around and back references; escape "
            "braces that are meant literally, as in 'interface\\{\\}'",
        },
        "path": {"type": "string", "description": "File or folder to search in (default: the working directory)"},
        "output_mode": {
            "type": "string",
            "enum": list(MODES),
            "description": "files_with_matches (default): paths; content: the lines; count: matching lines per file",
        },
        "-i": {"type": "boolean", "description": "Ignore case"},
        "-n": {"type": "boolean", "description": "Line numbers, for content (default true)"},
        "-A": {"type": "integer", "description": "Lines to show after each match, for content"},
        "-B": {"type": "integer", "description": "Lines to show before each match, for content"},
        "-C": {"type": "integer", "description": "Lines to show before and after each match, for content"},
        "glob": {"type": "string", "description": "Files to search, as in '*.py', 'src/**/*.{ts,tsx}' or '!*.min.js'"},
        "type": {"type": "string", "description": "Type of files to search, as in py, js, rust, go, java, md"},
        "multiline": {
            "type": "boolean",
            "description": "Matches may span lines, and '.' takes line ends (default false)",
        },
        "head_limit": {
            "type": "integer",
            "description": "Most files, matching lines or counts to return; 0 for all (default: 200, 500, 200)",
        },
        "offset": {"type": "integer", "description": "How many of them to skip first, for the next page"},
        "include_ignored": {
            "type": "boolean",
            "description": "Search hidden, git-ignored and excluded files (node_modules, build, …) as well",
        },
    },
    "required": ["pattern"],
}


@dataclass(frozen=True, slots=True)
class GrepWish:
    """One call of ``grep``."""

    pattern: str
    path: str | None
    query: Query
    mode: Mode
    has_numbers: bool
    before: int
    after: int
    filters: tuple[FileFilter, ...]
    includes_ignored: bool
    offset: int
    limit: int

    @classmethod
    def from_input(cls, given: dict[str, Any], config: SearchConfig) -> GrepWish:
        """The wish in the input of a call; raises ``InputError`` for what cannot be understood."""
        pattern = pattern_in(given)
        mode = cast("Mode", choice_in(given, "output_mode", MODES))
        is_multiline = flag_in(given, "multiline")
        around = whole_number_in(given, "-C", 0)
        query = Query(dialect.read(pattern, is_multiline=is_multiline), flag_in(given, "-i"), is_multiline)
        limit = whole_number_in(given, "head_limit", getattr(config.grep.default_limits, mode))
        return cls(
            pattern,
            text_in(given, "path"),
            query,
            mode,
            flag_in(given, "-n", default=True),
            _context(given, "-B", around),
            _context(given, "-A", around),
            _filters(given),
            flag_in(given, "include_ignored"),
            whole_number_in(given, "offset", 0),
            bounded(limit, config.max_results),
        )


def bounded(limit: int, most: int | None) -> int:
    """A limit that is not beyond ``most``; 0 is no limit."""
    return min(limit or most, most) if most else limit


def _context(given: dict[str, Any], key: str, default: int) -> int:
    lines = whole_number_in(given, key, default)
    if lines > MOST_CONTEXT:
        raise InputError(f"'{key}' must be {MOST_CONTEXT} lines at most. Read the file to see more.")
    return lines


def _filters(given: dict[str, Any]) -> tuple[FileFilter, ...]:
    kind = text_in(given, "type")
    filters = [type_filter(kind)] if kind else []
    if text_in(given, "glob"):
        filters.append(FileFilter.from_texts([pattern_in(given, "glob")]))
    return tuple(filters)
