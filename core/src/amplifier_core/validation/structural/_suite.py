"""The one structural suite, of which every kind has its own: its validator is all that differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from amplifier_core.validation._validator import ModuleValidator


class StructuralTests:
    """Runs the validator of a kind over the module under test."""

    validator: ClassVar[type[ModuleValidator]]
    _config: dict[str, Any] | None = None

    @pytest.fixture(autouse=True)
    def _take_config(self, amplifier_module_config: dict[str, Any]) -> None:
        # An empty one says nothing, so that what the module wants in its config is not held against it.
        self._config = amplifier_module_config or None

    @pytest.mark.asyncio
    async def test_structural_validation(self, module_path: Path | None) -> None:
        """The module passes every check of its kind's validator."""
        if module_path is None:
            pytest.skip(
                "No module to test: run inside the folder 'amplifier-module-…' of one, or name it with --module-path"
            )
        result = await self.validator().validate(module_path, config=self._config)
        if not result.passed:
            problems = "".join(f"\n  - {check.name}: {check.message}" for check in result.errors)
            pytest.fail(f"Structural validation of {module_path} failed:{problems}", pytrace=False)
