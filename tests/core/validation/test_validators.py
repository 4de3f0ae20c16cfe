"""What the five validators have in common: the sequence of checks, from the import to the mounted instance."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from amplifier_core.validation import VALIDATORS, ToolValidator, ValidationCheck

KINDS = ["provider", "tool", "hook", "orchestrator", "context"]


def told(result: Any) -> list[tuple[str, bool, str, str]]:
    """Everything a result says."""
    return [(check.name, check.passed, check.severity, check.message) for check in result.checks]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_valid_module_passes_every_check(author: Any, kind: str) -> None:
    """All passed checks are of severity info, and the first three are the same for every kind."""
    package = author.package(author.source(kind))
    result = await VALIDATORS[kind]().validate(package)
    assert (result.module_type, result.module_path, result.passed) == (kind, str(package), True)
    assert [(check.passed, check.severity) for check in result.checks] == [(True, "info")] * len(result.checks)
    assert told(result)[:3] == [
        ("module_importable", True, "info", f"Module loaded from {package}"),
        ("mount_exists", True, "info", "mount() function found"),
        ("mount_signature", True, "info", "mount() is async with correct signature"),
    ]


@pytest.mark.parametrize("as_text", [True, False])
async def test_a_single_file_is_a_module(author: Any, as_text: bool) -> None:
    """It is imported under its stem."""
    package = author.package(author.source("tool"))
    file = package / "__init__.py"
    single = file.rename(package.parent / f"{package.name}_single.py")
    author._workshop.made.add(single.stem)
    result = await ToolValidator().validate(str(single) if as_text else single)
    assert result.passed
    assert result.checks[0] == ValidationCheck("module_importable", True, f"Module loaded from {single}", "info")


async def test_a_dotted_name_is_imported_where_there_is_no_such_path(author: Any) -> None:
    """Installed modules are validated by their names."""
    package = author.package(author.source("tool"), inner=author.source("tool"))
    author._workshop.on_path(package.parent)
    result = await ToolValidator().validate(f"{package.name}.inner")
    assert result.passed
    assert result.checks[0].message == f"Module '{package.name}.inner' imported successfully"


async def test_a_folder_of_that_name_goes_before_an_installed_module(
    author: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path that exists is a path."""
    package = author.package(author.source("tool"), "json_of_mine")
    monkeypatch.chdir(package.parent)
    result = await ToolValidator().validate("json_of_mine")
    assert result.checks[0].message == f"Module loaded from {package}"


async def test_a_name_of_what_has_no_file_can_be_validated() -> None:
    """It has no mount, and that is all."""
    result = await ToolValidator().validate("sys")
    assert told(result)[1:] == [("mount_exists", False, "error", "No mount() function found in module")]


async def test_the_module_is_executed_once_and_shared(author: Any) -> None:
    """Validating twice imports once, like every other import."""
    package = author.package(author.source("tool") + "\nimport itertools\nmounts = itertools.count()\n")
    assert (await ToolValidator().validate(package)).passed
    module = sys.modules[package.name]
    assert (await ToolValidator().validate(package)).passed
    assert sys.modules[package.name] is module


async def test_the_layout_of_the_contracts_is_understood(author: Any) -> None:
    """A folder with a ``pyproject.toml`` that registers a package beside it; ``sys.path`` is left as it was."""
    name = author.new_name()
    project = author.project({"my-tool": f"{name}:mount"}, (name, author.source("tool")), folder="my-tool")
    before = list(sys.path)
    result = await ToolValidator().validate(project)
    assert result.passed
    assert result.checks[0].message == f"Module loaded from {project / name}"
    assert sys.path == before


async def test_a_folder_that_was_importable_before_stays_so(author: Any) -> None:
    """Only what validation adds is taken away."""
    package = author.package(author.source("tool"))
    author._workshop.on_path(package.parent)
    before = list(sys.path)
    assert (await ToolValidator().validate(package)).passed
    assert sys.path == before


async def test_a_neighbour_can_be_imported_while_mounting(author: Any) -> None:
    """What lies beside the package is importable until the module is cleaned up."""
    name, neighbour = author.new_name(), author.new_name()
    source = f"""
        class Hammer:
            name = description = "x"
            async def execute(self, input): ...

        async def mount(coordinator, config):
            import {neighbour}
            coordinator.mount("tools", Hammer())
        """
    project = author.project({"t": f"{name}:mount"}, (name, source), (neighbour, ""))
    assert (await ToolValidator().validate(project)).errors == []


async def test_an_entry_point_selects_the_package(author: Any) -> None:
    """Of several that are registered."""
    one, two = author.new_name(), author.new_name()
    project = author.project(
        {"one": f"{one}:mount", "two": f"{two}:mount"}, (one, author.source("tool")), (two, author.source("tool"))
    )
    results = [await ToolValidator().validate(project, entry_point=name) for name in ("one", "two")]
    assert [result.checks[0].message for result in results] == [
        f"Module loaded from {project / one}",
        f"Module loaded from {project / two}",
    ]


async def test_an_entry_point_may_name_another_function_in_another_file(author: Any) -> None:
    """Declarations are read beside it first, then from the package."""
    name = author.new_name()
    project = author.project({"t": f"{name}.plugin:set_up"}, (name, "__amplifier_module_type__ = 'provider'"))
    source = author.source("tool", a="def mount => def set_up") + "\ndef on_session_ready(coordinator): ...\n"
    (project / name / "plugin.py").write_text(source, encoding="utf-8")
    result = await ToolValidator().validate(project)
    assert [(name, severity) for name, passed, severity, _ in told(result) if not passed] == [
        ("on_session_ready_async", "error"),
        ("module_type", "warning"),
    ]
    assert "Tool 'hammer' implements Tool interface" in [check.message for check in result.checks]


