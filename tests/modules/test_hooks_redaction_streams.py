"""The redaction hook on streams: a secret in several pieces does not leak, and no text is lost."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import amplifier_module_hooks_redaction as module
from amplifier_core import HookResult
from amplifier_core.events import (
    CONTENT_BLOCK_DELTA,
    CONTENT_BLOCK_END,
    CONTENT_BLOCK_START,
    EXECUTION_END,
    THINKING_DELTA,
    THINKING_FINAL,
)
from amplifier_core.testing import TestCoordinator
from amplifier_modkit.events import (
    LLM_STREAM_ABORTED,
    LLM_STREAM_BLOCK_DELTA,
    LLM_STREAM_BLOCK_END,
    LLM_STREAM_BLOCK_START,
)
from amplifier_modkit.secrets import StreamRedactor
from amplifier_module_hooks_redaction import tails

TOKEN = "ghp_" + "a1" * 18
MASK = "[REDACTED:github-token]"
PAIRS = {
    LLM_STREAM_BLOCK_DELTA: LLM_STREAM_BLOCK_END,
    CONTENT_BLOCK_DELTA: CONTENT_BLOCK_END,
    THINKING_DELTA: THINKING_FINAL,
}


class Listener:
    """A coordinator with the module, and what a watcher hears of its pieces."""

    def __init__(self) -> None:
        self.coordinator = TestCoordinator()
        self.heard: list[tuple[str, dict[str, Any]]] = []

    @classmethod
    async def make(cls, config: dict[str, Any] | None = None) -> Listener:
        listener = cls()
        await module.mount(listener.coordinator, config)
        for event in (*PAIRS, *PAIRS.values()):
            listener.coordinator.hooks.register(event, listener._hear, 50)
        return listener

    async def _hear(self, event: str, data: dict[str, Any]) -> None:
        self.heard.append((event, data))

    async def tell(self, event: str, **data: Any) -> None:
        await self.coordinator.hooks.emit(event, data)

    async def tell_pieces(self, event: str, text: str, size: int = 5, **data: Any) -> None:
        for number, start in enumerate(range(0, len(text), size)):
            await self.tell(event, **data, sequence=number, text=text[start : start + size])

    def text(self, event: str = LLM_STREAM_BLOCK_DELTA, index: int = 0, field: str = "text") -> str:
        return "".join(data[field] for name, data in self.heard if name == event and data.get("block_index") == index)


@pytest.mark.parametrize(("piece", "end"), PAIRS.items())
async def test_pieces_are_masked_together_and_the_rest_comes_before_the_end(piece: str, end: str) -> None:
    """What was held back is told as one more piece, numbered on, before the event that ends the block."""
    listener = await Listener.make()
    await listener.tell_pieces(piece, f"Use {TOKEN} for it", block_index=0, request_id="r")
    assert listener.text(piece) == f"Use {MASK} for "
    await listener.tell(end, block_index=0, request_id="r")
    assert listener.text(piece) == f"Use {MASK} for it"
    assert [event for event, _ in listener.heard][-2:] == [piece, end]
    numbers = [data["sequence"] for event, data in listener.heard if event == piece]
    assert numbers == list(range(len(numbers)))
    assert TOKEN[:12] not in str(listener.heard)


async def test_blocks_do_not_mix() -> None:
    """Pieces of several blocks, calls and sessions that come in turns are kept apart."""
    listener = await Listener.make()
    for start in range(0, len(TOKEN), 8):
        for index in (0, 1):
            await listener.tell(LLM_STREAM_BLOCK_DELTA, block_index=index, text=TOKEN[start : start + 8])
    await listener.tell(LLM_STREAM_BLOCK_END, block_index=0)
    await listener.tell(LLM_STREAM_BLOCK_END, block_index=1)
    assert (listener.text(index=0), listener.text(index=1)) == (MASK, MASK)


async def test_text_without_secrets_comes_through_whole() -> None:
    """Every character is told in the end, and blocks without anything held back get no further piece."""
    listener = await Listener.make()
    await listener.tell_pieces(LLM_STREAM_BLOCK_DELTA, "One two three. ", block_index=0)
    pieces = len(listener.heard)
    await listener.tell(LLM_STREAM_BLOCK_END, block_index=0)
    assert listener.text() == "One two three. "
    assert len(listener.heard) == pieces + 1
    await listener.tell(LLM_STREAM_BLOCK_END, block_index=9)
    assert len(listener.heard) == pieces + 2


async def test_a_piece_may_have_another_field_and_no_number() -> None:
    """Pieces of other emitters are read by ``delta``; one without text is searched like any event."""
    listener = await Listener.make()
    for start in range(0, len(TOKEN), 8):
        await listener.tell(CONTENT_BLOCK_DELTA, block_index=0, delta=TOKEN[start : start + 8], name=TOKEN)
    await listener.tell(CONTENT_BLOCK_END, block_index=0)
    assert listener.text(CONTENT_BLOCK_DELTA, field="delta") == MASK
    assert {data["name"] for event, data in listener.heard if event == CONTENT_BLOCK_DELTA} >= {MASK}
    await listener.tell(CONTENT_BLOCK_DELTA, block_index=0, delta={"text": TOKEN})
    assert listener.heard[-1][1]["delta"] == {"text": MASK}


@pytest.mark.parametrize("cut", [LLM_STREAM_ABORTED, EXECUTION_END])
async def test_what_is_held_back_when_a_stream_breaks_off_is_dropped(cut: str) -> None:
    """Half a secret is not told, and the next answer begins anew."""
    listener = await Listener.make()
    await listener.tell_pieces(LLM_STREAM_BLOCK_DELTA, TOKEN[:20], block_index=0)
    await listener.tell(cut)
    await listener.tell(LLM_STREAM_BLOCK_END, block_index=0)
    assert listener.text() == ""


@pytest.mark.parametrize(
    ("begin", "piece", "end"),
    [
        (LLM_STREAM_BLOCK_START, LLM_STREAM_BLOCK_DELTA, LLM_STREAM_BLOCK_END),
        (CONTENT_BLOCK_START, CONTENT_BLOCK_DELTA, CONTENT_BLOCK_END),
    ],
)
async def test_a_block_that_begins_again_has_no_past(begin: str, piece: str, end: str) -> None:
    """A provider that tries again does not get the rest of its first try into the second."""
    listener = await Listener.make()
    await listener.tell(piece, block_index=0, text="half")
    await listener.tell(begin, block_index=0)
    await listener.tell(piece, block_index=0, text="whole")
    await listener.tell(end, block_index=0)
    assert listener.text(piece) == "whole"


async def test_a_guard_that_is_asked_again_does_not_count_a_piece_twice() -> None:
    """A later handler that changes a piece makes the guards judge it once more; the text stays what it was."""
    listener = await Listener.make()

    async def mark(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="modify", data={**data, "marked": TOKEN})

    listener.coordinator.hooks.register(LLM_STREAM_BLOCK_DELTA, mark, 10)
    await listener.tell_pieces(LLM_STREAM_BLOCK_DELTA, f"Use {TOKEN} for it", block_index=0)
    await listener.tell(LLM_STREAM_BLOCK_END, block_index=0)
    assert listener.text() == f"Use {MASK} for it"


async def test_an_allowed_place_is_streamed_as_it_comes() -> None:
    """Where the config lets the text of pieces alone, nothing is held back."""
    listener = await Listener.make({"allowlist": ["text"]})
    await listener.tell(LLM_STREAM_BLOCK_DELTA, block_index=0, text=TOKEN)
    assert listener.text() == TOKEN


async def test_a_piece_that_cannot_be_searched_is_withheld(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Only where it belongs is told; the failure is logged."""
    listener = await Listener.make()
    monkeypatch.setattr(StreamRedactor, "feed", lambda self, piece: 1 / 0)
    with caplog.at_level(logging.ERROR):
        await listener.tell(LLM_STREAM_BLOCK_DELTA, block_index=0, text=TOKEN)
    ((_, data),) = listener.heard
    assert (data["block_index"], "text" in data, data["redaction"]["rules"]) == (0, False, ["unsearchable"])
    assert "could not be searched for secrets and is withheld" in caplog.text


