"""Between our events and the user's commands: tells them what happens, and does what they answer."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import PROMPT_SUBMIT
from amplifier_core.models import HookResult
from amplifier_core.utils.jsonable import to_jsonable
from amplifier_modkit.paths.working_dir import working_dir_of
from amplifier_module_hooks_shell.answers import Answer, compose, read_answer
from amplifier_module_hooks_shell.commands import Surroundings, run, scrubbed_environment
from amplifier_module_hooks_shell.config import ShellHooksConfig
from amplifier_module_hooks_shell.conventions import BY_NAME, MOMENTS, Data, Moment, moment_of, told
from amplifier_module_hooks_shell.entries import Call, Entries

logger = logging.getLogger(__name__)

NAME = "hooks-shell"

_MOST_REMEMBERED = 256

Key = tuple[Any, ...]
Handler = Callable[[str, Data], Any]


class ShellHooks:
    """The commands of one session, as guards of its events; children inherit them, as all guards.

    One event has three handlers, since one answer can either refuse, or change, or add a text. The first runs the
    commands; the others do what is left of their answer.
    """

    def __init__(self, coordinator: ModuleCoordinator, config: ShellHooksConfig) -> None:
        self._coordinator = coordinator
        self._config = config
        self._cwd = working_dir_of(coordinator)
        self._entries = Entries(config, self._cwd)
        self._answers: OrderedDict[Key, tuple[list[str], Answer]] = OrderedDict()
        """What commands answered to an event, with every form of its data that they have judged by that."""
        self._openings: dict[str, str] = {}
        """Texts of commands that ran when a session started, for the first prompt of each session."""
        self._registered: list[Callable[[], None]] = []

    def register(self) -> None:
        """Registers for the events that there are commands for."""
        events = {event for moment in MOMENTS if self._entries.has(moment) for event in moment.events}
        if self._entries.has(BY_NAME["SessionStart"]):
            events.add(PROMPT_SUBMIT)
        for event in sorted(events):
            for place, handler in enumerate((self._decide, self._change, self._advise)):
                self._register_guard(event, handler, self._config.priority + place)

    def remove(self) -> None:
        """Removes all handlers; what children inherited stays."""
        for remove in self._registered:
            remove()

    def _register_guard(self, event: str, handler: Handler, priority: int) -> None:
        self._registered.append(self._coordinator.hooks.register(event, handler, priority, NAME, on_error="deny"))

    async def _decide(self, event: str, data: Data) -> HookResult:
        moment = moment_of(event, data)
        answer = await self._answer(moment, event, data)
        if answer.stops:
            await self._coordinator.request_cancel()
        return _verdict(moment, data, answer)

    async def _change(self, event: str, data: Data) -> HookResult:
        _, answer = self._answers.get(_key(event, data), ((), Answer()))
        if answer.updated_input is None or answer.updated_input == data.get("tool_input"):
            return HookResult()
        return HookResult(action="modify", data={**data, "tool_input": answer.updated_input})

    async def _advise(self, event: str, data: Data) -> HookResult:
        moment = moment_of(event, data)
        _, answer = self._answers.get(_key(event, data), ((), Answer()))
        is_too_late = answer.verdict == "block" and not moment.can_refuse
        text = "\n\n".join(filter(None, (answer.context, answer.reason if is_too_late else "")))
        if not text or not moment.can_advise:
            return HookResult()
        reminder = f"<system-reminder>\n{text}\n</system-reminder>"
        return HookResult(action="inject_context", context_injection=reminder, context_injection_role="user")

    async def _answer(self, moment: Moment, event: str, data: Data) -> Answer:
        """What the commands answer; if they are asked again about what they have judged, the same as before."""
        key, judged = _key(event, data), _fingerprint(moment, data)
        known, answer = self._answers.get(key, ([], Answer()))
        if judged in known:
            return answer
        answer = await self._ask(moment, event, data)
        changed = {} if answer.updated_input is None else {"tool_input": answer.updated_input}
        self._answers[key] = ([judged, _fingerprint(moment, {**data, **changed})], answer)
        while len(self._answers) > _MOST_REMEMBERED:
            self._answers.popitem(last=False)
        return answer

    async def _ask(self, moment: Moment, event: str, data: Data) -> Answer:
        session_id = str(data.get("session_id") or self._coordinator.session_id)
        fields = told(moment, event, data)
        calls = self._entries.calls(moment, str(fields.get(moment.subject, "")))
        answers = await asyncio.gather(*(self._run(call, moment, session_id, fields) for call in calls))
        answer = compose(answers)
        if moment.name == "SessionStart":
            self._openings[session_id] = answer.context
        if moment.name == "UserPromptSubmit" and (opening := self._openings.pop(session_id, "")):
            return replace(answer, context="\n\n".join(filter(None, (opening, answer.context))))
        return answer

    async def _run(self, call: Call, moment: Moment, session_id: str, fields: Data) -> Answer:
        common = {"session_id": session_id, "cwd": str(self._cwd), "hook_event_name": moment.name}
        is_own = session_id == self._coordinator.session_id
        path = getattr(self._coordinator.get("context"), "path", None) if is_own else None
        transcript = {} if path is None else {"transcript_path": str(path)}
        tool = {} if call.tool_name is None else {"tool_name": call.tool_name}
        stdin = json.dumps(to_jsonable({**common, **transcript, **fields, **tool})).encode()
        command = call.command
        outcome = await run(
            command.command, stdin, command.timeout or self._config.timeout, self._surroundings(session_id)
        )
        fail_closed = self._config.fail_closed if command.on_failure is None else command.on_failure == "block"
        return read_answer(command.command, outcome, takes_text=moment.takes_text, fail_closed=fail_closed)

    def _surroundings(self, session_id: str) -> Surroundings:
        further = {
            "AMPLIFIER_PROJECT_DIR": str(self._cwd),
            "AMPLIFIER_SESSION_ID": session_id,
            "CLAUDE_PROJECT_DIR": str(self._cwd),
        }
        env = scrubbed_environment(self._config.allow_env, further)
        return Surroundings(self._cwd, env, self._config.max_output_bytes)


def _verdict(moment: Moment, data: Data, answer: Answer) -> HookResult:
    told_user: Data = {
        "user_message": answer.message or None,
        "user_message_level": "warning" if answer.is_warning else "info",
        "user_message_source": NAME,
        "suppress_output": answer.suppresses_output,
    }
    if answer.verdict == "go on" or not moment.can_refuse:
        if answer.verdict != "go on" and not moment.can_advise:
            logger.warning("A hook refuses '%s', which only tells what has happened: %s", moment.name, answer.reason)
        return HookResult(**told_user)
    if answer.verdict == "block":
        return HookResult(action="deny", reason=answer.reason or "a hook blocked it", **told_user)
    subject = data.get("tool_name") or moment.name
    prompt = f"A hook asks whether '{subject}' may go on" + (f": {answer.reason}" if answer.reason else "?")
    return HookResult(action="ask_user", approval_prompt=prompt, **told_user)


def _key(event: str, data: Data) -> Key:
    # The time is the same whenever handlers are asked about one and the same event, and else differs.
    ids = (str(data.get(name)) for name in ("session_id", "tool_call_id", "timestamp"))
    return event, *ids, id(asyncio.current_task())


def _fingerprint(moment: Moment, data: Data) -> str:
    return json.dumps(to_jsonable({name: data.get(field) for name, field in moment.fields.items()}), sort_keys=True)
