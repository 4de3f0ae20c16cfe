"""A session at work: set up from a plan, asked turn by turn, watched for limits and signals, and taken down."""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from amplifier.bundles.plan import MountPlan
from amplifier.problems import (
    LimitProblem,
    Problem,
    ProviderProblem,
    SessionProblem,
    StorageProblem,
    TimeoutProblem,
)
from amplifier.runtime.assembly import in_folder, keeps_transcript
from amplifier.runtime.checkpointing import CheckpointKeeper
from amplifier.runtime.child_events import unwrapped
from amplifier.runtime.children import KeptChildren
from amplifier.runtime.outcome import Denial, Status, TurnOutcome, Usage
from amplifier.runtime.prompts import Prompt
from amplifier.runtime.saving import TranscriptSaver
from amplifier.runtime.signals import INTERRUPTED, listening
from amplifier.store import Checkpoints, SessionStore, StoredSession
from amplifier.store.transcript import turn_count

Tell = Callable[[str], None]
_COST_LIMIT_REACHED = "cost:limit_reached"
_KEEP_NOTHING = "Make room, choose another place with AMPLIFIER_HOME, or keep nothing: --ephemeral"
_NO_EYES = "If it sees no images, ask another --model; in the chat, /rewind takes the image back."
_OUT_OF_CALLS, _OUT_OF_MONEY = "the limit of model calls was reached", "the budget is used up"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a runtime is made of beside the plan."""

    working_dir: Path
    store: SessionStore | None = None
    stored: StoredSession | None = None
    """Where the session is kept; without it nothing is."""
    is_resumed: bool = False
    timeout_s: float | None = None
    """How long a turn may take."""
    approval: Any = None
    display: Any = None
    save_rule: Callable[[str], None] | None = None
    """Keeps a rule that somebody wants to hold from now on."""
    tell: Tell = lambda text: None
    """Shows a short message beside the work."""
    resolver: Any = None
    """Where modules with a source of their own come from; the kernel's protocol."""


