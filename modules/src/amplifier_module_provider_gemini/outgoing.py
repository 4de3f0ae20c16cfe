"""The conversation as Gemini takes it: system text apart, results of tools together, calls signed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from amplifier_core.llm_errors import InvalidRequestError
from amplifier_core.message_models import Message
from amplifier_modkit.llm.blocks import blocks_in, is_failed, text_in
from amplifier_modkit.messages import CALL_BLOCKS
from amplifier_module_provider_gemini.models import NAME
from amplifier_module_provider_gemini.parts import (
    SIGNATURE,
    UNSIGNED,
    Part,
    answer_parts,
    has_made_id,
    user_parts,
    wire_name,
)

Content = dict[str, Any]

_SYSTEM = ("system", "developer")
_BEGINNING = "(The conversation begins here.)"
_GO_ON = "Continue."


class Conversation(NamedTuple):
    """System text and contents."""

    system: list[Part]
    contents: list[Content]


def to_conversation(messages: Sequence[Message], *, is_modern: bool) -> Conversation:
    """The messages as contents; raises ``InvalidRequestError`` where nothing is said.

    What stands before everything else is the system text. Later words of the system are said by the user, since a
    system text that changes would cost the whole cache.
    """
    begin = next((place for place, each in enumerate(messages) if each.role not in _SYSTEM), len(messages))
    system: list[Part] = [{"text": text} for text in map(text_in, messages[:begin]) if text.strip()]
    turns = _Turns(is_modern)
    for message in messages[begin:]:
        turns.add(message)
    return Conversation(system, turns.finish())


class _Turns:
    """The contents of one request, from the first message to the last."""

    def __init__(self, is_modern: bool) -> None:
        self._is_modern = is_modern
        self._contents: list[Content] = []
        self._results: Content | None = None
        self._shown_after: list[Part] = []
        self._calls: dict[Any, dict[str, Any]] = {}

    def add(self, message: Message) -> None:
        if message.role in ("tool", "function"):
            self._add_result(message)
            return
        self._end_results()
        if message.role == "assistant":
            self._append("model", self._answer(message))
        elif message.role in _SYSTEM:
            text = text_in(message)
            told = f"<system-reminder>\n{text}\n</system-reminder>"
            self._append("user", [{"text": told}] if text.strip() else [])
        else:
            self._append("user", [part for fields in blocks_in(message) for part in user_parts(fields)])

    def finish(self) -> list[Content]:
        self._end_results()
        contents = self._contents
        if not contents:
            raise InvalidRequestError("A request needs at least one message that says something", provider=NAME)
        if contents[0]["role"] == "model":
            contents.insert(0, {"role": "user", "parts": [{"text": _BEGINNING}]})
        if contents[-1]["role"] == "model":
            contents.append({"role": "user", "parts": [{"text": _GO_ON}]})
        return contents

    def _append(self, role: str, parts: list[Part]) -> None:
        if not any(part.get("text", "x").strip() or SIGNATURE in part for part in parts):
            return
        last = self._contents[-1] if self._contents else None
        # Results stand alone: a word of the user among them would not be read as the beginning of another turn.
        if last is not None and last["role"] == role and "functionResponse" not in last["parts"][0]:
            last["parts"] += parts
        else:
            self._contents.append({"role": role, "parts": parts})

    def _answer(self, message: Message) -> list[Part]:
        blocks = blocks_in(message)
        for block in blocks:
            if block.get("type") in CALL_BLOCKS:
                made = has_made_id(block)
                self._calls[block["id"]] = {**({} if made else {"id": block["id"]}), "name": wire_name(block["name"])}
        parts = [part for block in blocks for part in answer_parts(block)]
        first = next((place for place, part in enumerate(parts) if "functionCall" in part), None)
        if self._is_modern and first is not None and SIGNATURE not in parts[first]:
            parts[first] = {**parts[first], SIGNATURE: UNSIGNED}
        return parts

    def _add_result(self, message: Message) -> None:
        parts = [part for fields in blocks_in(message) for part in user_parts(fields)]
        text = "\n".join(part["text"] for part in parts if "text" in part)
        shown = [part for part in parts if "text" not in part]
        called = self._calls.get(message.tool_call_id) or {"name": wire_name(message.name or "unknown")}
        result: Part = {**called, "response": {"error" if is_failed(message) else "output": text}}
        if shown and self._is_modern:
            result["parts"] = shown
        else:
            self._shown_after += shown
        if self._results is None:
            self._results = {"role": "user", "parts": []}
            self._contents.append(self._results)
        self._results["parts"].append({"functionResponse": result})

    def _end_results(self) -> None:
        self._results = None
        if self._shown_after:
            self._append("user", self._shown_after)
            self._shown_after = []
