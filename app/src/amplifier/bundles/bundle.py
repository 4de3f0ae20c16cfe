"""What a bundle is once it was read: plain sections that merge, and where each of their values comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from amplifier.bundles.mentions import Passage
from amplifier.bundles.merge import Entry
from amplifier.settings.origins import Origin

ModuleSection = Literal["providers", "tools", "hooks"]
MODULE_SECTIONS: tuple[ModuleSection, ...] = ("providers", "tools", "hooks")

Way = tuple[str, ...]
"""The way to a value in a bundle; an entry of a list of modules is known by its id, so that merging keeps it."""

Origins = dict[Way, Origin]


@dataclass(frozen=True, slots=True)
class Include:
    """Another bundle that one is built on, as it is written, and where it is written."""

    ref: str
    place: str


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent that a session may start: what it is for, how its plan differs, and its instructions."""

    name: str
    description: str
    overlay: dict[str, Any]
    """What is merged into the plan of the session that starts it."""
    passage: Passage | None = None
    """Its own instructions; without them it has those of the session."""
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A file that is always part of the prompt, and where a bundle asks for it."""

    file: Path
    root: Path
    origin: Origin


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle, by itself or with all it includes. Nothing of it is ever changed: merging makes another one."""

    name: str
    file: Path
    root: Path
    """The folder that its namespace stands for."""
    version: str = ""
    description: str = ""
    flags: dict[str, bool] = field(default_factory=dict[str, bool])
    """``only_own_providers`` and ``project_instructions``, where a bundle says so."""
    includes: tuple[Include, ...] = ()
    session: dict[str, Any] = field(default_factory=dict[str, Any])
    providers: list[Entry] = field(default_factory=list[Entry])
    tools: list[Entry] = field(default_factory=list[Entry])
    hooks: list[Entry] = field(default_factory=list[Entry])
    spawn: dict[str, Any] = field(default_factory=dict[str, Any])
    agents: dict[str, AgentSpec] = field(default_factory=dict[str, AgentSpec])
    context: dict[str, ContextFile] = field(default_factory=dict[str, ContextFile])
    passage: Passage | None = None
    """The system prompt as it is written."""
    namespaces: dict[str, Path] = field(default_factory=dict[str, Path])
    origins: Origins = field(default_factory=dict[Way, Origin])
    parts: tuple[str, ...] = ()
    """The bundles it is made of, in the order in which they were merged."""
    warnings: tuple[str, ...] = ()