class Runtime:
    """One session, from ``async with`` to its end; ``session`` is the kernel's."""

    def __init__(self, plan: MountPlan, setting: Setting) -> None:
        from amplifier_core.session import AmplifierSession

        stored = setting.stored
        self._plan = in_folder(plan.plan, None if stored is None else stored.folder.parent)
        self._instruction = plan.instruction
        self._setting = setting
        self._ending: dict[str, Any] = {}
        self._answered_by: dict[str, Any] = {}
        self._tool_calls = 0
        self._denials: list[Denial] = []
        self._limit: str | None = None
        self._lost: OSError | None = None
        self._blindness: set[str] = set()
        """What providers said about images that they left out."""
        self.checkpoints = None if stored is None else Checkpoints(stored.folder)
        """What files were before the agent changed them; kept where the session is."""
        self.session = AmplifierSession(
            self._plan,
            session_id=None if stored is None else stored.id,
            approval_system=setting.approval,
            display_system=setting.display,
            is_resumed=setting.is_resumed,
        )

    async def __aenter__(self) -> Self:
        try:
            await self._set_up()
        except BaseException:
            await self.session.cleanup()
            raise
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.session.cleanup()
        self._note(status=None)

    @property
    def tool_names(self) -> list[str]:
        """The tools that the model has."""
        return sorted(self.session.coordinator.get("tools"))

    @property
    def warnings(self) -> list[str]:
        """What did not mount, and config that nobody reads."""
        report = self.session.report
        return [str(each) for each in (*report.failed, *report.skipped, *report.unknown_keys)]

    async def run_turn(self, prompt: str | Prompt, **options: Any) -> TurnOutcome:
        """Asks for one answer; what fails is in the outcome.

        Raises nothing but a cancellation from outside, and what was given to ``give_up``.
        """
        started = time.perf_counter()
        before = self._spent()
        self._ending = {}
        self._answered_by = {}
        self._tool_calls = 0
        self._denials = []
        self._limit = None
        self._note(status="running")
        text, problem = "", None
        said, shown = self._as_sent(prompt)
        with listening(self.stop, self._setting.tell) as stops:
            try:
                async with asyncio.timeout(self._setting.timeout_s):
                    text = str(await self.session.execute(said, **shown, **options))
            except TimeoutError:
                problem = self._too_late()
            except asyncio.CancelledError:
                # Somebody who cancels the task itself wants it to end, whatever signal came before.
                if stops.exit_code is None or _is_being_cancelled():
                    raise
            except Problem as error:
                problem = error
            except Exception as error:
                problem = _problem_of(error, has_images=bool(shown))
        if stops.exit_code is not None and problem is None:
            text, problem = text, _stopped(stops.exit_code)
        outcome = self._outcome(text, problem, started, before)
        self._note(status=outcome.status)
        if self._lost is not None:
            raise self._lost
        return outcome

    def _as_sent(self, prompt: str | Prompt) -> tuple[str, dict[str, Any]]:
        """The text of a prompt, and as an option of the turn its content, where there are images in it."""
        if isinstance(prompt, str) or not prompt.images:
            return prompt if isinstance(prompt, str) else prompt.text, {}
        from inspect import signature

        # A loop that takes any option may drop this one; only one that names it knows what to do with it.
        if "content" not in signature(self.session.coordinator.get("orchestrator").execute).parameters:
            self._setting.tell("warning: the loop of this session takes no images; the agent gets their paths")
            return prompt.text, {}
        return prompt.text, {"content": prompt.content()}

    def give_up(self, reason: OSError) -> None:
        """Ends the turn at once, since nobody can be told of it any more; ``run_turn`` raises ``reason``."""
        if self._lost is None:
            self._lost = reason
            self.stop(True)

    async def _set_up(self) -> None:
        coordinator = self.session.coordinator
        coordinator.register_capability("session.working_dir", str(self._setting.working_dir))
        if self._setting.save_rule is not None:
            coordinator.register_capability("approval.save_rule", self._setting.save_rule)
        if self._setting.resolver is not None:
            await coordinator.mount("module-source-resolver", self._setting.resolver)
        if self.checkpoints is not None:
            CheckpointKeeper(self.session, self.checkpoints, self._setting.tell).offer()
        await self._initialize()
        self._watch()
        await self._give_instruction()
        if self._setting.stored is not None and self._setting.store is not None:
            KeptChildren(self.session, self._setting.stored, self._setting.store).offer()
            if not keeps_transcript(self._plan):
                await self._restore(self._setting.stored)
                TranscriptSaver(self.session, self._setting.stored).listen()

    async def _initialize(self) -> None:
        try:
            await self.session.initialize()
        except RuntimeError as error:
            raise _set_up_problem(error) from error
        if not self.session.coordinator.get("providers"):
            reasons = "; ".join(str(each) for each in (*self.session.report.failed, *self.session.report.skipped))
            raise ProviderProblem(
                f"No provider is there to ask{': ' + reasons if reasons else ''}.",
                "Set a key (amplifier config set-key NAME), name a provider (--provider), or try: --bundle offline",
            )

    def _watch(self) -> None:
        from amplifier_core.events import LLM_RESPONSE, ORCHESTRATOR_COMPLETE, PROVIDER_RESPONSE, TOOL_PRE

        hooks = self.session.coordinator.hooks
        for event in (LLM_RESPONSE, ORCHESTRATOR_COMPLETE, PROVIDER_RESPONSE, TOOL_PRE, _COST_LIMIT_REACHED):
            hooks.register(event, self._on_event, priority=1000, name="amplifier-runtime")
        hooks.tap(self._on_any_event)

    async def _on_any_event(self, event: str, data: dict[str, Any]) -> None:
        from amplifier_core.events import APPROVAL_DENIED

        event, data = unwrapped(event, data)
        if event == APPROVAL_DENIED:
            told = (str(data.get(key) or "") for key in ("tool_name", "tool_call_id", "session_id", "reason"))
            self._denials.append(Denial(*told))

    async def _on_event(self, event: str, data: dict[str, Any]) -> None:
        if data.get("session_id") != self.session.session_id:
            return
        if event == _COST_LIMIT_REACHED:
            self._limit = _OUT_OF_MONEY
        elif event == "orchestrator:complete":
            self._ending = data
        elif event == "tool:pre":
            self._tool_calls += 1
        elif event == "provider:response":
            self._tell_blindness(getattr(data.get("response"), "degradation", None))
        else:
            self._answered_by = data

    def _tell_blindness(self, degradation: Any) -> None:
        """Tells once that a model does not see images; it would answer as if there were none."""
        requested, actual = (str(getattr(degradation, name, "")).split("; ") for name in ("requested", "actual"))
        for wanted, done in zip(requested, actual, strict=False):
            if "image" in wanted and wanted not in self._blindness:
                self._blindness.add(wanted)
                self._setting.tell(f"warning: {wanted}: {done}; the model does not see them")

    async def _give_instruction(self) -> None:
        context = self.session.coordinator.get("context")
        set_factory = getattr(context, "set_system_prompt_factory", None)
        if not self._instruction:
            return
        if callable(set_factory):
            set_factory(lambda: self._instruction)
        elif not await context.get_messages():
            await context.add_message({"role": "system", "content": self._instruction})

    async def _restore(self, stored: StoredSession) -> None:
        messages = stored.messages() if self._setting.is_resumed else []
        if messages:
            await self.session.coordinator.get("context").set_messages(messages)

    def stop(self, is_immediate: bool) -> None:
        """Asks the running turn to end: after its current step, or at once."""
        # The request is told to hooks by whoever notices it; here it only has to be made.
        withdraw = getattr(self._setting.approval, "withdraw", None)
        if callable(withdraw):
            withdraw()
        token = self.session.coordinator.cancellation
        if is_immediate:
            token.request_immediate()
        else:
            token.request_graceful()

    def _too_late(self) -> Problem:
        limit = self._setting.timeout_s
        return TimeoutProblem(
            f"The turn took longer than {limit:g} s and was stopped.",
            f"Go on with: amplifier resume {self.session.session_id}, or give it more time with --timeout",
        )

    def _spent(self) -> Usage:
        status = self.session.status
        cost = None if status.cost_usd is None else str(status.cost_usd)
        return Usage(status.total_input_tokens, status.total_output_tokens, cost)

    def _outcome(self, text: str, problem: Problem | None, started: float, before: Usage) -> TurnOutcome:
        ending = self._ending
        reason = ending.get("reason")
        status: Status = ending.get("status", "error") if problem is None else _status_of(problem)
        limit = _OUT_OF_CALLS if reason == "max_iterations" else self._limit
        if problem is None and status == "incomplete" and limit is not None:
            problem = LimitProblem(
                f"The work is not finished: {limit}.", "Raise it with --max-turns or --max-budget-usd."
            )
        return TurnOutcome(
            session_id=self.session.session_id,
            text=text,
            status=status,
            reason=reason if problem is None or reason else problem.kind,
            problem=problem,
            duration_ms=round((time.perf_counter() - started) * 1000, 1),
            model_calls=int(ending.get("turn_count") or 0),
            tool_calls=self._tool_calls,
            usage=_difference(self._spent(), before),
            model=self._answered_by.get("model"),
            provider=self._answered_by.get("provider"),
            denials=tuple(self._denials),
        )

    def _note(self, status: str | None) -> None:
        """Keeps in the metadata how the session stands."""
        setting = self._setting
        if setting.stored is None or setting.store is None:
            return
        answered = {key: self._answered_by[key] for key in ("provider", "model") if self._answered_by.get(key)}
        spent = self._spent()
        changes: dict[str, Any] = {"updated": setting.store.now(), **answered}
        if status is not None:
            changes["status"] = status
        if spent.cost_usd is not None:
            changes["cost_usd"] = spent.cost_usd
        try:
            setting.stored.update(turn_count=turn_count(setting.stored.messages()), **changes)
        except StorageProblem as problem:
            # What was answered is worth more than what is known about it.
            setting.tell(f"warning: {problem.message}")
        # Of a turn that has only begun there is nothing yet to be found.
        if status != "running":
            setting.store.refresh(setting.stored)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _difference(after: Usage, before: Usage) -> Usage:
    from decimal import Decimal

    cost = None if after.cost_usd is None else str(Decimal(after.cost_usd) - Decimal(before.cost_usd or "0"))
    return Usage(after.input_tokens - before.input_tokens, after.output_tokens - before.output_tokens, cost)


