"""The structural suites: each runs its kind's validator and passes on what it found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier_core.validation import structural
from amplifier_core.validation.base import ValidationCheck, ValidationResult, check_on_session_ready
from amplifier_core.validation.structural import ToolStructuralTests

Workshop = Any

KINDS = ["Provider", "Tool", "Hook", "Orchestrator", "Context"]

TOOL = """
from amplifier_core.models import ToolResult

class Hammer:
    name = "hammer"
    description = "Hits."
    async def execute(self, input):
        return ToolResult(output="bang")

async def mount(coordinator, config):
    await coordinator.mount("tools", Hammer())
"""


def package_of(workshop: Workshop, source: str) -> Path:
    """A new package on disk."""
    module_id, folder = workshop.module(source)
    return folder / workshop.package_name(module_id)


def test_classes_and_tests_have_their_published_names() -> None:
    """There is one suite per kind with one test, and the check of ``on_session_ready`` is at hand."""
    assert sorted(structural.__all__) == sorted(
        [*(f"{kind}StructuralTests" for kind in KINDS), "check_on_session_ready"]
    )
    assert structural.check_on_session_ready is check_on_session_ready
    for kind in KINDS:
        suite = getattr(structural, f"{kind}StructuralTests")
        assert [name for name in dir(suite) if name.startswith("test_")] == ["test_structural_validation"]
        assert suite.__module__ == f"amplifier_core.validation.structural.test_{kind.lower()}"
        assert suite.validator.__name__ == f"{kind}Validator"
        assert [mark.name for mark in suite.test_structural_validation.pytestmark] == ["asyncio"]


async def test_a_sound_module_passes(workshop: Workshop) -> None:
    """Nothing is raised."""
    assert await ToolStructuralTests().test_structural_validation(package_of(workshop, TOOL)) is None


async def test_a_failure_lists_what_was_found(workshop: Workshop) -> None:
    """Every failed check has a line with name and message."""
    package = package_of(workshop, "def mount(coordinator): ...")
    with pytest.raises(pytest.fail.Exception) as raised:
        await ToolStructuralTests().test_structural_validation(package)
    first, *lines = str(raised.value).splitlines()
    assert first == f"Structural validation of {package} failed:"
    assert "  - mount_signature: mount() should have at least 2 parameters (coordinator, config), found 1" in lines
    assert all(line.startswith("  - ") for line in lines)


async def test_without_a_module_the_test_is_skipped() -> None:
    """The reason says how to name one."""
    with pytest.raises(pytest.skip.Exception, match="No module to test: .*--module-path"):
        await ToolStructuralTests().test_structural_validation(None)


def expecting(config: Any) -> Any:
    """A validator that is content with this config only."""

    class Validator:
        async def validate(self, path: Any, entry_point: Any = None, **given: Any) -> ValidationResult:
            fits = (path, given) == (Path("here"), {"config": config})
            return ValidationResult("tool", str(path), [ValidationCheck("config", fits, repr(given), "error")])

    return Validator


class TestTheAuthorsConfigReachesTheValidator(ToolStructuralTests):
    """What the author's fixture gives is validated with."""

    validator = expecting({"key": "k"})

    @pytest.fixture
    def module_path(self) -> Path:
        return Path("here")

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return {"key": "k"}


class TestNoConfigStaysNoConfig(ToolStructuralTests):
    """An author who gives none is not told that values are missing."""

    validator = expecting(None)

    @pytest.fixture
    def module_path(self) -> Path:
        return Path("here")
