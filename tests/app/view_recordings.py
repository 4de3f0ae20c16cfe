"""Recorded event streams for tests of the chat's view: real sessions on the scripted provider, kept as JSON lines.

``python -m tests.app.view_recordings`` makes them anew. A test compares the kinds of events with those of a fresh run.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from amplifier.tui.view.theme import Theme
from amplifier.tui.view.view import View
from amplifier_core import AmplifierSession
from amplifier_core.utils.jsonable import to_jsonable

RECORDINGS = Path(__file__).with_name("recordings")
GOLDEN = Path(__file__).with_name("golden") / "view"
PLAIN = Theme(has_colour=False)
Event = tuple[str, dict[str, Any]]

_LEFT_OUT = ("timestamp", "messages", "response", "config", "raw", "stats", "tool_result", "metadata", "request_id")
_ANSWER = """# What I did

I changed **one** line in `a.txt`; see [the guide](https://example.org/guide).

1. looked at it
2. changed it
   - with care

| file | lines |
|------|-------|
| a.txt | 3 |

```python
def double(number: int) -> int:
    \"\"\"Twice as much.\"\"\"
    return number * 2
```

日本語 and e\u0301 work \u2014 so does \U0001f468\u200d\U0001f469\u200d\U0001f467.
"""


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _agent(*script: Any) -> dict[str, Any]:
    model = {"module": "provider-mock", "config": {"script": list(script)}}
    return {"description": "Works.", "instruction": "You work.", "providers": [model]}


PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-2\n+zwei\n three\n"
SCRIPTS: dict[str, list[Any]] = {
    "edits": [
        {
            "thinking": "The user wants a change.\nI look at the file first.",
            "text": "Let me *look*.",
            "tool_calls": [
                _call("write_file", file_path="a.txt", content="one\ntwo\nthree\n"),
                _call("bash", command="echo hello; echo trouble >&2"),
            ],
        },
        {"tool_calls": [_call("edit_file", file_path="a.txt", old_string="two", new_string="2")]},
        {"tool_calls": [_call("apply_patch", patch=PATCH), _call("read_file", file_path="missing")]},
        {"tool_calls": [_call("nosuch"), _call("bash", command="echo no >&2; exit 3")]},
        {"text": _ANSWER, "chunks": 7, "usage": {"input_tokens": 1200, "output_tokens": 80, "cost_usd": "0.0123"}},
    ],
    "agents": [
        {
            "tool_calls": [
                _call("task", agent="painter", instruction="Paint the wall"),
                _call("task", agent="mason", instruction="Build the wall"),
            ]
        },
        "Both are done.",
    ],
    "broken": [{"text": "It begins well and then", "chunks": 5, "break_after": 3}, "It ends well."],
    "hostile": [
        {
            "text": "Look \x1b[31mred\x1b[0m \x1b]0;title\x07 and \u202eback\u202c.\n\n```\n\x1b[2Jcode\n```\n",
            "tool_calls": [_call("bash", command="printf '\\033[2J\\033]0;owned\\007done\\n'")],
        },
        "Well.",
    ],
}
_AGENTS = {
    "painter": _agent(
        {"thinking": "Red?", "tool_calls": [_call("bash", command="echo paint")]}, "It is **red**.\n\nDry."
    ),
    "mason": _agent({"tool_calls": [_call("bash", command="echo stone")]}, "It stands."),
}


def load(name: str) -> list[Event]:
    """The events of a recording."""
    lines = (RECORDINGS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [(entry["event"], entry["data"]) for entry in map(json.loads, lines)]


async def record(name: str) -> list[Event]:
    """The events of a fresh run of a script, without what differs from run to run."""
    events: list[Event] = []
    with tempfile.TemporaryDirectory() as folder:
        session = AmplifierSession(_plan(name), session_id="root")
        session.coordinator.register_capability("session.working_dir", folder)
        try:
            await session.initialize()

            async def tap(event: str, data: dict[str, Any]) -> None:
                events.append((event, data))

            session.coordinator.hooks.tap(tap)
            await session.execute("Change the file")
        finally:
            await session.cleanup()
        return [(event, _steady(data, folder)) for event, data in events]


def _plan(name: str) -> dict[str, Any]:
    return {
        "session": {"orchestrator": "loop-streaming", "context": "context-simple"},
        "providers": [{"module": "provider-mock", "config": {"script": SCRIPTS[name]}}],
        "tools": ["tool-filesystem", "tool-bash", "tool-task"],
        "agents": _AGENTS,
    }


def _steady(data: dict[str, Any], folder: str) -> dict[str, Any]:
    kept = {key: value for key, value in data.items() if key not in _LEFT_OUT}
    text = json.dumps(to_jsonable(kept), ensure_ascii=False)
    text = text.replace(str(Path(folder).resolve()), "/project").replace(folder, "/project")
    text = re.sub(r"root-[0-9a-f]+_", "root-", text)
    text = re.sub(r'"(duration_ms|elapsed_ms)": [0-9.]+', r'"\1": 120.0', text)
    return json.loads(text)


class Stage:
    """A view with a terminal of its own: what is printed, and a clock that goes on as told."""

    def __init__(self, width: int = 80, rows: int = 24, theme: Theme = PLAIN, **options: Any) -> None:
        self.size = (width, rows)
        self.now = 0.0
        self.text = ""
        self.view = View(self._write, lambda: self.size, theme, clock=lambda: self.now, **options)

    def play(self, events: list[Event], *, step_s: float = 0.1) -> None:
        """Tells the view of the events, with so much time between them."""
        for event, data in events:
            self.now += step_s
            self.view.event(event, data)

    def shown(self) -> str:
        """What is printed by now and what lives, as one page."""
        live = "".join(f"{line}\n" for line in (*self.view.live_lines(), self.view.status_line()))
        return f"{self.text}----\n{live}"

    def _write(self, text: str) -> None:
        self.text += text


PAGES = {
    "edits-80": ("edits", 80, PLAIN),
    "edits-24": ("edits", 24, PLAIN),
    "edits-colour": ("edits", 72, Theme()),
    "edits-reader": ("edits", 60, Theme(has_colour=False, is_plain=True)),
    "edits-unfolded": ("edits", 60, Theme(has_colour=False, is_unfolded=True)),
    "agents-60": ("agents", 60, PLAIN),
    "agents-reader": ("agents", 60, Theme(has_colour=False, is_plain=True)),
    "broken-60": ("broken", 60, PLAIN),
    "hostile-60": ("hostile", 60, PLAIN),
}


def page(name: str) -> str:
    """What a recording looks like on the terminal of that page."""
    recording, width, theme = PAGES[name]
    stage = Stage(width, theme=theme)
    stage.view.status(mode="default", context_window=8_000)
    stage.view.print_user("Change the file")
    stage.play(load(recording))
    return stage.shown()


def main() -> None:
    """Writes all recordings, and how they look."""
    for name in SCRIPTS:
        events = asyncio.run(record(name))
        lines = (json.dumps({"event": event, "data": data}, ensure_ascii=False) for event, data in events)
        (RECORDINGS / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    write_pages()


def write_pages() -> None:
    """Writes how the recordings look."""
    GOLDEN.mkdir(exist_ok=True)
    for name in PAGES:
        (GOLDEN / f"{name}.txt").write_text(page(name), encoding="utf-8")


if __name__ == "__main__":
    main()
