"""The context with a journal: a conversation survives its process, and what was said stays said."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import amplifier_module_context_persistent as module
from amplifier_core.events import CONTEXT_PRE_COMPACT
from amplifier_core.models import HookResult
from amplifier_core.testing import MockProvider, TestCoordinator
from amplifier_module_context_persistent.context import PersistentContext
from amplifier_module_context_persistent.errors import JournalError, JournalLockedError
from amplifier_module_context_persistent.memory_files import MemoryFileError
from amplifier_module_context_persistent.records import to_line
from amplifier_module_context_persistent.thinking import without_loose_thinking

Messages = list[dict[str, Any]]


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the journals of a test are, in a home of its own."""
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "journal"


@asynccontextmanager
async def mounted(path: Path, **config: Any) -> AsyncGenerator[PersistentContext]:
    """The context of a session whose journal is at ``path``, for the time of the block."""
    coordinator = TestCoordinator()
    clean_up = await module.mount(coordinator, {"transcript_path": str(path), **config})
    try:
        yield coordinator.get("context")
    finally:
        await clean_up()


def user(text: str) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": text}


def lines_of(path: Path) -> Messages:
    """The records of a journal, without the times in them."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for record in records:
        record.pop("metadata", None)
        record.pop("created", None)
    return records


def write(path: Path, *records: dict[str, Any]) -> None:
    """Makes a journal as others may write it."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def raw(path: Path) -> bytes:
    """A journal as it is."""
    return path.read_bytes()


def texts(messages: Messages) -> list[Any]:
    """What messages say."""
    return [message["content"] for message in messages]


HEADER = {"record": "header", "version": 1, "session_id": "test-session"}


async def test_a_message_is_in_the_journal_when_it_is_added(journal: Path) -> None:
    """Each message is a line of its own as soon as add_message returns, as memory has it."""
    async with mounted(journal) as context:
        assert (context.path, context.is_resumed) == (journal, False)
        await context.add_message(user("one"))
        assert lines_of(journal) == [HEADER, user("one")]
        await context.add_message({"role": "assistant", "content": "two"})
        assert lines_of(journal) == [HEADER, user("one"), {"role": "assistant", "content": "two"}]
        in_memory = await context.get_messages()
        assert all(to_line(message) in raw(journal) for message in in_memory)
        assert in_memory[0]["metadata"].keys() == {"timestamp"}


async def test_a_refused_message_is_nowhere(journal: Path) -> None:
    """A message without a role is neither in memory nor in the file."""
    async with mounted(journal) as context:
        with pytest.raises(ValueError, match="'role'"):
            await context.add_message({"content": "who?"})
        assert await context.get_messages() == []
    assert lines_of(journal) == [HEADER]


async def test_a_session_goes_on_where_it_was(journal: Path) -> None:
    """What was said before is there after a restart, to the byte, and what is added stands behind it."""
    async with mounted(journal) as context:
        await context.add_message(user("one"))
        before = await context.get_messages()
    async with mounted(journal) as context:
        assert context.is_resumed
        assert await context.get_messages() == before
        await context.add_message(user("two"))
    async with mounted(journal) as context:
        assert texts(await context.get_messages()) == ["one", "two"]
    assert lines_of(journal) == [HEADER, user("one"), user("two")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.builds(
    lambda role, content, more: {**more, "role": role, "content": content},
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.text() | JSON,
    st.dictionaries(st.text(), JSON, max_size=2),
)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(MESSAGES, max_size=6))
def test_any_conversation_comes_back_and_is_sent_as_before(messages: Messages) -> None:
    """Messages, and the request made of them, are the same before and after a restart."""

    async def both() -> list[Any]:
        found: list[Any] = []
        with TemporaryDirectory() as folder:
            for additions in (messages, []):
                async with mounted(Path(folder) / "journal", durability="none") as context:
                    for message in additions:
                        await context.add_message(message)
                    found.append((await context.get_messages(), await context.get_messages_for_request()))
        return found

    before, after = asyncio.run(both())
    assert after == before
    assert [{**message, "metadata": None} for message in after[0]] == [
        {**message, "metadata": None} for message in messages
    ]


