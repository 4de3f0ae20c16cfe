"""The canonical event names: a closed, ordered list that other packages count."""

from __future__ import annotations

from amplifier_core import events

IN_ORDER = {
    "SESSION_START": "session:start",
    "SESSION_END": "session:end",
    "SESSION_FORK": "session:fork",
    "SESSION_RESUME": "session:resume",
    "PROMPT_SUBMIT": "prompt:submit",
    "PROMPT_COMPLETE": "prompt:complete",
    "PLAN_START": "plan:start",
    "PLAN_END": "plan:end",
    "PROVIDER_REQUEST": "provider:request",
    "PROVIDER_RESPONSE": "provider:response",
    "PROVIDER_RETRY": "provider:retry",
    "PROVIDER_ERROR": "provider:error",
    "PROVIDER_THROTTLE": "provider:throttle",
    "PROVIDER_TOOL_SEQUENCE_REPAIRED": "provider:tool_sequence_repaired",
    "PROVIDER_RESOLVE": "provider:resolve",
    "LLM_REQUEST": "llm:request",
    "LLM_RESPONSE": "llm:response",
    "CONTENT_BLOCK_START": "content_block:start",
    "CONTENT_BLOCK_DELTA": "content_block:delta",
    "CONTENT_BLOCK_END": "content_block:end",
    "THINKING_DELTA": "thinking:delta",
    "THINKING_FINAL": "thinking:final",
    "TOOL_PRE": "tool:pre",
    "TOOL_POST": "tool:post",
    "TOOL_ERROR": "tool:error",
    "CONTEXT_PRE_COMPACT": "context:pre_compact",
    "CONTEXT_POST_COMPACT": "context:post_compact",
    "CONTEXT_COMPACTION": "context:compaction",
    "CONTEXT_INCLUDE": "context:include",
    "ORCHESTRATOR_COMPLETE": "orchestrator:complete",
    "EXECUTION_START": "execution:start",
    "EXECUTION_END": "execution:end",
    "USER_NOTIFICATION": "user:notification",
    "ARTIFACT_WRITE": "artifact:write",
    "ARTIFACT_READ": "artifact:read",
    "POLICY_VIOLATION": "policy:violation",
    "APPROVAL_REQUIRED": "approval:required",
    "APPROVAL_GRANTED": "approval:granted",
    "APPROVAL_DENIED": "approval:denied",
    "CANCEL_REQUESTED": "cancel:requested",
    "CANCEL_COMPLETED": "cancel:completed",
    "MODULE_ON_SESSION_READY_FAILED": "module:on_session_ready_failed",
    "MODULE_LOAD_FAILED": "module:load_failed",
}


def test_all_events_lists_every_name_in_order() -> None:
    """ALL_EVENTS is a plain list of the 43 values in their published order, without duplicates."""
    assert type(events.ALL_EVENTS) is list
    assert list(IN_ORDER.values()) == events.ALL_EVENTS
    assert len(set(events.ALL_EVENTS)) == 43


def test_module_has_no_other_upper_case_names() -> None:
    """The upper-case names of the module are the constants and ALL_EVENTS, nothing else."""
    constants = {name: value for name, value in vars(events).items() if name.isupper()}
    assert constants == {**IN_ORDER, "ALL_EVENTS": events.ALL_EVENTS}


def test_values_have_one_colon_and_are_lower_case() -> None:
    """An event name is a domain and an event with one colon between them, in lower case."""
    assert [value for value in events.ALL_EVENTS if value.count(":") != 1 or value != value.lower()] == []
