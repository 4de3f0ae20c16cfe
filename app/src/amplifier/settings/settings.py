"""The settings that count: all scopes merged, checked and expanded, each value with where it comes from."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NoReturn, cast

from amplifier.paths import Places
from amplifier.problems import SettingsProblem, UsageProblem
from amplifier.settings.checking import Complaint, complaints, unknown_key
from amplifier.settings.expansion import Expansion, looks_secret, masked
from amplifier.settings.key_paths import KeyPath, join_key, split_key
from amplifier.settings.keys import load_keys
from amplifier.settings.layers import (
    Admit,
    Layer,
    default_layer,
    environment_layer,
    file_layer,
    file_layers,
    flags_layer,
    settings_text_layer,
)
from amplifier.settings.merging import merge
from amplifier.settings.origins import Origin
from amplifier.settings.schema import schema_at

_MASK = "••••••"


class Settings:
    """The settings of one call of the command; they do not change any more."""

    def __init__(self, layers: Sequence[Layer], warnings: Sequence[str] = (), secrets: set[str] | None = None) -> None:
        """``layers`` are ready to be merged, lowest first."""
        self.warnings = list(warnings)
        """What is not as it should be, in sentences."""
        self._layers = layers
        self._secrets = secrets or set()
        self._merged: dict[str, Any] = {}
        for layer in layers:
            self._merged = merge(self._merged, layer.value)

    @classmethod
    def load(
        cls,
        places: Places,
        flags: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        strict: bool = False,
        texts: Sequence[str] = (),
        admit: Admit | None = None,
    ) -> Settings:
        """Reads every scope. ``flags`` are by dotted key; ``texts`` are paths or JSON texts that count below them.

        ``admit`` gets what the project's own files say as it is written, and gives what of it counts.
        Raises ``SettingsProblem`` for a file that is malformed or does not fit the schema, and ``UsageProblem`` for a
        flag that does not; ``strict`` makes unknown keys errors.
        """
        environ = os.environ if environ is None else environ
        keys = load_keys(places)
        expansion = Expansion(ChainMap(cast("dict[str, str]", environ), cast("dict[str, str]", keys)), keys)
        warnings = list(keys.warnings)
        written = _written(places, flags or {}, environ, texts, admit)
        ready = [_checked(layer, expansion, warnings, is_strict=strict) for layer in written]
        return cls([default_layer(), *ready], warnings, expansion.secrets)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a dotted key; ``default`` where there is none, or it was taken away with ``null``."""
        found = self._at(split_key(key))
        return default if found is None else deepcopy(found)

    def section(self, key: str) -> dict[str, Any]:
        """The mapping at a dotted key; empty where there is none."""
        found = self.get(key)
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

    def origin(self, key: str) -> Origin:
        """Where the value of a dotted key was written; of several places the one that counts most."""
        return next(iter(self.origins(key)), Origin("default"))

    def origins(self, key: str) -> list[Origin]:
        """Every place that has a part in the value of a dotted key, the one that counts most first."""
        path = split_key(key)
        return [layer.origin_of(path) for layer in reversed(self._layers) if layer.get(path) is not None]

    def all(self) -> Iterator[tuple[str, Any, Origin]]:
        """Every value that is set, with its dotted key and where it was written, in the order of the alphabet."""
        for path, value in sorted(_leaves(self._merged, ()), key=lambda leaf: leaf[0]):
            key = join_key(path)
            yield key, deepcopy(value), self.origin(key)

    def shown(self, key: str, value: Any) -> Any:
        """``value`` of a key as it may be shown: secrets are masked."""
        if looks_secret(split_key(key)[-1]) and isinstance(value, str):
            return _MASK
        return masked(value, self._secrets, _MASK)

    def require_known(self, key: str) -> None:
        """Raises ``UsageProblem`` for a key that no setting has, with the nearest that one has."""
        require_known(split_key(key))

    def _at(self, path: KeyPath) -> Any:
        return Layer(self._merged, {}).get(path)


def require_known(path: KeyPath) -> None:
    """Raises ``UsageProblem`` for a path that no setting has, with the nearest that one has."""
    for length in range(1, len(path) + 1):
        if schema_at(path[:length]) is None:
            known = (schema_at(path[: length - 1]) or {}).get("properties", {})
            sentence = unknown_key(path[:length], known)
            raise UsageProblem(f"{sentence[:1].upper()}{sentence[1:]}", "amplifier config schema tells all of them.")


def _written(
    places: Places, flags: Mapping[str, Any], environ: Mapping[str, str], texts: Sequence[str], admit: Admit | None
) -> Iterator[Layer]:
    yield from file_layers(places, admit)
    yield environment_layer(environ)
    for text in texts:
        yield settings_text_layer(text)
    yield flags_layer(flags)
    if (managed := file_layer("managed", places.managed_settings)) is not None:
        yield managed


def _checked(layer: Layer, expansion: Expansion, warnings: list[str], *, is_strict: bool) -> Layer:
    expansion.missing.clear()
    value = cast("dict[str, Any]", expansion.expand(layer.value))
    for path, names in expansion.missing.items():
        told = ", ".join(f"${{{name}}}" for name in names)
        warnings.append(f"{layer.origin_of(path).place}: '{join_key(path)}' names {told}, which is not set")
    for complaint in complaints(value):
        if is_strict or not complaint.is_unknown:
            _refuse(complaint, layer)
        warnings.append(f"{layer.origin_of(complaint.path).place}: {complaint.message}")
    return Layer(value, layer.origins)


def _refuse(complaint: Complaint, layer: Layer) -> NoReturn:
    origin = layer.origin_of(complaint.path)
    problem = UsageProblem if origin.scope == "flags" else SettingsProblem
    hint = "Correct it there; amplifier config schema tells what is allowed."
    raise problem(f"{origin.place}: {complaint.message}", hint)


def _leaves(value: dict[str, Any], path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    for name, each in value.items():
        if isinstance(each, dict) and each:
            yield from _leaves(cast("dict[str, Any]", each), (*path, name))
        elif each is not None:
            yield (*path, name), each
