"""What an edit would change, as a diff, before it is allowed: for questions of which the call is known."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from amplifier.console.plain import harmless

Kind = Literal["plain", "diff"]
Key = tuple[str, str]
"""A call by its session and its id: the ids of two agents may be the same."""

_MOST_BYTES = 1 << 20
_MOST_CALLS = 200
_BEFORE_GUARDS = -1000
_SUBJECT = re.compile(r"\A(?P<head>[^\n]*\n\n)(?:  [^\n]*(?:\n|\Z))+", re.MULTILINE)
_RULED_FILE = re.compile(r"^  (?:write_file|edit_file)\(=(.+)\)$", re.MULTILINE)
"""The rule that an answer would save: it names the file as whoever asks has found it."""
_UNKNOWN: tuple[str, dict[str, Any]] = ("", {})


class Proposals:
    """The calls that may be asked about; lives as long as whoever asks."""

    def __init__(self, working_dir: Callable[[], Path]) -> None:
        self._working_dir = working_dir
        self._calls: dict[Key, tuple[str, dict[str, Any]]] = {}
        self._about: Key | None = None

    def listen(self, hooks: Any, name: str) -> None:
        """Has the hooks of a session tell of its calls, under that name."""
        from amplifier_core.events import APPROVAL_REQUIRED, TOOL_PRE

        for event, listener in ((TOOL_PRE, self.on_call), (APPROVAL_REQUIRED, self.on_required)):
            # As a guard, since agents have the guards of their parents, and their questions are asked here as well.
            hooks.register(event, listener, priority=_BEFORE_GUARDS, name=name, on_error="deny")

    async def on_call(self, event: str, data: dict[str, Any]) -> None:
        """``tool:pre`` of the session or one of its agents, before it is judged: keeps what the call is about."""
        tool_input = data.get("tool_input")
        if isinstance(data.get("tool_call_id"), str) and isinstance(tool_input, dict):
            self._calls[_key(data)] = (str(data.get("tool_name")), cast("dict[str, Any]", tool_input))
            if len(self._calls) > _MOST_CALLS:
                del self._calls[next(iter(self._calls))]

    async def on_required(self, event: str, data: dict[str, Any]) -> None:
        """``approval:required``: the question that comes next is about this call."""
        self._about = _key(data)

    def subject(self) -> Key | None:
        """What the question is about that comes now; whoever asks takes it at once, as the next may be coming."""
        about, self._about = self._about, None
        return about

    def parts(self, prompt: str, about: Key | None) -> list[tuple[str, Kind]]:
        """A question in parts, without control characters: a diff takes the place of what an edit was given."""
        subject = _SUBJECT.match(prompt)
        diff = None if subject is None else self._diff(about, prompt[subject.end() :])
        if diff is None or subject is None:
            return [(harmless(prompt), "plain")]
        head, rest = subject["head"], prompt[subject.end() :]
        return [(harmless(head).strip(), "plain"), (harmless(diff), "diff"), (harmless(rest).strip(), "plain")]

    def _diff(self, about: Key | None, words: str) -> str | None:
        """The change that a call makes; ``words`` stand below it in the question."""
        name, tool_input = self._call(about)
        ruled = _RULED_FILE.search(words)
        return proposed_diff(name, tool_input, self._working_dir(), None if ruled is None else ruled[1])

    def _call(self, about: Key | None) -> tuple[str, dict[str, Any]]:
        """The call of that key; a guard of the parent asks in the name of the parent, so an id is enough if only one
        session has it."""
        if about is None:
            return _UNKNOWN
        same = [each for key, each in self._calls.items() if key[1] == about[1]]
        return self._calls.get(about) or (same[0] if len(same) == 1 else _UNKNOWN)


def proposed_diff(
    tool_name: str, tool_input: Mapping[str, Any], working_dir: Path, resolved: str | None = None
) -> str | None:
    """The diff that a call of a tool for files stands for; ``None`` where it cannot be told.

    ``resolved`` is the file where that is known: a tool may look for the path in a folder of its own.
    """
    if tool_name == "apply_patch":
        patch = tool_input.get("patch")
        return patch if isinstance(patch, str) else None
    named = tool_input.get("file_path")
    if tool_name not in ("write_file", "edit_file") or not isinstance(named, str):
        return None
    before = text_in(working_dir / (Path(named).expanduser() if resolved is None else resolved))
    after = tool_input.get("content") if tool_name == "write_file" else edited(before, tool_input)
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


def edited(before: str | None, tool_input: Mapping[str, Any]) -> str | None:
    """What ``edit_file`` makes of a text; ``None`` where its edits do not fit."""
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


def _key(data: dict[str, Any]) -> Key:
    return str(data.get("session_id")), str(data.get("tool_call_id"))
