"""The config of command hooks, and the settings files that it names."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import amplifier_module_hooks_shell as module
from amplifier_core.events import TOOL_PRE
from amplifier_core.testing import TestCoordinator
from amplifier_module_hooks_shell.config import ShellHooksConfig
from amplifier_module_hooks_shell.settings_files import SettingsFileError, read_hooks

BLOCK = {"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2", "timeout": 5, "statusMessage": "…"}]}


async def mounted(config: dict[str, Any], folder: Path) -> TestCoordinator:
    coordinator = TestCoordinator()
    coordinator.register_capability("session.working_dir", str(folder))
    await module.mount(coordinator, config)
    return coordinator


@pytest.mark.slow
async def test_files_in_the_config_are_read_and_no_others(tmp_path: Path) -> None:
    """A settings file of another agent works as it is, from a relative or absolute path; others are left alone."""
    (tmp_path / ".claude").mkdir()
    settings = {"permissions": {}, "hooks": {"PreToolUse": [BLOCK]}}
    for name in ("settings.json", "settings.local.json"):
        (tmp_path / ".claude" / name).write_text(json.dumps(settings))
    assert (await mounted({}, tmp_path)).hooks.list_handlers() == {}
    for name in (".claude/settings.json", str(tmp_path / ".claude" / "settings.json")):
        coordinator = await mounted({"files": [name]}, tmp_path)
        assert (await coordinator.hooks.emit(TOOL_PRE, {"tool_name": "bash", "tool_input": {}})).action == "deny"


def test_a_home_path_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tilde stands for the user's home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": [BLOCK]}}))
    assert [group.matcher for group in read_hooks("~/hooks.json", Path("/"))["PreToolUse"]] == ["Bash"]


@pytest.mark.parametrize("settings", [{}, {"hooks": {}}, {"disableAllHooks": True, "hooks": {"PreToolUse": [BLOCK]}}])
def test_a_file_may_have_no_hooks(settings: dict[str, Any], tmp_path: Path) -> None:
    """Without the key, with nothing under it, or switched off."""
    (tmp_path / "s.json").write_text(json.dumps(settings))
    assert read_hooks("s.json", tmp_path) == {}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read: "),
        ("{ no json", "cannot be read: "),
        (b"\xff\xfe", "cannot be read: "),
        ("[]", "must hold a JSON object, got list"),
        ('{"hooks": []}', "must be an object of lists, got list"),
        ('{"hooks": {"PreToolUse": {}}}', "'PreToolUse' in "),
        ('{"hooks": {"PreToolUse": [{"matcher": "("}]}}', "is no regular expression"),
        ('{"hooks": {"PreToolUse": ["x"]}}', "is not right"),
        (b" " * 1_000_001, "more than 1000000 bytes"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_that_names_it(content: Any, told: str, tmp_path: Path) -> None:
    """Guards that somebody relies on must not be missing in silence."""
    path = tmp_path / "s.json"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SettingsFileError) as raised:
        read_hooks("s.json", tmp_path)
    assert str(path) in str(raised.value)
    assert told in str(raised.value)


async def test_moments_and_types_that_are_not_known_are_told_and_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Other agents have more of both; what is known works all the same."""
    prompt = {"hooks": [{"type": "prompt", "prompt": "Is it fine?"}]}
    hooks = {"WorktreeCreate": [BLOCK], "PreToolUse": [prompt, BLOCK], "Stop": [prompt]}
    with caplog.at_level(logging.WARNING):
        coordinator = await mounted({"hooks": hooks}, tmp_path)
    assert "Hooks for 'WorktreeCreate' in the config are not run: known are PreToolUse, PostToolUse" in caplog.text
    assert "A hook of type 'prompt' for 'PreToolUse' in the config is not run: only commands are" in caplog.text
    assert sorted(coordinator.hooks.list_handlers()) == [TOOL_PRE]


@pytest.mark.parametrize(
    "config",
    [
        {"hooks": {"PreToolUse": [{"hooks": [{"type": "command"}]}]}},
        {"hooks": {"PreToolUse": [{"hooks": [{"command": ""}]}]}},
        {"hooks": {"PreToolUse": [{"hooks": [{"command": "x", "timeout": -1}]}]}},
        {"hooks": {"PreToolUse": [{"matcher": "["}]}},
        {"hooks": {"PreToolUse": "x"}},
        {"timeout": 0},
        {"max_output_bytes": 0},
    ],
)
async def test_a_config_that_is_not_right_is_refused(config: dict[str, Any], tmp_path: Path) -> None:
    """The module does not mount with half its hooks."""
    with pytest.raises(ValueError):  # noqa: PT011 - each says something else
        await mounted(config, tmp_path)


def test_the_config_is_declared() -> None:
    """Every key has a default, and unknown keys are passed over when the module reads it."""
    config = ShellHooksConfig.read({"unknown": 1})
    assert (config.hooks, config.files, config.timeout, config.fail_closed) == ({}, [], 60.0, False)
    assert (config.max_output_bytes, config.allow_env, config.priority) == (100_000, [], -20)
    assert config.tool_aliases["write_file"] == "Write"
