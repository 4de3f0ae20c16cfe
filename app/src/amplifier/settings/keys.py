"""Keys of services: kept in ``keys.env`` for the user alone, or in the system's keyring; never shown.

A line of the file is ``NAME=value``. With the value ``@keyring`` the key itself is in the keyring, and is fetched when
it is used.
"""

from __future__ import annotations

import importlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from amplifier.paths import Places
from amplifier.problems import SettingsProblem, UsageProblem
from amplifier.settings.files import locked, read_text, write_atomically

IN_KEYRING = "@keyring"
_SERVICE = "amplifier"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LINE = re.compile(rf"\s*(?:export\s+)?(?P<name>{_NAME.pattern})\s*=\s*(?P<value>.*?)\s*")
_QUOTED = re.compile(r"(?P<quote>['\"])(?P<inside>.*)(?P=quote)")


class Keys(Mapping[str, str]):
    """The stored keys by name; those of the keyring are fetched when they are asked for."""

    def __init__(self, stored: Mapping[str, str], warnings: list[str]) -> None:
        self._stored = dict(stored)
        self._in_keyring = {name for name, value in stored.items() if value == IN_KEYRING}
        self._fetched: dict[str, str] = {}
        self.warnings = warnings

    def __getitem__(self, name: str) -> str:
        if name in self._in_keyring and name not in self._fetched:
            self._fetched[name] = _from_keyring(name)
        return self._fetched.get(name) or self._stored[name]

    def __contains__(self, name: object) -> bool:
        return name in self._stored

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def __repr__(self) -> str:
        return f"Keys({', '.join(self._stored)})"

    def place_of(self, name: str) -> str:
        """Where a key is kept: ``keyring`` or ``file``."""
        return "keyring" if name in self._in_keyring else "file"

    def export_to(self, environ: MutableMapping[str, str]) -> None:
        """Makes the keys variables, for modules that look there; what is set already stays."""
        for name in self._stored:
            if not environ.get(name):
                environ[name] = self[name]


def load_keys(places: Places) -> Keys:
    """The keys of the user; a file that others can read is closed to them, with a warning."""
    path = places.keys_file
    text = read_text(path)
    if text is None:
        return Keys({}, [])
    stored: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, value = _parsed(line, path, number)
            stored[name] = value
    return Keys(stored, _close_to_others(path))


def set_key(places: Places, name: str, value: str, *, in_keyring: bool = False) -> Path:
    """Keeps a key under ``name``, in the place of the one before; nobody but the user can read the file."""
    _require_name(name)
    if not value or not value.isprintable():
        raise UsageProblem(f"The key for {name} must be one line of visible characters.", "Paste the key alone.")
    if in_keyring:
        _keyring().set_password(_SERVICE, name, value)
        value = IN_KEYRING
    return _rewrite(places, name, f"{name}={_quoted(value)}")


def unset_key(places: Places, name: str) -> Path:
    """Forgets a key; raises ``UsageProblem`` where there is none of this name."""
    keys = load_keys(places)
    if name not in keys:
        raise UsageProblem(f"There is no key {name} in {places.keys_file}.", "amplifier config keys lists the names.")
    if keys.place_of(name) == "keyring":
        _keyring().delete_password(_SERVICE, name)
    return _rewrite(places, name, None)


def _rewrite(places: Places, name: str, line: str | None) -> Path:
    with locked(places.keys_file) as target:
        text = read_text(target) or ""
        kept = [each for each in text.splitlines() if (found := _LINE.fullmatch(each)) is None or found["name"] != name]
        write_atomically(target, "".join(f"{each}\n" for each in [*kept, *([line] if line else [])]), mode=0o600)
    return places.keys_file


def _parsed(line: str, path: Path, number: int) -> tuple[str, str]:
    found = _LINE.fullmatch(line)
    if found is None:
        # The line itself is not shown: it may be a key.
        raise SettingsProblem(f"{path}:{number}: expected NAME=value.", "Correct the line, or remove it.")
    quoted = _QUOTED.fullmatch(found["value"])
    if quoted is None:
        return found["name"], found["value"]
    inside = quoted["inside"]
    return found["name"], re.sub(r"\\(.)", r"\1", inside) if quoted["quote"] == '"' else inside


def _quoted(value: str) -> str:
    if re.fullmatch(r"[\w@%+=:,./-]+", value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _close_to_others(path: Path) -> list[str]:
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "nt" or not mode & 0o077:
        return []
    try:
        path.chmod(0o600)
    except OSError as error:
        return [f"{path} can be read by others (mode {mode:o}), and that cannot be changed: {error.strerror}"]
    return [f"{path} could be read by others (mode {mode:o}); now only you can read it"]


def _require_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageProblem(
            f"{name!r} cannot be the name of a key: expected letters, digits and '_'.", "Such as ANTHROPIC_API_KEY."
        )


def _keyring() -> Any:
    try:
        return importlib.import_module("keyring")
    except ImportError:
        raise SettingsProblem(
            "Keys cannot be kept in the system's keyring: the package keyring is not installed.",
            "pip install keyring, or keep keys in the file: amplifier config set keys.store file",
        ) from None


def _from_keyring(name: str) -> str:
    value = _keyring().get_password(_SERVICE, name)
    if value is None:
        raise SettingsProblem(
            f"The key {name} is not in the system's keyring any more.", f"amplifier config set-key {name}"
        )
    return value
