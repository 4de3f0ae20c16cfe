"""Names of the events that standard modules emit beside the kernel's: streams, scheduling, steering, memory.

A module contributes those it emits to the channel ``observability.events``, so that observers can register for them.
"""

from __future__ import annotations

LLM_STREAM_BLOCK_START = "llm:stream_block_start"
LLM_STREAM_BLOCK_DELTA = "llm:stream_block_delta"
LLM_STREAM_BLOCK_END = "llm:stream_block_end"
LLM_STREAM_ABORTED = "llm:stream_aborted"

TOOL_SELECTING = "tool:selecting"
TOOL_SELECTED = "tool:selected"

ERROR_PROVIDER = "error:provider"
ERROR_TOOL = "error:tool"

ORCHESTRATOR_RATE_LIMIT_DELAY = "orchestrator:rate_limit_delay"
ORCHESTRATOR_STEERING_INJECTED = "orchestrator:steering_injected"
ORCHESTRATOR_GOAL_PROGRESS = "orchestrator:goal_progress"

CONTEXT_HEALED = "context:healed"
CONTEXT_JOURNAL_REPAIRED = "context:journal_repaired"
