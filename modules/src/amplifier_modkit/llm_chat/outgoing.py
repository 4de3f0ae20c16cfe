"""The conversation of a request as messages of the protocol."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from amplifier_core.message_models import Degradation, Message
from amplifier_modkit.llm.blocks import blocks_in, carried_in, fields_of, output_text
from amplifier_modkit.llm_chat.calls import arguments_text
from amplifier_modkit.llm_chat.dialect import Dialect
from amplifier_modkit.llm_chat.parts import (
    IN_CONTENT,
    REASONING_FIELDS,
    VENDOR_NAME,
    extra_of,
    is_shown,
    simplest,
    to_parts,
)

_SYSTEM = ("system", "developer")
_CALLS = ("tool_call", "tool_use")

WireMessage = dict[str, Any]


def to_messages(messages: Sequence[Message], dialect: Dialect, notes: list[Degradation]) -> list[WireMessage]:
    """``messages`` as ``dialect`` wants them; what had to be said in another way is added to ``notes``."""
    leading = next((at for at, each in enumerate(messages) if each.role not in _SYSTEM), len(messages))
    transcript = _Transcript(dialect, notes, _field_in_use(messages))
    if leading:
        transcript.add_instructions("\n\n".join(map(text_of, messages[:leading])))
    for message in messages[leading:]:
        transcript.add(message)
    transcript.add_shown()
    return _merged(transcript.sent) if dialect.alternates else transcript.sent


def text_of(message: Message) -> str:
    """What a message says, in paragraphs."""
    texts = (output_text(block.get("text")) for block in blocks_in(message) if block.get("type") == "text")
    return "\n\n".join(text for text in texts if text)


def wrapped(text: str) -> str:
    """Instructions that stand where only a user speaks."""
    return f"<system-reminder>\n{text}\n</system-reminder>"


def short_id(call_id: str) -> str:
    """The nine letters and digits that stand for an id; one of that form stands for itself."""
    if len(call_id) == 9 and call_id.isalnum() and call_id.isascii():
        return call_id
    return base64.b32encode(hashlib.sha256(call_id.encode(errors="surrogatepass")).digest()).decode()[:9]


def result_blocks(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a block that answers a tool call says, as blocks."""
    output: Any = block.get("output", block.get("content"))
    if isinstance(output, list):
        parts = cast("list[Any]", output)
        if all(isinstance(part, dict) and "type" in part for part in parts):
            return [fields_of(part) for part in parts]
    return [{"type": "text", "text": output_text(output)}]


