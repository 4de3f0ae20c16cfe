"""Validation of mount plans: their shape only, before anything is loaded."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from amplifier_core.utils.truncate import redact_config
from amplifier_core.validation.base import CheckList, Severity, ValidationCheck

_READING_ORDER = ("session", "orchestrator", "context", "providers", "tools", "hooks", "agents")
_LONGEST_SHOWN_SPEC = 200


@dataclass
class MountPlanValidationResult(CheckList):
    """The checks of one mount plan."""

    checks: list[ValidationCheck] = field(default_factory=list[ValidationCheck])

    def format_errors(self) -> str:
        """Every error as a numbered line, for people."""
        errors = self.errors
        if not errors:
            return "No errors"
        lines = [f"  {number}. [{check.name}] {check.message}" for number, check in enumerate(errors, start=1)]
        return "\n".join(["Mount Plan Validation Failed:", *lines, f"Total: {len(errors)} error(s)"])


class MountPlanValidator:
    """Checks that a mount plan has the shape that sessions take; it loads nothing. Checks come in reading order."""

    REQUIRED_SECTIONS: ClassVar[frozenset[str]] = frozenset({"session"})
    OPTIONAL_SECTIONS: ClassVar[frozenset[str]] = frozenset({"providers", "tools", "hooks", "agents"})
    REQUIRED_SESSION_FIELDS: ClassVar[frozenset[str]] = frozenset({"orchestrator", "context"})
    REQUIRED_MODULE_SPEC_FIELDS: ClassVar[frozenset[str]] = frozenset({"module"})

    def validate(self, mount_plan: Any) -> MountPlanValidationResult:
        """Every check of the plan, whatever it is; nothing is raised."""
        result = MountPlanValidationResult()
        if not _expect(result, "root_type", mount_plan, dict, "Mount plan"):
            return result
        plan = cast(dict[Any, Any], mount_plan)
        for section in _in_reading_order(self.REQUIRED_SECTIONS):
            self._check_present(result, section, plan)
        self._check_unknown_sections(result, plan)
        if "session" in plan:
            self._check_session(result, plan)
        for section in _in_reading_order(self.OPTIONAL_SECTIONS - {"agents"}):
            if section in plan:
                self._check_section(result, section, plan[section])
        return result

    def _check_present(self, result: MountPlanValidationResult, section: str, plan: dict[Any, Any]) -> None:
        present = section in plan
        message = f"Mount plan has '{section}'" if present else f"Mount plan missing required '{section}' section"
        _note(result, f"{section}_present", present, message)

    def _check_unknown_sections(self, result: MountPlanValidationResult, plan: dict[Any, Any]) -> None:
        known = self.REQUIRED_SECTIONS | self.OPTIONAL_SECTIONS | set(_config_sections(plan))
        unknown = sorted((section for section in plan if section not in known), key=str)
        if unknown:
            _note(result, "unknown_sections", False, f"Unknown sections will be ignored: {unknown}", "warning")

    def _check_session(self, result: MountPlanValidationResult, plan: dict[Any, Any]) -> None:
        if not _expect(result, "session_type", plan["session"], dict, "Session section"):
            return
        session = cast(dict[Any, Any], plan["session"])
        for name in _in_reading_order(self.REQUIRED_SESSION_FIELDS):
            present = session.get(name) is not None
            message = f"Session has '{name}'" if present else f"Session section missing required '{name}' field"
            if _note(result, f"session_{name}_present", present, message):
                self._check_spec(result, f"session.{name}", session[name])
        for name in _config_sections(plan):
            self._check_config_section(result, name, plan[name])

    def _check_config_section(self, result: MountPlanValidationResult, name: str, section: Any) -> None:
        if section is not None and _expect(result, f"{name}_type", section, dict, f"'{name}' section"):
            self._check_optional(result, name, section, "config", dict)

    def _check_section(self, result: MountPlanValidationResult, section: str, specs: Any) -> None:
        if specs is not None and not _expect(result, f"{section}_type", specs, list, f"'{section}' section"):
            return
        if not specs:
            _note(result, f"{section}_empty", True, f"'{section}' section is empty")
        for position, spec in enumerate(cast(list[Any], specs or [])):
            self._check_spec(result, f"{section}[{position}]", spec)
        if section == "providers":
            self._check_instances(result, cast(list[Any], specs or []))

    def _check_instances(self, result: MountPlanValidationResult, specs: list[Any]) -> None:
        """Sessions tell the entries of one provider module apart by their ``instance_id``."""
        anonymous: list[str] = []
        for position, spec in enumerate(specs):
            fields = cast(dict[Any, Any], spec) if isinstance(spec, dict) else {"module": spec}
            instance_id = fields.get("instance_id")
            if instance_id is None:
                anonymous.append(str(fields.get("module")))
            elif not isinstance(instance_id, str) or not instance_id:
                message = f"'instance_id' at providers[{position}] must be a non-empty str"
                _note(result, f"providers[{position}]_instance_id_type", False, message)
        for module_id in sorted({module_id for module_id in anonymous if anonymous.count(module_id) > 1}):
            message = f"Provider module '{module_id}' is listed several times; all but one need an instance_id"
            _note(result, "providers_instances", False, message)

    def _check_spec(self, result: MountPlanValidationResult, path: str, spec: Any) -> None:
        if isinstance(spec, str):
            self._check_module_id(result, path, spec)
            return
        if not _expect(result, f"{path}_type", spec, dict, f"Module spec at {path}"):
            return
        fields = cast(dict[Any, Any], spec)
        missing = [name for name in sorted(self.REQUIRED_MODULE_SPEC_FIELDS) if name not in fields]
        for name in missing:
            _note(result, f"{path}_{name}_required", False, _missing_field(path, name, fields))
        if "module" in fields:
            self._check_module_id(result, path, fields["module"])
        self._check_optional(result, path, fields, "config", dict)
        self._check_optional(result, path, fields, "source", str)

    def _check_module_id(self, result: MountPlanValidationResult, path: str, module_id: Any) -> None:
        if not isinstance(module_id, str):
            _expect(result, f"{path}_module_type", module_id, str, f"'module' at {path}")
        elif not module_id.strip():
            _note(result, f"{path}_module_empty", False, f"'module' at {path} must not be empty; expected a module id")
        else:
            _note(result, f"{path}_module_valid", True, f"Module '{module_id}' at {path} is named")

    def _check_optional(
        self, result: MountPlanValidationResult, path: str, fields: dict[Any, Any], name: str, kind: type
    ) -> None:
        if fields.get(name) is not None and not isinstance(fields[name], kind):
            _expect(result, f"{path}_{name}_type", fields[name], kind, f"'{name}' at {path}")


def _note(
    result: MountPlanValidationResult, name: str, passed: bool, message: str, severity: Severity = "error"
) -> bool:
    result.add(ValidationCheck(name, passed, message, "info" if passed else severity))
    return passed


def _expect(result: MountPlanValidationResult, name: str, value: Any, kind: type, subject: str) -> bool:
    if isinstance(value, kind):
        return _note(result, name, True, f"{subject} is a {kind.__name__}")
    return _note(result, name, False, f"{subject} must be a {kind.__name__}, got {type(value).__name__}")


def _config_sections(plan: dict[Any, Any]) -> list[str]:
    """The top-level sections with the config of an orchestrator or context named by a bare id; only then read."""
    session: Any = plan.get("session")
    if not isinstance(session, dict):
        return []
    named = cast(dict[Any, Any], session)
    return [name for name in ("orchestrator", "context") if name in plan and isinstance(named.get(name), str)]


def _in_reading_order(names: Set[str]) -> list[str]:
    known = [name for name in _READING_ORDER if name in names]
    return [*known, *sorted(set(names) - set(known))]


def _missing_field(path: str, name: str, spec: dict[Any, Any]) -> str:
    expected = "{'module': '<module id>', 'source': '<where from>' (optional), 'config': {…} (optional)}"
    return f"Module spec at {path} missing required '{name}' field: {_shown(spec)}. Expected: {expected}"


def _shown(spec: dict[Any, Any]) -> str:
    text = repr(redact_config(spec))
    return text if len(text) <= _LONGEST_SHOWN_SPEC else text[:_LONGEST_SHOWN_SPEC] + "…"
