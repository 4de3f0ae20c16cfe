"""The audit trail: every decision of a guard as one line of JSON, without secrets, in files of bounded size."""

from __future__ import annotations

import json
import logging
from typing import Any

from amplifier_modkit.clipping import clip_chars
from amplifier_modkit.jsonl import JsonlWriter
from amplifier_modkit.locations import amplifier_home, filled
from amplifier_modkit.paths.working_dir import working_dir_of
from amplifier_modkit.secrets import redact_value
from amplifier_module_hooks_approval.calls import Call
from amplifier_module_hooks_approval.config import AuditSettings
from amplifier_module_hooks_approval.modes import Mode
from amplifier_module_hooks_approval.policy import Decision

logger = logging.getLogger(__name__)

_MOST_TEXT_CHARS = 4_000
_SETTING = "'audit.path' of hooks-approval"


class AuditTrail:
    """Hands decisions over to be written; nobody waits for the disk."""

    def __init__(self, settings: AuditSettings, coordinator: Any) -> None:
        self._coordinator = coordinator
        self._writer = _writer_for(settings, coordinator) if settings.enabled else None

    def note(self, call: Call, decision: Decision, mode: Mode) -> None:
        """Writes down one decision, soon."""
        if self._writer is None:
            return
        record = {
            "ts": self._coordinator.timestamp(),
            "session_id": call.session_id,
            "guard_session_id": self._coordinator.session_id,
            "tool_call_id": call.call_id,
            "tool_name": call.name,
            "decision": decision.verdict,
            "reason": decision.reason,
            "mode": mode,
        }
        self._writer.put((record, call.input_text))

    async def flush(self) -> None:
        """Waits until everything so far is written, but not for ever."""
        if self._writer is not None and not await self._writer.flush():
            logger.warning("The audit trail %s is not written to the end", self._writer.path)


def _writer_for(settings: AuditSettings, coordinator: Any) -> JsonlWriter:
    if settings.path is None:
        path = amplifier_home() / "audit" / "approvals.jsonl"
    else:
        path = filled(settings.path, coordinator.session_id, working_dir_of(coordinator), setting=_SETTING)
    return JsonlWriter(path, to_record=_to_record, max_bytes=settings.max_bytes, keep=settings.keep)


def _to_record(handed: tuple[dict[str, Any], str]) -> dict[str, Any]:
    record, input_text = handed
    # Redacted before it is cut: half a secret is not recognised.
    redacted, _ = redact_value({**record, "input": json.loads(input_text)})
    text = json.dumps(redacted["input"], ensure_ascii=False)
    is_long = len(text) > _MOST_TEXT_CHARS
    shown = clip_chars(text, _MOST_TEXT_CHARS) if is_long else redacted["input"]
    return {**redacted, "reason": clip_chars(redacted["reason"], _MOST_TEXT_CHARS), "input": shown}
