"""A tool call as the guard judges it: the parsed command, the resolved paths, the host; whatever its tool has."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from amplifier_modkit import shell
from amplifier_modkit.paths.spelling import absolute
from amplifier_module_hooks_approval.tool_kinds import APPLY_PATCH, BASH, PATH_KEYS, WEB_FETCH, changes_something, says

# The one way to write a URL that every reader understands alike.
_PLAIN_URL = re.compile(
    r"https?://([a-z0-9.-]+)(?::[0-9]+)?(?:[/?#][^\x00-\x20\x7f-\x9f\\\u2028\u2029]*)?", re.IGNORECASE
)
_PATCH_BEGIN = "*** Begin Patch"
_PATCH_PATH = re.compile(r"\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)")


class UnreadableCallError(ValueError):
    """What was told of a call is not enough to judge it."""


@dataclass(frozen=True, slots=True)
class CallPath:
    """A path in a call."""

    written: str
    """Absolute, links not followed."""
    resolved: str
    """Links followed."""


@dataclass(frozen=True)
class Call:
    """One call; what takes time or asks the file system is worked out when it is asked for, in the guard's thread."""

    name: str
    input: Mapping[str, Any]
    session_id: str
    call_id: str
    emitted: str
    """When the guards were asked about it; with the ids it tells one question from the next."""
    working_dir: Path
    tool: Any = field(repr=False, default=None)

    @cached_property
    def input_text(self) -> str:
        """The input as text; equal for equal inputs."""
        return as_text(self.input)

    @property
    def key(self) -> tuple[str, ...]:
        """What one question is about."""
        return (self.session_id, self.call_id, self.emitted, self.name, self.input_text)

    @cached_property
    def changes(self) -> bool:
        """Whether it may write, run or send something."""
        return changes_something(self.name, self.input, self.tool)

    @property
    def wants_approval(self) -> bool:
        """Whether the tool itself says that it needs approval."""
        return says(self.tool, "require_approval")

    @cached_property
    def command(self) -> shell.ParsedCommand | None:
        """What ``bash`` is to run; ``None`` if the input has no text there."""
        text = self.input.get("command")
        return shell.parse(text) if isinstance(text, str) else None

    @cached_property
    def paths(self) -> tuple[CallPath, ...] | None:
        """The paths that it is about; ``None`` if they are not known."""
        named = _named_paths(self.name, self.input)
        if named is None:
            return None
        try:
            written = [absolute(path, self.working_dir) for path in named]
            return tuple(CallPath(os.path.normpath(path), os.path.realpath(path)) for path in written)
        except (OSError, ValueError):
            return None

    @property
    def host(self) -> str | None:
        """The host that a URL leads to; ``None`` if it is written in a way that can be read differently."""
        url = self.input.get("url")
        found = _PLAIN_URL.fullmatch(url) if isinstance(url, str) else None
        return None if found is None else found[1].lower().rstrip(".")

    @property
    def is_about_command(self) -> bool:
        """Whether specifiers are about its command."""
        return self.name == BASH

    @property
    def is_about_paths(self) -> bool:
        """Whether specifiers are about its paths."""
        return self.name in PATH_KEYS or self.name == APPLY_PATCH

    @property
    def is_about_host(self) -> bool:
        """Whether it has a host."""
        return self.name == WEB_FETCH

    @property
    def subject(self) -> str:
        """What people have to know of it, in full."""
        text = self.input.get("command")
        return text if self.is_about_command and isinstance(text, str) else self.input_text


def read_call(data: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The tool's name and its input in what ``tool:pre`` tells; raises ``UnreadableCallError``."""
    name, tool_input = data.get("tool_name"), data.get("tool_input")
    if not isinstance(name, str) or not name:
        raise UnreadableCallError("the event names no tool, so the call cannot be judged")
    if not isinstance(tool_input, Mapping):
        raise UnreadableCallError(f"the input of '{name[:200]}' is no object, so the call cannot be judged")
    return name, cast("Mapping[str, Any]", tool_input)


def as_text(tool_input: Mapping[str, Any]) -> str:
    """An input as text; equal for equal inputs."""
    return json.dumps(dict(tool_input), sort_keys=True, ensure_ascii=False, default=repr)


def _named_paths(name: str, given: Mapping[str, Any]) -> list[str] | None:
    if name == APPLY_PATCH:
        return _patched_paths(given.get("patch"))
    path = given.get(PATH_KEYS[name]) if name in PATH_KEYS else None
    if path is None and name in ("grep", "glob"):
        return ["."]
    return [path] if isinstance(path, str) else None


def _patched_paths(patch: Any) -> list[str] | None:
    """The files of a patch in the form of agents; a unified diff says in too many ways which files it is about."""
    if not isinstance(patch, str) or not patch.lstrip().startswith(_PATCH_BEGIN):
        return None
    lines = [line.removesuffix("\r") for line in patch.split("\n")]
    named = [found[1].strip() for line in lines if (found := _PATCH_PATH.fullmatch(line))]
    return named or None
