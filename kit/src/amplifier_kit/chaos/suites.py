"""Test classes to inherit: a module's own tests run it under every fault of its kind.

``class TestUnderChaos(ToolChaosTests): …`` is enough where the kernel's ``module_path`` fixture finds the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from amplifier_kit.chaos._runner import Conditions, run_fault
from amplifier_kit.chaos.faults import Fault, faults_of


class _ChaosTests:
    """One test per fault of ``kind``; the fixture ``amplifier_module_config`` gives the config to mount with."""

    kind: ClassVar[str]
    sample_input: ClassVar[Mapping[str, Any] | None] = None
    """Input that a tool accepts; without it, one is made from the tool's schema."""
    limit_s: ClassVar[float] = 10.0
    """The seconds that one fault may take."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Makes a test of every fault."""
        if "fault" in metafunc.fixturenames:
            metafunc.parametrize("fault", faults_of(self.kind), ids=lambda fault: fault.name)

    @pytest.mark.asyncio
    async def test_promise_is_kept(
        self, module_path: Path | None, amplifier_module_config: dict[str, Any], fault: Fault
    ) -> None:
        """The module keeps its promise while the fault is provoked."""
        if module_path is None:
            pytest.skip(
                "No module to test: run inside the folder 'amplifier-module-…' of one, or name it with --module-path"
            )
        conditions = Conditions(amplifier_module_config, self.sample_input, self.limit_s)
        check = await run_fault(self.kind, fault, module_path, conditions)
        if check.severity == "warning":
            pytest.skip(check.message)
        if not check.passed:
            pytest.fail(check.message, pytrace=False)


class ProviderChaosTests(_ChaosTests):
    """A provider under every fault."""

    kind = "provider"


class ToolChaosTests(_ChaosTests):
    """A tool under every fault."""

    kind = "tool"


class HookChaosTests(_ChaosTests):
    """A hook module under every fault."""

    kind = "hook"


class OrchestratorChaosTests(_ChaosTests):
    """An orchestrator under every fault."""

    kind = "orchestrator"


class ContextChaosTests(_ChaosTests):
    """A context under every fault."""

    kind = "context"
