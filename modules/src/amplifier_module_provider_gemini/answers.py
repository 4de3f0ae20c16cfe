"""An answer of Gemini, put together from the one body or the many pieces that it comes in."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from amplifier_core.message_models import (
    ChatResponse,
    ContentBlockUnion,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
)
from amplifier_modkit.llm.blocks import CARRIED, VENDOR, calls_of, carry, read_arguments, tool_call
from amplifier_modkit.llm.wire import CONTENT_FILTER, LENGTH, OTHER, PAUSE, STOP, TOOL_CALLS, Piece, WireError
from amplifier_module_provider_gemini.models import NAME
from amplifier_module_provider_gemini.parts import MARK, SIGNATURE, Part, own_name
from amplifier_module_provider_gemini.usage import read_usage

_ENDS: Mapping[str, str] = {
    "STOP": STOP,
    "MAX_TOKENS": LENGTH,
    "CONTINUATION": PAUSE,
    "SAFETY": CONTENT_FILTER,
    "RECITATION": CONTENT_FILTER,
    "LANGUAGE": CONTENT_FILTER,
    "BLOCKLIST": CONTENT_FILTER,
    "PROHIBITED_CONTENT": CONTENT_FILTER,
    "SPII": CONTENT_FILTER,
    "IMAGE_SAFETY": CONTENT_FILTER,
    "IMAGE_PROHIBITED_CONTENT": CONTENT_FILTER,
    "IMAGE_RECITATION": CONTENT_FILTER,
}
# The model itself went astray: another attempt is likely to go well.
_ASTRAY = frozenset({"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"})
_STATUS_OF_ERROR = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
_TEXT_KEYS = frozenset({"text", "thought"})
_CALL_KEYS = frozenset({"id", "name", "args"})


@dataclass(slots=True)
class _Run:
    """Text, or thoughts, that go on from part to part; ``parts`` says how they were divided, and what each had more."""

    kind: Literal["text", "thinking"]
    index: int
    texts: list[str] = field(default_factory=list[str])
    parts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    is_told: bool = False

    def add(self, text: str, extras: Mapping[str, Any]) -> None:
        self.texts.append(text)
        last = self.parts[-1] if self.parts else None
        if last is not None and not extras and last.keys() == {"chars"}:
            last["chars"] += len(text)
        elif text or extras:
            self.parts.append({"chars": len(text), **extras})

    def block(self) -> ContentBlockUnion:
        text = "".join(self.texts)
        has_more = any(part.keys() != {"chars"} for part in self.parts)
        mark: dict[str, Any] = {MARK: {"parts": [dict(part) for part in self.parts]}} if has_more else {}
        if self.kind == "text":
            return TextBlock.model_validate({"text": text, **({VENDOR: NAME, **mark} if mark else {})})
        signatures = [part[SIGNATURE] for part in self.parts if SIGNATURE in part]
        signed = signatures[-1] if signatures else None
        return ThinkingBlock.model_validate({"thinking": text, "signature": signed, VENDOR: NAME, **mark})


class Answer:
    """One answer as it comes."""

    def __init__(self) -> None:
        self._blocks: list[_Run | ContentBlockUnion] = []
        self._body: dict[str, Any] = {}
        self._candidate: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._call_count = 0

    @property
    def is_complete(self) -> bool:
        """Whether the service said how the answer ends."""
        return self._reason is not None

    @property
    def has_content(self) -> bool:
        """Whether there is an answer, or a reason why there is none."""
        return bool(self._candidate or self._blocks or self._block_reason)

    def add(self, body: Mapping[str, Any]) -> list[Piece]:
        """Takes the whole answer, or the next piece of it; raises ``WireError`` where it is an error."""
        if "error" in body:
            raise error_in(body)
        self._usage.update(body.get("usageMetadata") or {})
        self._body.update((key, value) for key, value in body.items() if key not in ("candidates", "usageMetadata"))
        candidates: list[dict[str, Any]] = body.get("candidates") or [{}]
        candidate = candidates[0]
        content: dict[str, Any] = candidate.get("content") or {}
        pieces = [piece for part in content.get("parts") or () for piece in self._take(part)]
        self._candidate.update((key, value) for key, value in candidate.items() if key != "content")
        if self.is_complete:
            self._refuse_astray()
            pieces += self._close()
        return pieces

    def response(self) -> ChatResponse:
        """The answer, whole or as far as it came."""
        content = [block.block() if isinstance(block, _Run) else block for block in self._blocks]
        calls = calls_of(content)
        reason = self._reason
        finish = None if reason is None else _ENDS.get(reason, CONTENT_FILTER if self._block_reason else OTHER)
        return ChatResponse(
            content=content,
            tool_calls=calls,
            usage=read_usage(self._usage),
            finish_reason=TOOL_CALLS if calls and finish in (STOP, OTHER) else finish,
            metadata=self._metadata(reason),
        )

    @property
    def _reason(self) -> str | None:
        return self._candidate.get("finishReason") or self._block_reason

    @property
    def _block_reason(self) -> str | None:
        feedback: dict[str, Any] = self._body.get("promptFeedback") or {}
        return feedback.get("blockReason")

    def _metadata(self, reason: str | None) -> dict[str, Any]:
        others = {**self._body, **self._candidate}
        named = {"model": others.pop("modelVersion", None), "stop_reason": reason}
        others.pop("finishReason", None)
        return {key: value for key, value in {**named, **others}.items() if value is not None}

    def _refuse_astray(self) -> None:
        if self._reason in _ASTRAY and not self._blocks:
            told = self._candidate.get("finishMessage") or "nothing came of the answer"
            raise WireError(f"the model went astray ({self._reason}): {told}", status=500, code=self._reason)

    def _take(self, part: Part) -> list[Piece]:
        if "functionCall" in part:
            return self._take_call(part)
        if "text" in part:
            return self._take_text(part)
        pieces = self._close()
        self._blocks.append(_media_block(part) or carry(NAME, part))
        return pieces

    def _take_text(self, part: Part) -> list[Piece]:
        kind = "thinking" if part.get("thought") else "text"
        text: str = part["text"] or ""
        pieces: list[Piece] = []
        run = self._open_run
        if run is None or run.kind != kind:
            pieces = self._close()
            run = _Run(kind, len(self._blocks))
            self._blocks.append(run)
        run.add(text, {key: value for key, value in part.items() if key not in _TEXT_KEYS})
        if text:
            if not run.is_told:
                run.is_told = True
                pieces.append(Piece("start", run.index, kind))
            pieces.append(Piece("delta", run.index, kind, text))
        return pieces

    def _take_call(self, part: Part) -> list[Piece]:
        pieces = self._close()
        call: dict[str, Any] = part["functionCall"]
        index, arguments = len(self._blocks), read_arguments(call.get("args"))
        mark = {
            "part": {key: value for key, value in part.items() if key != "functionCall"},
            "call": {key: value for key, value in call.items() if key not in _CALL_KEYS},
            "has_made_id": not call.get("id"),
        }
        kept = {key: value for key, value in mark.items() if value}
        extras: dict[str, Any] = {VENDOR: NAME, MARK: kept} if kept else {}
        block = tool_call(call.get("id") or self._made_id(), own_name(call["name"]), arguments, **extras)
        self._blocks.append(block)
        self._call_count += 1
        told = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        named = Piece("start", index, "tool_use", name=block.name)
        return [*pieces, named, Piece("delta", index, "tool_use", told), Piece("end", index, "tool_use")]

    def _made_id(self) -> str:
        """An id for a call that has none: the same for the same answer, and no other's."""
        answer: Any = self._body.get("responseId")
        if not answer:
            return f"call_{uuid.uuid4().hex[:16]}"
        return f"call_{hashlib.sha256(f'{answer}/{self._call_count}'.encode()).hexdigest()[:16]}"

    @property
    def _open_run(self) -> _Run | None:
        last = self._blocks[-1] if self._blocks else None
        return last if isinstance(last, _Run) else None

    def _close(self) -> list[Piece]:
        run = self._open_run
        if run is None or not run.is_told:
            return []
        run.is_told = False
        return [Piece("end", run.index, run.kind)]


