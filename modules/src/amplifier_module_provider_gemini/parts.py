"""Parts of Gemini's messages and blocks of ours: what a part has beside its text is kept, to be sent back as it was.

A block has it under one extra key, beside the name of the service that alone can read it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from amplifier_core.utils.jsonable import to_jsonable
from amplifier_modkit.llm.blocks import OUR_KEYS, VENDOR, carried_in
from amplifier_module_provider_gemini.models import NAME

MARK = "gemini_part"
"""The extra of a block that has what its part said besides."""

Part = dict[str, Any]

SIGNATURE = "thoughtSignature"
UNSIGNED = "skip_thought_signature_validator"
"""What the service takes for the signature of a call that it did not make itself."""

_PREFIX = "fn__"
_BAD_START = re.compile(rf"[0-9-]|{_PREFIX}")
_SILENT = frozenset({"redacted_thinking", "reasoning", "tool_result", "thinking", "tool_call", "tool_use"})


def wire_name(name: str) -> str:
    """The name of a tool as the service takes it: it begins with a letter."""
    return f"{_PREFIX}{name}" if _BAD_START.match(name) else name


def own_name(name: str) -> str:
    """The name of a tool as it was before ``wire_name``."""
    rest = name.removeprefix(_PREFIX)
    return rest if rest != name and _BAD_START.match(rest) else name


def mark_of(block: Mapping[str, Any]) -> dict[str, Any]:
    """What the part of a block said besides; nothing for a block of others."""
    mark: Any = block.get(MARK) if block.get(VENDOR) == NAME else None
    return cast("dict[str, Any]", mark) if isinstance(mark, dict) else {}


def answer_parts(block: Mapping[str, Any]) -> Iterable[Part]:
    """A block of an answer as it goes back: as it came, or not at all."""
    carried = carried_in(block, NAME)
    if carried is not None:
        return [carried]
    match block.get("type"):
        case "text":
            return _cut(str(block.get("text") or ""), mark_of(block), {})
        case "thinking":
            # Thoughts of others mean nothing here, and a signature of others is refused.
            is_own = block.get(VENDOR) == NAME
            return _cut(str(block.get("thinking") or ""), mark_of(block), {"thought": True}) if is_own else ()
        case "tool_call" | "tool_use":
            return [_call_part(block)]
        case _:
            return user_parts(block)


def user_parts(block: Mapping[str, Any]) -> list[Part]:
    """A block that a user or a tool says."""
    kind = block.get("type")
    if kind == "text":
        return [{"text": block["text"]}] if block.get("text") else []
    if kind in _SILENT:
        return []
    source: Any = block.get("source")
    media = media_part(cast("Mapping[str, Any]", source)) if isinstance(source, Mapping) else None
    if media is not None:
        return [{**media, **mark_of(block).get("part", {})}]
    told = {key: value for key, value in block.items() if key not in OUR_KEYS and key != MARK}
    return [{"text": json.dumps(to_jsonable(told), ensure_ascii=False)}]


def media_part(source: Mapping[str, Any]) -> Part | None:
    """An image, or another file, by its bytes or its address; ``None`` where neither is known."""
    url: Any = source.get("url") or source.get("file_uri")
    given: Any = source.get("media_type") or source.get("mime_type")
    if isinstance(url, str) and url.startswith("data:"):
        head, _, data = url.removeprefix("data:").partition(",")
        return {"inlineData": {"mimeType": head.partition(";")[0] or given or "image/png", "data": data}}
    if source.get("data"):
        return {"inlineData": {"mimeType": given or "image/png", "data": source["data"]}}
    if not isinstance(url, str):
        return None
    kind = given or _guessed_kind(url)
    return {"fileData": {"fileUri": url, **({"mimeType": kind} if kind else {})}}


def _guessed_kind(url: str) -> str | None:
    from mimetypes import guess_type

    return guess_type(url.partition("?")[0])[0]


def _cut(text: str, mark: Mapping[str, Any], fixed: Part) -> Iterable[Part]:
    """The text in the parts that it came in; a text that was changed since is one part, and nothing is signed in it."""
    found: Any = mark.get("parts")
    runs = cast("list[dict[str, Any]]", found) if isinstance(found, list) else []
    if not runs or sum(run["chars"] for run in runs) != len(text):
        if text:
            yield {"text": text, **fixed}
        return
    start = 0
    for run in runs:
        end = start + run["chars"]
        yield {"text": text[start:end], **fixed, **{key: value for key, value in run.items() if key != "chars"}}
        start = end


def _call_part(block: Mapping[str, Any]) -> Part:
    mark = mark_of(block)
    call_id = {} if has_made_id(block) else {"id": block["id"]}
    given: dict[str, Any] = block.get("input") or {}
    call = {**call_id, "name": wire_name(block["name"]), "args": given, **mark.get("call", {})}
    return {"functionCall": call, **mark.get("part", {})}


def has_made_id(block: Mapping[str, Any]) -> bool:
    """Whether the id of a call is ours, since the service gave none."""
    return bool(mark_of(block).get("has_made_id"))
