"""Compares a request with what the script expects of it."""

from __future__ import annotations

from collections.abc import Iterator

from amplifier_core.message_models import ChatRequest
from amplifier_module_provider_mock.errors import ScriptError
from amplifier_module_provider_mock.items import Expectation
from amplifier_module_provider_mock.requests import text_of_message

_SHOWN_CHARS = 200


def require_expected(expected: Expectation, request: ChatRequest, place: str) -> None:
    """Raises ``ScriptError`` with every way in which ``request`` is not as ``expected``."""
    mismatches = list(_mismatches(expected, request))
    if mismatches:
        raise ScriptError(f"{place} expected {'; '.join(mismatches)}. {last_message(request)}")


def last_message(request: ChatRequest) -> str:
    """A sentence that shows the end of a conversation, for messages."""
    if not request.messages:
        return "The request has no messages."
    last = request.messages[-1]
    text = text_of_message(last)
    shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
    return f"The last message is from '{last.role}': {shown!r}."


def _mismatches(expected: Expectation, request: ChatRequest) -> Iterator[str]:
    roles = [message.role for message in request.messages]
    if expected.last_role is not None and roles[-1:] != [expected.last_role]:
        yield f"last_role '{expected.last_role}', got {repr(roles[-1]) if roles else 'no message'}"
    if expected.message_count is not None and expected.message_count != len(roles):
        yield f"message_count {expected.message_count}, got {len(roles)}"
    offered = sorted(tool.name for tool in request.tools or ())
    if expected.tool_names is not None and sorted(expected.tool_names) != offered:
        yield f"tool_names {sorted(expected.tool_names)}, got {offered}"
    texts = [text_of_message(message) for message in request.messages] if expected.contains else []
    for wanted in expected.contains:
        if not any(wanted in text for text in texts):
            yield f"a message that contains {wanted!r}, got none"
