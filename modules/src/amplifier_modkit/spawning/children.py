"""The child sessions of one session: started, watched, limited, cleaned up, and kept to be resumed.

This is the reference for the capabilities ``session.spawn`` and ``session.resume``. An application that brings its own
registers it under the same names.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.report import LoadReport
from amplifier_core.session import AmplifierSession
from amplifier_modkit.messages import Message, text_of
from amplifier_modkit.spawning.agents import require_agent
from amplifier_modkit.spawning.errors import SpawnError
from amplifier_modkit.spawning.handing_down import hand_down
from amplifier_modkit.spawning.lineage import sub_session_id as new_sub_session_id
from amplifier_modkit.spawning.module_lists import Inheritance
from amplifier_modkit.spawning.plans import ChildPlan, Wishes, child_plan, providers_for
from amplifier_modkit.spawning.preferences import choose, read_preferences
from amplifier_modkit.spawning.spending import COST_CHANNEL, add_spending, cost_of, told_spending
from amplifier_modkit.spawning.watching import Watch
from amplifier_modkit.turns.stopping import finish

logger = logging.getLogger(__name__)

CHILDREN, SPAWN, RESUME = "session.children", "session.spawn", "session.resume"
"""The capabilities that are offered."""

MOST_KEPT = 20
_NO_LAST_WORDS = ""


@dataclass(slots=True)
class Record:
    """A child that has ended: what is needed to resume it, and what it used."""

    plan: ChildPlan
    messages: list[Message] = field(default_factory=list[Message])
    spending: dict[str, Any] = field(default_factory=dict[str, Any])
    is_resumable: bool = False

    @property
    def last_words(self) -> str:
        """The last text that its model said."""
        said = (text_of(each.get("content")) for each in reversed(self.messages) if each.get("role") == "assistant")
        return next(filter(None, said), _NO_LAST_WORDS)


class Children:
    """The children of one session; lives as long as the modules of that session are mounted.

    Of those that have ended the latest ``most_kept`` can be resumed; their conversations are kept in memory.
    """

    def __init__(self, coordinator: ModuleCoordinator, most_kept: int = MOST_KEPT) -> None:
        self._coordinator = coordinator
        self._most_kept = most_kept
        self._running: dict[str, AmplifierSession] = {}
        # In the order of their ends, the latest last.
        self._ended: dict[str, Record] = {}
        self._cost: Decimal | None = None

    async def spawn(
        self,
        agent_name: str,
        instruction: str,
        parent_session: AmplifierSession | None,
        agent_configs: Mapping[str, Any],
        sub_session_id: str | None = None,
        tool_inheritance: Mapping[str, Any] | None = None,
        hook_inheritance: Mapping[str, Any] | None = None,
        orchestrator_config: Mapping[str, Any] | None = None,
        provider_preferences: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        """Has an agent carry out ``instruction`` in a session of its own.

        Gives ``output``, ``session_id``, ``status``, ``turn_count`` and ``metadata``. Raises ``SpawnError`` when the
        child cannot be made, and what the child raises when it fails. It is cleaned up in every case.
        """
        if parent_session is None:
            raise SpawnError(f"There is no session that agent '{agent_name}' could be a child of")
        agent = require_agent(agent_name, agent_configs)
        session_id = sub_session_id or new_sub_session_id(
            parent_session.session_id, agent_name, self._coordinator.new_id
        )
        plan, report = parent_session.config, parent_session.report
        preferences = read_preferences(provider_preferences) or read_preferences(agent.get("provider_preferences"))
        wishes = Wishes(
            tools=Inheritance.read("tools", tool_inheritance),
            hooks=Inheritance.read("hooks", hook_inheritance),
            loop=orchestrator_config or {},
            choice=await choose(
                preferences, providers_for(plan, agent_name, agent), parent_session.coordinator.get("providers")
            ),
            metadata={"agent": agent_name, "parent_session_id": parent_session.session_id},
        )
        record = Record(child_plan(plan, agent_name, agent, wishes, _tool_names(report)))
        self._require_unused(session_id)
        return await self._run(parent_session, session_id, record, instruction)

    async def resume(self, sub_session_id: str, instruction: str) -> dict[str, Any]:
        """Lets a child that has ended go on with its conversation; gives what ``spawn`` gives."""
        if sub_session_id in self._running:
            raise SpawnError(f"Session '{sub_session_id}' is still at work; wait for its result")
        record = self.record(sub_session_id)
        if record is None or not record.is_resumable:
            known = ", ".join(name for name, each in self._ended.items() if each.is_resumable)
            raise SpawnError(f"There is no session '{sub_session_id[:300]}' to resume. There is: {known or 'none'}")
        return await self._run(self._coordinator.session, sub_session_id, record, instruction)

    def adopt(
        self, sub_session_id: str, agent_name: str, parent_session: AmplifierSession, messages: Sequence[Message] = ()
    ) -> None:
        """Makes a child of an earlier process one that can be resumed; ``messages`` are its conversation.

        Raises ``SpawnError`` for an agent that the parent does not know any more.
        """
        self._require_unused(sub_session_id)
        plan, report = parent_session.config, parent_session.report
        agent = require_agent(agent_name, plan.get("agents"))
        wishes = Wishes(metadata={"agent": agent_name, "parent_session_id": parent_session.session_id})
        record = Record(child_plan(plan, agent_name, agent, wishes, _tool_names(report)), list(messages))
        record.is_resumable = True
        self._keep(sub_session_id, record)

    def record(self, sub_session_id: str) -> Record | None:
        """The child that has ended under this id, as long as it is kept."""
        return self._ended.get(sub_session_id)

    async def cost(self) -> dict[str, str] | None:
        """What all children cost so far, those at work included; ``None`` while nobody says."""
        costs = [self._cost, *[await cost_of(each.coordinator, each.status) for each in self._running.values()]]
        known = [cost for cost in costs if cost is not None]
        return {"cost_usd": str(sum(known, Decimal(0)))} if known else None

    def close(self) -> None:
        """Stops the children that are still at work, and forgets those that have ended."""
        for child in self._running.values():
            child.coordinator.cancellation.request_immediate()
        self._ended.clear()

    def _require_unused(self, session_id: str) -> None:
        if session_id in self._running or session_id in self._ended:
            raise SpawnError(f"There is a child session '{session_id}' already; resume it, or choose another id")

    async def _run(self, parent: AmplifierSession, session_id: str, record: Record, instruction: str) -> dict[str, Any]:
        plan, is_resumed = record.plan, record.is_resumable
        child = parent.fork(plan.overlay, session_id=session_id, is_resumed=is_resumed)
        watch = Watch(child, plan.agent, parent.coordinator.hooks)
        self._running[session_id] = child
        try:
            await hand_down(parent.coordinator, child.coordinator)
            await child.initialize()
            _limit_tools(child, plan)
            await _prepare_context(child, plan.system_prompt, record.messages)
            answer = await child.execute(instruction)
            ending = watch.ending
        finally:
            await finish(self._conclude(parent, child, record, watch))
        told = {"agent": plan.agent, **record.spending}
        return {"output": str(answer), "session_id": session_id, **ending, "metadata": told}

    async def _conclude(self, parent: AmplifierSession, child: AmplifierSession, record: Record, watch: Watch) -> None:
        """Keeps what a child leaves behind and takes it down; the parent is told what it used in any case."""
        try:
            await self._settle_accounts(parent, child, record)
            await _keep_messages(child, record)
        finally:
            try:
                await child.cleanup()
            finally:
                watch.end()
                parent.coordinator.cancellation.unregister_child(child.coordinator.cancellation)
                del self._running[child.session_id]
                self._keep(child.session_id, record)

    async def _settle_accounts(self, parent: AmplifierSession, child: AmplifierSession, record: Record) -> None:
        cost = await cost_of(child.coordinator, child.status)
        record.spending = told_spending(child.status, cost)
        add_spending(parent.status, child.status, cost)
        if cost is not None:
            self._cost = cost + (self._cost or 0)

    def _keep(self, session_id: str, record: Record) -> None:
        self._ended.pop(session_id, None)
        self._ended[session_id] = record
        while len(self._ended) > self._most_kept:
            self._ended.pop(next(iter(self._ended)))


def offer_children(coordinator: ModuleCoordinator) -> Children:
    """The children of a session, made once; offered as capabilities where the application has not offered its own."""
    known = coordinator.get_capability(CHILDREN)
    if isinstance(known, Children):
        return known
    children = Children(coordinator)
    coordinator.register_capability(CHILDREN, children)
    for name, function in ((SPAWN, children.spawn), (RESUME, children.resume)):
        if coordinator.get_capability(name) is None:
            coordinator.register_capability(name, function)
    coordinator.register_contributor(COST_CHANNEL, CHILDREN, children.cost)
    coordinator.register_cleanup(children.close)
    return children


def _tool_names(report: LoadReport) -> dict[str, tuple[str, ...]]:
    return {each.module_id: each.names for each in report.mounted if each.kind == "tool"}


def _limit_tools(child: AmplifierSession, plan: ChildPlan) -> None:
    """Takes out the tools that the child does not inherit; those of nobody knows whom count as inherited ones."""
    tools = child.coordinator.get("tools")
    home = {name: each.module_id for each in child.report.mounted if each.kind == "tool" for name in each.names}
    for name in [name for name in tools if not plan.admits_tool(home.get(name, ""), name)]:
        child.coordinator.unmount("tools", name)


async def _prepare_context(child: AmplifierSession, system_prompt: str | None, messages: list[Message]) -> None:
    context = child.coordinator.get("context")
    if messages:
        await context.set_messages(messages)
    if system_prompt is None:
        return
    set_factory = getattr(context, "set_system_prompt_factory", None)
    if callable(set_factory):
        set_factory(lambda: system_prompt)
    elif not messages:
        await context.add_message({"role": "system", "content": system_prompt})


async def _keep_messages(child: AmplifierSession, record: Record) -> None:
    context = child.coordinator.get("context")
    if context is None:
        return
    try:
        record.messages = list(await context.get_messages())
        record.is_resumable = True
    except Exception as error:
        logger.warning("Session '%s' cannot be resumed, its conversation is not to be had: %r", child.session_id, error)
