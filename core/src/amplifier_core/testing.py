"""Fakes that obey the module contracts, for tests of modules and of whole sessions; they need no model and no pytest.

Each stands in for one kind of module and records what was asked of it. ``FakeClock`` and ``SequentialIds`` make a
session repeat itself exactly.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, cast

from amplifier_core._awaiting import settle
from amplifier_core._done import Done
from amplifier_core._recording import UNSET, Call, RecordingCallable, RecordingFunction
from amplifier_core._scripted import MockProvider, ScriptedOrchestrator, ScriptedReply, ask_provider
from amplifier_core.coordinator import NAMED_POINTS, ModuleCoordinator
from amplifier_core.hooks import HookRegistry
from amplifier_core.models import HookResult, ToolResult

__all__ = [
    "Call",
    "EventRecorder",
    "FakeClock",
    "MockContextManager",
    "MockCoordinator",
    "MockProvider",
    "MockTool",
    "RecordingApproval",
    "RecordingCallable",
    "RecordingDisplay",
    "RecordingFunction",
    "ScriptedOrchestrator",
    "ScriptedReply",
    "SequentialIds",
    "TestCoordinator",
    "ask_provider",
    "create_test_coordinator",
    "wait_for",
]

_POLL_S = 0.01


class FakeClock:
    """A clock that stands still until it is told to go on; to be passed as ``clock=``."""

    def __init__(self, start: datetime = datetime(2025, 1, 1, tzinfo=UTC)) -> None:
        if start.tzinfo is None:
            raise ValueError(f"A FakeClock needs a start with a time zone, got {start!r}; add tzinfo=UTC")
        self._now = start

    def __call__(self) -> datetime:
        """The time it shows."""
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Moves it by ``seconds`` and gives the new time."""
        self._now += timedelta(seconds=seconds)
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Moves it by ``seconds`` and lets other tasks run once: time passes, and nobody waits for it."""
        self.advance(seconds)
        await asyncio.sleep(0)


class SequentialIds:
    """Gives ``id-1``, ``id-2``, …; to be passed as ``new_id=``."""

    def __init__(self, prefix: str = "id") -> None:
        self._prefix = prefix
        self._numbers = count(1)

    def __call__(self) -> str:
        """The next id."""
        return f"{self._prefix}-{next(self._numbers)}"


class RecordingApproval:
    """An approval system that answers every question with ``answer``: a refusal, unless a test wants otherwise."""

    def __init__(self, answer: str = "Deny") -> None:
        self.answer = answer
        self.request_approval = RecordingCallable(self._request_approval, name="request_approval")

    async def _request_approval(self, prompt: str, options: list[str], timeout: float, default: str) -> str:
        return self.answer


class RecordingDisplay:
    """A display that keeps what it is to show in ``messages``, as (message, level, source)."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str, str]] = []
        self.show_message = RecordingFunction(self._show_message, name="show_message")

    def _show_message(self, message: str, level: str, source: str = "hook") -> None:
        self.messages.append((message, level, source))


@dataclass(frozen=True, slots=True)
class _SessionFacts:
    """What a coordinator wants to know of its session."""

    config: dict[str, Any]
    session_id: str = "test-session"
    parent_id: str | None = None


class MockCoordinator(ModuleCoordinator):
    """A real coordinator without a session, which remembers what was mounted and unmounted, in order.

    Its approval system refuses until a test sets ``approval_system.answer``. ``config`` is the plan modules see.
    """

    __test__ = False  # as TestCoordinator it has a name that pytest takes for a class of tests

    def __init__(
        self,
        config: dict[str, Any] | None = None,
        *,
        clock: Callable[[], datetime] | None = None,
        new_id: Callable[[], str] | None = None,
    ) -> None:
        plan = {"session": {"orchestrator": "test-orchestrator", "context": "test-context"}}
        super().__init__(
            session=_SessionFacts(plan if config is None else config),
            approval_system=RecordingApproval(),
            display_system=RecordingDisplay(),
            clock=clock,
            new_id=new_id,
        )
        self.mount_history: list[dict[str, Any]] = []
        """What ``mount`` was called with, as ``mount_point``, ``module``, ``name``; refused calls are left out."""
        self.unmount_history: list[dict[str, Any]] = []
        """What ``unmount`` was called with, as ``mount_point``, ``name``; refused calls are left out."""

    def mount(self, mount_point: str, module: Any, name: str | None = None) -> Done:
        """Mounts at once, and remembers it."""
        done = super().mount(mount_point, module, name)
        self.mount_history.append({"mount_point": mount_point, "module": module, "name": name})
        return done

    def unmount(self, mount_point: str, name: str | None = None) -> Done:
        """Unmounts at once, and remembers it."""
        done = super().unmount(mount_point, name)
        self.unmount_history.append({"mount_point": mount_point, "name": name})
        return done

    def get_mounted(self, mount_point: str) -> dict[str, Any]:
        """What is mounted at a point now, by name; at a point for one module the name is the point's own.

        ``hooks`` gives the names of the handlers by event. Raises ``ValueError`` for a point that does not exist.
        """
        mounted = self.get(mount_point)
        if mount_point == "hooks":
            return dict(self.hooks.list_handlers())
        by_name = mounted if mount_point in (*NAMED_POINTS, "session") else {mount_point: mounted}
        return {name: module for name, module in by_name.items() if module is not None}


