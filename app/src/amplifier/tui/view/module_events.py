"""Names of the events of standard modules that a chat shows; the kernel's are in ``amplifier_core.events``."""

from __future__ import annotations

LLM_STREAM_BLOCK_START = "llm:stream_block_start"
LLM_STREAM_BLOCK_DELTA = "llm:stream_block_delta"
LLM_STREAM_BLOCK_END = "llm:stream_block_end"
LLM_STREAM_ABORTED = "llm:stream_aborted"
SESSION_CHILD_EVENT = "session:child_event"
"""An event of a child, told in the parent: ``event`` and ``data`` are the child's."""
TOOL_OUTPUT = "tool:output"
AGENT_BEGINS = ("task:agent_spawned", "task:agent_resumed", "delegate:agent_spawned", "delegate:agent_resumed")
AGENT_ENDS = ("task:agent_completed", "delegate:agent_completed")
