"""Differences to the existing package in validation and the command; each has a row in ``docs/migration.md``."""

from __future__ import annotations

from importlib.metadata import requires
from pathlib import Path

import pytest

import amplifier_core
from amplifier_core.validation import HookValidator, ToolValidator, detect_kind, validate_static


def module(folder: Path, name: str, source: str) -> Path:
    """A package with ``source`` as its ``__init__.py``."""
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text(source, encoding="utf-8")
    return package


async def test_a_hook_module_without_handlers_is_warned_about(tmp_path: Path) -> None:
    """It may be conditional, so it is no error."""
    path = module(tmp_path, "amplifier_module_hooks_migrating_mute", "async def mount(coordinator, config): ...\n")
    result = await HookValidator().validate(str(path))
    assert result.passed
    assert [check.name for check in result.warnings] == ["protocol_compliance"]


async def test_a_sync_hook_handler_fails_validation(tmp_path: Path) -> None:
    """The contract asks for an async handler of event and data."""
    source = "async def mount(coordinator, config):\n    coordinator.hooks.register('a:b', lambda event: None)\n"
    path = module(tmp_path, "amplifier_module_hooks_migrating_sync", source)
    result = await HookValidator().validate(str(path))
    assert {check.name for check in result.errors} == {"hook_call"}


async def test_validation_cleans_up_after_the_module(tmp_path: Path) -> None:
    """Registered clean-ups run as well as the returned one, and a module that exits does not end the process."""
    source = (
        "import pathlib\n"
        "async def mount(coordinator, config):\n"
        "    coordinator.register_cleanup(lambda: pathlib.Path(config['mark']).write_text('cleaned'))\n"
        "    raise SystemExit(3)\n"
    )
    path = module(tmp_path, "amplifier_module_tool_migrating_exit", source)
    result = await ToolValidator().validate(str(path), config={"mark": str(tmp_path / "mark")})
    assert [check.name for check in result.errors] == ["protocol_compliance"]
    assert (tmp_path / "mark").read_text() == "cleaned"


def test_a_module_can_be_judged_without_importing_it(tmp_path: Path) -> None:
    """Code that one does not trust yet is only read."""
    source = (
        "import pathlib\n"
        f"pathlib.Path({str(tmp_path / 'imported')!r}).write_text('')\n"
        "async def mount(coordinator, config): ...\n"
    )
    path = module(tmp_path, "amplifier_module_tool_migrating_unread", source)
    assert detect_kind(path) == "tool"
    assert validate_static(path).passed
    assert not (tmp_path / "imported").exists()


def test_the_command_tells_the_real_version() -> None:
    """It prints the version of the package, which is that of the distribution."""
    testing = pytest.importorskip("click.testing", reason="the command is an extra")
    from amplifier_core.cli import cli

    answer = testing.CliRunner().invoke(cli, ["--version"])
    assert answer.output == f"amplifier-core, version {amplifier_core.__version__}\n"


def test_the_command_is_an_extra() -> None:
    """Who only runs agents installs no command-line library."""
    click = [entry for entry in requires("amplifier-core") or [] if entry.startswith("click")]
    assert click
    assert [entry for entry in click if "extra ==" not in entry] == []
