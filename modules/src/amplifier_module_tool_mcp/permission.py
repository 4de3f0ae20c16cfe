"""Whether servers that a project brings along may run: a file in somebody's repository must not start programs here.

What a person has allowed is kept, for this project and exactly this entry.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, cast

from amplifier_modkit.locations import amplifier_home
from amplifier_module_tool_mcp.errors import NotAllowedError
from amplifier_module_tool_mcp.files import Written
from amplifier_module_tool_mcp.texts import error_line, name_line

_OPTIONS = ["Allow", "Deny"]
_ANSWER_S = 300.0
_MOST_SHOWN_CHARS = 300


def allowed_path() -> Path:
    """The file of what people have allowed."""
    return amplifier_home() / "mcp-allowed.json"


class Permissions:
    """Asks for the servers of one project, one question at a time."""

    def __init__(
        self, mode: Literal["ask", "allow", "ignore"], working_dir: Path, find_asker: Callable[[], Any]
    ) -> None:
        self._mode = mode
        self._working_dir = working_dir
        self._find_asker = find_asker
        self._one_at_a_time = asyncio.Lock()

    async def require(self, name: str, written: Written) -> None:
        """Returns if the server may run; raises ``NotAllowedError`` otherwise."""
        if not written.is_from_project or self._mode == "allow":
            return
        async with self._one_at_a_time:
            mark = self._mark(name, written)
            if self._mode == "ask" and (await asyncio.to_thread(_is_known, mark) or await self._ask(name, written)):
                await asyncio.to_thread(_remember, mark)
                return
        raise NotAllowedError(
            f"it comes with the project, in {written.source}, and nobody has allowed it; if you trust it, allow it "
            "when asked, copy it into your own mcp.json, or set 'project_servers: allow' for tool-mcp"
        )

    async def _ask(self, name: str, written: Written) -> bool:
        asker = self._find_asker()
        if asker is None:
            return False
        prompt = f"The project wants to start the MCP server '{name_line(name)}': {_shown(written.entry)}"
        with contextlib.suppress(Exception):  # nobody there, or no answer in time
            return str(await asker.request_approval(prompt, _OPTIONS, _ANSWER_S, "deny")) == _OPTIONS[0]
        return False

    def _mark(self, name: str, written: Written) -> str:
        told = json.dumps([str(self._working_dir), name, written.entry], sort_keys=True, default=str)
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def _shown(entry: Any) -> str:
    fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    words = [fields.get("command"), *(fields.get("args") or ()), fields.get("url")]
    return error_line(" ".join(str(word) for word in words if word))[:_MOST_SHOWN_CHARS]


def _is_known(mark: str) -> bool:
    return mark in _known()


def _known() -> list[str]:
    try:
        marks: Any = json.loads(allowed_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return cast("list[str]", marks) if isinstance(marks, list) else []


def _remember(mark: str) -> None:
    known = _known()
    if mark in known:
        return
    path = allowed_path()
    with contextlib.suppress(OSError):  # then it is asked again
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{os.getpid()}.part")
        partial.write_text(json.dumps([*known, mark]), encoding="utf-8")
        partial.replace(path)
