"""Reads hooks from settings files: those of today's CLI agents, and files of the same shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from amplifier_module_hooks_shell.config import Group

_LARGEST = 1_000_000


class SettingsFileError(ValueError):
    """A settings file that the config names cannot be used; the text says which and why."""


def read_hooks(name: str, working_dir: Path) -> dict[str, list[Group]]:
    """The hooks in the file ``name``, by moment; relative paths start at ``working_dir``.

    The file holds an object with the key ``hooks``. One that says ``disableAllHooks`` has none.
    """
    path = working_dir / Path(name).expanduser()
    settings = _read_object(path)
    if settings.get("disableAllHooks") is True:
        return {}
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise SettingsFileError(f"'hooks' in {path} must be an object of lists, got {type(hooks).__name__}")
    return {moment: _groups(path, moment, groups) for moment, groups in cast("dict[str, Any]", hooks).items()}


def _read_object(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST:
            raise SettingsFileError(f"{path} has more than {_LARGEST} bytes, which is no settings file")
        settings: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise SettingsFileError(
            f"{path}, named under 'files' of hooks-shell, cannot be read: {error}; correct it or take it off the list"
        ) from error
    if not isinstance(settings, dict):
        raise SettingsFileError(f"{path} must hold a JSON object, got {type(settings).__name__}")
    return cast("dict[str, Any]", settings)


def _groups(path: Path, moment: str, groups: Any) -> list[Group]:
    if not isinstance(groups, list):
        raise SettingsFileError(f"'{moment}' in {path} must be a list, got {type(groups).__name__}")
    try:
        return [Group.model_validate(group) for group in cast("list[Any]", groups)]
    except ValidationError as error:
        raise SettingsFileError(f"'{moment}' in {path} is not right: {error}") from error
