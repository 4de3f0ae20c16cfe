"""What makes a context module valid."""

from __future__ import annotations

from amplifier_core.validation._checks import AsyncMethod, Kind
from amplifier_core.validation._validator import ModuleValidator

CONTEXT = Kind(
    "context",
    "Context",
    "ContextManager",
    (
        AsyncMethod("context_add_message", "add_message", ("message",)),
        AsyncMethod("context_get_messages_for_request", "get_messages_for_request"),
        AsyncMethod("context_get_messages", "get_messages"),
        AsyncMethod("context_set_messages", "set_messages", ("messages",)),
        AsyncMethod("context_clear", "clear"),
    ),
)


class ContextValidator(ModuleValidator):
    """Validates context modules."""

    kind = CONTEXT
