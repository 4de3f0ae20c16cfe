"""Commands about the model and what it took: which one, how full its window is, and the bill."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

from amplifier.store.transcript import IMAGE_TOKENS, calls_in, image_count, text_of
from amplifier.tui.commands.command import Command, Desk, table
from amplifier.tui.picker import Choice

_CHARS_PER_TOKEN = 4


async def model(desk: Desk, argument: str) -> None:
    """Goes over to another model in the same conversation; without one, has the user choose."""
    talk = desk.talk
    wanted = argument or await _choose_model(desk)
    if wanted is not None:
        await talk.change(model=wanted)
        desk.notice(f"model: {talk.model or wanted} of {talk.provider[0]}")


async def _choose_model(desk: Desk) -> str | None:
    name, provider = desk.talk.provider
    try:
        offered = cast("list[Any]", await provider.list_models())
    except Exception as error:  # a provider may be of anybody's making, and only a list is at stake
        desk.notice(f"{name} does not tell its models: {error}")
        offered = []
    now = desk.talk.model
    if not offered:
        desk.say(f"Now: `{now or 'the default'}` of `{name}`. Another one: `/model MODEL`")
        return None
    choices = [Choice(each.id, f"{each.display_name} · {each.context_window:,} tokens") for each in offered]
    choices = [replace(each, note=f"{each.note} · now") if each.label == now else each for each in choices]
    known = [each.label for each in choices]
    chosen = await desk.choose(f"Models of {name}", choices, known.index(now) if now in known else 0)
    return None if chosen is None else known[chosen]


async def provider(desk: Desk, argument: str) -> None:
    """Goes over to another provider in the same conversation; without one, has the user choose."""
    talk = desk.talk
    wanted = argument or await _choose_provider(desk)
    if wanted is not None:
        talk.changes.pop("model", None)
        await talk.change(provider=wanted)
        desk.notice(f"provider: {talk.provider[0]}, model: {talk.model or 'its default'}")


async def _choose_provider(desk: Desk) -> str | None:
    mounted = cast("dict[str, Any]", desk.talk.runtime.session.coordinator.get("providers"))
    first = desk.talk.provider[0]
    choices = [
        Choice(name, f"{each.get_info().display_name}{' · asked first' if name == first else ''}")
        for name, each in mounted.items()
    ]
    chosen = await desk.choose("Providers of this session", choices, list(mounted).index(first))
    return None if chosen is None else choices[chosen].label


async def status(desk: Desk, argument: str) -> None:
    """How the session stands."""
    talk = desk.talk
    stored, setting = talk.opening.setting.stored, talk.opening.setting
    rows = [
        ("session", talk.runtime.session.session_id),
        ("kept in", "nowhere (--ephemeral)" if stored is None else str(stored.folder)),
        ("name", (stored.metadata().name if stored else None) or "–"),
        ("working directory", str(setting.working_dir)),
        ("bundle", talk.opening.plan.bundle),
        ("provider", talk.provider[0]),
        ("model", talk.model or "its default"),
        ("mode", talk.mode or "nothing asks"),
        ("tools", str(len(talk.runtime.tool_names))),
    ]
    desk.talk.view.print_facts(rows)


async def cost(desk: Desk, argument: str) -> None:
    """What the session has taken so far."""
    spent = desk.talk.runtime.session.status
    money = "not known" if spent.cost_usd is None else f"{spent.cost_usd} USD"
    rows = [
        ("tokens in", f"{spent.total_input_tokens:,}"),
        ("tokens out", f"{spent.total_output_tokens:,}"),
        ("cost", money),
    ]
    account = desk.talk.capability("cost.account")
    if account is not None:
        rows.append(("with sub-agents", f"{account.spent.cost} USD, {account.spent.tokens:,} tokens"))
    desk.say(table(("since it was opened", ""), rows, numbers=(1,)))


async def context(desk: Desk, argument: str) -> None:
    """What fills the window of the model, by where it comes from; an estimate."""
    parts = await _parts(desk)
    total = sum(parts.values())
    window = desk.talk.context_window
    rows = [(name, f"{tokens:,}", f"{tokens / max(total, 1):.0%}") for name, tokens in parts.items() if tokens]
    used = f"{total:,} of {window:,} tokens ({total / window:.0%})" if window else f"{total:,} tokens"
    listed = table(("source", "tokens", "share"), rows, numbers=(1, 2))
    desk.say(f"{listed}\n\nAbout {used}, four characters counted as a token.")


async def _parts(desk: Desk) -> dict[str, int]:
    talk = desk.talk
    coordinator: Any = talk.runtime.session.coordinator
    sent = cast(
        "list[dict[str, Any]]", await coordinator.get("context").get_messages_for_request(provider=talk.provider[1])
    )
    parts = {"system prompt": len(talk.opening.plan.instruction), "tools": _of_tools(coordinator.get("tools"))}
    for role, name in (("user", "what you said"), ("assistant", "answers"), ("tool", "results of tools")):
        parts[name] = sum(len(text_of(each)) for each in sent if each.get("role") == role)
    parts["images"] = sum(map(image_count, sent)) * IMAGE_TOKENS * _CHARS_PER_TOKEN
    parts["calls of tools"] = sum(len(json.dumps(calls_in(each), default=str)) for each in sent if calls_in(each))
    return {name: chars // _CHARS_PER_TOKEN for name, chars in parts.items()}


def _of_tools(tools: dict[str, Any]) -> int:
    return sum(
        len(name)
        + len(str(getattr(tool, "description", "")))
        + len(json.dumps(getattr(tool, "input_schema", {}), default=str))
        for name, tool in tools.items()
    )


MODELS = (
    Command("model", "Go over to another model; without a name, choose one.", model, "[MODEL]"),
    Command("provider", "Go over to another provider; without a name, choose one.", provider, "[NAME]"),
    Command("status", "How the session stands.", status, is_quick=True),
    Command("cost", "What the session has taken so far.", cost, is_quick=True),
    Command("usage", "The same as /cost.", cost, is_quick=True),
    Command("context", "What fills the model's window, by source.", context),
)
