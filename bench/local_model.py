"""Measures how well the embedded model of provider-local calls tools: ``python -m bench.local_model``.

The prompts of ``local-model-prompts.json`` were written before the first run, and nothing was tuned on them. Each is
put to the provider twice: free to call a tool or to answer, and, where a tool fits, with a call required. Counted is
whether the tool is right, whether it and its arguments are, and whether the arguments fit the schema of the tool;
besides, how long it takes. Then it is given questions with the result of a tool, and counted is whether the answer
has it; whether it is right is for a person to read. The results go to ``local-model-results.json``, the table to
standard output.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amplifier_core.message_models import ChatRequest, Message, TextBlock, ToolCallBlock, ToolSpec
from amplifier_modkit.turns.schemas import Schema
from amplifier_module_provider_local.provider import LocalProvider
from bench.machine import conditions

HERE = Path(__file__).parent
PROMPTS = HERE / "local-model-prompts.json"
RESULTS = HERE / "local-model-results.json"


@dataclass(frozen=True)
class Outcome:
    """What came of one prompt."""

    prompt: str
    wanted: str | None
    called: str | None
    arguments: dict[str, Any] | None
    is_tool_right: bool
    is_all_right: bool
    is_valid: bool
    seconds: float


async def main(arguments: list[str] | None = None) -> None:
    """Runs all prompts, or the first few of each set, and tells the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.local_model", description=__doc__)
    parser.add_argument("--most", type=int, help="prompts of each set")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    prompts = json.loads(PROMPTS.read_text(encoding="utf-8"))
    sets = prompts["sets"]
    provider = LocalProvider()
    try:
        await provider.prepare()
        free = [each for one in sets for each in await run_set(provider, one, options.most)]
        required = [each for one in sets for each in await run_set(provider, one, options.most, is_required=True)]
        told = [await telling(provider, each) for each in prompts["results"][: options.most]]
    finally:
        await provider.close()
    figures = {"free": summary(free), "required": summary(required)}
    results = {"answers": len(told), "with_the_result": sum(each["is_told"] for each in told)}
    written = {
        **conditions(),
        "figures": {**figures, "results": results},
        "outcomes": {
            "free": [vars(each) for each in free],
            "required": [vars(each) for each in required],
            "results": told,
        },
    }
    options.output.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(table(figures))
    print(f"Answers that have the result of a tool in them: {results['with_the_result']}/{results['answers']}")


async def run_set(
    provider: LocalProvider, one: dict[str, Any], most: int | None, *, is_required: bool = False
) -> list[Outcome]:
    """The outcomes of one set of prompts; with a call required, of those that a tool fits."""
    tools = [ToolSpec.model_validate(tool) for tool in one["tools"]]
    prompts = [each for each in one["prompts"] if each["tool"] or not is_required]
    return [await outcome(provider, tools, each, is_required=is_required) for each in prompts[:most]]


async def outcome(
    provider: LocalProvider, tools: list[ToolSpec], prompt: dict[str, Any], *, is_required: bool
) -> Outcome:
    """What the provider makes of one prompt."""
    request = ChatRequest(
        messages=[Message(role="user", content=prompt["text"])],
        tools=tools,
        tool_choice="required" if is_required else None,
        max_output_tokens=16,
    )
    started = time.perf_counter()
    response = await provider.complete(request)
    seconds = time.perf_counter() - started
    call = next(iter(response.tool_calls or ()), None)
    schemas = {tool.name: Schema(tool.parameters) for tool in tools}
    called = call.name if call else None
    said = json.dumps(call.arguments, ensure_ascii=False) if call else ""
    return Outcome(
        prompt=prompt["text"],
        wanted=prompt["tool"],
        called=called,
        arguments=call.arguments if call else None,
        is_tool_right=called == prompt["tool"],
        is_all_right=called == prompt["tool"] and all(text in said for text in prompt.get("has", ())),
        is_valid=call is None or schemas[call.name].complaint(call.arguments) is None,
        seconds=round(seconds, 2),
    )


async def telling(provider: LocalProvider, given: dict[str, Any]) -> dict[str, Any]:
    """What the provider says when a tool has given its result."""
    call = ToolCallBlock(id="call-1", name="look_up", input={})
    messages = [
        Message(role="user", content=given["text"]),
        Message(role="assistant", content=[call]),
        Message(role="tool", tool_call_id=call.id, content=given["result"]),
    ]
    response = await provider.complete(ChatRequest(messages=messages, max_output_tokens=40))
    answer = "".join(block.text for block in response.content if isinstance(block, TextBlock))
    return {**given, "answer": answer, "is_told": given["has"] in answer}


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    """The counts and the usual time."""
    calls = [each for each in outcomes if each.wanted]
    return {
        "prompts": len(outcomes),
        "tool_right": sum(each.is_tool_right for each in outcomes),
        "prompts_for_tools": len(calls),
        "tool_and_arguments_right": sum(each.is_all_right for each in calls),
        "prompts_for_no_tool": len(outcomes) - len(calls),
        "rightly_no_tool": sum(each.is_all_right for each in outcomes if not each.wanted),
        "calls": sum(each.called is not None for each in outcomes),
        "valid_calls": sum(each.is_valid for each in outcomes if each.called),
        "median_seconds": round(statistics.median(each.seconds for each in outcomes), 2),
    }


def table(figures: dict[str, dict[str, Any]]) -> str:
    """The figures as a table in Markdown."""
    rows = ["| tool choice | tool right | tool and arguments right | rightly no tool | valid arguments | median time |"]
    rows.append("|---|---|---|---|---|---|")
    for name, each in figures.items():
        none = f"{each['rightly_no_tool']}/{each['prompts_for_no_tool']}" if each["prompts_for_no_tool"] else "–"
        cells = [
            name,
            f"{each['tool_right']}/{each['prompts']}",
            f"{each['tool_and_arguments_right']}/{each['prompts_for_tools']}",
            none,
            f"{each['valid_calls']}/{each['calls']}",
            f"{each['median_seconds']:.1f} s",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    asyncio.run(main())
