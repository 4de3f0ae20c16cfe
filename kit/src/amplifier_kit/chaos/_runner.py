"""Runs faults, each isolated from the process and under a time limit, and reports them as checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amplifier_core.validation.base import ValidationCheck, ValidationResult
from amplifier_kit.chaos._calls import describe
from amplifier_kit.chaos._collaborators import Mount
from amplifier_kit.chaos._isolation import BlockedError, run_isolated
from amplifier_kit.chaos._source import absolute, bind, load_module
from amplifier_kit.chaos._stage import Subject
from amplifier_kit.chaos._workplace import workplace
from amplifier_kit.chaos.faults import Fault, Finding, faults_of

_FIRST = "mount"


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a module is run: with which config and tool input, for how many seconds a fault, and which of several."""

    config: dict[str, Any] = field(default_factory=dict[str, Any])
    sample_input: Mapping[str, Any] | None = None
    limit_s: float = 10.0
    entry_point: str | None = None

    @property
    def hard_limit_s(self) -> float:
        """When a fault is given up from outside: later than it gives up by itself, with time to clean up."""
        return self.limit_s * 2 + 1


async def run(
    kind: str,
    module_path: str | Path,
    config: dict[str, Any] | None = None,
    *,
    limit_s: float = 10.0,
    sample_input: Mapping[str, Any] | None = None,
    entry_point: str | None = None,
) -> ValidationResult:
    """Puts the module at ``module_path`` (a folder, a ``.py`` file or an import name) under every fault of its kind.

    The module is really run, in a throw-away working directory. ``sample_input`` is what its tools get instead of input
    made from their schema, ``entry_point`` the id of one of several modules in a folder. Each fault is a check
    ``chaos_<fault>``; a module that chose to mount nothing is a warning. Raises ``ValueError`` for a kind that does not
    exist.
    """
    conditions = Conditions(config or {}, sample_input, limit_s, entry_point)
    return await _run(kind, module_path, conditions, faults_of(kind))


async def run_fault(kind: str, fault: Fault, module_path: str | Path, conditions: Conditions) -> ValidationCheck:
    """Puts the module at ``module_path`` under one fault."""
    result = await _run(kind, module_path, conditions, (fault,))
    return result.checks[-1]


async def run_mount(
    kind: str,
    mount: Callable[[Any, dict[str, Any]], Any],
    config: dict[str, Any] | None = None,
    *,
    limit_s: float = 10.0,
    sample_input: Mapping[str, Any] | None = None,
) -> ValidationResult:
    """Like ``run``, for a mount function that is at hand: ``async def mount(coordinator, config)``."""
    conditions = Conditions(config or {}, sample_input, limit_s)
    result = ValidationResult(kind, getattr(mount, "__qualname__", repr(mount)))
    faults = faults_of(kind)
    with workplace():
        await _provoke_all(result, faults, bind(mount, conditions.config), conditions)
    return result


async def _run(
    kind: str, module_path: str | Path, conditions: Conditions, faults: tuple[Fault, ...]
) -> ValidationResult:
    result = ValidationResult(kind, str(module_path))
    where = absolute(module_path)
    with workplace():
        try:
            loaded = await run_isolated(
                lambda: load_module(where, conditions.config, conditions.entry_point), conditions.hard_limit_s
            )
        except Exception as error:
            told = Finding(f"the module at {module_path} cannot be loaded: {describe(error)}")
            result.add(_failed(faults_of(kind)[0], told))
            return result
        try:
            await _provoke_all(result, faults, loaded.mount, conditions)
        finally:
            loaded.release()
    return result


async def _provoke_all(
    result: ValidationResult, faults: tuple[Fault, ...], mount: Mount, conditions: Conditions
) -> None:
    for fault in faults:
        try:
            finding = await _provoke(fault, result.module_type, mount, conditions)
        except BlockedError as blocked:
            # Its thread may hold on for ever; more of them would only take more time.
            told = f"{blocked}: a call inside an 'async def' does not return; the faults after this one were not tried"
            finding = Finding(f"{told}. Await it, or move it into asyncio.to_thread()")
            result.add(_failed(fault, finding))
            return
        result.add(_passed(fault) if finding is None else _failed(fault, finding))
        if finding is not None and fault.name == _FIRST:
            return


async def _provoke(fault: Fault, kind: str, mount: Mount, conditions: Conditions) -> Finding | None:
    limit_s, sample = conditions.limit_s, conditions.sample_input
    try:
        return await run_isolated(lambda: fault.provoke(Subject(kind, mount, sample, limit_s)), conditions.hard_limit_s)
    except BlockedError:
        raise
    except Exception as error:
        return Finding(f"the module broke out of its session: {describe(error)}")


def _passed(fault: Fault) -> ValidationCheck:
    return ValidationCheck(f"chaos_{fault.name}", True, f"Kept: {fault.promise}", "info")


def _failed(fault: Fault, finding: Finding) -> ValidationCheck:
    return ValidationCheck(f"chaos_{fault.name}", False, fault.explain(finding), finding.severity)
