"""What a server's complaint teaches about its dialect, so that the same request can be put in a way that it takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from amplifier_modkit.llm_chat.dialect import Dialect

# What a request may go without: everything but the conversation itself and how it is sent.
_OPTIONAL = (
    "reasoning_effort",
    "response_format",
    "tool_choice",
    "parallel_tool_calls",
    "temperature",
    "top_p",
    "stop",
    "seed",
)
_REFUSAL = re.compile(
    r"unsupported|not support|unavailable|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|extra inputs"
    r"|not implemented|no such (parameter|field)|invalid (parameter|argument|field)|does not exist|cannot be used",
    re.IGNORECASE,
)


class _Lesson(NamedTuple):
    """A complaint that is known, and what it changes."""

    complaint: re.Pattern[str]
    changes: dict[str, Any]


def _lesson(pattern: str, **changes: Any) -> _Lesson:
    return _Lesson(re.compile(pattern, re.IGNORECASE | re.DOTALL), changes)


_LESSONS = (
    # Named with its successor: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.
    _lesson(r"use\W+max_completion_tokens", max_tokens_key="max_completion_tokens"),
    _lesson(r"use\W+max_tokens\b", max_tokens_key="max_tokens"),
    _lesson(r"stream_options|include_usage", stream_usage=False),
    _lesson(r"tools?\W.{0,40}(with|when|while) stream|stream\w*\W.{0,40}(with|when using) tools", streams_tools=False),
    _lesson(r"roles? must alternate|alternat\w+ (between )?user", alternates=True),
    _lesson(r"(tool.?call id|tool_call_id).*length of 9", short_call_ids=True),
    _lesson(r"reasoning_content\W.*must be passed back|missing.*reasoning_content", reasoning="always"),
    _lesson(r"reasoning(_content|_details)?\W.*(not|unexpected|extra|unknown)", reasoning="never"),
    _lesson(r"developer\W.*role|role\W.*\bdeveloper\b|not one of.*'system'", system_role="system"),
    _lesson(r"system (role|message|prompt|instruction)s?\W.*not (supported|allowed|enabled)", system_role="user"),
    _lesson(r"(un|not )support\w*.*system (role|message)", system_role="user"),
)


_MISCALL = re.compile(
    r"tool_use_failed|does not match the expected [\w-]+ format|failed to parse (the )?(tool|function) call",
    re.IGNORECASE,
)


def is_miscall(complaint: str) -> bool:
    """Whether a server complains about a tool call that its own model made."""
    return _MISCALL.search(complaint) is not None


def learn(dialect: Dialect, body: Mapping[str, Any], complaint: str) -> Dialect | None:
    """The dialect after a server refused ``body`` with ``complaint``; ``None`` where that teaches nothing.

    Each lesson changes the dialect, so the same complaint never teaches twice.
    """
    for lesson in _LESSONS:
        if lesson.complaint.search(complaint):
            learnt = replace(dialect, **lesson.changes)
            if learnt != dialect:
                return learnt
    if _REFUSAL.search(complaint):
        refused = next((key for key in _OPTIONAL if key in body and _names(complaint, key)), None)
        if refused is not None:
            return replace(dialect, left_out=dialect.left_out | {refused})
    return None


def is_known(complaint: str) -> bool:
    """Whether a complaint is about the dialect, whatever status a server gives it."""
    return any(lesson.complaint.search(complaint) for lesson in _LESSONS)


def _names(complaint: str, key: str) -> bool:
    return re.search(rf"(?<!\w){key}(?!\w)", complaint) is not None
