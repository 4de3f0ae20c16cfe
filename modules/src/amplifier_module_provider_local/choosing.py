"""The first stage of a tool call: which tool fits the request, if any.

A small model cannot say which tool it wants. It can tell how likely a request is from somebody who needs a certain
thing. So each tool's description is put to it, and small talk besides, and what it finds the request most likely for
is chosen. This costs time for every tool and every word, so that only the beginning of a long request counts.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from amplifier_core.message_models import ToolSpec
from amplifier_module_provider_local.asking import ask
from amplifier_module_provider_local.engine import Engine
from amplifier_module_provider_local.prompts import SMALL_TALK, need_of, saying_for

_MOST_TOKENS = 32
# Found on prompts other than those of the published figures, in nats: what a word is worth that the request shares with
# a tool, how many such words count, and how much sooner no tool is called than a wrong one.
_PER_SHARED_WORD = 3.0
_MOST_SHARED_WORDS = 2
_FOR_NO_TOOL = 0.5
_STEM_CHARS = 5
_EMPTY_WORDS = re.compile(
    r"the|and|for|with|that|this|what|how|your|you|are|not|please|some|who|which|into|from|can|could|would|does"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A tool, or none, and how likely the request is for it: a log-probability with what was added to it."""

    tool: ToolSpec | None
    score: float


async def choose(engine: Engine, tools: Sequence[ToolSpec], asked: str, *, is_required: bool) -> list[Choice]:
    """All choices, the best first; no tool at all is one of them unless a tool is required."""
    if is_required and len(tools) == 1:
        return [Choice(tools[0], 0.0)]
    tokens = await asyncio.to_thread(engine.tokens, asked)
    grammar = _only(tokens[:_MOST_TOKENS]) if tokens else None
    said = _stems([asked])
    choices: list[Choice] = []
    for tool in tools:
        shared = min(_MOST_SHARED_WORDS, len(said & _stems(_texts_of(tool))))
        likelihood = await _likelihood(engine, need_of(tool), grammar)
        choices.append(Choice(tool, likelihood + _PER_SHARED_WORD * shared))
    if not is_required:
        choices.append(Choice(None, await _likelihood(engine, SMALL_TALK, grammar) + _FOR_NO_TOOL))
    return sorted(choices, key=lambda choice: -choice.score)


async def _likelihood(engine: Engine, need: str, grammar: tuple[str, int] | None) -> float:
    if grammar is None:
        return 0.0
    rule, length = grammar
    body = {"messages": saying_for(need), "grammar": rule, "max_tokens": length, "temperature": 0, "logprobs": True}
    generated = await ask(engine, {**body, "top_logprobs": 1})
    return sum(generated.log_probs[:length])


def _only(tokens: Sequence[int]) -> tuple[str, int]:
    """A grammar that allows these tokens and nothing else, so that the model tells how likely it finds them."""
    return f"root ::= {' '.join(f'<[{token}]>' for token in tokens)}", len(tokens)


def _texts_of(tool: ToolSpec) -> Iterable[str]:
    yield tool.name
    yield need_of(tool)
    yield from _named_in(tool.parameters)


def _named_in(schema: Any) -> Iterable[str]:
    """The names of properties and the texts to choose from, at any depth."""
    if isinstance(schema, dict):
        given = cast("dict[str, Any]", schema)
        for key, value in given.items():
            if key == "properties" and isinstance(value, dict):
                yield from cast("dict[str, Any]", value)
            if key == "enum" and isinstance(value, list):
                yield from (item for item in cast("list[Any]", value) if isinstance(item, str))
            yield from _named_in(value)
    elif isinstance(schema, list):
        for item in cast("list[Any]", schema):
            yield from _named_in(item)


def _stems(texts: Iterable[str]) -> set[str]:
    words = (word.lower() for text in texts for word in re.findall(r"[^\W\d_]{3,}", text))
    return {word[:_STEM_CHARS] for word in words if not _EMPTY_WORDS.fullmatch(word)}