def _status_of(problem: Problem) -> Status:
    return "cancelled" if problem.exit_code in (INTERRUPTED, 143, 129) else "error"


def _stopped(code: int) -> Problem:
    told = {INTERRUPTED: "Interrupted.", 143: "Terminated.", 129: "The terminal has gone."}
    return Problem(told[code], "", exit_code=code)


def _set_up_problem(error: RuntimeError) -> Problem:
    """Why a session did not come about; what a file has to do with it is in the causes."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__
    if cause is None:
        return Problem(f"The session cannot be set up: {error}", "amplifier plan show tells what it is made of.")
    if cause.errno == errno.EWOULDBLOCK:
        return SessionProblem(str(cause), "Wait for the other one, or go on in a copy: --fork-session")
    return StorageProblem(str(cause), _KEEP_NOTHING)


def _problem_of(error: Exception, *, has_images: bool = False) -> Problem:
    """What a turn raised, told to the user."""
    from amplifier_core.llm_errors import AuthenticationError, InvalidRequestError, LLMError

    if isinstance(error, AuthenticationError):
        named = f" '{error.provider}'" if error.provider else ""
        return ProviderProblem(
            f"The provider{named} refuses the key: {error}", "Set another one: amplifier config set-key NAME"
        )
    if has_images and isinstance(error, InvalidRequestError):
        return ProviderProblem(f"The model does not take what it was shown: {error}", _NO_EYES)
    if isinstance(error, LLMError):
        return ProviderProblem(f"The model cannot be asked: {error}", "Try again later, or another --provider.")
    if isinstance(error, OSError):
        return StorageProblem(f"The turn failed: {error}", _KEEP_NOTHING)
    return Problem(f"The turn failed: {type(error).__name__}: {error}", "--debug shows where.")
