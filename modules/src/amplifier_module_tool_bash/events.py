"""Names of the events that this module emits."""

from __future__ import annotations

TOOL_OUTPUT = "tool:output"
"""A command has written something: ``tool_name``, ``run_id``, ``stream``, ``text``, ``skipped_bytes``.

With ``tool_call_id`` where the loop tells tools the ids of their calls; a command in the background keeps the id of the
call that started it.
"""
SANDBOX_DEGRADED = "tool:sandbox_degraded"
"""Commands run with less of a sandbox than was wanted: ``tool_name``, ``sandbox``, ``missing``."""
