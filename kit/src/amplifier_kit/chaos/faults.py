"""The list of faults: which promise each one tests, for which kinds of module, and what to change when it is broken."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from amplifier_kit.chaos import _contexts, _general, _hooks, _orchestrators
from amplifier_kit.chaos._kinds import KINDS
from amplifier_kit.chaos._stage import BrokenPromiseError, NothingMountedError, Subject

ALL_KINDS = tuple(KINDS)


@dataclass(frozen=True, slots=True)
class Finding:
    """How a promise was broken; a warning when there was nothing to break."""

    told: str
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to put a module under stress, and the promise that must hold meanwhile."""

    name: str
    promise: str
    remedy: str
    scenario: Callable[[Subject], Awaitable[None]]
    kinds: tuple[str, ...] = ALL_KINDS

    async def provoke(self, subject: Subject) -> Finding | None:
        """Plays the fault through with ``subject``; ``None`` when the promise holds."""
        try:
            await self.scenario(subject)
        except NothingMountedError as nothing:
            return Finding(str(nothing), "warning")
        except BrokenPromiseError as broken:
            return Finding(str(broken))
        return None

    def explain(self, finding: Finding) -> str:
        """The broken promise, how it was provoked, and what to change."""
        return f"Broken promise: {self.promise}. Provoked: {finding.told.rstrip('.')}. Change: {self.remedy}."


FAULTS: tuple[Fault, ...] = (
    Fault(
        "mount",
        "the module mounts, does its ordinary work and cleans up while nothing is wrong",
        "repair this first, or pass the config the module needs; the other faults were not tried",
        _general.mount,
    ),
    Fault(
        "cancelled",
        "a cancelled call ends at once with CancelledError, takes along what it began, and the next call works",
        "catch Exception, never BaseException; after 'except CancelledError' raise it again; release locks in "
        "'finally'; await children in a TaskGroup; prefer asyncio.timeout(): before Python 3.12 wait_for() may lose a "
        "cancellation",
        _general.cancelled,
    ),
    Fault(
        "failing_collaborators",
        "another's failure becomes an answer or a plain exception, never an accident, and a hook answers in any case",
        "expect an exception from every other module you call, and turn it into your own answer or error",
        _general.failing_collaborators,
    ),
    Fault(
        "slow_collaborators",
        "among slow modules the answers are the same, and none is given before the work for it is done",
        "await every call you make; do not start tasks that nobody awaits, nor count on an answer by a certain time",
        _general.slow_collaborators,
    ),
    Fault(
        "malformed_input",
        "input of any shape gives a proper answer or a plain exception, never an accident such as AttributeError",
        "check the type of what you are given before you use it, and say what was expected",
        _general.malformed_input,
    ),
    Fault(
        "huge_input",
        "input of any size gives a proper answer or a plain exception, in time",
        "limit what you process and say so in the answer; keep the work proportional to the input",
        _general.huge_input,
    ),
    Fault(
        "cleanup_during_call",
        "clean-up during a call neither fails nor hangs, the call still ends properly, and nothing runs on afterwards",
        "keep what a call uses in local variables; cancel and await your background tasks in clean-up",
        _general.cleanup_during_call,
    ),
    Fault(
        "mounted_twice",
        "a module that is mounted twice in a session works, or refuses the second time with a plain exception",
        "keep state in the objects that mount() makes, not in the module; let each clean-up undo its own mount only",
        _general.mounted_twice,
    ),
    Fault(
        "two_sessions",
        "sessions that use the module at the same time never see each other, and each ends for itself",
        "keep no state in global variables or class attributes; make clients, lists and locks in mount()",
        _general.two_sessions,
    ),
    Fault(
        "shared_data",
        "a hook does not change the values inside event data, which belong to whoever emits the event",
        "return HookResult(action='modify', data=…) with a copy that holds your change",
        _hooks.shared_data,
        ("hook",),
    ),
    Fault(
        "failing_tool",
        "a tool that raises does not end the turn: the model is told of the failure and goes on",
        "catch Exception around tool.execute(), and add a tool message with the error to the context",
        _orchestrators.failing_tool,
        ("orchestrator",),
    ),
    Fault(
        "denied_tool",
        "a tool call that a hook denies is not executed, also when the denial is a guard's failure",
        "emit tool:pre before each call and do not execute the tool when the result's action is 'deny'",
        _orchestrators.denied_tool,
        ("orchestrator",),
    ),
    Fault(
        "torn_turn",
        "a tool call and its result are never parted, however a turn ends",
        "add a result for every call that has begun in a 'finally', also when the turn is cancelled",
        _orchestrators.torn_turn,
        ("orchestrator",),
    ),
    Fault(
        "concurrent_messages",
        "messages that are added at the same time are each kept exactly once",
        "do not await between reading and writing the list of messages, or hold an asyncio.Lock meanwhile",
        _contexts.concurrent_messages,
        ("context",),
    ),
    Fault(
        "small_budget",
        "within any budget tool calls stay with their results, in order, and compaction never changes the history",
        "drop a call and all its results together; build the view from a copy and leave the stored messages alone",
        _contexts.small_budget,
        ("context",),
    ),
    Fault(
        "borrowed_list",
        "what a caller does to the list it gets for a request does not change the history",
        "return a new list from get_messages_for_request()",
        _contexts.borrowed_list,
        ("context",),
    ),
)


def faults_of(kind: str) -> tuple[Fault, ...]:
    """The faults that modules of ``kind`` meet, in order; raises ``ValueError`` for a kind that does not exist."""
    if kind not in KINDS:
        raise ValueError(f"Unknown module kind '{kind}'; expected one of: {', '.join(KINDS)}")
    return tuple(fault for fault in FAULTS if kind in fault.kinds)
