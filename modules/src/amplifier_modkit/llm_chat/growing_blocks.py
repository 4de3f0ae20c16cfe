"""Blocks of an answer while they come: text, reasoning, refusals, and parts that are whole at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from amplifier_core.message_models import ContentBlockUnion, TextBlock, ThinkingBlock
from amplifier_modkit.llm.blocks import VENDOR, carry, output_text
from amplifier_modkit.llm_chat.parts import EXTRA, IN_CONTENT, REASONING_FIELDS, VENDOR_NAME

Kind = Literal["text", "thinking", "refusal", "part"]


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that a message, or a piece of one, says; ``field`` is where reasoning stood."""

    kind: Kind
    text: str
    field: str | None = None
    part: Mapping[str, Any] | None = None


@dataclass(slots=True)
class GrowingBlock:
    """A block that text is added to until another begins."""

    place: int
    kind: Kind
    field: str | None = None
    part: Mapping[str, Any] | None = None
    pieces: list[str] = dataclasses.field(default_factory=list[str])
    details: list[dict[str, Any]] = dataclasses.field(default_factory=list[dict[str, Any]])

    def to_block(self) -> ContentBlockUnion:
        """The block as it is now."""
        text = "".join(self.pieces)
        if self.kind == "thinking":
            # Reasoning between tags has no field: it goes back to nobody.
            kept = {key: value for key, value in (("field", self.field), ("details", self.details)) if value}
            extras: dict[str, Any] = {VENDOR: VENDOR_NAME, **({EXTRA: kept} if kept else {})}
            return ThinkingBlock(thinking=text, **extras)
        if self.part is not None:
            return carry(VENDOR_NAME, self.part)
        marked: dict[str, Any] = {VENDOR: VENDOR_NAME, EXTRA: {"refusal": True}} if self.kind == "refusal" else {}
        return TextBlock(text=text, **marked)


def said_in(message: Mapping[str, Any]) -> Iterator[Said]:
    """What a message, or a piece of one, says, reasoning first."""
    for name in REASONING_FIELDS:
        thought = message.get(name)
        if thought and isinstance(thought, str):
            yield Said("thinking", thought, name)
            break  # some servers fill both, with the same
    content = message.get("content")
    if isinstance(content, str):
        if content:
            yield Said("text", content)
    elif isinstance(content, list):
        yield from map(_said_by, cast("list[Any]", content))
    refusal = message.get("refusal")
    if refusal and isinstance(refusal, str):
        yield Said("refusal", refusal)


def merge_details(details: list[dict[str, Any]], given: Any) -> None:
    """Adds reasoning details to those that came; pieces of one text, under one index, become one again."""
    for item in cast("list[Any]", given) if isinstance(given, list) else ():
        if not isinstance(item, dict):
            continue
        piece = cast("dict[str, Any]", item)
        last = details[-1] if details else {}
        key = {"reasoning.text": "text", "reasoning.summary": "summary"}.get(str(piece.get("type")))
        if key is None or any(last.get(name) != piece.get(name) for name in ("type", "index")):
            details.append(dict(piece))
        else:
            text = output_text(last.get(key)) + output_text(piece.get(key))
            last.update({name: value for name, value in piece.items() if value is not None}, **{key: text})


def _said_by(part: Any) -> Said:
    if not isinstance(part, dict):
        return Said("text", output_text(part))
    given = cast("dict[str, Any]", part)
    kind, text = given.get("type"), given.get("text")
    if kind in ("text", "output_text", None) and isinstance(text, str):
        return Said("text", text)
    if kind == "refusal":
        return Said("refusal", output_text(given.get("refusal")))
    if kind == "thinking":
        return Said("thinking", _thought(given.get("thinking")), IN_CONTENT)
    return Said("part", "", part=given)


def _thought(thought: Any) -> str:
    if not isinstance(thought, list):
        return output_text(thought)
    return "".join(said.text for said in map(_said_by, cast("list[Any]", thought)))
