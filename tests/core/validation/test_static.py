"""Validation by the source alone: nothing is imported, and what cannot be decided is not held against the module."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from amplifier_core.validation import detect_kind, validate_static

KINDS = ["provider", "tool", "hook", "orchestrator", "context"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_valid_module_passes(author: Any, kind: str) -> None:
    """By the same checks, where the source decides them."""
    package = author.package(f"__amplifier_module_type__ = '{kind}'\n{author.source(kind)}")
    result = validate_static(package)
    assert (result.module_type, result.module_path) == (kind, str(package))
    assert [(check.passed, check.severity) for check in result.checks] == [(True, "info")] * len(result.checks)
    assert [(check.name, check.message) for check in result.checks[:5]] == [
        ("package_found", f"Package found at {package}"),
        ("source_parses", "All files can be parsed: 1"),
        ("mount_exists", "mount() function found"),
        ("mount_signature", "mount() is async with correct signature"),
        ("module_type", f"__amplifier_module_type__ is '{kind}'"),
    ]
    assert result.checks[5].name == ("hook_call" if kind == "hook" else "protocol_compliance")


def test_nothing_is_imported(author: Any, tmp_path: Path) -> None:
    """A package that writes a file when it is imported does not write it, nor is any of its code in the process."""
    mark = tmp_path / "imported"
    traces = f"import pathlib\npathlib.Path({str(mark)!r}).write_text('yes')\n"
    name = author.new_name()
    source = traces + author.source("tool") + "\nfrom .inner import x\n"
    project = author.project({"tool-t": f"{name}:mount"}, (name, source))
    (project / name / "inner.py").write_text(traces + "x = 1")
    before = list(sys.path)
    result = validate_static(project)
    assert detect_kind(project) == "tool"
    assert "protocol_compliance" in [check.name for check in result.checks]
    assert (mark.exists(), name in sys.modules, sys.path) == (False, False, before)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("mount_exists", "error", "No mount() function found in module")]),
        (
            "def mount(coordinator, config): ...",
            [("mount_signature", "error", "mount() should be async (async def mount(...))")],
        ),
        (
            "async def mount(coordinator): ...",
            [
                (
                    "mount_signature",
                    "error",
                    "mount() should have at least 2 parameters (coordinator, config), found 1",
                )
            ],
        ),
        (
            "async def mount(coordinator, config): ...\ndef on_session_ready(coordinator): ...",
            [
                (
                    "on_session_ready_async",
                    "error",
                    "on_session_ready must be async: async def on_session_ready(coordinator)",
                )
            ],
        ),
        (
            "async def mount(coordinator, config): ...\nasync def on_session_ready(coordinator): ...",
            [],
        ),
        ("from elsewhere import mount", []),
        ("from elsewhere import *", []),
        ("@decorated\ndef mount(): ...", []),
        ("@decorated\ndef on_session_ready(): ...\nfrom elsewhere import mount", []),
        ("mount = make_mount()", []),
        (
            "__amplifier_module_type__ = 'gadget'\nfrom elsewhere import mount",
            [
                (
                    "module_type",
                    "error",
                    "__amplifier_module_type__ is 'gadget'; expected one of: "
                    "orchestrator, provider, tool, hook, context, resolver",
                )
            ],
        ),
    ],
)
def test_the_functions_of_a_module(author: Any, text: str, expected: Any) -> None:
    """What comes from outside or out of a decorator is left to an import."""
    assert author.static_complaints(text) == expected


def test_a_type_that_does_not_fit_is_a_warning(author: Any) -> None:
    """As when it is mounted."""
    source = f"__amplifier_module_type__ = 'hook'\n{author.source('tool')}"
    assert author.static_complaints(source, "tool") == [
        ("module_type", "warning", "__amplifier_module_type__ says 'hook', validated as 'tool'")
    ]


def test_a_kind_that_cannot_be_told_is_not_checked(author: Any) -> None:
    """The rest is."""
    package = author.package("async def mount(coordinator, config): ...")
    result = validate_static(package)
    assert (result.module_type, result.passed) == ("unknown", True)
    assert [check.name for check in result.checks] == [
        "package_found",
        "source_parses",
        "mount_exists",
        "mount_signature",
    ]


def test_a_type_is_known_even_if_no_kind_is_asked_for(author: Any) -> None:
    """A resolver is a type without a validator."""
    package = author.package("__amplifier_module_type__ = 'resolver'\nasync def mount(coordinator, config): ...")
    result = validate_static(package)
    assert (result.module_type, result.passed) == ("resolver", True)


def test_a_mount_from_another_file_is_found(author: Any) -> None:
    """Its classes are looked for where it is written."""
    files = {"plugin": author.source("tool", a="def execute => def run")}
    assert author.static_complaints("from .plugin import mount", "tool", **files) == [
        (
            "protocol_compliance",
            "error",
            "Tool class Hammer does not implement Tool interface (missing execute)",
        )
    ]


def test_files_that_do_not_parse_are_told_and_the_rest_is_checked(author: Any) -> None:
    """Unless the first file is one of them."""
    package = author.package(author.source("tool"), broken="def (")
    result = validate_static(package, "tool")
    assert [check.name for check in result.errors] == ["source_parses"]
    assert result.checks[-1].name == "tool_execute"


def test_the_entry_point_is_checked(author: Any) -> None:
    """Registered, not registered where it could be, or in another file."""
    name = author.new_name()
    project = author.project({"t": f"{name}:mount"}, (name, author.source("tool")))
    passed = [check.message for check in validate_static(project).checks if check.name == "entry_point"]
    assert passed == [f'Registered as t = "{name}:mount"']
    other = author.project({}, ("amplifier_module_tool_x", author.source("tool")))
    result = validate_static(other)
    assert [(check.name, check.severity, check.message) for check in result.checks if not check.passed] == [
        (
            "entry_point",
            "warning",
            f"{other / 'pyproject.toml'} registers no entry point for amplifier_module_tool_x in "
            '[project.entry-points."amplifier.modules"]',
        )
    ]


@pytest.mark.parametrize("value", ["{name}.plugin:set_up", "{name}.plugin"])
def test_the_entry_point_leads_to_the_mount_function(author: Any, value: str) -> None:
    """Whatever its name and file; without an attribute it is called ``mount``."""
    name = author.new_name()
    function = "set_up" if ":" in value else "mount"
    project = author.project({"t": value.format(name=name)}, (name, ""))
    source = author.source("tool", a=f"def mount => def {function}") + "\ndef on_session_ready(c): ..."
    (project / name / "plugin.py").write_text(source)
    assert [check.name for check in validate_static(project, "tool").errors] == ["on_session_ready_async"]


@pytest.mark.parametrize("value", ["{name}:Plugin.mount", "{name}:made"])
def test_an_entry_point_that_only_an_import_could_follow_is_fine(author: Any, value: str) -> None:
    """The package's own ``mount`` is checked."""
    name = author.new_name()
    source = "class Plugin: ...\nmade = make()\n" + author.source("tool")
    project = author.project({"t": value.format(name=name)}, (name, source))
    assert validate_static(project, "tool").errors == []


