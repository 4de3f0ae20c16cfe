"""``${VAR}`` and ``${VAR:-otherwise}`` in settings; ``$${`` stands for ``${`` itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from typing import Any, cast

from amplifier.settings.key_paths import KeyPath
from amplifier.settings.schema import Schema, schema_at
from amplifier.settings.yaml_text import parse_yaml

_REFERENCE = re.compile(r"\$\$\{|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<otherwise>[^}]*))?\}")
_SECRET_NAME = re.compile(r"(^|[^a-z])(key|token|secret|password|passwd|credentials?|authorization)s?$", re.IGNORECASE)


def looks_secret(name: str) -> bool:
    """Whether a setting or a variable of this name probably holds a secret: ``api_key``, ``GITHUB_TOKEN``."""
    return bool(_SECRET_NAME.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)))


class Expansion:
    """Puts the values of variables into settings, and keeps which were missing and which were secrets."""

    def __init__(self, variables: Mapping[str, str], secret_names: Container[str] = ()) -> None:
        self._variables = variables
        self._secret_names = secret_names
        self.missing: dict[KeyPath, list[str]] = {}
        """Variables that are not set and have no alternative, by the setting that names them."""
        self.secrets: set[str] = set()
        """Values of variables that are keys, or whose name looks like that of a secret."""

    def expand(self, value: Any, path: KeyPath = ()) -> Any:
        """``value`` with its references replaced; a setting that is nothing but a missing variable becomes ``None``."""
        declared = schema_at(path) or {}
        if declared.get("x-expand") is False:
            return value
        if isinstance(value, dict):
            return {name: self.expand(each, (*path, name)) for name, each in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self.expand(each, (*path, str(index))) for index, each in enumerate(cast("list[Any]", value))]
        return self._text(value, path, declared) if isinstance(value, str) and "${" in value else value

    def _text(self, text: str, path: KeyPath, declared: Schema) -> Any:
        whole = _REFERENCE.fullmatch(text)
        if whole is None or whole["name"] is None:
            return _REFERENCE.sub(lambda found: self._replacement(found, path) or "", text)
        found = self._replacement(whole, path)
        # A variable is a text; where the setting is something else, it is read as YAML would read it.
        if found is not None and declared.get("type") in ("integer", "number", "boolean"):
            return parse_yaml(found, f"${{{whole['name']}}}").value
        return found

    def _replacement(self, found: re.Match[str], path: KeyPath) -> str | None:
        name, otherwise = found["name"], found["otherwise"]
        if name is None:
            return "${"
        value = self._variables.get(name)
        if not value and otherwise is not None:
            return otherwise
        if value is None:
            self.missing.setdefault(path, []).append(name)
        elif looks_secret(name) or name in self._secret_names:
            self.secrets.add(value)
        return value


def masked(value: Any, secrets: set[str], mask: str = "••••••") -> Any:
    """``value`` for showing: what stands under a secret's name, and every known secret, is replaced by ``mask``."""
    return _mask(value, lambda text: _without(text, secrets, mask), mask)


def _mask(value: Any, clean: Callable[[str], str], mask: str) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_mask(each, clean, mask) for each in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {
            name: mask if looks_secret(name) and isinstance(each, str) and each else _mask(each, clean, mask)
            for name, each in cast("dict[str, Any]", value).items()
        }
    return value


def _without(text: str, secrets: set[str], mask: str) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        if secret:
            text = text.replace(secret, mask)
    return text
