"""Changes of settings files: under a lock, all at once, checked before, and with the comments kept where possible."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple, cast

from amplifier.paths import Places
from amplifier.problems import Problem, SettingsProblem, UsageProblem
from amplifier.settings.checking import complaints
from amplifier.settings.edits import as_yaml, with_value, without
from amplifier.settings.files import locked, read_text, write_atomically
from amplifier.settings.key_paths import KeyPath, put, split_key
from amplifier.settings.layers import Layer
from amplifier.settings.settings import require_known
from amplifier.settings.trust import keeping_trust
from amplifier.settings.yaml_text import parse_yaml

WRITABLE = ("user", "project", "local")
"""The scopes that the command writes."""


class Written(NamedTuple):
    """What a change did: the file, whether anything changed, and whether its comments are still there."""

    file: Path
    is_changed: bool
    kept_comments: bool


def scope_file(places: Places, scope: str) -> Path:
    """The file of a scope that can be written; raises ``UsageProblem`` for any other."""
    files = {"user": places.user_settings, "project": places.project_settings, "local": places.local_settings}
    if scope not in files:
        raise UsageProblem(f"The scope '{scope}' cannot be written.", f"Choose one of {', '.join(WRITABLE)}.")
    return files[scope]


def set_value(places: Places, scope: str, key: str, value: Any) -> Written:
    """Writes one setting into the file of ``scope``, which is made where there is none.

    Raises ``UsageProblem`` for a key that does not exist and a value that does not fit, and ``SettingsProblem`` for a
    file that cannot be read or written; the file is then as it was.
    """
    path = split_key(key)
    require_known(path)

    def change(tree: dict[str, Any]) -> dict[str, Any]:
        put(tree, path, deepcopy(value))
        return tree

    file = scope_file(places, scope)
    with _on_behalf_of_user(places, scope):
        return _changed(file, change, lambda text: with_value(text, path, value), path)


def add_value(places: Places, scope: str, key: str, item: Any) -> Written:
    """Adds one item to the list that the file of ``scope`` has for a setting, unless it is in it already."""
    path = split_key(key)
    require_known(path)
    file = scope_file(places, scope)

    def longer(tree: dict[str, Any]) -> list[Any]:
        known: Any = Layer(tree, {}).get(path)
        items = cast("list[Any]", known) if isinstance(known, list) else []
        return items if item in items else [*items, item]

    def change(tree: dict[str, Any]) -> dict[str, Any]:
        put(tree, path, longer(tree))
        return tree

    def edit(text: str) -> str:
        return with_value(text, path, longer(_settings_in(text, file)))

    with _on_behalf_of_user(places, scope):
        return _changed(file, change, edit, path)


def unset_value(places: Places, scope: str, key: str) -> Written:
    """Takes one setting out of the file of ``scope``, and the mappings around it that hold nothing else."""
    path = split_key(key)
    file = scope_file(places, scope)

    def change(tree: dict[str, Any]) -> dict[str, Any]:
        _remove(tree, path)
        return tree

    def edit(text: str) -> str:
        return without(text, _outermost_alone(parse_yaml(text, str(file)).value, path))

    with _on_behalf_of_user(places, scope):
        return _changed(file, change, edit, path)


def _on_behalf_of_user(places: Places, scope: str) -> AbstractContextManager[None]:
    # What the user has written here needs no question whether it is trusted.
    return nullcontext() if scope == "user" else keeping_trust(places)


def _changed(
    file: Path, change: Callable[[dict[str, Any]], dict[str, Any]], edit: Callable[[str], str], path: KeyPath
) -> Written:
    with locked(file) as target:
        text = read_text(target) or ""
        before = _settings_in(text, file)
        wanted = change(deepcopy(before))
        if wanted == before:
            return Written(file, False, True)
        _require_fitting(wanted, path)
        edited, kept_comments = _edited(text, edit, wanted)
        write_atomically(target, edited)
    return Written(file, True, kept_comments)


def _settings_in(text: str, file: Path) -> dict[str, Any]:
    value = parse_yaml(text, str(file)).value
    if value is not None and not isinstance(value, dict):
        raise SettingsProblem(f"{file}:1:1: expected settings as 'key: value'.", "Correct the file first.")
    return cast("dict[str, Any]", value or {})


def _require_fitting(wanted: dict[str, Any], path: KeyPath) -> None:
    for complaint in complaints(wanted):
        # What else may be wrong in the file is not this change's affair.
        if not complaint.is_unknown and complaint.path[: len(path)] == path:
            raise UsageProblem(f"{complaint.message}.", "amplifier config schema tells what is allowed.")


def _edited(text: str, edit: Callable[[str], str], wanted: dict[str, Any]) -> tuple[str, bool]:
    """The changed text, and whether it has kept its comments: an edit that says anything else is not taken."""
    import yaml

    try:
        edited = edit(text)
        if (parse_yaml(edited, "").value or {}) == wanted:
            return edited, True
    except (Problem, yaml.YAMLError):
        pass
    return as_yaml(wanted) if wanted else "", "#" not in text


def _remove(tree: dict[str, Any], path: KeyPath) -> None:
    name, *rest = path
    if not rest:
        tree.pop(name, None)
    elif isinstance(inner := tree.get(name), dict):
        _remove(cast("dict[str, Any]", inner), tuple(rest))
        if not inner:
            del tree[name]


def _outermost_alone(tree: dict[str, Any], path: KeyPath) -> KeyPath:
    """The part of ``path`` to take out: the entry, or the outermost mapping that holds nothing but it."""
    alone = path
    inner: Any = tree
    for depth, part in enumerate(path[:-1]):
        inner = inner[part]
        if len(inner) > 1:
            alone = path
        elif alone == path:
            alone = path[: depth + 1]
    return alone
