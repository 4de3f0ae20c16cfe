"""The guard: judges each call before it runs, asks people where that is needed, and tells what was decided.

It asks the approval system or the registered provider itself, and answers ``tool:pre`` only when it knows: an
``ask_user`` answer would leave the asking to the loop, and the guard would never learn what was chosen.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from inspect import isawaitable
from pathlib import Path
from typing import Any, cast

from amplifier_core.approval import ApprovalTimeoutError
from amplifier_core.events import APPROVAL_DENIED, APPROVAL_GRANTED, APPROVAL_REQUIRED
from amplifier_core.interfaces import ApprovalRequest
from amplifier_core.models import HookResult
from amplifier_modkit.clipping import clip_chars
from amplifier_modkit.paths.io_threads import IoThreads
from amplifier_modkit.plain_text import on_one_line
from amplifier_modkit.secrets import redact_text
from amplifier_module_hooks_approval.audit import AuditTrail
from amplifier_module_hooks_approval.calls import Call, UnreadableCallError, read_call
from amplifier_module_hooks_approval.config import ApprovalConfig
from amplifier_module_hooks_approval.desk import ApprovalDesk
from amplifier_module_hooks_approval.modes import ApprovalMode
from amplifier_module_hooks_approval.policy import Decision, Policy
from amplifier_module_hooks_approval.questions import Answer, Question, question_about, read_choice, read_response
from amplifier_module_hooks_approval.tool_kinds import risk_of

logger = logging.getLogger(__name__)

SAVE_RULE = "approval.save_rule"
"""The capability by which an application keeps rules: a function of the rule's text, async or not."""
REQUIRED_TOOLS = "require_approval_tools"

_USUAL_TIMEOUT_S = 300.0
# What an approval system may take beyond its limit before it counts as one that does not keep limits.
_GRACE_S = 5.0
_JUDGING_S = 30.0
_MOST_ACTION_CHARS = 300
_NOBODY = Answer(False, "there is nobody to ask for approval")


