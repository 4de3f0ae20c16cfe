"""Commands about the model and what it took: which one, how full its window is, and the bill."""

from __future__ import annotations

import json
from typing import Any, cast

from amplifier.store.transcript import calls_in, text_of
from amplifier.tui.commands.command import Command, Desk, table

_CHARS_PER_TOKEN = 4
_SHOWN_MODELS = 40


async def model(desk: Desk, argument: str) -> None:
    """Goes over to another model in the same conversation; without one, lists them."""
    talk = desk.talk
    if argument:
        await talk.change(model=argument)
        desk.notice(f"model: {talk.model or argument} of {talk.provider[0]}")
        return
    name, provider = talk.provider
    try:
        offered = cast("list[Any]", await provider.list_models())
    except Exception as error:  # a provider may be of anybody's making, and only a list is at stake
        desk.notice(f"{name} does not tell its models: {error}")
        offered = []
    rows = [(str(each.id), f"{each.context_window:,}", str(each.display_name)) for each in offered[:_SHOWN_MODELS]]
    listed = table(("model", "window", "name"), rows) + "\n\n" if rows else ""
    desk.say(f"{listed}Now: `{talk.model or 'the default'}` of `{name}`. Another one: `/model MODEL`")


async def provider(desk: Desk, argument: str) -> None:
    """Goes over to another provider in the same conversation; without one, lists those of the session."""
    talk = desk.talk
    if argument:
        talk.changes.pop("model", None)
        await talk.change(provider=argument)
        desk.notice(f"provider: {talk.provider[0]}, model: {talk.model or 'its default'}")
        return
    mounted = cast("dict[str, Any]", talk.runtime.session.coordinator.get("providers"))
    first = talk.provider[0]
    rows = [
        (name, each.get_info().display_name, "asked first" if name == first else "") for name, each in mounted.items()
    ]
    desk.say(table(("provider", "name", ""), rows) + "\n\nAnother one: `/provider NAME`")


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
    desk.say(table(("", ""), rows))


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
    desk.say(table(("since it was opened", ""), rows))


async def context(desk: Desk, argument: str) -> None:
    """What fills the window of the model, by where it comes from; an estimate."""
    parts = await _parts(desk)
    total = sum(parts.values())
    window = desk.talk.context_window
    rows = [(name, f"{tokens:,}", f"{tokens / max(total, 1):.0%}") for name, tokens in parts.items() if tokens]
    used = f"{total:,} of {window:,} tokens ({total / window:.0%})" if window else f"{total:,} tokens"
    desk.say(f"{table(('source', 'tokens', 'share'), rows)}\n\nAbout {used}, four characters counted as a token.")


async def _parts(desk: Desk) -> dict[str, int]:
    talk = desk.talk
    coordinator: Any = talk.runtime.session.coordinator
    sent = cast(
        "list[dict[str, Any]]", await coordinator.get("context").get_messages_for_request(provider=talk.provider[1])
    )
    parts = {"system prompt": len(talk.opening.plan.instruction), "tools": _of_tools(coordinator.get("tools"))}
    for role, name in (("user", "what you said"), ("assistant", "answers"), ("tool", "results of tools")):
        parts[name] = sum(len(text_of(each)) for each in sent if each.get("role") == role)
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
    Command("model", "Go over to another model, or list them.", model, "[MODEL]"),
    Command("provider", "Go over to another provider, or list them.", provider, "[NAME]"),
    Command("status", "How the session stands.", status, is_quick=True),
    Command("cost", "What the session has taken so far.", cost, is_quick=True),
    Command("context", "What fills the model's window, by source.", context),
)