def test_one_of_several_modules_is_selected(author: Any) -> None:
    """By its entry point."""
    one, two = author.new_name(), author.new_name()
    project = author.project({"one": f"{one}:mount", "two": f"{two}:mount"}, (one, author.source("tool")), (two, ""))
    assert validate_static(project, "tool", "one").passed
    assert not validate_static(project, "tool", "two").passed


def test_a_source_that_is_nested_too_deeply_is_refused(author: Any) -> None:
    """Untrusted code cannot bring the validation down."""
    chain = "".join(f"m{number} = m{number + 1}\n" for number in range(5000))
    assert author.static_complaints(f"{chain}mount = m0")[0][0] == "source_parses"


@pytest.mark.parametrize(
    ("text", "folder", "kind"),
    [
        ("__amplifier_module_type__ = 'hook'", "amplifier_module_tool_x", "hook"),
        ("__amplifier_module_type__ = 'resolver'", "anything", "resolver"),
        ("__amplifier_module_type__ = 'gadget'", "amplifier_module_loop_x", "orchestrator"),
        ("def (", "amplifier_module_hooks_tool_use", "hook"),
        ("", "amplifier_module_provider_x", "provider"),
        ("", "context_x", "context"),
        ("", "my_tool", "tool"),
        ("", "my_orchestrator", "orchestrator"),
        ("", "something", None),
    ],
)
def test_the_kind_is_found_out(author: Any, text: str, folder: str, kind: str | None) -> None:
    """By what is declared, else by the beginning of the name, else by a word in it."""
    assert detect_kind(author.package(text, folder)) == kind


def test_the_kind_is_found_out_by_the_entry_point(author: Any) -> None:
    """Its name is the id of the module."""
    name = author.new_name()
    project = author.project({"context-x": f"{name}:mount"}, (name, ""), folder="tool-box")
    assert detect_kind(project) == "context"


def test_the_kind_of_a_single_file(tmp_path: Path) -> None:
    """Its stem is its name."""
    (tmp_path / "tool_x.py").write_text("")
    assert detect_kind(str(tmp_path / "tool_x.py")) == "tool"
