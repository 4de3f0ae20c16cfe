"""Fixtures that several test files of the kernel share."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from inspect import isawaitable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from amplifier_core.module_sources import ModuleNotFoundError
from amplifier_core.session import AmplifierSession

_numbers = itertools.count(1)

MOUNT = "async def mount(coordinator, config):\n    coordinator.mounted.append(config)\n"


class Workshop:
    """Builds real packages and distributions below a folder; names are unique in the process."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.made: set[str] = set()
        self._monkeypatch = monkeypatch

    def new_id(self, kind: str = "tool") -> str:
        """A module id that no test has used."""
        return f"{kind}-made-{next(_numbers)}"

    @staticmethod
    def package_name(module_id: str) -> str:
        """The conventional import name of a module id."""
        return "amplifier_module_" + module_id.replace("-", "_")

    def package(self, folder: Path, name: str, source: str | bytes = MOUNT, **files: str) -> Path:
        """Writes the package ``name`` into ``folder``: its ``__init__.py``, and a file for every further argument."""
        self.made.add(name)
        package = folder / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_bytes(source.encode() if isinstance(source, str) else source)
        for stem, text in files.items():
            (package / f"{stem}.py").write_text(text, encoding="utf-8")
        return package

    def module(self, source: str | bytes = MOUNT, *, kind: str = "tool", **files: str) -> tuple[str, Path]:
        """A module in a folder of its own: its id, and the folder that holds the package."""
        module_id = self.new_id(kind)
        folder = self.root / module_id
        self.package(folder, self.package_name(module_id), source, **files)
        return module_id, folder

    def distribution(self, site: Path, name: str, group: str, entries: Mapping[str, str]) -> None:
        """Writes the metadata of an installed distribution with entry points into ``site``."""
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        lines = "".join(f"{entry} = {value}\n" for entry, value in entries.items())
        (info / "entry_points.txt").write_text(f"[{group}]\n{lines}", encoding="utf-8")

    def installed(self, group: str, entries: Mapping[str, str]) -> Path:
        """A folder on the import path that holds a distribution with these entry points."""
        site = self.root / f"site-{next(_numbers)}"
        self.distribution(site, f"dist_{next(_numbers)}", group, entries)
        self.on_path(site)
        return site

    def on_path(self, folder: Path) -> None:
        """Puts a folder first on the import path for the time of the test."""
        folder.mkdir(parents=True, exist_ok=True)
        self._monkeypatch.syspath_prepend(str(folder))

    def forget_imports(self) -> None:
        """Removes what was built here from the import system."""
        for name in [name for name in sys.modules if name.partition(".")[0] in self.made]:
            del sys.modules[name]
        importlib.invalidate_caches()

    def imported(self, module_id: str) -> ModuleType:
        """The package of a module built here, after a test has loaded it."""
        return sys.modules[self.package_name(module_id)]


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workshop]:
    """Builds packages and distributions, and leaves ``sys.path`` and ``sys.modules`` as they were."""
    monkeypatch.delenv("AMPLIFIER_MODULES", raising=False)
    before = list(sys.path)
    workshop = Workshop(tmp_path, monkeypatch)
    yield workshop
    sys.path[:] = before
    workshop.forget_imports()


class Loop:
    """An orchestrator that runs the function it is given, or answers the prompt itself."""

    def __init__(self, turn: Callable[[Any], Awaitable[Any]] | None = None) -> None:
        self.turn = turn

    async def execute(
        self, prompt: str, context: Any, providers: dict[str, Any], tools: dict[str, Any], hooks: Any, coordinator: Any
    ) -> Any:
        return f"answer to {prompt}" if self.turn is None else await self.turn(coordinator)


