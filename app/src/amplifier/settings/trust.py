"""Which folders a user trusts: settings that came with a folder count in full only when the user has said so.

Settings can start programs, send keys elsewhere and allow everything; whoever clones a repository has not read them.
What can only make a session more careful counts always. Trust is kept for a folder with the hashes of its files, so
that it ends when somebody changes them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from amplifier.paths import Places
from amplifier.problems import SettingsProblem
from amplifier.settings.files import locked, read_text, write_atomically
from amplifier.settings.key_paths import KeyPath, join_key
from amplifier.settings.layers import Layer, file_layer

Ask = Callable[[str], bool]
"""Puts a question to the user and gives the answer; no, where nobody answers."""

_VERSION = 1
_HARMLESS: frozenset[KeyPath] = frozenset(
    {("model",), ("provider",), ("output",), ("permissions", "deny"), ("permissions", "ask")}
)
_FILES = (".amplifier/settings.yaml", ".amplifier/settings.local.yaml", ".amplifier/mcp.json", ".mcp.json")
_FOLDERS = (".amplifier/agents", ".amplifier/bundles", ".amplifier/hooks", ".amplifier/modules")
_MOST_FILES = 2000


class LeftOut(NamedTuple):
    """Settings of one file that do not count."""

    file: Path | None
    keys: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {', '.join(self.keys)}"


class FolderTrust:
    """Whether the settings of the project count, for one call of the command; the user is asked at most once."""

    def __init__(self, places: Places, *, is_granted: bool = False, ask: Ask | None = None) -> None:
        """``is_granted`` trusts for this call alone; without ``ask`` nobody is asked, and the answer is no."""
        self._places = places
        self._ask = ask
        self._answer: bool | None = True if is_granted else None
        self.left_out: list[LeftOut] = []
        """What was left out, by file."""

    def admit(self, layer: Layer) -> Layer:
        """What counts of the settings of a file of the project."""
        harmless, keys = _divided(layer)
        if not keys or self.is_trusted:
            return layer
        self.left_out.append(LeftOut(layer.origins[()].file, keys))
        return harmless

    @property
    def is_trusted(self) -> bool:
        """Whether the folder is trusted as it is now; asks the user where that is not known."""
        if self._answer is None:
            self._answer = self._decided()
        return self._answer

    def _decided(self) -> bool:
        kept = _kept_answer(self._places)
        if kept is None and self._ask is not None:
            kept = self._ask(question(self._places))
            remember(self._places, is_trusted=kept)
        return bool(kept)

    def warnings(self) -> list[str]:
        """What was left out, in sentences, and what to do about it."""
        return [
            f"{each.file}: these settings do not count, since nobody has trusted this folder: {', '.join(each.keys)}. "
            "Read them, then: amplifier trust (or --trust for one call)"
            for each in self.left_out
        ]


def question(places: Places) -> str:
    """What to ask the user: the folder, what its files want, and which of them have changed."""
    changed = _changed(places)
    listed = "".join(f"\n  {each}" for each in wishes(places))
    told = f"\nChanged since you were last asked: {', '.join(changed)}" if changed else ""
    return (
        f"{places.project_dir} has settings that can run programs and change what is allowed:{listed}{told}\nTrust it?"
    )


def wishes(places: Places) -> list[LeftOut]:
    """The settings of a folder that need trust, by file; empty for the user's own folder."""
    if _is_own(places):
        return []
    layers = (file_layer(scope, path) for scope, path in _scope_files(places))
    divided = ((layer, _divided(layer)[1]) for layer in layers if layer is not None)
    return [LeftOut(layer.origins[()].file, keys) for layer, keys in divided if keys]


def remember(places: Places, *, is_trusted: bool) -> Path:
    """Keeps an answer for the folder as it is now."""
    file = trust_file(places)
    with locked(file) as target:
        folders = _folders(target)
        folders[_name_of(places)] = {"trusted": is_trusted, "files": _hashes(places)}
        _write(target, folders)
    return file


def forget(places: Places) -> bool:
    """Forgets the answer for a folder; says whether there was one."""
    with locked(trust_file(places)) as target:
        folders = _folders(target)
        was_there = folders.pop(_name_of(places), None) is not None
        _write(target, folders)
    return was_there