def turn(number: int) -> Messages:
    """A turn with a tool call."""
    call = {"id": f"call-{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        user(f"question {number} " + "why " * 50),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call-{number}", "content": f"result {number} " + "data " * 200},
        {"role": "assistant", "content": f"answer {number}"},
    ]


def compactions_in(path: Path) -> Messages:
    """The compactions that a journal tells of."""
    return [record for record in lines_of(path) if record.get("record") == "compaction"]


@pytest.mark.parametrize("strategy", ["truncate", "summarize"])
async def test_a_resumed_session_sends_the_identical_beginning(journal: Path, strategy: str) -> None:
    """After compactions, and however often it is resumed, the request is the same to the byte, summary included."""
    provider = MockProvider(["the summary"] * 100)
    config = {"max_tokens": 3_000, "strategy": strategy}
    async with mounted(journal, **config) as context:
        before = ""
        for number in range(60):
            for message in turn(number):
                await context.add_message(message)
            before = json.dumps(await context.get_messages_for_request(provider=provider))
        history = await context.get_messages()
    compactions = compactions_in(journal)
    assert len(compactions) > 1
    assert ("the summary" in before) == (strategy == "summarize")
    summaries = provider.complete.call_count
    for _ in range(2):
        async with mounted(journal, **config) as context:
            assert json.dumps(await context.get_messages_for_request(provider=provider)) == before
            assert await context.get_messages() == history
    assert (provider.complete.call_count, compactions_in(journal)) == (summaries, compactions)


