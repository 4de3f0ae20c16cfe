"""The chaos suite: a module is run under faults, and every promise of its contract that breaks is reported.

``await run(kind, path)`` gives a validation result; the classes for authors' own tests are in ``suites`` and here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amplifier_kit.chaos._runner import run, run_mount
from amplifier_kit.chaos.faults import FAULTS, Fault, Finding, faults_of

if TYPE_CHECKING:
    from amplifier_kit.chaos.suites import (
        ContextChaosTests,
        HookChaosTests,
        OrchestratorChaosTests,
        ProviderChaosTests,
        ToolChaosTests,
    )

__all__ = [
    "FAULTS",
    "ContextChaosTests",
    "Fault",
    "Finding",
    "HookChaosTests",
    "OrchestratorChaosTests",
    "ProviderChaosTests",
    "ToolChaosTests",
    "faults_of",
    "run",
    "run_mount",
]


def __getattr__(name: str) -> Any:
    # Only test classes need pytest, and the command line needs no test classes.
    if name.endswith("ChaosTests") and name in __all__:
        from amplifier_kit.chaos import suites

        return getattr(suites, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