async def test_a_child_that_only_inherits_gets_the_rest_with_the_end() -> None:
    """A guard cannot emit in a registry it does not know, so the rest stands in the event that ends the block."""
    parent, child = await Listener.make(), Listener()
    child.coordinator.hooks.inherit_guards_from(parent.coordinator.hooks)
    child.coordinator.hooks.set_default_fields(session_id="child")
    for event in (LLM_STREAM_BLOCK_DELTA, LLM_STREAM_BLOCK_END):
        child.coordinator.hooks.register(event, child._hear, 50)
    await child.tell_pieces(LLM_STREAM_BLOCK_DELTA, f"Use {TOKEN} for it", block_index=0)
    await child.tell(LLM_STREAM_BLOCK_END, block_index=0)
    assert child.text() == f"Use {MASK} for "
    assert child.heard[-1][1]["held_back"] == "it"
    assert parent.heard == []


async def test_a_child_with_the_module_tells_the_rest_itself() -> None:
    """Its own cover comes before the inherited ones, however many, and nothing is told twice."""
    parent, child, grandchild = await Listener.make(), await Listener.make(), Listener()
    child.coordinator.hooks.inherit_guards_from(parent.coordinator.hooks)
    grandchild.coordinator.hooks.inherit_guards_from(child.coordinator.hooks)
    await module.mount(grandchild.coordinator, {})
    grandchild.coordinator.hooks.register(LLM_STREAM_BLOCK_DELTA, grandchild._hear, 50)
    await grandchild.tell_pieces(LLM_STREAM_BLOCK_DELTA, f"Use {TOKEN} for it", block_index=0)
    await grandchild.tell(LLM_STREAM_BLOCK_END, block_index=0)
    assert grandchild.text() == f"Use {MASK} for it"
    assert (parent.heard, child.heard) == ([], [])


async def test_too_many_open_blocks_forget_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Emitters that never end their blocks cannot fill the memory."""
    monkeypatch.setattr(tails, "_MOST_TAILS", 3)
    listener = await Listener.make()
    for index in range(5):
        await listener.tell(LLM_STREAM_BLOCK_DELTA, block_index=index, text="held")
    for index in range(5):
        await listener.tell(LLM_STREAM_BLOCK_END, block_index=index)
    assert [listener.text(index=index) for index in range(5)] == ["", "", "held", "held", "held"]
