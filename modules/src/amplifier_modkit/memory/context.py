"""A context manager that never rewrites its history and shortens the view of it in rare, big steps.

Contexts that keep messages somewhere else as well derive from it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from inspect import isawaitable
from typing import Any, cast

from amplifier_core.events import LLM_RESPONSE, PROVIDER_RESPONSE
from amplifier_core.models import HookResult
from amplifier_modkit.memory.announcements import CONTEXT_EVENTS, Announcements
from amplifier_modkit.memory.budget import Budget
from amplifier_modkit.memory.compactor import Compactor, Load, Surroundings
from amplifier_modkit.memory.conversation import Conversation
from amplifier_modkit.memory.plan import Plan
from amplifier_modkit.memory.policy import CompactionPolicy, ContextConfig
from amplifier_modkit.memory.shapes import clip_result, is_result
from amplifier_modkit.memory.tokens import TokenMeter, estimate
from amplifier_modkit.messages import Message, plain

__all__ = ["CompactingContext", "CompactionPolicy", "ContextConfig", "Plan"]

logger = logging.getLogger(__name__)

SystemPromptFactory = Callable[[], Any]

# Late: what the context learns from an answer must not hold up those who do something with it.
_LISTENING_PRIORITY = 900
_GO_ON = HookResult()

# The compaction that the current code runs in, if any; tasks that it starts inherit it.
_current_compaction: ContextVar[object] = ContextVar("amplifier_modkit_current_compaction", default=None)


class CompactingContext:
    """The memory of one session: everything that was said, and a view of it that fits into requests.

    Between two compactions the view only grows at its end, so that providers can cache the rest. Subclasses that store
    messages override ``_keep``, ``_keep_plan`` and ``_forget``, and fill the history with ``restore``.
    """

    def __init__(self, policy: CompactionPolicy, *, coordinator: Any = None) -> None:
        self._policy = policy
        self._coordinator = coordinator
        self._announcements = Announcements(coordinator)
        self._budget = Budget(policy)
        self._meter = TokenMeter()
        self._conversation = Conversation()
        around = Surroundings(self._announcements, self._keep_plan, self._first_provider)
        self._compactor = Compactor(policy, self._conversation, self._meter, around)
        self._compacting = asyncio.Lock()
        self._compaction: object = None
        """The compaction that runs now, if any."""
        self._system_prompt_factory: SystemPromptFactory | None = None
        self._last_load = Load(policy.max_tokens)
        self._requested_tokens = 0
        self._orchestrator_reports = False

    def connect(self, module_id: str) -> Callable[[], None]:
        """Listens to what providers report and announces the context's events; called once, by ``mount``.

        Returns the function that ends the listening.
        """
        if self._coordinator is None:
            return lambda: None
        self._coordinator.register_contributor("observability.events", module_id, lambda: list(CONTEXT_EVENTS))
        if not self._policy.calibrates:
            return lambda: None
        hooks = self._coordinator.hooks
        name = f"{module_id}:usage"
        undo = [
            hooks.register(event, self._hear, priority=_LISTENING_PRIORITY, name=name)
            for event in (PROVIDER_RESPONSE, LLM_RESPONSE)
        ]

        def disconnect() -> None:
            for each in undo:
                each()

        return disconnect

    async def add_message(self, message: dict[str, Any]) -> None:
        """Appends a copy of ``message``; raises ``ValueError`` for one without a role.

        Messages enter in the order in which ``_keep`` is done with them.
        """
        stored = self._stored_form(message)
        await self._keep(stored)
        self._conversation.append(stored)

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any | None = None
    ) -> list[dict[str, Any]]:
        """The messages of the next request, shortened first if they are too many; the list is the caller's own.

        Of the messages in it only the last is a copy: whoever adds something to it adds it for this request alone.
        """
        system = await self._system_message()
        load = Load(await self._budget.tokens(token_budget, provider), estimate(system) if system else 0)
        self._last_load = load
        if self._policy.auto_compact and self._compactor.is_due(load):
            await self._compact(load, provider)
        view = self._conversation.view
        messages, notes = view.healed()
        self._requested_tokens = view.tokens + load.system_tokens
        if notes:
            await self._announcements.tell_healing(notes)
        if messages:
            messages[-1] = plain(messages[-1])
        if system:
            messages.insert(0, system)
        return messages

    async def get_messages(self) -> list[dict[str, Any]]:
        """Everything that was ever added, in order; a copy through and through."""
        return plain(self._conversation.history)

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Replaces everything, for a resumed session; one message that is refused leaves all as it was."""
        stored = [self._stored_form(message) for message in messages]
        await self.clear()
        for message in stored:
            await self._keep(message)
            self._conversation.append(message)

    async def clear(self) -> None:
        """Forgets everything."""
        await self._forget()
        self.restore([], None)

    def set_system_prompt_factory(self, factory: SystemPromptFactory | None) -> None:
        """Takes the system prompt of every request from ``factory()``, which may be async and must give a text.

        Stored instructions are then left out of requests, unless a hook or a memory file put them in.
        """
        self._system_prompt_factory = factory
        self._conversation.hide_system(factory is not None)

    def should_compact(self) -> bool:
        """Whether the view is longer than it should be, by the budget of the last request."""
        return self._compactor.is_over_threshold(self._last_load)

    def restore(self, messages: list[dict[str, Any]], plan: Plan | None) -> None:
        """Fills the history with what was stored earlier, and goes on with the ``plan`` that was followed then."""
        if plan is not None and plan.covers > len(messages):
            logger.warning(
                "The stored plan is about %d messages, but there are %d; it is left out", plan.covers, len(messages)
            )
            plan = None
        self._conversation.replace(messages, plan or Plan())
        self._compactor.begin_anew()
        self._requested_tokens = 0

    async def _keep(self, message: dict[str, Any]) -> None:
        """Called with each message, in the form in which it is stored, before it enters memory.

        If it raises, the message is not added.
        """

    async def _keep_plan(self, plan: Plan) -> None:
        """Called with each plan before the view follows it."""

    async def _forget(self) -> None:
        """Called before memory is emptied."""

    def _stored_form(self, message: Any) -> Message:
        _require_role(message)
        try:
            stored = cast("Message", plain(message))
        except RecursionError:
            raise ValueError("A message must be plain data; this one contains itself, or is nested too deep") from None
        if self._policy.max_tool_result_bytes and is_result(stored):
            stored = clip_result(stored, self._policy.max_tool_result_bytes)
        metadata = stored.setdefault("metadata", {})
        if metadata is None:
            metadata = stored["metadata"] = {}
        if isinstance(metadata, dict) and "timestamp" not in metadata:
            metadata["timestamp"] = self._timestamp()
        return stored

    def _timestamp(self) -> str:
        return datetime.now(UTC).isoformat() if self._coordinator is None else self._coordinator.timestamp()

    async def _system_message(self) -> Message | None:
        if self._system_prompt_factory is None:
            return None
        text = self._system_prompt_factory()
        if isawaitable(text):
            text = await text
        if not isinstance(text, str):
            raise TypeError(f"A system prompt factory must give a text, got {type(text).__name__}")
        return {"role": "system", "content": text} if text else None

    async def _compact(self, load: Load, provider: Any) -> None:
        # A hook may ask for messages while it is told of a compaction; waiting for that one to end would never end.
        if self._compaction is not None and _current_compaction.get() is self._compaction:
            return
        async with self._compacting:
            if self._compactor.is_due(load):
                self._compaction = object()
                token = _current_compaction.set(self._compaction)
                try:
                    await self._compactor.compact(load, provider)
                finally:
                    self._compaction = None
                    _current_compaction.reset(token)

    def _first_provider(self) -> Any:
        providers: dict[str, Any] = {} if self._coordinator is None else self._coordinator.get("providers")
        return next(iter(providers.values()), None)

    async def _hear(self, event: str, data: dict[str, Any]) -> HookResult:
        """Learns from the tokens that a provider reports for the last request.

        Once the orchestrator reports, only it is heard: others may use the same provider for calls of their own.
        """
        if event == PROVIDER_RESPONSE:
            self._orchestrator_reports = True
        elif self._orchestrator_reports:
            return _GO_ON
        reported = _input_tokens(data)
        if reported and self._requested_tokens and not self._compactor.is_summarizing:
            self._meter.report(reported, self._requested_tokens)
        return _GO_ON


def _require_role(message: Any) -> None:
    if not isinstance(message, dict):
        raise ValueError(f"A message must be a dict with a 'role', got {type(message).__name__}")
    role = cast("dict[str, Any]", message).get("role")
    if not isinstance(role, str) or not role:
        raise ValueError(f"Message must have 'role' field with a text such as 'user', got {role!r}")


def _input_tokens(data: Mapping[str, Any]) -> int:
    usage = data.get("usage") or getattr(data.get("response"), "usage", None)
    reported = (
        cast("Mapping[str, Any]", usage).get("input_tokens")
        if isinstance(usage, Mapping)
        else getattr(usage, "input_tokens", None)
    )
    return reported if isinstance(reported, int) else 0
