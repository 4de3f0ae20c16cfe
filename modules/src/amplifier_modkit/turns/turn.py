"""One turn of a loop, from the prompt to the answer: what is common to all loops, with one ending whatever happens."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import (
    CANCEL_REQUESTED,
    EXECUTION_END,
    EXECUTION_START,
    ORCHESTRATOR_COMPLETE,
    PROMPT_COMPLETE,
    PROMPT_SUBMIT,
)
from amplifier_core.hooks import HookRegistry
from amplifier_core.interfaces import ContextManager, Provider, Tool
from amplifier_core.models import ToolResult
from amplifier_modkit.messages import Message, blocks_of, plain
from amplifier_modkit.turns.accounting import Accounting
from amplifier_modkit.turns.blocks import tell_blocks
from amplifier_modkit.turns.calls import RequestedCall
from amplifier_modkit.turns.gate import DeniedError, HookGate
from amplifier_modkit.turns.model_step import Complete, ModelStep, complete
from amplifier_modkit.turns.providers import rank
from amplifier_modkit.turns.repetition import RepetitionWatch
from amplifier_modkit.turns.replies import Reply, without_calls
from amplifier_modkit.turns.requests import reminder
from amplifier_modkit.turns.results import to_message
from amplifier_modkit.turns.settings import LoopSettings
from amplifier_modkit.turns.stopping import StoppedError, finish, stop_scope
from amplifier_modkit.turns.structured import OutputSchema, StructuredOutputError
from amplifier_modkit.turns.tool_batch import ToolBatch
from amplifier_modkit.turns.tool_step import ToolStep

logger = logging.getLogger(__name__)

_PREVIEW_CHARS = 200

Status = Literal["success", "incomplete", "cancelled"]
Limit = Literal["max_iterations", "repeated_calls"]

_LIMITS: dict[Limit, str] = {
    "max_iterations": "The limit of model calls for this turn is reached.",
    "repeated_calls": "The same tool call was repeated again and again without effect.",
}


@dataclass(frozen=True, slots=True)
class World:
    """What a session gives an orchestrator to work with."""

    context: ContextManager
    providers: Mapping[str, Provider]
    tools: Mapping[str, Tool]
    hooks: HookRegistry
    coordinator: ModuleCoordinator

    @classmethod
    def of(
        cls,
        context: ContextManager,
        providers: Mapping[str, Provider],
        tools: Mapping[str, Tool],
        hooks: HookRegistry,
        coordinator: ModuleCoordinator | None,
    ) -> World:
        """The world of a turn; without a coordinator, as in a test, there is nobody to ask, and all else works."""
        if coordinator is None:
            coordinator = ModuleCoordinator()
            coordinator.mount("context", context)
        return cls(context, providers, tools, hooks, coordinator)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended: what to answer, and why there is nothing better where the status is no success."""

    answer: str
    status: Status = "success"
    reason: str | None = None
    error: BaseException | None = None


Rounds = Callable[["Turn"], Awaitable[Outcome]]