class Memory:
    """A context that keeps a list."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def add_message(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    async def get_messages_for_request(self, token_budget: int | None = None, provider: Any = None) -> list[Any]:
        return list(self.messages)

    async def get_messages(self) -> list[Any]:
        return list(self.messages)

    async def set_messages(self, messages: list[Any]) -> None:
        self.messages = list(messages)

    async def clear(self) -> None:
        self.messages.clear()


class Model:
    """A provider with nothing behind it."""

    def __init__(self, name: str = "a") -> None:
        self.name = name

    def get_info(self) -> None: ...

    async def list_models(self) -> list[Any]:
        return []

    async def complete(self, request: Any, **kwargs: Any) -> None: ...

    def parse_tool_calls(self, response: Any) -> list[Any]:
        return []


class Hammer:
    """A tool that does nothing."""

    description = "Does nothing."

    def __init__(self, name: str = "hammer") -> None:
        self.name = name

    async def execute(self, input: dict[str, Any]) -> None: ...


class Stage:
    """A loader that holds mount functions by module id, with the least modules a session needs and a plan for them.

    ``turn`` is what the orchestrator does; ``module`` adds or replaces a module.
    """

    Loop, Memory, Model, Hammer = Loop, Memory, Model, Hammer

    def __init__(self) -> None:
        self.turn: Callable[[Any], Awaitable[Any]] | None = None
        self.loads: list[tuple[str, Any, Any]] = []
        self.mounts: dict[str, Callable[[Any, Any], Any]] = {
            "loop-a": lambda coordinator, config: coordinator.mount("orchestrator", Loop(self.turn)),
            "context-a": lambda coordinator, config: coordinator.mount("context", Memory()),
            "provider-a": lambda coordinator, config: coordinator.mount("providers", Model("a")),
        }

    async def load(self, module_id: str, config: Any = None, source_hint: Any = None, coordinator: Any = None) -> Any:
        """A mount function as the kernel's loader gives it."""
        self.loads.append((module_id, config, source_hint))
        if module_id not in self.mounts:
            raise ModuleNotFoundError(f"no module {module_id} on stage")
        raw = self.mounts[module_id]

        async def mount(coordinator: Any) -> Any:
            returned = raw(coordinator, config)
            return await returned if isawaitable(returned) else returned

        ready = getattr(raw, "__on_session_ready__", None)
        if ready is not None:
            mount.__on_session_ready__ = ready  # pyright: ignore[reportFunctionMemberAccess]
        return mount

    def module(self, module_id: str, mount: Callable[[Any, Any], Any], ready: Callable[..., Any] | None = None) -> None:
        """Puts a module on stage, sync or async ``mount(coordinator, config)``, perhaps with ``on_session_ready``."""
        if ready is not None:
            mount.__on_session_ready__ = (module_id, ready)  # pyright: ignore[reportFunctionMemberAccess]
        self.mounts[module_id] = mount

    @staticmethod
    def plan(**sections: Any) -> dict[str, Any]:
        """A new plan of the three modules; ``session`` is merged in, other sections are added or replaced."""
        session = {"orchestrator": "loop-a", "context": "context-a", **sections.pop("session", {})}
        return {"session": session, "providers": ["provider-a"], **sections}

    def session(self, plan: dict[str, Any] | None = None, **arguments: Any) -> AmplifierSession:
        """A session on this stage."""
        return AmplifierSession(plan or self.plan(), **{"loader": self, **arguments})

    @staticmethod
    def watch(session: AmplifierSession) -> list[tuple[str, dict[str, Any]]]:
        """A list that every event of ``session`` is added to, as handlers see it."""
        seen: list[tuple[str, dict[str, Any]]] = []

        async def note(event: str, data: dict[str, Any]) -> None:
            seen.append((event, data))

        session.coordinator.hooks.tap(note)
        return seen

    @staticmethod
    async def cycles(count: int = 20) -> None:
        """Gives every other task of the loop this many chances to go on."""
        for _ in range(count):
            await asyncio.sleep(0)


@pytest.fixture
def stage() -> Stage:
    """Fakes to run a session on."""
    return Stage()
