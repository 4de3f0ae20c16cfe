"""Running the chaos suite: from a path to a result, whatever is at the path."""

from __future__ import annotations

import asyncio
import itertools
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from amplifier_core.models import HookResult, ToolResult
from amplifier_kit import chaos
from amplifier_kit.chaos import FAULTS, Fault, faults_of, run, run_mount
from amplifier_kit.chaos._exercises import require_sound
from amplifier_kit.chaos._kinds import KINDS
from amplifier_kit.chaos._stage import Subject

_numbers = itertools.count(1)

TOOL = """
from amplifier_core import ToolResult

class Tool:
    name = "tool"
    description = "Does nothing."

    def __init__(self, config):
        self.config = config

    async def execute(self, input):
        return ToolResult(output=self.config)

async def mount(coordinator, config):
    await coordinator.mount("tools", Tool(config))
"""
PROMISES = [f"chaos_{fault.name}" for fault in faults_of("tool")]


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Writes a repository with a package of a name that nobody has, and forgets its import afterwards."""
    made: list[str] = []

    def package(source: str) -> Path:
        made.append(f"amplifier_module_tool_chaos_{next(_numbers)}")
        folder = tmp_path / made[-1].replace("_", "-") / made[-1]
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(source)
        return folder

    yield package
    for name in made:
        sys.modules.pop(name, None)


def fault(kind: str, name: str) -> Fault:
    """The fault of that name."""
    return next(fault for fault in faults_of(kind) if fault.name == name)


def world() -> tuple[Any, ...]:
    """What chaos must leave as it was."""
    handlers = list(logging.getLogger().handlers)
    return (list(sys.path), Path.cwd(), handlers, [t.name for t in threading.enumerate()], asyncio.all_tasks())


async def test_a_package_a_repository_a_file_and_a_name_can_be_run(package: Callable[[str], Path]) -> None:
    """Wherever the module is, the same checks are made, and nothing is left behind."""
    folder = package(TOOL)
    file = folder.parent / f"single_{folder.name}.py"
    file.write_text(TOOL)
    before = world()
    for where in (folder, folder.parent, str(folder), file, folder.name):
        result = await run("tool", where)
        assert (result.module_type, result.module_path) == ("tool", str(where))
        assert [check.name for check in result.checks] == PROMISES
        assert (result.passed, result.warnings, result.summary()[:6]) == (True, [], "PASSED")
    sys.modules.pop(file.stem)
    assert world() == before


async def test_a_passed_check_says_which_promise_was_kept(package: Callable[[str], Path]) -> None:
    """A result is readable without the list of faults at hand."""
    result = await run("tool", package(TOOL))
    assert [(check.severity, check.message) for check in result.checks] == [
        ("info", f"Kept: {fault.promise}") for fault in faults_of("tool")
    ]


async def test_a_failed_check_says_promise_provocation_and_remedy() -> None:
    """A finding says what broke, how that was provoked, and what to change."""

    async def execute(input: dict[str, Any]) -> ToolResult:
        return ToolResult(output=input["text"])

    class Naive:
        name = description = "naive"
        input_schema = {"properties": {"text": {"type": "string"}}}

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        tool = Naive()
        tool.execute = execute  # pyright: ignore[reportAttributeAccessIssue]
        await coordinator.mount("tools", tool)

    result = await run_mount("tool", mount)
    assert [(check.name, check.severity) for check in result.errors] == [("chaos_malformed_input", "error")]
    assert result.errors[0].message == (
        "Broken promise: input of any shape gives a proper answer or a plain exception, never an accident such as "
        "AttributeError. Provoked: execute({}) of tool 'naive' raised KeyError: 'text'. Change: check the type of what "
        "you are given before you use it, and say what was expected."
    )


async def test_config_and_sample_input_reach_the_module() -> None:
    """A module is mounted with the config given, and its tools get the input given."""
    seen: list[Any] = []

    class Tool:
        name = description = "tool"

        async def execute(self, input: dict[str, Any]) -> ToolResult:
            seen.append(input)
            return ToolResult()

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        seen.append(config)
        await coordinator.mount("tools", Tool())

    await run_mount("tool", mount, {"key": "value"}, sample_input={"path": "x"})
    assert seen[:2] == [{"key": "value"}, {"path": "x"}]


async def test_one_of_several_modules_is_chosen_by_its_entry_point(package: Callable[[str], Path]) -> None:
    """A repository may hold several modules."""
    wrong, right = package("raise RuntimeError('not this one')"), package(TOOL)
    right = right.rename(wrong.parent / right.name)
    (wrong.parent / "pyproject.toml").write_text(
        f'[project.entry-points."amplifier.modules"]\na = "{wrong.name}:mount"\nb = "{right.name}:mount"\n'
    )
    assert (await run("tool", wrong.parent, entry_point="b")).passed


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import nothing_of_this_name", "nothing_of_this_name"),
        ("raise SystemExit(3)", "SystemExit"),
        ("def mount(", "SyntaxError"),
        ("x = 1", "No mount() function found in module"),
        ("async def mount(coordinator): ...", "mount() should have at least 2 parameters"),
    ],
)
async def test_a_module_that_cannot_be_loaded_is_a_finding(
    package: Callable[[str], Path], source: str, told: str
) -> None:
    """What is wrong with the source is told as the first and only check; for a single file as well."""
    folder = package(source)
    file = folder.parent / f"single_{folder.name}.py"
    file.write_text(source)
    before = world()
    for where in (folder, file):
        result = await run("tool", where)
        assert [(check.name, check.passed, check.severity) for check in result.checks] == [
            ("chaos_mount", False, "error")
        ]
        assert f"the module at {where} cannot be loaded" in result.checks[0].message
        assert told in result.checks[0].message
    assert world() == before
    sys.modules.pop(file.stem, None)


async def test_a_path_where_nothing_is_is_a_finding() -> None:
    """A path that does not exist is not taken for anything else."""
    result = await run("tool", "no/such/folder")
    assert "cannot be loaded: ModuleNotFoundError" in result.checks[0].message


async def test_an_unknown_kind_is_an_error() -> None:
    """There are five kinds."""
    with pytest.raises(ValueError, match="Unknown module kind 'tol'; expected one of: provider, tool, hook"):
        await run("tol", "anywhere")


async def failing(coordinator: Any, config: dict[str, Any]) -> None:
    raise RuntimeError("no service")


async def exiting(coordinator: Any, config: dict[str, Any]) -> None:
    sys.exit(3)


def plain(coordinator: Any, config: dict[str, Any]) -> None: ...


@pytest.mark.parametrize("kind", ["tool", "orchestrator"])
@pytest.mark.parametrize(
    ("mount", "told"), [(failing, "RuntimeError: no service"), (exiting, "SystemExit: 3"), (plain, "TypeError")]
)
async def test_a_mount_that_fails_is_the_only_finding(kind: str, mount: Any, told: str) -> None:
    """Nothing else can be tried with a module that does not mount."""
    result = await run_mount(kind, mount)
    assert [check.name for check in result.checks] == ["chaos_mount"]
    assert "mount() failed" in result.checks[0].message
    assert told in result.checks[0].message


@pytest.mark.parametrize("kind", ["provider", "tool", "hook", "orchestrator", "context"])
async def test_a_module_that_mounts_nothing_is_a_warning(kind: str) -> None:
    """A module may stay out of a session on purpose, for example without a key; then nothing is tried."""

    async def mount(coordinator: Any, config: dict[str, Any]) -> None: ...

    result = await run_mount(kind, mount)
    assert [(check.name, check.passed, check.severity) for check in result.checks] == [
        ("chaos_mount", False, "warning")
    ]
    assert f"mount() installed no {kind} with the config it was given" in result.checks[0].message
    assert result.passed


@pytest.mark.parametrize("kind", ["tool", "context"])
@pytest.mark.slow
async def test_a_mount_that_hangs_is_a_finding(kind: str) -> None:
    """The time limit holds for mounting, too."""

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        await asyncio.sleep(60)

    result = await run_mount(kind, mount, limit_s=0.5)
    assert [check.name for check in result.checks] == ["chaos_mount"]
    assert "mount() failed: did not end" in result.checks[0].message


@pytest.mark.slow
async def test_a_module_that_blocks_is_a_finding_and_ends_the_run() -> None:
    """A call that never gives way is told; the run goes no further."""

    class Blocking:
        name = description = "blocking"

        async def execute(self, input: dict[str, Any]) -> ToolResult:
            while True:
                time.sleep(0.01)  # noqa: ASYNC251

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        await coordinator.mount("tools", Blocking())

    result = await run_mount("tool", mount, limit_s=0.1)
    assert [check.name for check in result.checks] == ["chaos_mount"]
    assert "the event loop did not turn for too long" in result.checks[0].message
    assert "asyncio.to_thread()" in result.checks[0].message


async def test_a_task_that_ends_the_process_is_a_finding() -> None:
    """An exit out of a background task stops nothing but its fault."""

    async def leave() -> None:
        sys.exit(3)

    class Exiting:
        name = description = "exiting"

        async def execute(self, input: dict[str, Any]) -> ToolResult:
            await asyncio.wait({asyncio.ensure_future(leave())})
            return ToolResult()

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        await coordinator.mount("tools", Exiting())

    result = await run_mount("tool", mount)
    assert "the module broke out of its session: EscapedError: SystemExit: 3" in result.checks[0].message


@pytest.mark.parametrize(
    ("error", "told"), [(ValueError("lost"), "ValueError: lost"), (SystemExit(3), "SystemExit: 3")]
)
async def test_a_clean_up_that_fails_is_a_finding(error: BaseException, told: str) -> None:
    """Clean-up errors do not get lost, however they look."""

    async def cleanup() -> None:
        raise error

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        coordinator.hooks.register("tool:pre", lambda event, data: None)
        return cleanup

    result = await run_mount("hook", mount)
    assert [check.name for check in result.checks] == ["chaos_mount"]
    assert told in result.checks[0].message


async def test_a_clean_up_that_fails_during_a_call_is_a_finding() -> None:
    """Clean-up may come at any time."""
    busy: list[str] = []

    async def handler(event: str, data: dict[str, Any]) -> None:
        busy.append("call")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        busy.clear()

    async def cleanup() -> None:
        if busy:
            sys.exit("still busy")

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        coordinator.hooks.register("tool:pre", handler)
        return cleanup

    result = await run_mount("hook", mount)
    assert [check.name for check in result.errors] == ["chaos_cleanup_during_call"]
    assert "and the clean-up raised SystemExit: still busy" in result.errors[0].message


async def test_a_task_that_outlives_clean_up_is_a_finding() -> None:
    """What a module starts it must stop."""

    async def poll() -> None:
        await asyncio.sleep(60)

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        coordinator.hooks.register("tool:pre", lambda event, data: None)
        coordinator.register_capability("poll", asyncio.ensure_future(poll()))

    result = await run_mount("hook", mount)
    assert [check.name for check in result.errors] == ["chaos_cleanup_during_call"]
    assert "after clean-up these tasks still ran: test_a_task_that_outlives" in result.errors[0].message


async def test_a_clean_up_may_stop_a_call() -> None:
    """A call that clean-up cancels has ended properly."""
    running: set[asyncio.Task[Any]] = set()

    async def work() -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def handler(event: str, data: dict[str, Any]) -> None:
        task = asyncio.ensure_future(work())
        running.add(task)
        try:
            await task
        finally:
            running.discard(task)

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        coordinator.hooks.register("tool:pre", handler)
        return lambda: [task.cancel() for task in running]

    assert (await run_mount("hook", mount)).errors == []


async def test_the_first_finding_counts() -> None:
    """A clean-up that fails as well does not hide how the promise was broken."""

    async def handler(event: str, data: dict[str, Any]) -> Any:
        return HookResult() if data else "nonsense"

    async def cleanup() -> None:
        raise ValueError("later")

    async def mount(coordinator: Any) -> Any:
        coordinator.hooks.register("tool:pre", handler)
        return cleanup

    finding = await fault("hook", "malformed_input").provoke(Subject("hook", mount))
    assert finding is not None
    assert "with data {} returned 'nonsense'" in finding.told


async def test_when_time_is_up_nothing_new_is_begun() -> None:
    """A fault ends in time even when it has many quick calls to make."""
    calls: list[str] = []

    async def handler(event: str, data: dict[str, Any]) -> None:
        calls.append(event)

    async def mount(coordinator: Any) -> None:
        coordinator.hooks.register("tool:pre", handler)

    subject = Subject("hook", mount, limit_s=60.0)
    async with subject.stage() as stage:
        subject.limit_s = 0.0
        await require_sound(stage, KINDS["hook"].malformed(stage))
        subject.limit_s = 60.0
    assert calls == []


async def test_a_call_that_waits_very_often_is_not_tried_at_every_wait() -> None:
    """Forty places to interrupt a call are enough."""
    cancelled: list[int] = []

    async def handler(event: str, data: dict[str, Any]) -> None:
        for wait in range(1, 100):
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                cancelled.append(wait)
                raise

    async def mount(coordinator: Any) -> None:
        coordinator.hooks.register("tool:pre", handler)

    assert await fault("hook", "cancelled").provoke(Subject("hook", mount, limit_s=60.0)) is None
    assert cancelled == list(range(1, 41))


async def test_two_runs_at_once_do_not_disturb_each_other(package: Callable[[str], Path]) -> None:
    """Chaos of several modules can be had at the same time."""
    before = world()
    results = await asyncio.gather(*(run("tool", package(TOOL)) for _ in range(3)))
    assert [result.passed for result in results] == [True] * 3
    assert world() == before


def test_names_of_faults_are_unique_and_texts_are_complete() -> None:
    """Every fault says its promise and the remedy, in one sentence each."""
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert [fault for fault in FAULTS if not fault.promise or fault.promise.endswith(".") or not fault.remedy] == []


def test_the_public_names_are_there_and_no_others() -> None:
    """Test classes are loaded when they are wanted; anything else is unknown."""
    assert [name for name in chaos.__all__ if not hasattr(chaos, name)] == []
    with pytest.raises(AttributeError, match="has no attribute 'FoolChaosTests'"):
        chaos.FoolChaosTests  # pyright: ignore[reportAttributeAccessIssue] # noqa: B018
