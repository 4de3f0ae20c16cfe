"""Tasks on their way to child sessions and back: limits are kept, whoever makes the sessions, and hooks are told."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import ToolResult
from amplifier_modkit.spawning.agents import agents_in, require_agent
from amplifier_modkit.spawning.children import RESUME, SPAWN, offer_children
from amplifier_modkit.spawning.errors import SpawnError
from amplifier_modkit.spawning.lineage import Lineage, is_child_id, sub_session_id
from amplifier_modkit.spawning.plans import loop_config, tightest
from amplifier_modkit.turns.stopping import finish, is_being_cancelled
from amplifier_module_tool_task.config import TaskConfig
from amplifier_module_tool_task.errors import RefusedError
from amplifier_module_tool_task.excerpts import with_conversation
from amplifier_module_tool_task.outcomes import Outcome, read_answer
from amplifier_module_tool_task.requests import TaskRequest
from amplifier_module_tool_task.telling import TaskTeller

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Errand:
    """A task that may begin: for whom, and under which id."""

    request: TaskRequest
    agent: str
    session_id: str

    @property
    def is_resumed(self) -> bool:
        """Whether an earlier session goes on."""
        return self.request.session_id is not None


class Delegation:
    """Hands the tasks of one session to children; lives as long as the module is mounted.

    Children are made by the capabilities ``session.spawn`` and ``session.resume``, the application's or the reference.
    Depth, time, model calls and number are limited here in either case.
    """

    def __init__(self, coordinator: ModuleCoordinator, config: TaskConfig) -> None:
        self._coordinator = coordinator
        self._config = config
        self._children = offer_children(coordinator)
        # Read now: this session is being set up inside the call that made it, if it is a child.
        self._lineage = Lineage.of(coordinator.session_id).narrowed(config.max_recursion_depth)
        self._slots = asyncio.Semaphore(config.max_concurrent)

    @property
    def agents(self) -> dict[str, Any]:
        """The agents that can be asked now."""
        return agents_in(self._configs) if self._lineage.has_room else {}

    async def run(self, request: TaskRequest, tool_name: str) -> ToolResult:
        """Carries out one task; raises ``RefusedError`` for one that is not begun.

        A cancellation stops the child, waits for its clean-up and comes out as it is.
        """
        errand = self._errand(request)
        async with self._slots:
            teller = TaskTeller(self._coordinator, tool_name, errand.agent, errand.session_id)
            await teller.begin(errand.is_resumed)
            started = time.perf_counter()
            outcome: Outcome | None = None
            try:
                outcome = await self._outcome(errand)
                return outcome.to_result(errand.agent, errand.session_id)
            finally:
                ended = outcome or self._unfinished(errand, "cancelled", "")
                facts = {"success": ended.is_success, "status": ended.status, "metadata": ended.metadata}
                duration_ms = round((time.perf_counter() - started) * 1000, 3)
                await finish(teller.end(**facts, duration_ms=duration_ms))

    @property
    def _configs(self) -> Any:
        config = self._coordinator.config
        return config.get("agents") if isinstance(config, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]

    def _errand(self, request: TaskRequest) -> Errand:
        lineage = self._lineage
        if not lineage.has_room:
            raise RefusedError(
                f"No agent can be started from here: this session is at depth {lineage.depth}, and the limit is "
                f"{lineage.max_depth}. Do the task yourself.",
                "max_recursion_depth",
            )
        if request.session_id is not None:
            self._require_own(request.session_id)
            record = self._children.record(request.session_id)
            agent = record.plan.agent if record else request.session_id.rpartition("_")[2]
            return Errand(request, agent, request.session_id)
        if request.agent is None:
            raise RefusedError(f"'agent' is missing: name one of {', '.join(self.agents)}.")
        try:
            require_agent(request.agent, self._configs)
        except SpawnError as error:
            raise RefusedError(str(error), "unknown_agent") from error
        session_id = sub_session_id(self._coordinator.session_id, request.agent, self._coordinator.new_id)
        return Errand(request, request.agent, session_id)

    def _require_own(self, session_id: str) -> None:
        # The id is the model's; an application may find any session under it, also one of other people.
        if not is_child_id(session_id, self._coordinator.session_id):
            raise RefusedError(
                f"Session '{session_id[:300]}' was not started from this one, so it cannot be resumed here. Name an "
                f"agent instead: {', '.join(self.agents)}.",
                "unknown_session",
            )

    async def _outcome(self, errand: Errand) -> Outcome:
        """The end of an errand that has begun, whatever becomes of it; only a cancellation comes out."""
        scope = asyncio.timeout(self._config.timeout)
        try:
            async with scope:
                return await self._answer(errand)
        except TimeoutError as error:
            return self._late(errand) if scope.expired() else self._failed(errand, error)
        except asyncio.CancelledError as error:
            if is_being_cancelled():
                raise
            return self._failed(errand, error)
        except Exception as error:
            return self._failed(errand, error)

    async def _answer(self, errand: Errand) -> Outcome:
        instruction = await self._instruction(errand.request)
        with self._lineage.descended():
            if errand.is_resumed:
                resume = self._coordinator.get_capability(RESUME)
                answer = resume(sub_session_id=errand.session_id, instruction=instruction)
            else:
                answer = self._spawning(errand, instruction)
            return read_answer(errand.agent, await answer if isawaitable(answer) else answer)

    def _spawning(self, errand: Errand, instruction: str) -> Any:
        config = loop_config(self._coordinator.config)
        limit = tightest((config.get("max_iterations"), self._config.max_iterations))
        return self._coordinator.get_capability(SPAWN)(
            agent_name=errand.agent,
            instruction=instruction,
            parent_session=self._coordinator.session,
            agent_configs=self._configs or {},
            sub_session_id=errand.session_id,
            tool_inheritance=self._config.inheritance("tools"),
            hook_inheritance=self._config.inheritance("hooks"),
            orchestrator_config={**config, "max_iterations": limit},
            provider_preferences=errand.request.preferences or None,
        )

    async def _instruction(self, request: TaskRequest) -> str:
        if request.scope == "none":
            return request.instruction
        messages = await self._coordinator.get("context").get_messages()
        return with_conversation(request.instruction, messages, request.turns if request.scope == "recent" else None)

    def _late(self, errand: Errand) -> Outcome:
        told = f"Agent '{errand.agent}' did not finish within {self._config.timeout:g} s and was stopped."
        return self._unfinished(errand, "timeout", told)

    def _failed(self, errand: Errand, error: BaseException) -> Outcome:
        logger.warning("Agent '%s' failed in session %s: %r", errand.agent, errand.session_id, error)
        cause = str(error) if isinstance(error, SpawnError) else f"{type(error).__name__}: {error}"
        return self._unfinished(errand, "failed", f"Agent '{errand.agent}' failed: {cause.rstrip('. ')}.")

    def _unfinished(self, errand: Errand, status: str, told: str) -> Outcome:
        record = self._children.record(errand.session_id)
        if record is None:
            return Outcome(status, message=told)
        way_on = f" To let it go on, call again with session_id '{errand.session_id}'." if record.is_resumable else ""
        return Outcome(status, record.last_words, told + way_on, metadata=record.spending)