class _Transcript:
    """The messages so far; what tools show besides text waits until all results of a round are told."""

    def __init__(self, dialect: Dialect, notes: list[Degradation], reasoning_field: str | None) -> None:
        self.sent: list[WireMessage] = []
        self._dialect = dialect
        self._notes = notes
        self._reasoning_field = reasoning_field
        self._shown: list[dict[str, Any]] = []

    def add_instructions(self, text: str) -> None:
        """What goes before the conversation."""
        role = self._dialect.system_role
        self.sent.append({"role": role, "content": wrapped(text) if role == "user" else text})

    def add(self, message: Message) -> None:
        """One message of the conversation, under a role that the protocol has."""
        role = message.role
        if role == "tool" or (role == "function" and message.tool_call_id):
            self._add_result(message.tool_call_id or "", blocks_in(message))
            return
        if role == "user":
            self._add_user(message)
            return
        self.add_shown()
        if role == "assistant":
            self._add_assistant(blocks_in(message))
        elif role in _SYSTEM and self._dialect.system_anywhere:
            self.sent.append({"role": "system", "content": text_of(message)})
        else:
            self.sent.append({"role": "user", "content": wrapped(text_of(message))})

    def add_shown(self) -> None:
        """The images and files of tools and assistants, which only a user may show."""
        if self._shown:
            self.sent.append({"role": "user", "content": self._shown})
            self._shown = []

    def _add_user(self, message: Message) -> None:
        content: Any = message.content
        if type(content) is not str:
            said: list[dict[str, Any]] = []
            blocks = blocks_in(message)
            for block in blocks:
                if block.get("type") == "tool_result":
                    self._add_result(output_text(block.get("tool_call_id")), result_blocks(block))
                else:
                    said.append(block)
            if blocks and not said:
                return
            content = simplest(to_parts(said, self._notes))
        self.add_shown()
        named = {"name": message.name} if message.name else {}
        self.sent.append({"role": "user", "content": content, **named})

    def _add_assistant(self, blocks: list[dict[str, Any]]) -> None:
        calls = [self._to_call(block) for block in blocks if block.get("type") in _CALLS]
        refusal = "".join(output_text(block.get("text")) for block in blocks if extra_of(block).get("refusal"))
        sent: WireMessage = {"role": "assistant", "content": _assistant_content(blocks) or None}
        sent.update(self._reasoning(blocks, has_calls=bool(calls)))
        if refusal:
            sent["refusal"] = refusal
        if calls:
            sent["tool_calls"] = calls
        if sent["content"] is not None or len(sent) > 2:  # what says nothing at all, servers refuse
            self.sent.append(sent)
        self._show("What the assistant shows:", to_parts(filter(is_shown, blocks), self._notes))

    def _reasoning(self, blocks: list[dict[str, Any]], *, has_calls: bool) -> WireMessage:
        policy = self._dialect.reasoning
        told: WireMessage = {}
        for block in blocks if policy != "never" else ():
            if block.get("type") != "thinking":
                continue
            extra = extra_of(block)
            if isinstance(extra.get("details"), list):
                told.setdefault("reasoning_details", []).extend(extra["details"])
            field = extra.get("field")
            if field in REASONING_FIELDS and (has_calls or policy == "always"):
                told[field] = told.get(field, "") + output_text(block.get("thinking"))
        if has_calls and not told and self._reasoning_field is not None and policy != "never":
            # A server that thinks wants the field on every message that calls tools, also where nothing was thought.
            told[self._reasoning_field] = ""
        return told

    def _add_result(self, call_id: str, blocks: list[dict[str, Any]]) -> None:
        parts = to_parts(blocks, self._notes)
        texts = [part["text"] for part in parts if part["type"] == "text"]
        others = [part for part in parts if part["type"] != "text"]
        if others:
            texts.append("[what this tool shows follows in the next message]")
            self._show(f"What the tool call {self._id(call_id)} shows:", others)
        self.sent.append({"role": "tool", "tool_call_id": self._id(call_id), "content": "\n".join(texts)})

    def _show(self, heading: str, parts: list[dict[str, Any]]) -> None:
        if parts:
            self._shown += [{"type": "text", "text": heading}, *parts]

    def _to_call(self, block: Mapping[str, Any]) -> dict[str, Any]:
        extra = extra_of(block)
        function = {"name": output_text(block.get("name")), "arguments": arguments_text(block.get("input"))}
        call = {"id": self._id(output_text(block.get("id"))), "type": "function"}
        return {**extra.get("call", {}), **call, "function": {**extra.get("function", {}), **function}}

    def _id(self, call_id: str) -> str:
        return short_id(call_id) if self._dialect.short_call_ids else call_id


def _assistant_content(blocks: Iterable[Mapping[str, Any]]) -> str | list[dict[str, Any]]:
    """What was said: as parts if some of it came as one, else as text, in paragraphs where something was between."""
    parts: list[dict[str, Any]] = []
    is_plain, is_next_to_text = True, False
    for block in blocks:
        is_text = block.get("type") == "text" and not extra_of(block).get("refusal")
        carried = carried_in(block, VENDOR_NAME) if is_text else _thought_part(block)
        if carried is not None:
            parts.append(carried)
            is_plain = False
        elif is_text and is_plain and is_next_to_text:
            parts[-1]["text"] += output_text(block.get("text"))
        elif is_text:
            parts.append({"type": "text", "text": output_text(block.get("text"))})
        is_next_to_text = is_text and carried is None
    if not is_plain:
        return parts
    return "\n\n".join(part["text"] for part in parts if part["text"])


def _thought_part(block: Mapping[str, Any]) -> dict[str, Any] | None:
    if block.get("type") != "thinking" or extra_of(block).get("field") != IN_CONTENT:
        return None
    return {"type": "thinking", "thinking": [{"type": "text", "text": output_text(block.get("thinking"))}]}


def _field_in_use(messages: Iterable[Message]) -> str | None:
    """The field in which the server of this conversation gives its reasoning, if it did."""
    for message in messages:
        if message.role == "assistant" and type(message.content) is list:
            for block in message.content:
                field = extra_of(fields_of(block)).get("field")
                if field in REASONING_FIELDS:
                    return field
    return None


def _merged(messages: list[WireMessage]) -> list[WireMessage]:
    """Neighbours of one role as one message, unless the first of them calls tools."""
    merged: list[WireMessage] = []
    for message in messages:
        before = merged[-1] if merged else {}
        if message["role"] == "tool" or before.get("role") != message["role"] or "tool_calls" in before:
            merged.append(message)
            continue
        contents = [each["content"] for each in (before, message) if each["content"] is not None]
        if all(isinstance(content, str) for content in contents):
            content: Any = "\n\n".join(contents) or None
        else:
            content = [part for each in contents for part in _as_parts(each)]
        merged[-1] = {**before, **message, "content": content}
    return merged


def _as_parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
