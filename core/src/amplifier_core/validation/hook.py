"""What makes a hook module valid."""

from __future__ import annotations

from amplifier_core.validation._checks import AsyncMethod, Kind
from amplifier_core.validation._validator import ModuleValidator

HOOK = Kind("hook", "Hook", "HookHandler", (AsyncMethod("hook_call", "", ("event", "data")),))


class HookValidator(ModuleValidator):
    """Validates hook modules: the handlers they register."""

    kind = HOOK
