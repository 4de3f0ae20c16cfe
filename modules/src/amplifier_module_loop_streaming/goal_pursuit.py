"""Works on a goal: after each answer a judge says whether it is reached, and if not the loop goes on by itself."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from amplifier_modkit.events import ORCHESTRATOR_GOAL_PROGRESS
from amplifier_modkit.turns.stopping import finish
from amplifier_modkit.turns.turn import Outcome
from amplifier_module_loop_streaming.config import StreamingSettings
from amplifier_module_loop_streaming.goal_judge import Judge
from amplifier_module_loop_streaming.goal_record import GoalError, GoalRecord, Status, find_goal
from amplifier_module_loop_streaming.goal_stall import StallWatch
from amplifier_module_loop_streaming.streamed_turn import StreamedTurn

logger = logging.getLogger(__name__)

_GO_ON = """\
The goal is not reached yet: {reason}
Go on until it is. The goal: {condition}"""

_TRY_SOMETHING_ELSE = """\
Progress has stalled. The goal is still not reached: {reason}
What you have done in the last turns does not lead there: take another approach, or say what stands in the way.
The goal: {condition}"""


class GoalPursuit:
    """Runs the rounds of one turn, once where no goal is set, else until the goal is reached or given up.

    The goal is looked up after every stretch, so that tools and hooks may set, change or drop it.
    """

    def __init__(
        self, turn: StreamedTurn, settings: StreamingSettings, rounds: Callable[[StreamedTurn], Awaitable[Outcome]]
    ) -> None:
        self._turn = turn
        self._settings = settings
        self._rounds = rounds
        self._judge = Judge(turn, settings)
        self._stalls = StallWatch(
            settings.goal_stall_threshold, settings.goal_busy_stall_window, settings.goal_busy_stall_min_overlap
        )
        turn.facts.update(continuations=0, goal_turn=None, goal_final=False)

    async def run(self) -> Outcome:
        """How the work ends; whatever ends it, hooks hear how the goal stands."""
        try:
            while True:
                outcome = await self._rounds(self._turn)
                goal = await self._find_goal()
                ending = outcome if goal is None else await self._conclude(goal, outcome)
                if ending is not None:
                    return ending
        except BaseException as error:
            await finish(self._give_up(error))
            raise

    async def _find_goal(self) -> GoalRecord | None:
        try:
            return find_goal(self._turn.world.coordinator.session_state)
        except GoalError as error:
            logger.warning("The goal is not worked on: %s", error)
            facts = {"status": "error", "condition": None, "turn": 0, "cap": 0, "reason": str(error)}
            await self._turn.gate.tell(ORCHESTRATOR_GOAL_PROGRESS, facts)
            return None

    async def _conclude(self, goal: GoalRecord, outcome: Outcome) -> Outcome | None:
        """The end of the work after a stretch with this outcome; ``None`` when it goes on."""
        if self._turn.token.is_cancelled or outcome.status == "cancelled":
            return await self._stopped(goal)
        goal.count_turn()
        try:
            verdict = await self._judge.verdict(goal.condition, outcome.answer)
        except Exception as error:
            reason = f"No verdict: {type(error).__name__}: {error}"
            logger.warning("The goal cannot be judged, so the work on it pauses. %s", reason)
            return await self._ended(goal, "error", reason, outcome)
        goal.note_verdict(verdict.reason, self._settings.goal_summary_max_reasons)
        if verdict.is_achieved:
            await self._tell(goal, "achieved", verdict.reason)
            return outcome
        if goal.is_used_up:
            return await self._ended(goal, "cap_hit", verdict.reason, outcome)
        advice = self._stalls.note(verdict.reason, self._turn.calls)
        if advice == "stop":
            return await self._ended(goal, "stalled", verdict.reason, outcome)
        return await self._go_on(goal, verdict.reason, outcome, has_stalled=advice == "escalate")

    async def _go_on(self, goal: GoalRecord, reason: str, outcome: Outcome, *, has_stalled: bool) -> Outcome | None:
        if self._turn.token.is_cancelled:
            return await self._stopped(goal)
        denial = await self._tell(goal, "continuing", reason)
        if denial is not None:
            return await self._ended(goal, "cancelled", f"Denied: {denial}", outcome)
        text = _TRY_SOMETHING_ELSE if has_stalled else _GO_ON
        message = {"role": "user", "content": text.format(reason=reason, condition=goal.condition)}
        await finish(self._turn.store({**message, "metadata": {"source": "goal"}}))
        self._turn.begin_stretch()
        self._turn.facts["continuations"] += 1
        return None

    async def _stopped(self, goal: GoalRecord) -> Outcome:
        await self._tell(goal, "cancelled", "A stop was requested.")
        return await self._turn.stopped()

    async def _ended(self, goal: GoalRecord, status: Status, reason: str, outcome: Outcome) -> Outcome:
        await self._tell(goal, status, reason)
        return Outcome(outcome.answer, "incomplete", f"goal_{status}")

    async def _give_up(self, error: BaseException) -> None:
        goal = await self._find_goal()
        if goal is not None:
            status: Status = "error" if isinstance(error, Exception) else "cancelled"
            await self._tell(goal, status, f"{type(error).__name__}: {error}".rstrip(": "))

    async def _tell(self, goal: GoalRecord, status: Status, reason: str) -> str | None:
        """Notes and tells how the goal stands; gives the reason of a hook that refuses."""
        goal.note(status, reason)
        self._turn.facts.update(goal_turn=goal.turns_used, goal_final=goal.is_finished)
        facts = {"status": status, "condition": goal.condition, "turn": goal.turns_used, "cap": goal.cap}
        verdict = await self._turn.gate.tell(ORCHESTRATOR_GOAL_PROGRESS, {**facts, "reason": reason})
        return (verdict.reason or "no reason given") if verdict.action == "deny" else None