def trusted_folders(places: Places) -> dict[str, bool]:
    """Every folder that there is an answer for, with the answer."""
    return {name: entry.get("trusted") is True for name, entry in sorted(_folders(trust_file(places)).items())}


def trust_file(places: Places) -> Path:
    """Where the answers are kept."""
    return places.home / "trusted-folders.json"


@contextmanager
def keeping_trust(places: Places) -> Generator[None]:
    """Lets the block change the settings of the project for the user, without being asked about it afterwards."""
    try:
        may_stay = not wishes(places) or _kept_answer(places) is True
    except SettingsProblem:
        may_stay = False  # what cannot be read was not trusted
    yield
    if may_stay and wishes(places):
        remember(places, is_trusted=True)


def _divided(layer: Layer) -> tuple[Layer, tuple[str, ...]]:
    """The harmless part of a layer, and the keys of the rest."""
    keys: list[KeyPath] = []
    harmless = _harmless(layer.value, (), keys)
    return Layer(harmless, layer.origins), tuple(join_key(path) for path in keys)


def _harmless(value: Mapping[str, Any], path: KeyPath, left_out: list[KeyPath]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, each in value.items():
        here = (*path, name)
        # A variable may be a key, and whatever it is put into goes somewhere.
        if here in _HARMLESS and "${" not in repr(each):
            kept[name] = each
        elif isinstance(each, dict) and any(known[: len(here)] == here != known for known in _HARMLESS):
            kept[name] = _harmless(cast("dict[str, Any]", each), here, left_out)
        else:
            left_out.append(here)
    return kept


def _scope_files(places: Places) -> tuple[tuple[str, Path], ...]:
    return (("project", places.project_settings), ("local", places.local_settings))


def _is_own(places: Places) -> bool:
    return places.project_settings.parent == places.home


def _kept_answer(places: Places) -> bool | None:
    if _is_own(places):
        return True
    entry = _folders(trust_file(places)).get(_name_of(places))
    if entry is None or entry.get("files") != _hashes(places):
        return None
    return entry.get("trusted") is True


def _changed(places: Places) -> list[str]:
    entry = _folders(trust_file(places)).get(_name_of(places))
    if entry is None:
        return []
    before, now = cast("dict[str, str]", entry.get("files") or {}), _hashes(places)
    return sorted(name for name in {*before, *now} if before.get(name) != now.get(name))


def _name_of(places: Places) -> str:
    return os.path.realpath(places.project_dir)


def _hashes(places: Places) -> dict[str, str]:
    """The hash of each file that has a part in what a folder does."""
    found: dict[str, str] = {}
    for path in _files(places.project_dir):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found[path.relative_to(places.project_dir).as_posix()] = digest
    return found


def _files(root: Path) -> Iterator[Path]:
    listed = [root / name for name in _FILES]
    for name in _FOLDERS:
        inside = sorted(each for each in (root / name).rglob("*") if "__pycache__" not in each.parts)
        listed += inside
    if len(listed) > _MOST_FILES:
        raise SettingsProblem(
            f"{root / '.amplifier'} has more than {_MOST_FILES:,} files.",
            "It cannot be trusted as a whole; is it right?",
        )
    yield from (path for path in listed if path.is_file())


def _folders(file: Path) -> dict[str, dict[str, Any]]:
    text = read_text(file)
    try:
        data: Any = {"version": _VERSION, "folders": {}} if text is None else json.loads(text)
        if data["version"] != _VERSION:
            raise ValueError(f"expected version {_VERSION}, got {data['version']}")
        return {str(name): dict(entry) for name, entry in data["folders"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsProblem(
            f"{file} cannot be read: {error}.", "Remove it; you will be asked again which folders you trust."
        ) from None


def _write(target: Path, folders: Mapping[str, Any]) -> None:
    data = {"version": _VERSION, "folders": {name: folders[name] for name in sorted(folders)}}
    write_atomically(target, json.dumps(data, indent=2, ensure_ascii=False) + "\n", mode=0o600)
