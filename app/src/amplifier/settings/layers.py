"""The settings of one scope each: a file, the environment, or what the command was called with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from amplifier.paths import Places
from amplifier.problems import SettingsProblem, UsageProblem
from amplifier.settings.files import read_text
from amplifier.settings.key_paths import KeyPath, join_key, put, split_key
from amplifier.settings.origins import Origin
from amplifier.settings.schema import defaults, schema_at
from amplifier.settings.yaml_text import parse_yaml

VARIABLES = {
    "AMPLIFIER_BUNDLE": "bundle.active",
    "AMPLIFIER_MODEL": "model",
    "AMPLIFIER_PROVIDER": "provider",
    "AMPLIFIER_PERMISSION_MODE": "permissions.mode",
    "AMPLIFIER_OUTPUT_FORMAT": "output.format",
    "AMPLIFIER_MAX_TURNS": "limits.max_turns",
    "AMPLIFIER_MAX_BUDGET_USD": "limits.max_budget_usd",
    "AMPLIFIER_TIMEOUT": "limits.timeout",
}
"""Environment variables with a name of their own; any setting ``a.b`` is also ``AMPLIFIER__A__B``."""

_ANY_SETTING = "AMPLIFIER__"


@dataclass(frozen=True)
class Layer:
    """What one place says, and where each value of it was written."""

    value: dict[str, Any]
    origins: Mapping[KeyPath, Origin]
    """By path; ``()`` is always there, and counts for values that have no entry of their own."""

    def origin_of(self, path: KeyPath) -> Origin:
        """Where the value at ``path`` was written, as near as it is known."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return self.origins[path[:length]]
        inside = (origin for place, origin in self.origins.items() if place and place[: len(path)] == path)
        return next(inside, self.origins[()])

    def get(self, path: KeyPath) -> Any:
        """The value at ``path``, or ``None``."""
        found: Any = self.value
        for part in path:
            if not isinstance(found, dict):
                return None
            found = cast("dict[str, Any]", found).get(part)
        return found


def default_layer() -> Layer:
    """What counts where nobody says anything."""
    return Layer(defaults(), {(): Origin("default")})


Admit = Callable[[Layer], Layer]
"""Decides what counts of the settings that came with a project."""


def file_layers(places: Places, admit: Admit | None = None) -> Iterator[Layer]:
    """The files of user, project and local scope, lowest first; ``admit`` judges those of the project."""
    paths = {"user": places.user_settings, "project": places.project_settings, "local": places.local_settings}
    for scope, path in paths.items():
        # The folder of the user may be that of the project; the file is then the user's.
        is_twice = scope == "project" and path == places.user_settings
        if not is_twice and (layer := file_layer(scope, path)) is not None:
            yield layer if admit is None or scope == "user" else admit(layer)


def file_layer(scope: str, path: Path, *, is_scope_file: bool = True) -> Layer | None:
    """The layer of a file, or ``None`` where there is none; a malformed one is a ``SettingsProblem``."""
    text = read_text(path, is_scope_file=is_scope_file)
    return None if text is None else text_layer(scope, text, path)


def text_layer(scope: str, text: str, path: Path | None, name: str | None = None) -> Layer:
    """The layer of a text from the file ``path``, or from the option ``name``."""
    told = str(path or name)
    document = parse_yaml(text, told)
    value: Any = {} if document.value is None else document.value
    if not isinstance(value, dict):
        raise SettingsProblem(
            f"{told}:1:1: expected settings as 'key: value', not a {type(value).__name__}.", "Correct the file there."
        )
    lines = document.lines if path else {}
    origins = {place: Origin(scope, path, line) for place, line in lines.items()}
    return Layer(cast("dict[str, Any]", value), {**origins, (): Origin(scope, path, None, name)})


def environment_layer(environ: Mapping[str, str]) -> Layer:
    """What variables set; empty ones count as not set."""
    given = [(key, name) for name, key in VARIABLES.items()]
    given += [(_key_of(name), name) for name in sorted(environ) if name.startswith(_ANY_SETTING)]
    value: dict[str, Any] = {}
    origins: dict[KeyPath, Origin] = {(): Origin("environment")}
    for key, name in given:
        if text := environ.get(name):
            path = split_key(key)
            put(value, path, value_from_text(path, text, f"The variable {name}"))
            origins[path] = Origin("environment", name=name)
    return Layer(value, origins)


def _key_of(variable: str) -> str:
    return variable.removeprefix(_ANY_SETTING).lower().replace("__", ".")


def flags_layer(flags: Mapping[str, Any]) -> Layer:
    """What options of the command set, by dotted key."""
    value: dict[str, Any] = {}
    origins: dict[KeyPath, Origin] = {(): Origin("flags")}
    for key, each in flags.items():
        path = split_key(key)
        put(value, path, each)
        origins[path] = Origin("flags", name=f"-c {key}")
    return Layer(value, origins)


def settings_text_layer(text: str) -> Layer:
    """The layer of ``--settings``: a JSON text, or the path of a file that must be there."""
    if text.lstrip().startswith("{"):
        return text_layer("flags", text, None, "--settings")
    layer = file_layer("flags", Path(text), is_scope_file=False)
    if layer is None:
        raise UsageProblem(
            f"There is no file {text}, which --settings names.", "Give the path of a file, or JSON: '{…}'."
        )
    return layer


def flags_from(assignments: Sequence[str]) -> dict[str, Any]:
    """The settings that ``-c key=value`` texts name, by dotted key; a later one counts more."""
    flags: dict[str, Any] = {}
    for assignment in assignments:
        key, is_there, text = assignment.partition("=")
        if not is_there:
            raise UsageProblem(f"-c {assignment} has no value: expected KEY=VALUE.", "Such as -c model=gpt-5")
        path = split_key(key.strip())
        flags[join_key(path)] = value_from_text(path, text, f"-c {key.strip()}")
    return flags


def value_from_text(path: KeyPath, text: str, told: str) -> Any:
    """What a text means for the setting at ``path``: itself where a text is wanted, else what YAML reads in it."""
    declared = schema_at(path) or {}
    if declared.get("type") == "string":
        return text
    is_list_of_texts = declared.get("type") == "array" and declared["items"].get("type") == "string"
    if is_list_of_texts and not text.lstrip().startswith(("[", "- ")):
        return [text]
    try:
        return parse_yaml(text, told).value
    except SettingsProblem as problem:
        raise UsageProblem(problem.message, "Quote a text that has characters of YAML: '\"a: b\"'") from None