def joined(first: ChatResponse, rest: ChatResponse) -> list[ContentBlockUnion]:
    """The content of an answer that came by two calls; a text that went on is one text."""
    before, after = list(first.content), list(rest.content)
    if before and after:
        whole = _one_of(before[-1], after[0])
        if whole is not None:
            return [*before[:-1], whole, *after[1:]]
    return [*before, *after]


def error_in(body: Mapping[str, Any]) -> WireError:
    """The error that an answer, or a piece of a stream, tells."""
    error: Any = body.get("error")
    said: dict[str, Any] = dict(cast("Mapping[str, Any]", error)) if isinstance(error, Mapping) else {}
    code = str(said.get("status") or "error")
    given: Any = said.get("code")
    status = given if isinstance(given, int) else _STATUS_OF_ERROR.get(code)
    return WireError(str(said.get("message") or code), status=status, code=code)


def _media_block(part: Part) -> ImageBlock | None:
    blob: dict[str, Any] = part.get("inlineData") or {}
    kind = str(blob.get("mimeType") or "")
    if not kind.startswith("image/"):
        return None
    source = {"type": "base64", "media_type": kind, "data": blob.get("data") or ""}
    more = {key: value for key, value in part.items() if key != "inlineData"}
    extras: dict[str, Any] = {VENDOR: NAME, MARK: {"part": more}} if more else {}
    return ImageBlock(source=source, **extras)


def _one_of(before: ContentBlockUnion, after: ContentBlockUnion) -> ContentBlockUnion | None:
    if any(CARRIED in (block.model_extra or {}) for block in (before, after)):
        return None
    if isinstance(before, TextBlock) and isinstance(after, TextBlock):
        run, texts = _Run("text", 0), (before.text, after.text)
    elif isinstance(before, ThinkingBlock) and isinstance(after, ThinkingBlock):
        run, texts = _Run("thinking", 0), (before.thinking, after.thinking)
    else:
        return None
    for block, text in zip((before, after), texts, strict=True):
        start = 0
        extra: dict[str, Any] = block.model_extra or {}
        for part in extra.get(MARK, {}).get("parts") or [{"chars": len(text)}]:
            end = start + part["chars"]
            run.add(text[start:end], {key: value for key, value in part.items() if key != "chars"})
            start = end
    return run.block()
