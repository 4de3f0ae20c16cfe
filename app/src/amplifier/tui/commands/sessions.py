"""Commands about the conversation itself: begun anew, gone on with, forked, taken back, shortened, handed on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amplifier.console.plain import one_line
from amplifier.problems import Problem, SessionProblem
from amplifier.runtime.runtime import Setting
from amplifier.settings.files import write_atomically
from amplifier.store import SessionStore, StoredSession, to_document, to_markdown
from amplifier.store.transcript import begins_turn, text_of
from amplifier.tui.commands.command import Command, Desk, table

_SHOWN_SESSIONS = 10
_SHOWN_CHARS = 70
_LEAST_TOKENS = 200
_CHARS_PER_TOKEN = 4


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
    """Goes on with another session; without one, lists those of this directory."""
    store, stored = _stores(desk.talk.opening.setting)
    if argument:
        await desk.talk.open(store.find(argument))
        await recap(desk)
        return
    others = [each for each in store.list(_SHOWN_SESSIONS + 1, working_dir=_here(desk)) if each.id != stored.id]
    if not others:
        raise SessionProblem("There is no other session in this directory.", "amplifier session list shows all.")
    rows = [(each.short_id, each.metadata().updated[:16].replace("T", " "), _title(each)) for each in others]
    desk.say(table(("session", "used", "about"), rows[:_SHOWN_SESSIONS]) + "\n\nGo on with one: `/resume SESSION`")


async def fork(desk: Desk, argument: str) -> None:
    """Goes on in a copy; the session stays as it is here."""
    store, stored = _stores(desk.talk.opening.setting)
    made = store.fork(stored, _number(argument))
    await desk.talk.open(made)
    desk.notice(f"in a copy now; the former session: /resume {stored.short_id}")


async def rewind(desk: Desk, argument: str) -> None:
    """Takes back the conversation to before something that was said; without a number, lists what was said."""
    said = [text_of(each) for each in await desk.talk.messages() if begins_turn(each)]
    if not said:
        raise SessionProblem("Nothing was said yet that could be taken back.")
    number = _number(argument)
    if number is None:
        rows = [(str(place), one_line(text, _SHOWN_CHARS)) for place, text in enumerate(said, 1)]
        desk.say(table(("turn", "you said"), rows) + "\n\nGo back to before one: `/rewind TURN`")
        desk.prefill("/rewind ")
        return
    if not 1 <= number <= len(said):
        raise SessionProblem(f"There is no turn {number}.", f"There are {len(said)}.")
    await _go_back(desk, number)
    desk.prefill(said[number - 1])


async def _go_back(desk: Desk, number: int) -> None:
    store, stored = _stores(desk.talk.opening.setting)
    await desk.talk.open(store.fork(stored, number - 1) if number > 1 else None)
    # Files are left alone: what was changed outside the conversation is not ours to undo.
    desk.notice(f"back to before turn {number}; files stay as they are; all of it: /resume {stored.short_id}")


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

    _, stored = _stores(desk.talk.opening.setting)
    target = _target(_here(desk), argument or f"amplifier-{stored.short_id}.md")
    redact = desk.talk.capability("redaction.redact")
    is_json = target.suffix == ".json"
    text = json.dumps(to_document(stored, redact), indent=2, default=str) if is_json else to_markdown(stored, redact)
    write_atomically(target, text, 0o600)
    desk.notice(f"written to {target}{'' if redact else '; secrets are not masked: hooks-redaction is not there'}")


async def copy(desk: Desk, argument: str) -> None:
    """Puts the last answer into the clipboard."""
    answers = [text_of(each) for each in await desk.talk.messages() if each.get("role") == "assistant"]
    answer = next((text for text in reversed(answers) if text.strip()), None)
    if answer is None:
        raise Problem("There is no answer yet.")
    desk.copy(answer)
    desk.notice(f"{len(answer):,} characters for the clipboard, if the terminal takes them (OSC 52)")


async def quit_(desk: Desk, argument: str) -> None:
    """Leaves the chat."""
    desk.leave()


async def recap(desk: Desk, most: int = 6) -> None:
    """Shows the end of the conversation of a session that goes on."""
    said = [each for each in await desk.talk.messages() if each.get("role") in ("user", "assistant")]
    texts = [(begins_turn(each), text_of(each)) for each in said if text_of(each).strip()]
    for is_user, text in texts[-most:]:
        if is_user:
            desk.talk.view.print_user(text)
        else:
            desk.say(text)
    stored = desk.talk.opening.setting.stored
    named = "" if stored is None else f" {stored.short_id}"
    desk.notice(f"session{named} goes on; {sum(1 for is_user, _ in texts if is_user)} turns so far")


def _stores(setting: Setting) -> tuple[SessionStore, StoredSession]:
    if setting.store is None or setting.stored is None:
        raise SessionProblem("This session is not kept, so this cannot be done.", "Start without --ephemeral.")
    return setting.store, setting.stored


def _here(desk: Desk) -> Path:
    return desk.talk.opening.setting.working_dir


def _target(folder: Path, name: str) -> Path:
    target = folder / Path(name).expanduser()
    if target.exists():
        raise Problem(f"{target} is there already.", "Name another file: /export FILE")
    return target


def _title(session: StoredSession) -> str:
    first = next((text_of(each) for each in session.messages() if begins_turn(each)), "")
    return one_line(session.metadata().name or first, _SHOWN_CHARS)


def _number(argument: str) -> int | None:
    if not argument:
        return None
    if not argument.isdecimal():
        raise Problem(f"'{argument}' is no number of a turn.", "/rewind lists the turns.")
    return int(argument)


def _tokens(messages: list[dict[str, Any]]) -> int:
    return sum(len(str(each.get("content") or "")) for each in messages) // _CHARS_PER_TOKEN


SESSIONS = (
    Command("new", "Begin another session; this one stays.", new),
    Command("clear", "The same on an empty screen.", clear),
    Command("resume", "Go on with another session, or list them.", resume, "[SESSION]"),
    Command("fork", "Go on in a copy of this session, whole or up to a turn.", fork, "[TURN]"),
    Command("rewind", "Take the conversation back to before a turn, or list the turns.", rewind, "[TURN]"),
    Command("compact", "Shorten what the model gets of the conversation.", compact),
    Command("export", "Write the conversation into a file (.md or .json).", export, "[FILE]"),
    Command("copy", "Put the last answer into the clipboard.", copy, is_quick=True),
    Command("quit", "Leave.", quit_, is_quick=True),
)
