"""The tool ``glob``: files and folders by their names, newest first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from amplifier_modkit.paths.spelling import is_within
from amplifier_module_tool_search.config import SearchConfig
from amplifier_module_tool_search.globs import PathGlob, anywhere, with_braces
from amplifier_module_tool_search.inputs import choice_in, flag_in, pattern_in, patterns_in, text_in
from amplifier_module_tool_search.place import IsStopped, Root, SearchPlace
from amplifier_module_tool_search.problems import InputError
from amplifier_module_tool_search.search_tool import Page, SearchTool
from amplifier_module_tool_search.walking import Found, Scope
from amplifier_module_tool_search.wishes import bounded

TYPES = ("file", "dir", "any")
_WILD = frozenset("*?[{\\")

GLOB_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Glob, as in '**/*.py', 'src/*.{ts,tsx}' or 'docs/**'"},
        "path": {"type": "string", "description": "Folder to look in (default: the working directory)"},
        "type": {"type": "string", "enum": list(TYPES), "description": "What to look for (default: file)"},
        "exclude": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Globs of files and folders to leave out, as in 'tests' or '*.min.js'",
        },
        "include_ignored": {
            "type": "boolean",
            "description": "Look at hidden, git-ignored and excluded files (node_modules, build, …) as well",
        },
    },
    "required": ["pattern"],
}


@dataclass(frozen=True, slots=True)
class GlobWish:
    """One call of ``glob``; names at the beginning of a pattern that have no wildcards are part of the path."""

    pattern: str
    path: str
    above: tuple[str, ...]
    """The names that went from the pattern to the path."""
    globs: tuple[PathGlob, ...]
    kind: str
    exclude: tuple[PathGlob, ...]
    scope: Scope

    @classmethod
    def from_input(cls, given: dict[str, Any], config: SearchConfig) -> GlobWish:
        """The wish in the input of a call; raises ``InputError`` for what cannot be understood."""
        pattern = pattern_in(given)
        fixed, rest = _split(pattern.replace(os.sep, "/"))
        if not rest or ".." in rest:
            raise InputError("'pattern' must name files below its folder. Give the folder above as 'path'.")
        texts = with_braces("/".join(rest))
        return cls(
            pattern,
            os.path.join(text_in(given, "path") or "", fixed),  # noqa: PTH118 - Path() would take away a "./" or "~"
            tuple(part for part in fixed.split("/") if part),
            tuple(map(PathGlob.from_text, texts)),
            choice_in(given, "type", TYPES),
            tuple(anywhere(each) for text in patterns_in(given, "exclude") for each in with_braces(text)),
            Scope(config.glob.exclusions, flag_in(given, "include_ignored"), any(map(_is_hidden, texts))),
        )

    def matches(self, found: Found) -> bool:
        """Whether something is what is looked for, as far as names tell."""
        if not any(glob.matches(found.parts) for glob in self.globs):
            return False
        whole = (*self.above, *found.parts)
        ends = range(len(self.above) + 1, len(whole) + 1)
        return not any(glob.matches(whole[:end]) for glob in self.exclude for end in ends)


@dataclass(frozen=True, slots=True)
class _Match:
    modified_ns: int
    name: str
    kind: str
    size: int


class GlobTool(SearchTool):
    """Finds files by name."""

    name = "glob"
    description = (
        "Finds files and folders whose path matches a glob, newest first: '*' and '?' within a name, '**' for any "
        "number of folders, [a-z], {a,b}. Hidden, git-ignored and excluded ones (node_modules, build, …) are left out "
        "unless include_ignored is true. When results_capped is true, there are more: narrow the pattern or the path."
    )
    input_schema = GLOB_SCHEMA

    def __init__(self, place: SearchPlace, config: SearchConfig) -> None:
        super().__init__(place, config.glob.timeout)
        self._config = config

    async def search(self, given: dict[str, Any]) -> dict[str, Any]:
        """What was found."""
        wish = GlobWish.from_input(given, self._config)
        root, found = await self.place.work(lambda is_stopped: self._found(wish, is_stopped))
        page = Page(0, bounded(self._config.glob.default_limits.glob, self._config.max_results))
        matches = [
            {"path": path, "type": each.kind, "size": each.size}
            for each in found[: page.limit or None]
            if page.takes(path := self.place.told(root, each.name))
        ]
        is_capped = page.ending(len(found), len(matches))["results_capped"]
        return {
            "pattern": wish.pattern,
            "total_files": len(found),
            "count": len(matches),
            "matches": matches,
            "results_capped": is_capped,
        }

    def _found(self, wish: GlobWish, is_stopped: IsStopped) -> tuple[Root, list[_Match]]:
        root = self.place.root(wish.path or None)
        if root.only is not None:
            raise InputError(f"'path' must be a folder, and {root.only} is a file. Leave its name to 'pattern'.")
        matches = [match for match in self._matches(wish, root, is_stopped) if wish.kind in ("any", match.kind)]
        return root, sorted(matches, key=lambda match: (-match.modified_ns, match.name))

    def _matches(self, wish: GlobWish, root: Root, is_stopped: IsStopped) -> Iterator[_Match]:
        for found in self.place.walk(root, wish.scope, is_stopped).found():
            if wish.matches(found) and self.place.may_read(found.entry.path) and self._leads_inside(found, root):
                match = _match(found)
                if match is not None:
                    yield match

    def _leads_inside(self, found: Found, root: Root) -> bool:
        if not found.entry.is_symlink():
            return True
        end = os.path.realpath(found.entry.path)
        return is_within(end, str(root.folder)) and self.place.may_read(end)


def _match(found: Found) -> _Match | None:
    """What is told of it; ``None`` for what is gone, or is neither a file nor a folder."""
    try:
        facts = found.entry.stat()
        is_file, is_folder = found.entry.is_file(), found.entry.is_dir()
    except OSError:
        return None
    if not is_file and not is_folder:
        return None
    return _Match(facts.st_mtime_ns, found.name, "file" if is_file else "dir", facts.st_size if is_file else 0)


def _split(pattern: str) -> tuple[str, list[str]]:
    """The path at the beginning of a pattern, and the names from the first one with wildcards on, or the last."""
    parts = pattern.split("/")
    while len(parts) > 1 and parts[-1] == "":
        parts.pop()
    end = next((i for i, part in enumerate(parts) if _WILD & set(part)), len(parts) - 1)
    fixed = "/".join(parts[:end]) or ("/" if end and parts[0] == "" else "")
    return fixed, [part for part in parts[end:] if part not in ("", ".")]


def _is_hidden(glob: str) -> bool:
    return glob.rstrip("/").rpartition("/")[2].startswith(".")
