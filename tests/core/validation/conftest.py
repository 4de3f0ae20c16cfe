"""Modules as their authors write them, and what validation says about them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from amplifier_core.validation import VALIDATORS, ValidationResult, validate_static
from amplifier_core.validation.base import import_module_from_path

Failure = tuple[str, str, str]

_numbers = itertools.count(1)

_SOURCES = {
    "tool": """
        class Hammer:
            name = "hammer"
            description = "Drives nails."

            async def execute(self, input):
                return None

        async def mount(coordinator, config):
            await coordinator.mount("tools", Hammer())
        """,
    "provider": """
        from amplifier_core.models import ProviderInfo

        class Model:
            name = "model"

            def get_info(self):
                return ProviderInfo(id="model", display_name="Model")

            async def list_models(self):
                return []

            async def complete(self, request, **kwargs):
                return None

            def parse_tool_calls(self, response):
                return []

        async def mount(coordinator, config):
            await coordinator.mount("providers", Model(), name="model")
        """,
    "hook": """
        async def handler(event, data):
            return None

        async def mount(coordinator, config):
            return coordinator.hooks.register("tool:pre", handler, name="watch")
        """,
    "orchestrator": """
        class Loop:
            async def execute(self, prompt, context, providers, tools, hooks, **kwargs):
                return prompt

        async def mount(coordinator, config):
            await coordinator.mount("orchestrator", Loop())
        """,
    "context": """
        class Memory:
            async def add_message(self, message):
                pass

            async def get_messages_for_request(self, token_budget=None, provider=None):
                return []

            async def get_messages(self):
                return []

            async def set_messages(self, messages):
                pass

            async def clear(self):
                pass

        async def mount(coordinator, config):
            await coordinator.mount("context", Memory())
        """,
}


class Author:
    """Writes modules below a folder, and has them validated."""

    def __init__(self, workshop: Any, root: Path) -> None:
        self.root = root
        self._workshop = workshop

    @staticmethod
    def source(kind: str, **changes: str) -> str:
        """A valid module of ``kind``; ``changes`` are pieces of text, old and new, given as ``a="old => new"``."""
        text = dedent(_SOURCES[kind])
        for change in changes.values():
            old, _, new = change.partition(" => ")
            assert old in text, f"{old!r} is not in the source of a {kind}"
            text = text.replace(old, new)
        return text

    def package(self, source: str | bytes, name: str | None = None, folder: Path | None = None, **files: str) -> Path:
        """Writes a package of its own name, and gives its folder."""
        text = dedent(source) if isinstance(source, str) else source
        return self._workshop.package(folder or self.root, name or f"made_module_{next(_numbers)}", text, **files)

    def project(self, entries: dict[str, str], *packages: tuple[str, str], folder: str = "project") -> Path:
        """Writes a folder with a ``pyproject.toml`` that registers ``entries``, and packages of the given sources."""
        project = self.root / f"{folder}-{next(_numbers)}"
        project.mkdir()
        lines = "".join(f'{name} = "{value}"\n' for name, value in entries.items())
        text = f'[project]\nname = "x"\n[project.entry-points."amplifier.modules"]\n{lines}'
        (project / "pyproject.toml").write_text(text, encoding="utf-8")
        for name, source in packages:
            self.package(source, name, project)
        return project

    @staticmethod
    def new_name() -> str:
        """An import name that no test has used."""
        return f"made_module_{next(_numbers)}"

    async def try_out(
        self, kind: str, source: str | bytes, config: dict[str, Any] | None = None, limit_s: float | None = None
    ) -> ValidationResult:
        """Validates a package of ``source`` by mounting it; a limit that is given does not count for the import."""
        package = self.package(source)
        if limit_s is None:
            return await VALIDATORS[kind]().validate(package, config=config)
        import_module_from_path(package)
        return await VALIDATORS[kind](limit_s).validate(package, config=config)

    async def complaints(
        self, kind: str, source: str | bytes, config: dict[str, Any] | None = None, limit_s: float | None = None
    ) -> list[Failure]:
        """Name, severity and message of every check that fails when a package of ``source`` is mounted."""
        return failures(await self.try_out(kind, source, config, limit_s))

    def static_complaints(self, source: str | bytes, kind: str | None = None, **files: Any) -> list[Failure]:
        """Name, severity and message of every check that the source alone fails."""
        return failures(validate_static(self.package(source, **files), kind))


def failures(result: ValidationResult) -> list[Failure]:
    """The checks of a result that did not pass."""
    return [(check.name, check.severity, check.message) for check in result.checks if not check.passed]


@pytest.fixture
def author(workshop: Any, tmp_path: Path) -> Author:
    """An author with a folder of his own."""
    return Author(workshop, tmp_path)


@pytest.fixture
def failed_checks() -> Callable[[ValidationResult], list[Failure]]:
    """Name, severity and message of the checks of a result that did not pass."""
    return failures
