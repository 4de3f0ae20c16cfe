"""Bundles on the scripted provider for tests of the commands that run an agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_bundle(folder: Path, script: list[Any], name: str = "scripted", **sections: Any) -> str:
    """Writes a bundle whose model answers from ``script``; gives its path."""
    provider = {"module": "provider-mock", "config": {"script": script}}
    plan: dict[str, Any] = {
        "bundle": {"name": name},
        "session": {"orchestrator": {"module": "loop-streaming"}, "context": {"module": "context-persistent"}},
        "providers": [provider],
        **sections,
    }
    file = folder / f"{name}.md"
    file.write_text(f"---\n{json.dumps(plan)}\n---\nYou help.\n", encoding="utf-8")
    return str(file)


def calls(*named: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """An answer of the model that calls tools."""
    return {"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in named]}
