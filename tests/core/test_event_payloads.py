"""The event catalogue: every event has one payload type, described field by field, and a JSON Schema."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

import amplifier_core
from amplifier_core import event_payloads
from amplifier_core.correlation import INTERIM_EVENTS, REQUEST_EVENTS, TERMINAL_EVENTS
from amplifier_core.event_payloads import PAYLOADS, catalogue_schema, payload_schema
from amplifier_core.events import ALL_EVENTS
from amplifier_core.kernel_events import KERNEL_EVENTS


class Opaque:
    """An object that no JSON can hold."""


FAILURE = {"type": "OSError", "msg": "no such file"}
CALL = {"provider": "anthropic", "model": "m-1"}
TOOL = {"tool_name": "bash", "tool_call_id": "c1", "parallel_group_id": "g1"}

SAMPLES: dict[str, dict[str, Any]] = {
    "session:start": {"session_id": "s", "parent_id": None, "config": {"session": {}}, "metadata": {"a": 1}, "raw": {}},
    "session:end": {"session_id": "s", "status": "completed", "stats": {"session_id": "s", "total_messages": 2}},
    "session:fork": {"parent": "p", "session_id": "s", "parent_id": "p"},
    "session:resume": {"session_id": "s", "parent_id": "p", "config": {"session": {}}},
    "prompt:submit": {"prompt": "hello"},
    "prompt:complete": {"response_preview": "hi", "length": 2},
    "plan:start": {"prompt": "hello"},
    "plan:end": {"plan": Opaque()},
    "provider:request": {**CALL, "messages": [{"role": "user", "content": "hi"}, Opaque()], "iteration": 1},
    "provider:response": {"provider": "anthropic", "response": Opaque(), "usage": Opaque(), "tool_calls": True},
    "provider:retry": {
        **CALL,
        "attempt": 1,
        "max_retries": 5,
        "delay": 1.5,
        "retry_after": None,
        "error_type": "RateLimitError",
        "error_message": "slow down",
    },
    "provider:error": {**CALL, "error": FAILURE, "status_code": 500, "retryable": True},
    "provider:throttle": {**CALL, "delay": 0.5, "reason": "input tokens", "request_id": "r"},
    "provider:tool_sequence_repaired": {"provider": "openai", "repair_count": 1, "repairs": [{"tool_call_id": "c1"}]},
    "provider:resolve": {**CALL, "candidates": ["anthropic", "openai"], "reason": "lowest priority"},
    "llm:request": {**CALL, "message_count": 3, "has_system": True, "thinking_enabled": False, "raw": Opaque()},
    "llm:response": {
        **CALL,
        "status": "ok",
        "duration_ms": 12.5,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": None, "cost_usd": "0.000012"},
        "rate_limits": {"requests_remaining": 4},
    },
    "content_block:start": {"block_type": "text", "block_index": 0, "total_blocks": 2},
    "content_block:delta": {"block_index": 0, "text": "he", "sequence": 0},
    "content_block:end": {"block_type": "text", "block_index": 0, "total_blocks": 2, "block": Opaque(), "usage": None},
    "thinking:delta": {"text": "hm", "block_index": 0},
    "thinking:final": {"text": "hmm"},
    "tool:pre": {**TOOL, "tool_input": {"command": "ls"}},
    "tool:post": {**TOOL, "tool_input": {"command": "ls"}, "tool_result": Opaque(), "result": Opaque()},
    "tool:error": {**TOOL, "tool_input": {"command": "ls"}, "error": FAILURE},
    "context:pre_compact": {"message_count": 100, "token_count": 200_000, "messages": [Opaque()]},
    "context:post_compact": {"message_count": 40, "token_count": 90_000},
    "context:compaction": {
        "before_tokens": 200_000,
        "after_tokens": 90_000,
        "before_messages": 100,
        "after_messages": 40,
        "strategy_level": 3,
        "protected_recent": 0.3,
    },
    "context:include": {"source": "NOTES.md", "bytes": 12},
    "orchestrator:complete": {"orchestrator": "loop-basic", "turn_count": 2, "status": "success"},
    "execution:start": {"prompt": "hello"},
    "execution:end": {"response": "hi", "status": "completed"},
    "user:notification": {"message": "Done", "level": "info", "source": "hooks-notify"},
    "artifact:write": {"path": "a.txt", "bytes": 3},
    "artifact:read": {"path": "a.txt", "bytes": 3},
    "policy:violation": {"reason": "writes outside the project", "policy": "paths", "tool_name": "write_file"},
    "approval:required": {"tool_name": "bash", "action": "run rm -r build", "risk_level": "high"},
    "approval:granted": {"tool_name": "bash", "reason": None},
    "approval:denied": {"tool_name": "bash", "reason": "User denied"},
    "cancel:requested": {"was_immediate": False, "running_tools": ["bash"]},
    "cancel:completed": {"was_immediate": True, "error": "stopped"},
    "module:on_session_ready_failed": {"module_id": "tool-x", "error": "boom"},
    "module:load_failed": {
        "module_type": "provider",
        "module_id": "provider-x",
        "error": "boom",
        "reason_code": "unknown",
        "instance_id": "second",
    },
    "session:config": {"session_id": "s", "raw": {"session": {}}},
    "module:config_unknown": {"module_id": "tool-x", "key": "timout", "nearest": "timeout"},
    "module:cleanup_failed": {"error": "boom", "callable": "close"},
}

ADAPTERS = {event: TypeAdapter[Any](payload) for event, payload in PAYLOADS.items()}

EMITTER = r"(the kernel|the orchestrator|the provider|the context manager|the app|a tool|a hook|any module)"


def fields_of(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field of a schema, those of nested objects included."""
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        for nested in (field, *field.get("anyOf", [])):
            yield from fields_of(nested, f"{path}.{name}")


