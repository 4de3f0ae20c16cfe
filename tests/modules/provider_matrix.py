"""Which provider can do what, found out by asking each one; ``python -m tests.modules.provider_matrix`` writes it down.

A vendor over HTTP is shown an answer that has everything in it, and asked to write requests that wish for something:
what is in the request is honoured, what is told as a degradation is told, and what is neither is a defect.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.modules.llm_server import Answer
from tests.modules.provider_matrix_other import LOST, NO, TOLD, YES, local_column, mock_column
from tests.modules.provider_samples import SAMPLES, THOUGHT, Body, Sample, stored

from amplifier_core.llm_errors import LLMTimeoutError
from amplifier_core.message_models import ChatRequest, ThinkingBlock, ToolSpec, Usage
from amplifier_modkit.llm.provider import HttpProvider
from amplifier_modkit.llm.repair import repair
from amplifier_modkit.llm.settings import ProviderSettings
from amplifier_modkit.llm.wire import WireCall
from amplifier_modkit.turns.requests import to_model

PAGE = Path(__file__).parents[2] / "docs/guide/providers.md"
COMMAND = "python -m tests.modules.provider_matrix"

PART = "part"
COLUMNS = (*(sample.name for sample in SAMPLES), "local", "mock")
ROWS = {
    "streaming": "text in pieces as it comes",
    "tools": "tool calls",
    "parallel": "several calls in one answer",
    "tool_choice": "`tool_choice`: `required`, `none`, one tool",
    "broken": "arguments that are no JSON reach the loop",
    "thinking": "thinking can be read",
    "thinking_back": "thinking goes back to the model",
    "secrets_back": "signatures and encrypted reasoning go back unchanged",
    "images": "images",
    "image_results": "images in tool results",
    "json": "answer in JSON",
    "json_schema": "answer by a JSON schema",
    "max_output_tokens": "`max_output_tokens`",
    "temperature": "`temperature`, 0 too",
    "top_p": "`top_p`",
    "stop": "`stop`",
    "reasoning_effort": "`reasoning_effort`",
    "timeout": "`timeout` of a request",
    "caching": "asks for prompt caching",
    "cached_tokens": "counts cached tokens",
    "reasoning_tokens": "counts reasoning tokens",
    "count_tokens": "counts tokens beforehand",
    "live_models": "lists models live",
    "price": "price of a call",
    "rate_limits": "rate-limit headers heeded",
}

_ASKED: Body = {"role": "user", "content": "What is the weather in Paris and Rome?"}
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PIXEL}}
_WEATHER = ToolSpec(
    name="weather",
    description="Tells the weather.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
_SCHEMA = {
    "type": "object",
    "properties": {"sentinel": {"type": "string"}},
    "required": ["sentinel"],
    "additionalProperties": False,
}

Honoured = Callable[[Body, Body], bool]
"""Whether a wish is met in the first body, if the second is that of the same request without it."""


async def columns() -> dict[str, dict[str, str]]:
    """The cells of every provider, by name."""
    found = {sample.name: await _column(sample) for sample in SAMPLES}
    return {**found, "local": await local_column(), "mock": await mock_column()}


def table(cells: Mapping[str, Mapping[str, str]]) -> str:
    """The matrix as a table of the page."""
    lines = [f"| | {' | '.join(f'`{name}`' for name in cells)} |", f"|---|{':-:|' * len(cells)}"]
    lines += [f"| {label} | {' | '.join(each[row] for each in cells.values())} |" for row, label in ROWS.items()]
    return "\n".join(lines)


def settings_table() -> str:
    """The settings that every provider over HTTP understands, as a table of the page."""
    lines = ["| key | default | meaning |", "|---|---|---|"]
    for name, field in ProviderSettings.model_fields.items():
        default = "–" if field.default is None else f"`{json.dumps(field.default)}`"
        lines.append(f"| `{name}` | {default} | {field.description} |")
    return "\n".join(lines)


def with_tables(page: str, **tables: str) -> str:
    """The text of the page with other tables between the marks of their names."""
    for name, rows in tables.items():
        begin, end = (f"<!-- {name}: {word} -->" for word in ("begin", "end"))
        before, found, rest = page.partition(begin)
        _, found_too, after = rest.partition(end)
        if not found or not found_too:
            raise ValueError(f"The page needs the marks {begin} and {end}")
        page = f"{before}{begin}\n\n{rows}\n\n{end}{after}"
    return page


def current(page: str) -> str:
    """The text of the page as it should be."""
    return with_tables(page, matrix=table(asyncio.run(columns())), settings=settings_table())


async def _column(sample: Sample) -> dict[str, str]:
    async with sample.provider(Answer(silent=True, ending="stall")) as (provider, _):
        return {
            **_reading(sample, provider),
            **_sending_back(sample, provider),
            **_wishes(_Asking(provider)),
            **await _service(sample, provider),
        }


def _reading(sample: Sample, provider: HttpProvider) -> dict[str, str]:
    response, broken = provider.wire.read_answer(sample.body), provider.wire.read_answer(sample.broken)
    reader = provider.wire.open_stream()
    pieces = [
        piece
        for event, data in sample.events
        for piece in reader.feed(event, data if isinstance(data, str) else json.dumps(data))
    ]
    texts = [piece for piece in pieces if (piece.kind, piece.block_type) == ("delta", "text")]
    calls, usage = provider.parse_tool_calls(response), response.usage
    return {
        "streaming": _mark(reader.is_complete and len(texts) > 1),
        "tools": _mark(bool(calls) and calls[0].arguments == {"city": "Paris"}),
        "parallel": _mark(len({call.id for call in calls}) == 2),
        "broken": _mark([call.arguments for call in provider.parse_tool_calls(broken)] == ['{"city":']),
        "thinking": _mark(any(isinstance(block, ThinkingBlock) for block in response.content)),
        "cached_tokens": _mark(usage is not None and usage.cache_read_tokens is not None),
        "reasoning_tokens": _mark(usage is not None and usage.reasoning_tokens is not None),
    }


def _sending_back(sample: Sample, provider: HttpProvider) -> dict[str, str]:
    """What of an answer is in the next request of the same conversation."""
    response = provider.wire.read_answer(sample.body)
    results = [{"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in response.tool_calls or ()]
    history = [_ASKED, stored(response), *results]
    request = ChatRequest(messages=[to_model(each) for each in history], tools=[_WEATHER])
    sent = json.dumps(_Asking(provider).call(request, provider.default_model).body)
    has_secrets = bool(sample.secrets) and all(secret in sent for secret in sample.secrets)
    return {"thinking_back": _mark(THOUGHT in sent or has_secrets), "secrets_back": _mark(has_secrets)}


class _Asking:
    """Requests of one provider, written for every model that it knows."""

    def __init__(self, provider: HttpProvider) -> None:
        self._provider = provider
        listed = provider.vendor.catalogue.listed()
        self._models = [model.id for model in listed] or [provider.default_model]

    def call(self, request: ChatRequest, model: str) -> WireCall:
        """The request as it goes out."""
        return self._provider.wire.to_call(repair(request, self._provider.vendor.mark).request, model, stream=True)

    def cell(self, honoured: Honoured, *wishes: Body, **always: Any) -> str:
        """How all models take these wishes, beside what is in the request in any case."""
        outcomes: set[str] = set()
        for model in self._models:
            plain = self.call(_request(always), model)
            for wish in wishes:
                asked = self.call(_request({**always, **wish}), model)
                is_told = len(asked.degradations) > len(plain.degradations)
                outcomes.add(TOLD if is_told else YES if honoured(asked.body, plain.body) else LOST)
        return _joined(outcomes)

    def differs(self, first: Body, *others: Body) -> str:
        """How all models take wishes of which each must become another request."""
        outcomes: set[str] = set()
        for model in self._models:
            calls = [self.call(_request(wish), model) for wish in (first, *others)]
            for before, after in pairwise(calls):
                is_told = bool(after.degradations) or bool(before.degradations)
                outcomes.add(TOLD if is_told else YES if before.body != after.body else LOST)
        return _joined(outcomes)


def _request(wishes: Body) -> ChatRequest:
    history = wishes.get("messages", [_ASKED])
    return ChatRequest(**{**wishes, "messages": [to_model(each) for each in history]})


def _wishes(asking: _Asking) -> dict[str, str]:
    called = {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": "weather", "input": {}}]}
    shown = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "see"}, _IMAGE]}
    choices: list[Body] = [{"tool_choice": choice} for choice in ("required", "none", {"name": "weather"})]
    json_schema = {"type": "json_schema", "json_schema": _SCHEMA}
    return {
        "tool_choice": asking.cell(_is_other, *choices, tools=[_WEATHER]),
        "images": asking.cell(_has(_PIXEL), {"messages": [{"role": "user", "content": [_IMAGE]}]}),
        "image_results": asking.cell(_has(_PIXEL), {"messages": [_ASKED, called, shown]}),
        "json": asking.cell(_is_other, {"response_format": {"type": "json"}}),
        "json_schema": asking.cell(_has("sentinel"), {"response_format": json_schema}),
        "max_output_tokens": asking.cell(_has(777), {"max_output_tokens": 777}),
        "temperature": _joined(
            {asking.cell(_has(0.25), {"temperature": 0.25}), asking.cell(_is_other, {"temperature": 0.0})}
        ),
        "top_p": asking.cell(_has(0.75), {"top_p": 0.75}),
        "stop": asking.cell(_has("HALT"), {"stop": ["HALT"]}),
        "reasoning_effort": asking.differs({"reasoning_effort": "low"}, {"reasoning_effort": "high"}),
        "caching": NO if asking.cell(_caches, {"conversation_id": "c-1"}) == LOST else YES,
    }


async def _service(sample: Sample, provider: HttpProvider) -> dict[str, str]:
    listed = [model.id for model in await provider.list_models()]
    usage = Usage(input_tokens=1_000, output_tokens=1_000, total_tokens=2_000)
    cost = provider.vendor.catalogue.cost_of(usage, provider.default_model)
    limits = provider.vendor.read_limits(sample.limits, 0.0)
    try:
        await provider.complete(_request({"timeout": 0.02}))
        in_time = LOST
    except LLMTimeoutError:
        in_time = YES
    return {
        "timeout": in_time,
        "count_tokens": _mark(hasattr(provider, "count_tokens")),
        "live_models": _mark(sample.live in listed),
        "price": NO if cost is None else YES if cost else "free",
        "rate_limits": _mark(bool(limits)),
    }


def _is_other(body: Body, plain: Body) -> bool:
    return body != plain


def _has(value: Any) -> Honoured:
    return lambda body, plain: value in _leaves(body) and value not in _leaves(plain)


def _caches(body: Body, plain: Body) -> bool:
    return any(word in json.dumps(body) for word in ("cache_control", "prompt_cache_key"))


def _leaves(value: Any) -> list[Any]:
    """All single values in a body, and the keys of its mappings; a data URL counts as what it has."""
    return list(_walk(value))


def _walk(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value  # pyright: ignore[reportUnknownVariableType]
        for each in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _walk(each)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _walk(each)
    else:
        yield value.partition(";base64,")[2] or value if isinstance(value, str) else value


def _joined(outcomes: set[str]) -> str:
    if LOST in outcomes:
        return LOST
    return outcomes.pop() if len(outcomes) == 1 else PART


def _mark(can: bool) -> str:
    return YES if can else NO


def main() -> int:
    """Writes the tables into the page."""
    PAGE.write_text(current(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
