"""Decides when the view of a conversation has to be shortened, and carries it out with all that belongs to it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from amplifier_core.events import CONTEXT_COMPACTION, CONTEXT_POST_COMPACT, CONTEXT_PRE_COMPACT
from amplifier_modkit.memory.announcements import Announcements
from amplifier_modkit.memory.compaction import Goal, draft_compaction
from amplifier_modkit.memory.conversation import Conversation
from amplifier_modkit.memory.draft import Draft
from amplifier_modkit.memory.notice import Outcome, compaction_notice
from amplifier_modkit.memory.plan import Plan
from amplifier_modkit.memory.policy import CompactionPolicy
from amplifier_modkit.memory.summary import summarize
from amplifier_modkit.memory.tokens import TokenMeter, estimate_text

logger = logging.getLogger(__name__)

# The growth after which another attempt is worth it: a share of the way from the target up to the threshold, or this.
_REAL_STEP = 0.25
_LEAST_STEP_TOKENS = 50
# How much of the target is set aside at most for what the context itself has to say.
_NOTICE_SHARE = 0.1
_SUMMARY_SHARE = 0.25


class Load(NamedTuple):
    """How many tokens a request may have in all, and what it has beside the messages of the view."""

    budget: int
    system_tokens: int = 0
    """The estimate of the system prompt that is made for this request."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a compactor needs of the context it works for."""

    announcements: Announcements
    keep_plan: Callable[[Plan], Awaitable[None]]
    """Called with a plan before the conversation follows it."""
    find_provider: Callable[[], Any]
    """The provider for summaries, where the request names none."""


@dataclass(frozen=True, slots=True)
class _Rest:
    """Until when there is no other attempt, since it would do no more than the last one."""

    until: float
    """The estimate that the view has to reach."""
    budget: int
    """A smaller one does not wait."""
    prompts: int


