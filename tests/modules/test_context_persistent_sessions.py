"""A session with a journal: where it is, what hooks hear of it, and what keeps it from starting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import amplifier_module_context_persistent as module
from amplifier_core import AmplifierSession, ModuleLoader
from amplifier_core.events import CONTEXT_INCLUDE
from amplifier_core.module_sources import ModuleLoadError
from amplifier_core.testing import EventRecorder, MockProvider, TestCoordinator
from amplifier_modkit.events import CONTEXT_HEALED, CONTEXT_JOURNAL_REPAIRED
from amplifier_modkit.memory.policy import ContextConfig
from amplifier_module_context_persistent.config import PersistentContextConfig

ALWAYS_THERE = {"session_id", "parent_id", "timestamp"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and a working directory beside it."""
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path.resolve() / "home"


def user(text: str) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": text}


def list_of(folder: Path) -> list[Path]:
    """What is in a folder."""
    return list(folder.iterdir())


def texts_in(path: Path) -> list[str]:
    """What the messages in a journal say."""
    records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [record["content"] for record in records if "role" in record]


class Loop:
    """An orchestrator that says one thing."""

    async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any, **more: Any) -> str:
        await context.add_message(user(prompt))
        return prompt


class Shelf(ModuleLoader):
    """The usual loader, with an orchestrator and a hook module of this test."""

    def __init__(self, ears: EventRecorder) -> None:
        super().__init__()
        self.ears = ears

    async def load(self, module_id: str, *arguments: Any, **more: Any) -> Any:
        if module_id == "loop":
            return lambda coordinator: coordinator.mount("orchestrator", Loop())
        return self.listen if module_id == "ears" else await super().load(module_id, *arguments, **more)

    async def listen(self, coordinator: Any) -> None:
        for events in await coordinator.collect_contributions("observability.events"):
            for event in events:
                if event.startswith("context:"):
                    coordinator.hooks.register(event, self.ears)


def plan(**config: Any) -> dict[str, Any]:
    """A session with a journal, and with somebody who listens."""
    context = {"module": "context-persistent", "config": config}
    return {"session": {"orchestrator": "loop", "context": context}, "providers": [], "tools": [], "hooks": ["ears"]}


async def run_session(
    plan: dict[str, Any], prompt: str
) -> tuple[list[dict[str, Any]], list[tuple[str, dict[str, Any]]]]:
    """One turn of a session named s-1: the messages after it, and the events of its context."""
    ears = EventRecorder()
    session = AmplifierSession(plan, loader=Shelf(ears), session_id="s-1")
    await session.initialize()
    session.coordinator.mount("providers", MockProvider(), name="mock")
    try:
        await session.execute(prompt)
        messages = await session.coordinator.get("context").get_messages()
    finally:
        await session.cleanup()
    assert session.report.cleanup_errors == []
    return messages, ears.events


async def test_a_session_keeps_its_journal_where_the_rest_of_it_is(home: Path) -> None:
    """Without a path of its own it is in the folder of the session, and a session of the same name goes on with it."""
    assert [each["content"] for each in (await run_session(plan(), "one"))[0]] == ["one"]
    assert [each["content"] for each in (await run_session(plan(), "two"))[0]] == ["one", "two"]
    slug = str(home.parent).replace("/", "-")
    assert texts_in(home / "projects" / slug / "sessions/s-1/transcript.jsonl") == ["one", "two"]


async def test_hooks_hear_what_happened_while_the_journal_was_opened(tmp_path: Path) -> None:
    """They are mounted after the context, which tells them of repairs, lines left out and memory files afterwards."""
    (tmp_path / "facts.md").write_text("Wäter is wet.")
    (tmp_path / "journal").write_bytes(b"garbage\n{torn")
    config = {"transcript_path": "{session_id}/../journal", "memory_files": ["facts.md"]}
    (tmp_path / "s-1").mkdir()
    _, events = await run_session(plan(**config), "one")
    path = tmp_path / "s-1/../journal"
    own = [(event, {key: data[key] for key in data if key not in ALWAYS_THERE}) for event, data in events]
    assert own == [
        (CONTEXT_JOURNAL_REPAIRED, {"path": str(path), "bytes": 5, "saved_to": f"{path}.torn-1"}),
        (CONTEXT_HEALED, {"notes": ["1 unreadable lines of the journal are left out: 1"], "count": 1}),
        (CONTEXT_INCLUDE, {"source": str(tmp_path / "facts.md"), "bytes": 14, "token_count": 4}),
    ]


async def test_a_line_end_that_was_added_is_told_as_well(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A record that only lacked its end is complete again, and nothing was moved."""
    journal = tmp_path / "journal"
    journal.write_text(json.dumps(user("one")))
    _, events = await run_session(plan(transcript_path="journal"), "two")
    assert [(event, data["bytes"], data["saved_to"]) for event, data in events] == [(CONTEXT_JOURNAL_REPAIRED, 0, None)]
    assert f"The journal {journal} ended in the middle of a line: its end was added" in caplog.messages
    assert texts_in(journal) == ["one", "two"]


async def test_a_context_in_the_place_of_this_one_is_left_alone() -> None:
    """When another module has replaced it, there is nothing to tell."""
    coordinator = TestCoordinator()
    await module.on_session_ready(coordinator)
    assert coordinator.get("context") is None


@pytest.mark.parametrize("session_id", ["../up", "a/b"])
async def test_a_session_id_that_is_no_file_name_does_not_start(home: Path, session_id: str) -> None:
    """It is refused before anything is made on the disk."""
    session = AmplifierSession(plan(), loader=Shelf(EventRecorder()), session_id=session_id)
    with pytest.raises(RuntimeError, match="cannot be the name of a folder"):
        await session.initialize()
    assert list_of(home.parent) == []


async def test_the_config_has_the_keys_of_all_contexts_and_its_own() -> None:
    """Defaults, and the keys that plans for the existing module have; a bad value keeps the session from starting."""
    assert PersistentContextConfig.read({}).model_dump() == {
        **ContextConfig.read({}).model_dump(),
        "protected_recent": 0.10,
        "transcript_path": None,
        "memory_files": (),
        "durability": "group",
        "group_interval_ms": 200,
        "truncate_boundary": 0.50,
    }
    for bad in ({"durability": "often"}, {"group_interval_ms": -1}, {"transcript_path": ""}, {"memory_files": "x"}):
        session = AmplifierSession(plan(**bad), loader=Shelf(EventRecorder()))
        with pytest.raises(RuntimeError) as caught:
            await session.initialize()
        assert isinstance(caught.value.__cause__.__cause__, ModuleLoadError)  # pyright: ignore[reportOptionalMemberAccess]
        assert f"key '{next(iter(bad))}'" in str(caught.value)


async def test_unknown_keys_are_told() -> None:
    """A misspelt key is reported, not ignored in silence; one that only the existing module uses is known."""
    session = AmplifierSession(plan(memory_file=["x"], truncate_boundary=0.5), loader=Shelf(EventRecorder()))
    await session.initialize()
    await session.cleanup()
    assert [(each.key, each.nearest) for each in session.report.unknown_keys] == [("memory_file", "memory_files")]