TestCoordinator = MockCoordinator


class MockTool:
    """A tool that gives the same result to every call; ``execute`` is a recording whose answers a test may change.

    ``return_value``, a ``ToolResult`` or the output of a successful one, goes before ``output``.
    """

    def __init__(
        self,
        name: str = "mock_tool",
        output: Any = "Success",
        *,
        description: str | None = None,
        return_value: Any = UNSET,
        input_schema: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.description = f"Mock tool: {name}" if description is None else description
        self.input_schema: dict[str, Any] = (
            {"type": "object", "properties": {}} if input_schema is None else input_schema
        )
        answer = output if return_value is UNSET else return_value
        self._result = answer if isinstance(answer, ToolResult) else ToolResult(success=True, output=answer)
        self.execute = RecordingCallable(self._execute, name="execute")

    @property
    def call_count(self) -> int:
        """How often the tool was executed."""
        return self.execute.call_count

    @property
    def last_input(self) -> Any:
        """The input of the latest execution, ``None`` before the first."""
        call = self.execute.call_args
        return None if call is None else call.argument(0, "input")

    async def _execute(self, input: dict[str, Any]) -> ToolResult:
        return self._result


class MockContextManager:
    """A context that keeps every message in ``messages``, takes any, and never compacts; its methods are recordings.

    ``get_messages`` gives the live list, ``get_messages_for_request`` a new one.
    """

    def __init__(self, messages: Iterable[dict[str, Any]] | None = None) -> None:
        self.messages: list[dict[str, Any]] = list(messages or ())
        self.add_message = RecordingCallable(self._add_message, name="add_message")
        self.get_messages = RecordingCallable(self._get_messages, name="get_messages")
        self.get_messages_for_request = RecordingCallable(
            self._get_messages_for_request, name="get_messages_for_request"
        )
        self.set_messages = RecordingCallable(self._set_messages, name="set_messages")
        self.clear = RecordingCallable(self._clear, name="clear")
        # Contexts usually have these two inside, so tests written for many kinds of context look for them.
        self._should_compact = RecordingCallable(return_value=False, name="_should_compact")
        self._compact_internal = RecordingCallable(return_value=None, name="_compact_internal")

    async def _add_message(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    async def _get_messages(self) -> list[dict[str, Any]]:
        return self.messages

    async def _get_messages_for_request(
        self, token_budget: int | None = None, provider: Any | None = None
    ) -> list[dict[str, Any]]:
        return list(self.messages)

    async def _set_messages(self, messages: list[dict[str, Any]]) -> None:
        self.messages[:] = messages

    async def _clear(self) -> None:
        self.messages.clear()


class EventRecorder(HookRegistry):
    """A hook registry that keeps every event it is told, as (event, data) in ``events``.

    Pass it as ``hooks`` to an orchestrator, or register it, being callable, as a handler of another registry. Data are
    kept as they were emitted, before any handler changed them, each in a dict of its own.
    """

    def __init__(self, *, clock: Callable[[], datetime] | None = None, new_id: Callable[[], str] | None = None) -> None:
        super().__init__(clock=clock, new_id=new_id)
        self.events: list[tuple[str, dict[str, Any]]] = []

    async def emit(self, event: str, data: Any = None) -> HookResult:
        """Keeps the event, tells the handlers registered here, if any, and gives their answer, else to continue."""
        self._keep(event, data)
        return await super().emit(event, data)

    async def emit_and_collect(self, event: str, data: Any = None, timeout: float = 1.0) -> list[Any]:
        """Keeps the event, and gives what the handlers registered here have to offer."""
        self._keep(event, data)
        return await super().emit_and_collect(event, data, timeout)

    async def record(self, event: str, data: Any = None) -> HookResult:
        """Another name of ``emit``."""
        return await self.emit(event, data)

    async def __call__(self, event: str, data: dict[str, Any]) -> HookResult:
        """Answers as a handler: keeps the event and lets things go on."""
        return await self.emit(event, data)

    def has_listeners(self, event: str) -> bool:
        """True for every event: the recorder listens."""
        return True

    def get_events(self, event_type: str | None = None) -> list[tuple[str, dict[str, Any]]]:
        """The events so far, all or those of one name."""
        return [entry for entry in self.events if event_type is None or entry[0] == event_type]

    def clear(self) -> None:
        """Forgets the events."""
        self.events.clear()

    def _keep(self, event: str, data: Any) -> None:
        dump = getattr(data, "model_dump", None)
        fields = dump() if callable(dump) else data
        self.events.append((event, dict(cast("Mapping[str, Any]", fields)) if isinstance(fields, Mapping) else {}))


def create_test_coordinator() -> MockCoordinator:
    """A coordinator with the tools ``echo`` and ``fail`` (whose output is ``None``) and a context.

    Its ``mount_history`` is empty: it tells what the test mounts.
    """
    coordinator = MockCoordinator()
    echo, fail = MockTool("echo", "Echo response"), MockTool("fail", None)
    coordinator.mount_points["tools"].update(echo=echo, fail=fail)
    coordinator.mount_points["context"] = MockContextManager()
    return coordinator


async def wait_for(condition: Callable[[], Any], timeout: float = 1.0) -> bool:
    """Asks ``condition`` (sync or async) every 10 ms; whether it came true within ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while not await settle(condition()):
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(_POLL_S)
    return True
