"""A request as a very small model can take it: who said what, what is asked now, what tools have answered to it.

What was left out or cut is told as degradations. Data in, data out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from amplifier_core.message_models import ChatRequest, Degradation, Message
from amplifier_modkit.clipping import clip_chars
from amplifier_modkit.llm.blocks import blocks_in, text_in

# Marks of chat forms begin so; somebody's text must not be able to end its own message and begin another.
_MARK, _HARMLESS = "<|", "< |"
_SYSTEM = ("system", "developer")
_INJECTING = ("hook", "orchestrator")


@dataclass(slots=True)
class Conversation:
    """One request, read. ``asked`` is what the user said last, ``results`` what tools have answered since."""

    messages: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    asked: str = ""
    results: list[str] = field(default_factory=list[str])
    degradations: list[Degradation] = field(default_factory=list[Degradation])


def read(request: ChatRequest, *, max_system_chars: int, max_result_chars: int) -> Conversation:
    """What ``request`` says; its history is in order already."""
    found = Conversation()
    system = "\n\n".join(filter(None, (text_in(each) for each in request.messages if each.role in _SYSTEM)))
    if len(system) > max_system_chars:
        found.degradations.append(
            Degradation(
                requested=f"system messages of {len(system)} characters",
                actual=f"{max_system_chars} characters of them",
                reason="the model is slow to read; 'max_system_chars' of provider-local sets the limit",
            )
        )
    if system and max_system_chars:
        found.messages.append({"role": "system", "content": harmless(clip_chars(system, max_system_chars))})
    for message in request.messages:
        _add(found, message, max_result_chars)
    found.degradations += _left_out(request.messages)
    return found


def harmless(text: str) -> str:
    """``text`` without marks that the model would read as the end of a message."""
    return text.replace(_MARK, _HARMLESS)


def _add(found: Conversation, message: Message, max_result_chars: int) -> None:
    if message.role in _SYSTEM or _is_injected(message):
        return
    text = harmless(text_in(message)).strip()
    if message.role in ("tool", "function"):
        found.results.append(clip_chars(text, max_result_chars))
    elif message.role == "user":
        found.asked, found.results = text, []
        _say(found.messages, "user", text)
    else:
        _say(found.messages, "assistant", text)


def _say(messages: list[dict[str, str]], role: str, text: str) -> None:
    """Adds what is said; some models insist on turns, so who speaks twice is written down once."""
    if not text:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += f"\n\n{text}"
    else:
        messages.append({"role": role, "content": text})


def _is_injected(message: Message) -> bool:
    metadata: Any = message.metadata
    return bool(metadata) and metadata.get("source") in _INJECTING


def _left_out(messages: Sequence[Message]) -> Iterable[Degradation]:
    reminders = sum(map(_is_injected, messages))
    if reminders:
        yield Degradation(
            requested=f"{reminders} message(s) of hooks or of the loop",
            actual="left out",
            reason="reminders confuse a model of this size",
        )
    images = sum(block.get("type") == "image" for message in messages for block in blocks_in(message))
    if images:
        yield Degradation(requested=f"{images} image(s)", actual="left out", reason="the model reads text only")