def validate(event: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The payload as its type sees it."""
    return ADAPTERS[event].validate_python(payload)


def test_every_event_has_exactly_one_payload() -> None:
    """The catalogue holds the canonical events and the kernel's own, in their order, each with a type of its own."""
    assert list(PAYLOADS) == [*ALL_EVENTS, *KERNEL_EVENTS]
    assert len(set(PAYLOADS.values())) == len(PAYLOADS)


def test_a_payload_is_named_after_its_event() -> None:
    """Whoever knows an event's name knows the name of its type, and can import it from the package."""
    named = {event: "".join(word.capitalize() for word in re.split("[:_]", event)) for event in PAYLOADS}
    assert {event: payload.__name__ for event, payload in PAYLOADS.items()} == named
    assert {name: getattr(event_payloads, name) for name in named.values()} == {
        p.__name__: p for p in PAYLOADS.values()
    }
    assert set(named.values()) <= set(event_payloads.__all__)


def test_every_exported_name_exists() -> None:
    """What the package lists as public is there."""
    assert [name for name in event_payloads.__all__ if not hasattr(event_payloads, name)] == []


def test_every_payload_says_who_emits_it_and_when() -> None:
    """The first line of a payload's docstring reads `Emitted by <who>: <when>.`."""
    form = re.compile(rf"Emitted by {EMITTER}( or {EMITTER})?: [^\n]+\.(\n|$)")
    assert [event for event in PAYLOADS if not form.match(payload_schema(event)["description"])] == []


def test_every_field_is_described_in_one_sentence() -> None:
    """Each field, also of a nested object, has one sentence that begins with a capital and ends with a full stop."""
    sentence = re.compile(r"[A-Z][^\n]*[^.\s]\.")
    fields = [pair for event, schema in catalogue_schema().items() for pair in fields_of(schema, event)]
    told = {path: field.get("description", "") for path, field in fields}
    assert len(told) > len(PAYLOADS)
    assert {path: text for path, text in told.items() if not sentence.fullmatch(text) or ". " in text} == {}


@pytest.mark.parametrize("event", PAYLOADS)
def test_a_schema_describes_an_open_object_without_references(event: str) -> None:
    """A schema is a complete draft 2020-12 document: an object with properties, of which the required ones exist."""
    schema = payload_schema(event)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is True
    assert schema["title"] == PAYLOADS[event].__name__
    assert set(schema.get("required", [])) <= set(schema["properties"])
    assert "$ref" not in json.dumps(schema)
    assert "$defs" not in schema


def test_the_schema_of_one_payload_is_as_expected() -> None:
    """A whole schema, field by field: defaults are optional, nested objects stand in place."""
    schema = payload_schema("tool:error")
    error = schema["properties"].pop("error")
    assert (sorted(schema["properties"]), sorted(schema["required"])) == (
        [
            "duration_ms",
            "parallel_group_id",
            "parent_id",
            "session_id",
            "timestamp",
            "tool_call_id",
            "tool_input",
            "tool_name",
        ],
        ["error", "tool_name"],
    )
    assert schema["properties"]["tool_name"] == {"type": "string", "description": "Name of the tool."}
    assert (error["type"], error["required"], error["description"]) == ("object", ["type", "msg"], "What went wrong.")


def test_required_fields_of_schema_and_type_agree() -> None:
    """What the type checker demands is what the schema demands."""
    demanded = {event: set(vars(payload)["__required_keys__"]) for event, payload in PAYLOADS.items()}
    assert {event: set(schema.get("required", [])) for event, schema in catalogue_schema().items()} == demanded


def test_the_catalogue_schema_holds_every_payload_schema_as_json() -> None:
    """One JSON document, keyed by event, holds them all."""
    catalogue = catalogue_schema()
    assert json.loads(json.dumps(catalogue)) == {event: payload_schema(event) for event in PAYLOADS}


def test_there_is_a_sample_of_every_payload() -> None:
    """No event is left out of the tests below."""
    assert list(SAMPLES) == list(PAYLOADS)


@pytest.mark.parametrize("event", SAMPLES)
def test_a_real_payload_validates_unchanged(event: str) -> None:
    """What an emitter sends, and what a handler receives with the default fields, fits the type."""
    received = {"session_id": "s", "parent_id": None, "timestamp": "2030-01-01T00:00:00+00:00"} | SAMPLES[event]
    assert validate(event, SAMPLES[event]) == SAMPLES[event]
    assert validate(event, received) == received


@pytest.mark.parametrize("event", SAMPLES)
def test_a_payload_without_a_required_field_is_refused(event: str) -> None:
    """Each required field is really required."""
    for missing in payload_schema(event).get("required", []):
        with pytest.raises(ValidationError, match=missing):
            validate(event, {name: value for name, value in SAMPLES[event].items() if name != missing})


def test_objects_pass_by_identity() -> None:
    """A tool result, a response, a message: any Python object is accepted and stays the same object."""
    thing = Opaque()
    post = validate("tool:post", {"tool_name": "t", "tool_input": {"thing": thing}, "tool_result": thing})
    response = validate("provider:response", {"provider": "p", "response": thing, "usage": thing})
    request = validate("provider:request", {"provider": "p", "model": None, "messages": [thing]})
    found = [
        post["tool_input"]["thing"],
        post["tool_result"],
        response["response"],
        response["usage"],
        request["messages"][0],
    ]
    assert all(value is thing for value in found)


@given(
    event=st.sampled_from(list(SAMPLES)), extra=st.dictionaries(st.text(min_size=1).map("x-".__add__), st.integers())
)
def test_further_fields_are_kept(event: str, extra: dict[str, int]) -> None:
    """A module may add fields of its own to any event."""
    assert validate(event, SAMPLES[event] | extra) == SAMPLES[event] | extra


def test_correlated_events_are_those_with_a_request_id() -> None:
    """The id of a model call is documented on exactly the events that the registry puts it on."""
    documented = {event for event, schema in catalogue_schema().items() if "request_id" in schema["properties"]}
    assert documented == REQUEST_EVENTS | TERMINAL_EVENTS | INTERIM_EVENTS


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("tool:pree", " Did you mean 'tool:pre'?"),
        ("context:precompact", " Did you mean 'context:pre_compact'?"),
        ("", ""),
    ],
)
def test_an_unknown_event_is_refused_with_the_nearest_name(asked: str, hint: str) -> None:
    """The error names the event, the one probably meant, and where to look."""
    with pytest.raises(ValueError, match="No payload is catalogued") as refused:
        payload_schema(asked)
    assert str(refused.value) == (
        f"No payload is catalogued for the event '{asked}'.{hint} The catalogue holds the canonical events and the "
        "kernel's own (amplifier_core.event_payloads.PAYLOADS); a module's own events are in its documentation."
    )


def test_no_other_kernel_file_imports_the_catalogue() -> None:
    """A session starts without it: only people, editors and tools import the payload types."""
    root = Path(str(amplifier_core.__file__)).parent
    others = [path for path in root.rglob("*.py") if "event_payloads" not in path.parts]
    assert others
    assert [path.name for path in others if imports_the_catalogue(path)] == []


def imports_the_catalogue(path: Path) -> bool:
    """Whether a file imports the package, at its top or inside a function."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    modules += [f"{node.module}.{a.name}" for node in nodes if isinstance(node, ast.ImportFrom) for a in node.names]
    return any(name.startswith("amplifier_core.event_payloads") for name in modules)
