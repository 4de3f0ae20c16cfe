"""What belongs to the user: home, settings, keys, the plan of a session, stored sessions and their index."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from amplifier.bundles.active import active_bundle
from amplifier.bundles.plan import make_plan
from amplifier.inspector.finding import Finding
from amplifier.inspector.provider_list import keys_present
from amplifier.paths import Places
from amplifier.problems import Problem
from amplifier.settings import Settings, load_keys
from amplifier.settings.trust import FolderTrust

STALE_AFTER = timedelta(hours=12)
_MOST_NAMED = 3


def look_at_home(places: Places) -> Iterator[Finding]:
    """Whether the home can be written, and by nobody else."""
    home = places.home
    if not home.exists():
        yield Finding("home", "ok", f"{home} is made when it is needed")
        return
    if not home.is_dir():
        yield Finding("home", "broken", f"{home} is no folder", "Move it away, or set AMPLIFIER_HOME.")
        return
    if not os.access(home, os.W_OK | os.X_OK):
        yield Finding("home", "broken", f"{home} cannot be written", "Change its owner, or set AMPLIFIER_HOME.")
        return
    mode = stat.S_IMODE(home.stat().st_mode)
    if os.name != "nt" and mode & 0o022:
        yield Finding("home", "broken", f"others can write to {home} (mode {mode:o})", f"chmod go-w {home}")
    else:
        yield Finding("home", "ok", str(home))


def look_at_settings(places: Places, environ: Mapping[str, str]) -> tuple[Settings | None, list[Finding]]:
    """The settings, if they can be read, and what is wrong with them."""
    trust = FolderTrust(places)
    try:
        settings = Settings.load(places, environ=environ, admit=trust.admit)
    except Problem as problem:
        return None, [Finding("settings", "broken", problem.message, problem.hint)]
    found = [Finding("settings", "note", warning, "amplifier config edit") for warning in settings.warnings]
    found += [Finding("settings", "note", warning, "amplifier trust") for warning in trust.warnings()]
    return settings, found or [Finding("settings", "ok", "every file can be read")]


def look_at_keys(places: Places, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Which keys are there, by name, and whether their file is closed to others."""
    try:
        kept = load_keys(places)
    except Problem as problem:
        yield Finding("keys", "broken", problem.message, problem.hint)
        return
    for warning in kept.warnings:
        yield Finding("keys", "note", warning)
    present = keys_present(environ, kept)
    if not present:
        yield Finding("keys", "note", "no key of a service is set", "amplifier init, or amplifier config set-key NAME")
    for module, names in present.items():
        yield Finding("keys", "ok", f"{module}: {', '.join(names)}")


def look_at_plan(places: Places, settings: Settings) -> list[Finding]:
    """Whether a session can be made from the active bundle."""
    try:
        plan = make_plan(active_bundle(settings, places), settings, places)
    except Problem as problem:
        return [Finding("bundle", "broken", problem.message, problem.hint)]
    found = [Finding("bundle", "note", warning, "amplifier bundle validate") for warning in plan.warnings]
    return [Finding("bundle", "ok", f"'{plan.bundle}' can be used"), *found]


def look_at_sessions(places: Places, now: datetime | None = None) -> Iterator[Finding]:
    """Sessions that cannot be read, and those that were at work when their process ended."""
    folders = sorted(places.sessions_root.glob("*/sessions/*/")) if places.sessions_root.is_dir() else []
    limit = ((now or datetime.now(UTC)) - STALE_AFTER).isoformat()
    broken: list[str] = []
    stale: list[str] = []
    for folder in folders:
        try:
            about = json.loads((folder / "metadata.json").read_bytes())
            if about.get("status") == "running" and str(about.get("updated", "")) < limit:
                stale.append(folder.name)
        except (OSError, ValueError, AttributeError):
            broken.append(folder.name)
    if broken:
        yield Finding(
            "sessions", "broken", f"{len(broken)} cannot be read: {_named(broken)}",
            f"Delete what is of no use: amplifier session delete {broken[0]}",
        )  # fmt: skip
    if stale:
        yield Finding(
            "sessions", "note", f"{len(stale)} were cut off while they worked: {_named(stale)}",
            f"Go on with one: amplifier resume {stale[0]}",
        )  # fmt: skip
    if not broken and not stale:
        yield Finding("sessions", "ok", f"{len(folders)} stored, all can be read")


def look_at_index(places: Places) -> Finding:
    """Whether the index of sessions is whole; it can always be made anew."""
    file = places.home / "index.db"
    if not file.exists():
        return Finding("index", "ok", "there is none yet")
    try:
        answer = _integrity(file)
    except sqlite3.Error as error:
        answer = str(error)
    if answer == "ok":
        return Finding("index", "ok", str(file))
    return Finding("index", "broken", f"{file} is damaged: {answer}", f"rm {file}, then amplifier session reindex")


def _integrity(file: Path) -> str:
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        return str(connection.execute("PRAGMA quick_check").fetchone()[0])
    finally:
        connection.close()


def _named(ids: list[str]) -> str:
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return f"{', '.join(ids[:_MOST_NAMED])}{more}"