async def test_a_plan_that_fits_no_longer_is_not_followed(journal: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A plan for other messages, or none at all, is left alone: the whole conversation is there."""
    good = {"covers": 1, "dropped": [[0, 1]], "stubbed": [], "clipped": [], "summary": "", "notice": ""}
    for plan, count in (({"covers": "all"}, 2), (good, 1), ({**good, "covers": 5}, 2)):
        write(journal, user("one"), user("two"), {"record": "compaction", "messages": count, "plan": plan})
        async with mounted(journal) as context:
            assert texts(await context.get_messages_for_request()) == ["one", "two"]
    assert caplog.messages[0].startswith(
        f"The conversation in {journal} has to be healed: The stored plan of a compaction is not followed: "
    )


async def test_a_plan_that_cannot_be_stored_holds_nevertheless(
    journal: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A full disk does not keep a request from being shortened; it is told."""
    async with mounted(journal, max_tokens=1_000) as context:
        for message in chain.from_iterable(map(turn, range(10))):
            await context.add_message(message)
        with monkeypatch.context() as full:
            full.setattr(os, "write", refuse)
            view = await context.get_messages_for_request()
        assert len(view) < 40
    assert [message for message in caplog.messages if "plan" in message] != []
    assert compactions_in(journal) == []


async def test_a_plan_for_a_cleared_conversation_is_not_stored(journal: Path) -> None:
    """When a conversation is cleared while it is being compacted, the next one is not shown by its plan."""
    coordinator = TestCoordinator()
    clean_up = await module.mount(coordinator, {"transcript_path": str(journal), "max_tokens": 1_000})
    context = coordinator.get("context")

    async def clear(event: str, data: dict[str, Any]) -> HookResult:
        await context.clear()
        return HookResult()

    coordinator.hooks.register(CONTEXT_PRE_COMPACT, clear)
    for message in chain.from_iterable(map(turn, range(10))):
        await context.add_message(message)
    assert await context.get_messages_for_request() == []
    for number in range(50):
        await context.add_message(user(str(number)))
    await clean_up()
    assert compactions_in(journal) == []
    async with mounted(journal) as resumed:
        assert texts(await resumed.get_messages_for_request()) == [str(number) for number in range(50)]


def refuse(*arguments: Any) -> Any:
    """What the system does when the disk is full."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_what_is_not_in_the_journal_is_not_in_memory(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full nothing is added, replaced or forgotten; memory and file still say the same."""
    async with mounted(journal) as context:
        await context.add_message(user("one"))
        with monkeypatch.context() as full:
            full.setattr(os, "write", refuse)
            for attempt in (context.add_message(user("two")), context.set_messages([user("three")]), context.clear()):
                with pytest.raises(JournalError, match="No space left on device"):
                    await attempt
        assert texts(await context.get_messages()) == ["one"]
        await context.add_message(user("four"))
        assert texts(await context.get_messages()) == ["one", "four"]
    assert lines_of(journal) == [HEADER, user("one"), user("four")]


async def test_clear_is_a_line_of_its_own(journal: Path) -> None:
    """Forgetting does not empty the file: what was said before stands there and no longer counts."""
    async with mounted(journal) as context:
        await context.clear()
        await context.add_message(user("one"))
        await context.clear()
        assert await context.get_messages() == []
        await context.add_message(user("two"))
    assert lines_of(journal) == [HEADER, user("one"), {"record": "clear"}, user("two")]
    async with mounted(journal) as context:
        assert texts(await context.get_messages()) == ["two"]


async def test_a_fresh_session_takes_messages_from_outside(journal: Path) -> None:
    """set_messages() replaces what is there, in one step, and is kept like anything else."""
    async with mounted(journal) as context:
        await context.set_messages([user("one"), user("two")])
        await context.set_messages([user("three")])
        with pytest.raises(ValueError, match="'role'"):
            await context.set_messages([user("four"), {}])
        assert texts(await context.get_messages()) == ["three"]
    assert lines_of(journal) == [HEADER, user("one"), user("two"), {"record": "clear"}, user("three")]


async def test_a_resumed_session_ignores_messages_from_outside(journal: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The journal is the authority, until the conversation is cleared."""
    caplog.set_level(logging.INFO, logger="amplifier_module_context_persistent")
    write(journal, user("one"))
    async with mounted(journal) as context:
        await context.set_messages([user("filtered")])
        assert texts(await context.get_messages()) == ["one"]
        assert caplog.messages == [
            f"Resumed 1 messages from {journal}",
            f"set_messages() is ignored: the session was resumed from {journal}",
        ]
        await context.clear()
        assert not context.is_resumed
        await context.set_messages([user("two")])
    assert lines_of(journal) == [user("one"), {"record": "clear"}, user("two")]


async def test_a_cleared_journal_is_a_fresh_one(journal: Path) -> None:
    """Where nothing is left of a conversation there is nothing to resume."""
    write(journal, user("one"), {"record": "clear"})
    async with mounted(journal) as context:
        assert (await context.get_messages(), context.is_resumed) == ([], False)


async def test_many_at_once_keep_one_order(journal: Path) -> None:
    """With a slow disk as well, file and memory have the same messages in the same order."""
    async with mounted(journal, durability="fsync") as context:
        await asyncio.gather(*(context.add_message(user(str(number))) for number in range(20)), context.clear())
        await asyncio.gather(
            context.set_messages([user("zero")]), *(context.add_message(user(str(number))) for number in range(20))
        )
        said = texts(await context.get_messages())
        assert said == ["zero", *map(str, range(20))]
    async with mounted(journal) as context:
        assert texts(await context.get_messages()) == said


async def test_after_clean_up_nothing_can_be_added(journal: Path) -> None:
    """A context that has lost its journal says so; what it knows can still be read."""
    async with mounted(journal) as context:
        await context.add_message(user("one"))
    with pytest.raises(JournalError, match="is closed, since its session was cleaned up"):
        await context.add_message(user("two"))
    assert texts(await context.get_messages()) == ["one"]
    assert texts(await context.get_messages_for_request()) == ["one"]


async def test_two_sessions_cannot_have_one_journal(journal: Path) -> None:
    """The second one does not mount, and the first goes on undisturbed."""
    async with mounted(journal) as context:
        with pytest.raises(JournalLockedError):
            await module.mount(TestCoordinator(), {"transcript_path": str(journal)})
        await context.add_message(user("one"))
    assert lines_of(journal) == [HEADER, user("one")]


async def test_a_broken_conversation_is_healed_in_the_view(journal: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Lost results, invalid names, NUL and loose thinking never reach a provider; history and file stay as they are."""
    thought = {"type": "thinking", "thinking": "hm"}
    signed = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_call", "id": "c", "name": "bad name", "input": {}}
    history = [user("NUL \0"), {"role": "assistant", "content": [thought, signed, call]}]
    write(journal, {"garbage": 1}, *history)
    before = raw(journal)
    async with mounted(journal) as context:
        view = await context.get_messages_for_request()
        assert view[:2] == [user("NUL "), {"role": "assistant", "content": [signed, {**call, "name": "bad_name"}]}]
        assert [(message["role"], message["tool_call_id"]) for message in view[2:]] == [("tool", "c")]
        assert await context.get_messages() == history
        await context.clear()
        assert await context.get_messages() == []
    assert raw(journal) == before + b'{"record":"clear"}\n'
    assert caplog.messages[0] == (
        f"The conversation in {journal} has to be healed: 1 unreadable lines of the journal are left out: 1; "
        "Thinking without a signature is left out of 1 messages"
    )


THOUGHT = {"type": "thinking", "thinking": "hm"}
LEFT_OUT = [{"type": "text", "text": "[Thinking is left out.]"}]


@pytest.mark.parametrize(
    ("message", "sendable"),
    [
        ({"content": "text"}, None),
        ({"content": ["text", {"type": "text"}, {"type": "thinking", "signature": "s"}]}, None),
        ({"content": [{"type": "thinking", "content": ["state"]}, {"type": "redacted_thinking", "data": "d"}]}, None),
        ({"content": [THOUGHT, "text", {"type": "redacted_thinking"}]}, {"content": ["text"]}),
        ({"content": [THOUGHT]}, {"content": LEFT_OUT}),
        ({"content": [THOUGHT], "tool_calls": [{"id": "c"}]}, {"content": [], "tool_calls": [{"id": "c"}]}),
    ],
)
def test_thinking_without_a_proof_is_left_out(message: dict[str, Any], sendable: dict[str, Any] | None) -> None:
    """Only what a provider takes back stays, and a message that has nothing else to say is not left empty."""
    result = without_loose_thinking(message)
    assert result is message if sendable is None else result == sendable


async def test_many_unreadable_lines_are_counted(journal: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A journal full of garbage is told in one line."""
    write(journal, *[{"garbage": 1}] * 100)
    async with mounted(journal) as context:
        assert await context.get_messages() == []
    numbers = ", ".join(map(str, range(1, 21)))
    assert caplog.messages == [
        f"The conversation in {journal} has to be healed: 100 unreadable lines of the journal are left out: "
        f"{numbers}, …"
    ]


async def test_memory_files_begin_a_fresh_conversation(journal: Path, tmp_path: Path) -> None:
    """They are system messages in the journal, so a resumed session has them even if the files are gone."""
    (tmp_path / "style.md").write_text("Be brief.")
    (tmp_path / "facts.md").write_text("Water is wet.")
    expected = ["[Context from style.md]\nBe brief.", "[Context from facts.md]\nWater is wet."]
    async with mounted(journal, memory_files=["style.md", "facts.md"]) as context:
        assert texts(await context.get_messages_for_request()) == expected
    assert [record.get("role") for record in lines_of(journal)] == [None, "system", "system"]
    (tmp_path / "style.md").unlink()
    async with mounted(journal, memory_files=["style.md", "facts.md"]) as context:
        assert texts(await context.get_messages_for_request()) == expected


async def test_a_missing_memory_file_keeps_the_session_from_starting(journal: Path, tmp_path: Path) -> None:
    """The error names it, and the journal is free again."""
    with pytest.raises(MemoryFileError, match=f"The memory file {tmp_path}/missing cannot be read"):
        await module.mount(TestCoordinator(), {"transcript_path": str(journal), "memory_files": ["missing"]})
    async with mounted(journal) as context:
        assert not context.is_resumed