class Turn:
    """One prompt on its way to an answer; made for one ``execute()``.

    A loop gives ``run`` its rounds, and builds them from ``ask_model``, ``run_tools`` and the endings.
    """

    gate_class: ClassVar[type[HookGate]] = HookGate

    def __init__(
        self,
        name: str,
        world: World,
        settings: LoopSettings,
        *,
        provider: str | None = None,
        complete: Complete = complete,
    ) -> None:
        coordinator = world.coordinator
        self.world = world
        self.settings = settings
        self.token = coordinator.cancellation
        self.gate = self.gate_class(world.hooks, coordinator)
        self.model_calls = 0
        self.facts: dict[str, Any] = {}
        """Further facts for ``orchestrator:complete``."""
        self._name = name
        self._id = coordinator.new_id()
        self._content: list[dict[str, Any]] = []
        self._reminders: list[Message] = []
        self._said = ""
        self._accounting = Accounting(coordinator)
        self._provider = provider
        self._complete = complete
        self._has_told_stop = False
        self._repetition = RepetitionWatch(settings.repeat_reminder_after, settings.repeat_stop_after)
        self._tool_step = ToolStep(
            self.gate,
            world.tools,
            self.token,
            checks_arguments=settings.validate_arguments,
            timeout_s=settings.tool_timeout,
        )

    @cached_property
    def _model_step(self) -> ModelStep:
        candidates = rank(self.world.providers, self._provider, self.settings.default_provider)
        world, new_id = self.world, self.world.coordinator.new_id
        step = ModelStep(self.gate, world.context, world.tools, candidates, self.settings, new_id, self._complete)
        step.note_usage = self._accounting.note_usage
        return step

    @cached_property
    def _output(self) -> OutputSchema | None:
        schema = self.settings.output_schema
        return None if schema is None else OutputSchema(schema)

    def show(self, content: Sequence[Any] | None) -> Self:
        """Has the prompt say this: blocks whose text is the prompt's, and beside the text what is to be seen."""
        self._content = blocks_of(plain(list(content or ())))
        return self

    async def run(self, prompt: str, rounds: Rounds) -> str:
        """The answer to ``prompt``. Whatever happens, the turn ends with its three closing events, once each."""
        started = time.perf_counter()
        self.world.coordinator.reset_turn()
        outcome = Outcome("", "incomplete", "error")
        try:
            outcome = await self._outcome(prompt, rounds)
        except asyncio.CancelledError as error:
            outcome = Outcome(self._said, "cancelled", "cancelled", error)
            raise
        except BaseException as error:
            outcome = Outcome("", "incomplete", "error", error)
            raise
        finally:
            await finish(self._close(outcome, started))
        return outcome.answer

    async def _outcome(self, prompt: str, rounds: Rounds) -> Outcome:
        try:
            async with stop_scope(self.token):
                await self._open(prompt)
                return await rounds(self)
        except DeniedError as denial:
            return Outcome(f"Denied: {denial}", "incomplete", "denied")
        except StoppedError:
            return await self.stopped()

    async def _open(self, prompt: str) -> None:
        _ = self._model_step, self._output  # whatever makes the turn impossible is raised before anything is done
        verdict = await self.gate.tell(PROMPT_SUBMIT, {"prompt": prompt})
        if verdict.action == "deny":
            await self.gate.tell(EXECUTION_START, {"prompt": prompt})
            raise DeniedError(verdict.reason or "a hook refused the prompt without giving a reason")
        given = (verdict.data or {}).get("prompt", prompt)
        given = (await self.gate.permit(EXECUTION_START, {"prompt": given}))["prompt"]
        if not isinstance(given, str):
            raise DeniedError("a hook replaced the prompt by something that is no text")
        await self.store({"role": "user", "content": self._content_of(prompt, given)})

    def _content_of(self, prompt: str, given: str) -> str | list[dict[str, Any]]:
        """What is stored as the prompt; where hooks have changed the text, what is to be seen stands behind it."""
        if not self._content or given == prompt:
            return self._content or given
        return [{"type": "text", "text": given}, *(each for each in self._content if each.get("type") != "text")]

    async def _close(self, outcome: Outcome, started: float) -> None:
        answer = outcome.answer
        ended = "error" if outcome.reason == "error" else "cancelled" if outcome.status == "cancelled" else "completed"
        duration = {"duration_ms": round((time.perf_counter() - started) * 1000, 3)}
        reason = {} if outcome.reason is None else {"reason": outcome.reason}
        if outcome.error is not None:
            reason["error"] = f"{type(outcome.error).__name__}: {outcome.error}"
        preview = {"response_preview": answer[:_PREVIEW_CHARS], "length": len(answer)}
        told = {"orchestrator": self._name, "turn_count": self.model_calls, "status": outcome.status}
        endings = {
            EXECUTION_END: {"response": answer, "status": ended, **duration, **reason},
            PROMPT_COMPLETE: {"response": answer, **preview},
            ORCHESTRATOR_COMPLETE: {**told, **duration, **reason, **self.facts},
        }
        async with AsyncExitStack() as stack:
            # The stack runs them all, last in first out, whatever one of them raises.
            for event, facts in reversed(endings.items()):
                stack.push_async_callback(self.gate.announce, event, facts)
        self.gate.close()

    @property
    def is_at_limit(self) -> bool:
        """Whether as many model calls were made as a turn may have."""
        return 0 <= self.settings.max_iterations <= self.model_calls

    def remind(self, text: str) -> None:
        """Has ``text`` told to the model with the next request."""
        self._reminders.append(reminder(text))

    async def store(self, message: Message) -> None:
        """Puts a message into the conversation."""
        await self.world.context.add_message(message)
        self._accounting.note_message()

    async def ask_model(self, *, offers_tools: bool = True) -> Reply:
        """One model call; its reply is stored by ``run_tools`` or by the ending."""
        self.model_calls += 1
        reminders, self._reminders = self._reminders, []
        try:
            reply = await self._model_step.ask(self.model_calls, reminders, offers_tools=offers_tools)
        except DeniedError:
            if not self._model_step.has_asked:
                self.model_calls -= 1
            raise
        await tell_blocks(self.gate, reply.response.content, reply.response.usage, self.streamed_blocks)
        self._said = reply.text or self._said
        return reply

    streamed_blocks: frozenset[int] | set[int] = frozenset()
    """Places of the blocks of the latest answer that hooks have heard of while they came in."""

    async def run_tools(self, reply: Reply) -> Literal["go on", "stop"]:
        """Stores the reply, runs its tool calls, stores their results; ``stop`` says that the model goes in circles."""
        group_id = f"{self._id}-{self.model_calls}"
        self.gate.hold()
        try:
            batch = ToolBatch(
                reply.calls,
                lambda call: self.run_tool(call, group_id),
                self._keep_result,
                self.token,
                self.settings.max_parallel_tools,
            )
            results = await batch.complete(lambda: self.store(reply.message), self.world.tools)
        finally:
            if self.gate.is_holding_back:
                await finish(self.gate.release())
            else:
                await self.gate.release()
        return self._judge_progress(reply.calls, results)

    async def run_tool(self, call: RequestedCall, group_id: str) -> ToolResult:
        """One tool call through all its hooks."""
        # Tools that start sessions of their own look up by their task which call they serve.
        by_task: dict[Any, dict[str, str]] = vars(self.world.coordinator).setdefault("_tool_dispatch_contexts", {})
        task = asyncio.current_task()
        by_task[task] = {"tool_call_id": call.id, "parallel_group_id": group_id}
        try:
            result = await self._tool_step.run(call, group_id)
        finally:
            del by_task[task]
        self._accounting.note_result(result)
        return result

    async def _keep_result(self, call: RequestedCall, result: ToolResult) -> None:
        await self.store(to_message(call.id, call.name, result))

    def _judge_progress(
        self, calls: Sequence[RequestedCall], results: Sequence[ToolResult]
    ) -> Literal["go on", "stop"]:
        advice = self._repetition.note(zip(calls, results, strict=True))
        if advice == "remind":
            self.remind(self._repetition.reminder)
        return "stop" if advice == "stop" else "go on"

    async def answered(self, reply: Reply) -> Outcome:
        """The ending of a turn in which the model has said its last word."""
        if reply.message["content"]:  # vendors refuse a history with an empty message
            await finish(self.store(reply.message))
        if reply.is_refusal:
            told = reply.text or f"The model refused to answer (finish reason: {reply.response.finish_reason})."
            return Outcome(told, "incomplete", "refused")
        if self._output is not None:
            return await self._structured(reply, self._output)
        if not reply.text.strip():
            cause = reply.response.finish_reason or "none given"
            return Outcome(f"The model gave an empty answer (finish reason: {cause}).", "incomplete", "empty")
        return Outcome(reply.text)

    async def _structured(self, reply: Reply, output: OutputSchema) -> Outcome:
        try:
            return Outcome(output.to_json(reply.text))
        except StructuredOutputError as error:
            if self.token.is_cancelled:
                return await self.stopped()
            request = output.repair_request(error)
        # Stored, unlike a reminder: two answers in a row, with nothing said between them, confuse many a model.
        await self.store({"role": "user", "content": request, "metadata": {"source": "orchestrator"}})
        repaired = without_calls(await self.ask_model(offers_tools=False))
        await finish(self.store(repaired.message))
        return Outcome(output.to_json(repaired.text))

    async def wrapped_up(self, reason: Limit) -> Outcome:
        """The ending of a turn that a limit stops: one last call without tools, to say where things stand."""
        if self.token.is_cancelled:
            return await self.stopped()
        self.remind(f"{_LIMITS[reason]} No more tools can be used in this turn: answer now with what you know.")
        reply = without_calls(await self.ask_model(offers_tools=False))
        ending = await self.answered(reply)
        return Outcome(ending.answer, "incomplete", reason)

    async def stopped(self) -> Outcome:
        """The ending of a turn that somebody wants stopped."""
        if not self._has_told_stop:
            self._has_told_stop = True
            await self.gate.announce(CANCEL_REQUESTED, {"was_immediate": self.token.is_immediate})
        return Outcome(self._said or "Stopped before there was an answer.", "cancelled", "cancelled")