class ApprovalGuard:
    """The handler of ``tool:pre`` for one session, and for its children, who inherit it."""

    def __init__(
        self, coordinator: Any, config: ApprovalConfig, desk: ApprovalDesk, mode: ApprovalMode, working_dir: Path
    ) -> None:
        self._coordinator = coordinator
        self._config = config
        self._policy = Policy(config)
        self._desk = desk
        self._mode = mode
        self._working_dir = working_dir
        self._threads = IoThreads(_JUDGING_S)
        self.audit = AuditTrail(config.audit, coordinator)

    async def __call__(self, event: str, data: dict[str, Any]) -> HookResult:
        """Lets a call go on, or denies it with a reason for the model."""
        try:
            call = self._call_in(data)
        except UnreadableCallError as error:
            return HookResult(action="deny", reason=str(error))
        decision = await self._decide(call)
        if decision.verdict == "ask":
            decision = await self._ask_in_turn(call)
        return await self._conclude(call, decision)

    def _call_in(self, data: dict[str, Any]) -> Call:
        name, tool_input = read_call(data)
        session_id = str(data.get("session_id"))
        home = self._desk.homes.get(session_id)
        tool: Any = None if home is None else _mounted(home, name)
        ids = (session_id, str(data.get("tool_call_id")), str(data.get("timestamp")))
        return Call(name, tool_input, *ids, self._working_dir_for(tool), tool)

    def _working_dir_for(self, tool: Any) -> Path:
        own = getattr(tool, "working_dir", None)
        return Path(own).resolve() if isinstance(own, str | Path) else self._working_dir

    async def _decide(self, call: Call) -> Decision:
        mode = await self._mode.observe()
        required = _names_in(self._coordinator.session_state.get(REQUIRED_TOOLS))
        learned = tuple(self._desk.learned)
        return await self._threads.run(lambda leave: self._policy.decide(call, mode, learned, required))

    async def _ask_in_turn(self, call: Call) -> Decision:
        """Asks when nobody else does; by then a rule, or another guard of the same call, may have the answer."""
        async with self._desk.turn:
            answer = self._desk.answer_to(call)
            if answer is None:
                decision = await self._decide(call)
                if decision.verdict != "ask":
                    return decision
                answer = await self._ask(call, decision)
                self._desk.note_answer(call, answer)
        told = f": {answer.reason}" if answer.reason else ""
        if answer.is_allowed:
            return Decision("allow", f"approved ({answer.scope}){told}", is_granted=True)
        return Decision("deny", f"not approved{told or '; do not try it again, ask what to do instead'}")

    async def _ask(self, call: Call, decision: Decision) -> Answer:
        save = self._coordinator.get_capability(SAVE_RULE)
        # Judging a rule takes as long as judging the call.
        question = await self._threads.run(
            lambda leave: question_about(call, decision, asked_in=self._coordinator.session_id, can_save=callable(save))
        )
        await self._tell(APPROVAL_REQUIRED, call, action=_action_of(call), risk_level=_risk_of(call))
        try:
            answer = await self._answered(call, question)
        except ApprovalTimeoutError:
            is_allowed = self._config.default_action != "deny" and not decision.must_be_answered
            return Answer(is_allowed, "nobody answered in time")
        if answer.is_allowed and answer.scope != "once" and question.rule is not None:
            self._desk.learn(question.rule)
            if answer.scope == "always":
                await _save(save, str(question.rule))
        return answer

    async def _answered(self, call: Call, question: Question) -> Answer:
        timeout_s = self._config.default_timeout
        provider, system = self._desk.provider, self._coordinator.approval_system
        if provider is not None:
            request = _request_for(call, question, timeout_s)
            limit_s = None if timeout_s is None else timeout_s + _GRACE_S
            return read_response(await _within(limit_s, provider.request_approval(request)), question)
        if system is None:
            return _NOBODY
        timeout_s = timeout_s or _USUAL_TIMEOUT_S
        default = "deny" if self._config.default_action == "deny" else "allow"
        choice = system.request_approval(question.prompt, list(question.options), timeout_s, default)
        return read_choice(await _within(timeout_s + _GRACE_S, choice), question)

    async def _conclude(self, call: Call, decision: Decision) -> HookResult:
        is_allowed = decision.verdict == "allow"
        self.audit.note(call, decision, self._mode.get())
        if not decision.is_routine:
            await self._tell(APPROVAL_GRANTED if is_allowed else APPROVAL_DENIED, call, reason=decision.reason)
        if not is_allowed:
            self._desk.withdraw_grant(call)
            return HookResult(action="deny", reason=f"'{clip_chars(call.name, 200)}': {decision.reason}")
        if decision.is_granted:
            self._desk.note_grant(call)
        return HookResult()

    async def _tell(self, event: str, call: Call, **facts: str) -> None:
        home = self._desk.homes.get(call.session_id, self._coordinator)
        await home.hooks.emit(event, {"tool_name": call.name, "tool_call_id": call.call_id, **facts})


def _mounted(coordinator: Any, name: str) -> Any:
    tools: dict[str, Any] = coordinator.get("tools") or {}
    return tools.get(name)


def _names_in(named: Any) -> Collection[str]:
    if isinstance(named, str):
        return (named,)
    return frozenset(map(str, cast("Collection[Any]", named))) if isinstance(named, Collection) else ()


def _action_of(call: Call) -> str:
    return clip_chars(on_one_line(redact_text(call.subject)[0]), _MOST_ACTION_CHARS)


def _risk_of(call: Call) -> str:
    return risk_of(call.name, changes=call.changes)


def _request_for(call: Call, question: Question, timeout_s: float | None) -> ApprovalRequest:
    details = {
        "tool_input": dict(call.input),
        "prompt": question.prompt,
        "rule": None if question.rule is None else str(question.rule),
        "session_id": call.session_id,
        "tool_call_id": call.call_id,
    }
    return ApprovalRequest(
        tool_name=call.name, action=_action_of(call), details=details, risk_level=_risk_of(call), timeout=timeout_s
    )


async def _within(limit_s: float | None, answer: Any) -> Any:
    """The answer, for which a limit is kept too: whoever asks holds up everybody else."""
    scope = asyncio.timeout(limit_s)
    try:
        async with scope:
            return await answer if isawaitable(answer) else answer
    except TimeoutError as error:
        # One that somebody else raised tells nothing about people, so it is a failure like any other.
        if not scope.expired():
            raise
        raise ApprovalTimeoutError from error


async def _save(save: Any, rule: str) -> None:
    """Has the application keep a rule; where it cannot, the rule holds for the session, as the question has said."""
    if not callable(save):
        return
    try:
        saved = save(rule)
        if isawaitable(saved):
            await saved
    except Exception as error:
        logger.warning("The rule '%s' holds for this session only, it could not be saved: %r", rule, error)
