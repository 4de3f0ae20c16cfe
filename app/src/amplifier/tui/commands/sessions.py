"""Commands about the conversation itself: begun anew, gone on with, shortened, handed on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amplifier.problems import Problem
from amplifier.runtime.prompts import spoken
from amplifier.settings.files import write_atomically
from amplifier.store import to_document, to_markdown
from amplifier.store.transcript import IMAGE_TOKENS, begins_turn, image_count, text_of
from amplifier.tui.commands.command import Command, Desk
from amplifier.tui.commands.kept import kept
from amplifier.tui.past_sessions import choose_session

_LEAST_TOKENS = 200
_CHARS_PER_TOKEN = 4
_MOST_LINES, _MOST_CHARS = 40, 10_000
"""What is shown of an answer when a session goes on."""


async def new(desk: Desk, argument: str) -> None:
    """Begins another session; the present one stays as it is."""
    former = desk.talk.opening.setting.stored
    await desk.talk.open()
    desk.notice("a new session" if former is None else f"a new session; the former one: /resume {former.short_id}")


async def clear(desk: Desk, argument: str) -> None:
    """Begins another session on an empty screen."""
    desk.clear_screen()
    await new(desk, argument)


async def resume(desk: Desk, argument: str) -> None:
    """Goes on with another session; without one, has the user choose."""
    store, stored = kept(desk)
    wanted = store.find(argument) if argument else await choose_session(desk.choose, store, _here(desk), stored)
    if wanted is not None:
        await desk.talk.open(wanted)
        await recap(desk)


async def compact(desk: Desk, argument: str) -> None:
    """Shortens what the model gets of the conversation from now on; nothing is lost from the session."""
    context: Any = desk.talk.runtime.session.coordinator.get("context")
    provider = desk.talk.provider[1]
    before = await context.get_messages_for_request(provider=provider)
    budget = max(_LEAST_TOKENS, _tokens(before) // 2)
    after = await context.get_messages_for_request(token_budget=budget, provider=provider)
    told = f"about {_tokens(before):,} tokens before, {_tokens(after):,} now"
    is_shorter = _tokens(after) < _tokens(before)
    desk.notice(f"shortened: {told}" if is_shorter else f"there is nothing to shorten ({told})")


async def export(desk: Desk, argument: str) -> None:
    """Writes the conversation into a file: JSON for ``.json``, else Markdown."""
    import json

    _, stored = kept(desk)
    target = _target(_here(desk), argument or f"amplifier-{stored.short_id}.md")
    redact = desk.talk.capability("redaction.redact")
    is_json = target.suffix == ".json"
    text = json.dumps(to_document(stored, redact), indent=2, default=str) if is_json else to_markdown(stored, redact)
    write_atomically(target, text, 0o600)
    desk.notice(f"written to {target}{'' if redact else '; secrets are not masked: hooks-redaction is not there'}")


async def quit_(desk: Desk, argument: str) -> None:
    """Leaves the chat."""
    desk.leave()


async def recap(desk: Desk, most: int = 6) -> None:
    """Shows the end of the conversation of a session that goes on."""
    said = [each for each in await desk.talk.messages() if each.get("role") in ("user", "assistant")]
    texts = [(begins_turn(each), text_of(each)) for each in said if text_of(each).strip()]
    for is_user, text in texts[-most:]:
        if is_user:
            desk.talk.view.print_user(spoken(text))
        else:
            _say_beginning(desk, text)
    stored = desk.talk.opening.setting.stored
    named = "" if stored is None else f" {stored.short_id}"
    desk.notice(f"session{named} goes on; {sum(1 for is_user, _ in texts if is_user)} turns so far")


def _say_beginning(desk: Desk, text: str) -> None:
    lines = text[:_MOST_CHARS].split("\n")[:_MOST_LINES]
    desk.say("\n".join(lines))
    left = text.count("\n") + 1 - len(lines)
    if left > 0 or len(text) > _MOST_CHARS:
        desk.notice(f"… {left} more lines" if left > 0 else "… and more")


def _here(desk: Desk) -> Path:
    return desk.talk.opening.setting.working_dir


def _target(folder: Path, name: str) -> Path:
    target = folder / Path(name).expanduser()
    if target.exists():
        raise Problem(f"{target} is there already.", "Name another file: /export FILE")
    return target


def _tokens(messages: list[dict[str, Any]]) -> int:
    images = sum(map(image_count, messages)) * IMAGE_TOKENS
    said = (text_of(each) if image_count(each) else str(each.get("content") or "") for each in messages)
    return images + sum(map(len, said)) // _CHARS_PER_TOKEN


SESSIONS = (
    Command("new", "Begin another session; this one stays.", new),
    Command("clear", "The same on an empty screen.", clear),
    Command("resume", "Go on with another session; without a name, choose one.", resume, "[SESSION]"),
    Command("compact", "Shorten what the model gets of the conversation.", compact),
    Command("export", "Write the conversation into a file (.md or .json).", export, "[FILE]"),
    Command("quit", "Leave.", quit_, is_quick=True),
)
