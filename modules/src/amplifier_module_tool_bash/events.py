"""Names of the events that this module emits."""

from __future__ import annotations

TOOL_OUTPUT = "tool:output"
"""A command has written something: ``tool_name``, ``run_id``, ``stream``, ``text``, ``skipped_bytes``."""
SANDBOX_DEGRADED = "tool:sandbox_degraded"
"""Commands run with less of a sandbox than was wanted: ``tool_name``, ``sandbox``, ``missing``."""