class Compactor:
    """Shortens the view of one conversation in rare, big steps.

    After a compaction, or one that was refused or could do nothing, the view has to grow by a real step before the next
    attempt: one message that is too large for the budget must not cause a compaction on every request.
    """

    def __init__(
        self, policy: CompactionPolicy, conversation: Conversation, meter: TokenMeter, surroundings: Surroundings
    ) -> None:
        self._policy = policy
        self._conversation = conversation
        self._meter = meter
        self._around = surroundings
        self.is_summarizing = False
        self._rest_after: _Rest | None = None

    def tokens(self, load: Load) -> int:
        """The tokens that the next request has."""
        return round(self._meter.tokens(self._conversation.view.tokens + load.system_tokens))

    def is_over_threshold(self, load: Load) -> bool:
        """Whether the view is longer than it should be."""
        return self.tokens(load) > self._policy.threshold * load.budget

    def is_due(self, load: Load) -> bool:
        """Whether the view has to be shortened, and an attempt is worth it."""
        if not self.is_over_threshold(load):
            return False
        rest = self._rest_after
        if rest is None or load.budget < rest.budget or self._conversation.view.tokens >= rest.until:
            return True
        # What the user said before the latest prompt is no longer protected.
        return self._conversation.prompts != rest.prompts and self.tokens(load) > load.budget

    def begin_anew(self) -> None:
        """Forgets earlier attempts: they were about another history."""
        self._rest_after = None

    async def compact(self, load: Load, provider: Any) -> None:
        """Shortens the view as far as the policy says; hooks may refuse it, and an interruption changes nothing."""
        conversation, generation = self._conversation, self._conversation.generation
        draft = draft_compaction(conversation.history, conversation.estimates, conversation.plan, self._goal(load))
        before = len(conversation.view.healed().messages), self.tokens(load)
        if not draft.is_changed or not await self._is_allowed(*before):
            self._rest(load)
            return
        plan = replace(draft.plan(), summary=await self._summary(draft, load, provider))
        plan = replace(plan, notice=self._notice(draft, load, before[1]))
        # The history may have been replaced meanwhile; then there is nothing left that this plan is about.
        if conversation.generation == generation:
            await self._keep(plan)
        if conversation.generation == generation:
            conversation.follow(plan)
            self._rest(load)
            await self._tell(draft, load, *before)

    async def _is_allowed(self, message_count: int, token_count: int) -> bool:
        data: dict[str, Any] = {"message_count": message_count, "token_count": token_count}
        if self._around.announcements.is_heard(CONTEXT_PRE_COMPACT):
            data["messages"] = self._conversation.view.healed().messages
        answer = await self._around.announcements.tell(CONTEXT_PRE_COMPACT, data)
        if answer.action == "deny":
            logger.info("A hook refused the compaction: %s", answer.reason)
        return answer.action != "deny"

    async def _summary(self, draft: Draft, load: Load, provider: Any) -> str:
        """What the dropped messages said, as far as it is known."""
        dropped = draft.newly_dropped()
        if not self._policy.summarizes or not dropped:
            return draft.previous.summary
        provider = provider or self._around.find_provider()
        self.is_summarizing = True
        try:
            return await summarize(
                provider, dropped, draft.previous.summary, self._policy.summary_max_tokens, load.budget
            )
        except Exception as error:
            logger.warning("%d messages are left out without a summary: %r", len(dropped), error)
            return draft.previous.summary
        finally:
            self.is_summarizing = False

    def _notice(self, draft: Draft, load: Load, before_tokens: int) -> str:
        counts = draft.counts()
        outcome = Outcome(
            level=draft.level,
            removed=counts["messages_removed"],
            truncated=counts["messages_truncated"],
            stubbed=counts["user_messages_stubbed"],
            before_tokens=before_tokens,
            after_tokens=round(self._meter.tokens(draft.total + load.system_tokens)),
        )
        left = self._room(load, 1.0) + self._conversation.view.hidden_tokens - draft.total
        reserved = self._notice_tokens(self._room(load, self._policy.target))
        return compaction_notice(self._policy, outcome, min(left, reserved))

    async def _keep(self, plan: Plan) -> None:
        try:
            await self._around.keep_plan(plan)
        except Exception as error:
            logger.error("The compaction holds, but its plan could not be stored for a later resume: %r", error)

    async def _tell(self, draft: Draft, load: Load, before_messages: int, before_tokens: int) -> None:
        after_messages, after_tokens = len(self._conversation.view.healed().messages), self.tokens(load)
        counts = {"message_count": after_messages, "token_count": after_tokens}
        await self._around.announcements.tell(CONTEXT_POST_COMPACT, counts)
        figures = {
            "before_tokens": before_tokens,
            "after_tokens": after_tokens,
            "before_messages": before_messages,
            "after_messages": after_messages,
            **draft.counts(),
            "strategy_level": draft.level,
            "budget": load.budget,
            "target_tokens": int(self._policy.target * load.budget),
            "protected_recent": self._policy.protected_recent,
            "protected_tool_results": self._policy.protected_tool_results,
        }
        await self._around.announcements.tell(CONTEXT_COMPACTION, figures)

    def _goal(self, load: Load) -> Goal:
        policy, room = self._policy, self._room(load, 1.0)
        own = self._own_tokens(self._room(load, policy.target))
        step = _REAL_STEP * (policy.threshold - policy.target)
        # Hidden messages are never dropped, so the draft counts what the view does not have.
        hidden = self._conversation.view.hidden_tokens
        return Goal(
            target=self._room(load, policy.target) - own + hidden,
            limit=self._room(load, policy.threshold - step) - own + hidden,
            budget=room,
            protected_recent=room * policy.protected_recent,
            protected_tool_results=policy.protected_tool_results,
            truncate_chars=policy.truncate_chars,
        )

    def _room(self, load: Load, share: float) -> float:
        """The estimated tokens that messages may have when a request uses ``share`` of its budget."""
        return max(0.0, self._meter.estimated(load.budget * share) - load.system_tokens)

    def _own_tokens(self, target: float) -> float:
        policy = self._policy
        summary = estimate_text(self._conversation.plan.summary)
        if policy.summarizes:
            summary = max(summary, min(policy.summary_max_tokens, target * _SUMMARY_SHARE))
        return self._notice_tokens(target) + summary

    def _notice_tokens(self, target: float) -> float:
        policy = self._policy
        return min(policy.notice_token_reserve, target * _NOTICE_SHARE) if policy.notice_enabled else 0.0

    def _rest(self, load: Load) -> None:
        """Lets the view grow by a real step, but not past the budget if it is below, before the next attempt."""
        room, now = self._room(load, 1.0), self._conversation.view.tokens
        step = max(_LEAST_STEP_TOKENS, _REAL_STEP * (self._policy.threshold - self._policy.target) * room)
        until = min(now + step, room) if now < room else now + step
        self._rest_after = _Rest(until, load.budget, self._conversation.prompts)
