"""The test classes for authors: they find the module, run every fault as a test, and say what to change."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amplifier_kit.chaos import (
    ContextChaosTests,
    HookChaosTests,
    OrchestratorChaosTests,
    ProviderChaosTests,
    ToolChaosTests,
    faults_of,
)

PACKAGE = "amplifier_module_tool_suite_chaos"
SOURCE = """
from amplifier_core import ToolResult

class Tool:
    name = "tool"
    description = "Repeats."
    input_schema = {"properties": {"text": {"type": "string"}}}

    def __init__(self, is_careful):
        self.is_careful = is_careful

    async def execute(self, input):
        return ToolResult(output=input.get("text") if self.is_careful or "sample" in input else input["text"])

async def mount(coordinator, config):
    if config:
        await coordinator.mount("tools", Tool(config["is_careful"]))
"""
TESTS = """
import pytest
from amplifier_kit.chaos import ToolChaosTests

@pytest.fixture
def amplifier_module_config():
    return {"is_careful": False}

class TestUnderChaos(ToolChaosTests):
    pass
"""


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Path]:
    """A module whose tool may be told to look at its input before it uses it."""
    package = tmp_path / PACKAGE.replace("_", "-") / PACKAGE
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(SOURCE)
    yield package
    sys.modules.pop(PACKAGE, None)


class TestACarefulTool(ToolChaosTests):
    """Inherited as authors do it: these tests are the faults, and they pass."""

    @pytest.fixture
    def module_path(self, package: Path) -> Path:
        return package

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return {"is_careful": True}

    def test_of_its_own(self) -> None:
        """An author's class may have tests that are about no fault."""
        assert self.kind == "tool"


def fault(name: str) -> Any:
    """The fault of that name."""
    return next(fault for fault in faults_of("tool") if fault.name == name)


async def test_a_finding_is_a_failure_that_says_what_to_change(package: Path) -> None:
    """A broken promise is told without a traceback."""
    with pytest.raises(
        pytest.fail.Exception, match=r"Provoked: execute\(\{\}\) of tool 'tool' raised KeyError"
    ) as told:
        await ToolChaosTests().test_promise_is_kept(package, {"is_careful": False}, fault("malformed_input"))
    assert told.value.pytrace is False


@pytest.mark.parametrize(("has_module", "reason"), [(False, "No module to test"), (True, "installed no tool")])
async def test_without_a_module_there_is_nothing_to_test(package: Path, has_module: bool, reason: str) -> None:
    """A run without a module, and a module that mounts nothing, are skipped with the reason."""
    with pytest.raises(pytest.skip.Exception, match=reason):
        await ToolChaosTests().test_promise_is_kept(package if has_module else None, {}, fault("mount"))


async def test_an_author_may_give_the_input(package: Path) -> None:
    """``sample_input`` takes the place of what the schema suggests."""

    class WithSample(ToolChaosTests):
        sample_input = {"sample": 1}

    await WithSample().test_promise_is_kept(package, {"is_careful": False}, fault("two_sessions"))
    with pytest.raises(pytest.fail.Exception, match="KeyError"):
        await WithSample().test_promise_is_kept(package, {"is_careful": False}, fault("malformed_input"))


def test_there_is_a_class_for_every_kind() -> None:
    """The five kinds have a class each."""
    classes = (ProviderChaosTests, ToolChaosTests, HookChaosTests, OrchestratorChaosTests, ContextChaosTests)
    assert [each.kind for each in classes] == ["provider", "tool", "hook", "orchestrator", "context"]


@pytest.mark.slow
def test_a_real_pytest_finds_the_module_and_makes_a_test_of_every_fault(package: Path) -> None:
    """In an author's repository, without any settings, one class is enough."""
    tests = package.parent / "tests"
    tests.mkdir()
    (tests / "test_chaos.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--rootdir", str(package.parent)]
    done = subprocess.run([*command, "tests"], cwd=package.parent, capture_output=True, text=True)
    names = [fault.name for fault in faults_of("tool")]
    assert [name for name in names if f"[{name}] FAILED" in done.stdout] == ["malformed_input"], done.stdout
    assert f"1 failed, {len(names) - 1} passed" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
