"""The files of a stored session: its journal as others write it, its metadata whatever they hold, and its documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.app.store_world import TALK, StoreWorld

from amplifier.problems import SessionProblem, StorageProblem
from amplifier.store import Metadata, to_document, to_markdown
from amplifier.store import metadata as metadata_file
from amplifier.store.exporting import read_document
from amplifier.store.transcript import append_missing, calls_in, messages_of, text_of, turn_count
from amplifier_core.testing import TestCoordinator
from amplifier_module_context_persistent import mount


async def test_the_journal_of_context_persistent_is_the_transcript(tmp_path: Path) -> None:
    """What the context writes is read here message by message, a clear included: there is no second copy."""
    coordinator = TestCoordinator()
    path = tmp_path / "transcript.jsonl"
    clean_up = await mount(coordinator, {"transcript_path": str(path)})
    context = coordinator.get("context")
    await context.add_message({"role": "user", "content": "forget this"})
    await context.clear()
    for message in TALK:
        await context.add_message(message)
    kept = await context.get_messages()
    assert messages_of(path) == kept
    await clean_up()
    assert (messages_of(path), turn_count(messages_of(path))) == (kept, 2)


async def test_context_persistent_goes_on_with_what_was_written_here(tmp_path: Path) -> None:
    """A transcript that the store wrote for another context is resumed by it."""
    path = tmp_path / "transcript.jsonl"
    append_missing(path, "test-session", "2026-01-02", TALK)
    coordinator = TestCoordinator()
    clean_up = await mount(coordinator, {"transcript_path": str(path)})
    assert [each["content"] for each in await coordinator.get("context").get_messages()] == [
        each["content"] for each in TALK
    ]
    await clean_up()


def test_only_what_is_missing_is_appended(tmp_path: Path) -> None:
    """Again and again with a growing conversation; a torn line does not swallow the next one."""
    path = tmp_path / "deep" / "transcript.jsonl"
    assert [append_missing(path, "s", "now", TALK[:count]) for count in (0, 1, 1, 3)] == [0, 1, 0, 2]
    with path.open("a") as file:
        file.write('{"role": "us')
    assert append_missing(path, "s", "now", TALK) == 1
    assert [each["role"] for each in messages_of(path)] == ["user", "assistant", "user", "assistant"]
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"")
    assert append_missing(path, "s", "now", TALK) == 4


def test_odd_lines_are_passed_over(tmp_path: Path) -> None:
    """Garbage, other values, unknown records and bytes that are no text are no messages."""
    path = tmp_path / "transcript.jsonl"
    path.write_bytes(
        b'\xff\xfe\n[1]\n{"record": "odd"}\n\n{"role": "user", "content": 1}\n{"record": "header"}\nnull\n'
    )
    assert messages_of(path) == [{"role": "user", "content": 1}]
    assert messages_of(tmp_path / "missing") == []


def test_a_transcript_that_cannot_be_read_or_written_is_a_problem(tmp_path: Path) -> None:
    """A folder in its place, and a link, are told."""
    with pytest.raises(StorageProblem, match="cannot be read"):
        messages_of(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageProblem, match="cannot be written"):
        append_missing(link, "s", "now", TALK)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "plain"}, "plain"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}, "odd", {"text": 3}, {"text": "b"}]}, "a\nb"),
        ({"content": None}, ""),
        ({}, ""),
    ],
    ids=["text", "blocks", "nothing", "missing"],
)
def test_the_text_of_a_message_is_what_it_says(message: dict[str, Any], text: str) -> None:
    """Of blocks, those that are text."""
    assert text_of(message) == text


def test_calls_are_those_that_a_message_lists() -> None:
    """What is no list, and entries that are no calls, are passed over."""
    assert calls_in({"tool_calls": [{"name": "x"}, "odd"]}) == [{"name": "x"}]
    assert calls_in({"tool_calls": "odd"}) == []


def test_metadata_keep_what_others_have_written(tmp_path: Path) -> None:
    """Unknown keys survive a change; values of another type count as missing."""
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps({"theirs": [1], "name": 3, "turn_count": True, "overrides": {}, "model": "m"}))
    changed = metadata_file.update(path, name="x")
    assert changed == Metadata(name="x", model="m", overrides={}, extra={"theirs": [1]})
    assert json.loads(path.read_text()) == {
        "theirs": [1], "session_id": "", "name": "x", "created": "", "updated": "", "model": "m", "turn_count": 0,
        "overrides": {},
    }  # fmt: skip


@pytest.mark.parametrize("content", ["", "{", "[]", "3"], ids=["empty", "torn", "list", "number"])
def test_broken_metadata_tell_nothing_and_break_nothing(tmp_path: Path, content: str) -> None:
    """The session can still be used; the next change writes a whole file."""
    path = tmp_path / "metadata.json"
    path.write_text(content)
    assert metadata_file.read(path) == Metadata()
    assert metadata_file.update(path, name="x").name == "x"
    assert metadata_file.read(tmp_path / "missing") is None


def test_an_export_can_be_without_secrets_and_has_nothing_of_the_machine(tmp_path: Path) -> None:
    """What is redacted is metadata and messages; options of the machine are left out."""
    session = StoreWorld(tmp_path).talked("s-1", name="key sk-1", overrides={"instruction": "x"})
    document = to_document(session, lambda value: json.loads(json.dumps(value).replace("sk-1", "***")))
    assert (document["format"], document["version"], document["metadata"]["name"]) == (
        "amplifier-session",
        1,
        "key ***",
    )
    assert "overrides" not in document["metadata"]
    assert read_document(json.dumps(document), "f")[1] == session.messages()


def test_a_conversation_can_be_read_as_markdown(tmp_path: Path) -> None:
    """Roles are headings, calls are named, results stand in fences that hold whatever is in them."""
    talk = [
        {"role": "user", "content": "List."},
        {"role": "assistant", "content": "", "tool_calls": [{"name": "bash", "arguments": {"command": "ls"}}]},
        {"role": "tool", "content": "```\nx\n```"},
        {"role": "odd", "content": ""},
    ]
    world = StoreWorld(tmp_path)
    text = to_markdown(world.talked("s-1", talk))
    assert text == (
        "# s-1\n\n- session id: s-1\n- created: 2026-01-02T09:00:00.000+00:00\n"
        f"- working dir: {world.places.working_dir}\n"
        '\n## User\n\nList.\n\n## Assistant\n\n- calls `bash` with `{"command": "ls"}`\n'
        "\n## Tool result\n\n`````\n```\nx\n```\n`````\n\n## odd\n\n(nothing)\n"
    )
    assert to_markdown(world.talked("s-2", [], name="milk")).startswith("# milk\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "f is no JSON"),
        ("[]", "f is no exported session"),
        ('{"format": "amplifier-session", "version": 2}', "f has version 2 of the format; this command reads 1"),
        ('{"format": "amplifier-session", "version": 1}', "f has no messages that can be read"),
        ('{"format": "amplifier-session", "version": 1, "metadata": {}, "messages": [{}]}', "f has no messages"),
        ('{"format": "amplifier-session", "version": 1, "metadata": {}, "messages": [3]}', "f has no messages"),
    ],
    ids=["no json", "other json", "later version", "nothing", "no role", "no message"],
)
def test_what_is_no_exported_session_is_refused(text: str, told: str) -> None:
    """The message says what was expected."""
    with pytest.raises(SessionProblem, match=told):
        read_document(text, "f")