async def test_an_entry_point_may_name_a_module(author: Any) -> None:
    """Then its ``mount`` counts."""
    name = author.new_name()
    project = author.project({"t": f"{name}.plugin"}, (name, ""))
    (project / name / "plugin.py").write_text(author.source("tool"), encoding="utf-8")
    assert (await ToolValidator().validate(project)).passed


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        ("", "No mount() function found in module"),
        ("mount = 'here'", "mount is not callable"),
    ],
)
async def test_without_a_mount_function_nothing_more_is_checked(author: Any, mount: str, message: str) -> None:
    """There is nothing to call."""
    result = await author.try_out("tool", mount)
    assert told(result)[1:] == [("mount_exists", False, "error", message)]


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        ("async def mount(): ...", "mount() should have at least 2 parameters (coordinator, config), found 0"),
        (
            "async def mount(coordinator): ...",
            "mount() should have at least 2 parameters (coordinator, config), found 1",
        ),
        ("def mount(coordinator, config): ...", "mount() should be async (async def mount(...))"),
    ],
)
async def test_another_mount_fails_and_is_tried_nevertheless(author: Any, mount: str, message: str) -> None:
    """Two checks tell two things."""
    result = await author.try_out("tool", mount)
    assert told(result)[2] == ("mount_signature", False, "error", message)
    assert [check.name for check in result.checks[3:]] == ["protocol_compliance"]
    assert result.checks[3].message.startswith("Error during protocol compliance check: TypeError: mount() ")


async def test_a_mount_with_a_default_config_is_fine(author: Any) -> None:
    """As the lifecycle contract shows it."""
    source = author.source("tool", a="(coordinator, config) => (coordinator, config=None)")
    assert (await author.try_out("tool", source)).passed


async def test_a_sync_on_session_ready_fails(author: Any) -> None:
    """It is mentioned only when it is wrong."""
    source = author.source("tool")
    assert await author.complaints("tool", source + "\nasync def on_session_ready(coordinator): ...\n") == []
    assert await author.complaints("tool", source + "\ndef on_session_ready(coordinator): ...\n") == [
        (
            "on_session_ready_async",
            "error",
            "on_session_ready must be async: async def on_session_ready(coordinator)",
        )
    ]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("'tool'", []),
        ("'hook'", [("module_type", "warning", "__amplifier_module_type__ says 'hook', validated as 'tool'")]),
        (
            "'gadget'",
            [
                (
                    "module_type",
                    "error",
                    "__amplifier_module_type__ is 'gadget'; expected one of: "
                    "orchestrator, provider, tool, hook, context, resolver",
                )
            ],
        ),
        (
            "['tool']",
            [
                (
                    "module_type",
                    "error",
                    "__amplifier_module_type__ is ['tool']; expected one of: "
                    "orchestrator, provider, tool, hook, context, resolver",
                )
            ],
        ),
    ],
)
async def test_a_declared_type_must_be_known_and_should_fit(author: Any, declared: str, expected: Any) -> None:
    """A loader refuses an unknown type; a module may be more than one thing."""
    source = f"__amplifier_module_type__ = {declared}\n{author.source('tool')}"
    assert await author.complaints("tool", source) == expected


@pytest.mark.parametrize(
    ("declared", "config", "severity", "text"),
    [
        ("{'depth'}", {"depth": 1}, None, ""),
        ("{'depth'}", {"dept": 1}, "warning", "nobody reads config key 'dept' (did you mean 'depth'?)"),
        ("3", None, "error", "declares __amplifier_config__ as a int"),
        ("Settings", None, "warning", "was given an invalid config: key 'depth': Field required"),
        ("Settings", {"depth": "x"}, "error", "was given an invalid config: key 'depth': Input should be a valid"),
        ("Settings", {"depth": 1}, None, ""),
    ],
)
async def test_the_config_is_checked_against_what_the_module_declares(
    author: Any, declared: str, config: Any, severity: str | None, text: str
) -> None:
    """What is lacking because no config was given is only a warning."""
    model = "from pydantic import BaseModel\nclass Settings(BaseModel):\n    depth: int\n"
    source = f"{model}\n__amplifier_config__ = {declared}\n{author.source('tool')}"
    complaints = await author.complaints("tool", source, config)
    assert [(name, found) for name, found, _ in complaints] == ([("module_config", severity)] if severity else [])
    assert all(text in message for _, _, message in complaints)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_time_limit_is_positive(seconds: float) -> None:
    """The message says so."""
    with pytest.raises(ValueError, match="time_limit_s must be a positive number of seconds, got"):
        ToolValidator(seconds)


def test_the_time_limit_is_ten_seconds_unless_told() -> None:
    """By argument or by attribute."""
    validator = ToolValidator()
    assert (validator.time_limit_s, ToolValidator(time_limit_s=3).time_limit_s) == (10.0, 3)


async def test_the_result_names_the_path_as_it_was_given(author: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a relative one."""
    package = author.package(author.source("tool"))
    monkeypatch.chdir(package.parent)
    result = await ToolValidator().validate(Path(package.name))
    assert (result.module_path, result.passed) == (package.name, True)
