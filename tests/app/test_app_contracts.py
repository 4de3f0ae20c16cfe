"""The JSON of a run is what its published schemas say: answers, tools, children, refusals, limits and failures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.app.command import Command, Result
from tests.app.run_world import calls, write_bundle

from amplifier import problems
from amplifier.console.results import SCHEMA_VERSION
from amplifier.problems import EXIT_CODES, Problem

pytestmark = pytest.mark.slow

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
RESULT = json.loads((SCHEMAS / "run-result.schema.json").read_text(encoding="utf-8"))
LINE = json.loads((SCHEMAS / "stream-json.schema.json").read_text(encoding="utf-8"))
FILES: dict[str, Any] = {"tools": [{"module": "tool-filesystem"}], "hooks": [{"module": "hooks-approval"}]}
WRITE = calls(("write_file", {"file_path": "note.txt", "content": "hi"}))
READ = calls(("read_file", {"file_path": "."}))
TASK = calls(("task", {"agent": "painter", "instruction": "Which colour?"}))
CHILDREN: dict[str, Any] = {
    "tools": [{"module": "tool-task"}, {"module": "tool-filesystem"}],
    "agents": {
        "painter": {
            "description": "Paints.",
            "instruction": "You paint.",
            "providers": [{"module": "provider-mock", "config": {"script": ["Red."]}}],
        }
    },
}
PRICED = {"text": "Done.", "usage": {"input_tokens": 9, "output_tokens": 1, "cost_usd": "0.25"}}
FAILING = {"error": {"type": "AuthenticationError", "message": "bad key"}}
THINKING = {"thinking": "Let me see.", "text": "It is red."}

CASES: dict[str, tuple[list[Any], dict[str, Any], tuple[str, ...], int]] = {
    "an answer": (["It is red."], {}, (), 0),
    "thoughts": ([THINKING], {}, (), 0),
    "a price": ([PRICED], {"hooks": [{"module": "hooks-cost"}]}, (), 0),
    "tools": ([WRITE, "Done."], FILES, ("--permission-mode", "bypass"), 0),
    "a refusal": ([WRITE, "I could not."], FILES, (), 0),
    "a tool that is not there": ([calls(("no_such_tool", {})), "Done."], FILES, (), 0),
    "a child": ([TASK, "It said red."], CHILDREN, (), 0),
    "a limit": ([READ, READ, "Never."], FILES, ("--max-turns", "1"), 53),
    "a time-out": ([{"text": "late", "delay_s": 60}], {}, ("--timeout", "0.2"), 124),
    "a provider that fails": ([FAILING], {}, (), 69),
    "an answer that does not fit": (["no", "no", "no"], {}, ("--json-schema", '{"type": "array"}'), 1),
    "a bundle that is not there": ([], {}, ("-B", "nowhere"), 78),
    "a session that is not there": ([], {}, ("--resume", "nobody"), 66),
}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, monkeypatch, capsys)


def objects(result: Result) -> list[dict[str, Any]]:
    """The lines of standard output."""
    return [json.loads(line) for line in result.out.splitlines()]


def require_valid(schema: dict[str, Any], value: Any) -> None:
    """Raises for a value that does not fit, and says where."""
    jsonschema_rs.validator_for(schema).validate(value)


@pytest.mark.parametrize("case", CASES)
def test_every_way_a_run_ends_fits_the_schemas(command: Command, case: str) -> None:
    """One object, that with a trace, or lines; the exit code of the process is the one in the result."""
    script, sections, options, code = CASES[case]
    bundle = write_bundle(command.work, script, **sections)
    for kind in ("json", "json-trace", "stream-json"):
        result = command("run", "go", "-B", bundle, "--output-format", kind, "--include-partial-messages", *options)
        lines = objects(result)
        for line in lines:
            require_valid(LINE, line)
        require_valid(RESULT, lines[-1])
        assert (case, kind, result.code, lines[-1]["exit_code"]) == (case, kind, code, code)
        assert (lines[-1]["error"] is None) == (code == 0)
        assert kind == "stream-json" or len(lines) == 1


def test_a_stream_tells_what_happens_in_order(command: Command) -> None:
    """First the session, then what was said and done, a child's lines with its parent, at last the result."""
    bundle = write_bundle(command.work, [TASK, "It said red."], **CHILDREN)
    lines = objects(command("run", "go", "-B", bundle, "--output-format", "stream-json"))
    told = [(line["type"], line.get("parent_id") is not None) for line in lines]
    assert told == [
        ("init", False),
        ("message", False),
        ("tool_use", False),
        ("message", True),
        ("message", True),
        ("tool_result", False),
        ("message", False),
        ("result", False),
    ]
    assert lines[0]["tools"] == sorted(lines[0]["tools"])


def test_schemas_are_schemas_and_know_every_kind_of_problem() -> None:
    """They are valid themselves; versions, kinds and exit codes are those of the code."""
    for schema in (RESULT, LINE):
        jsonschema_rs.meta.validate(schema)
    assert (
        RESULT["properties"]["version"]["const"] == SCHEMA_VERSION == LINE["oneOf"][0]["properties"]["version"]["const"]
    )
    classes = [each for each in vars(problems).values() if isinstance(each, type) and issubclass(each, Problem)]
    kinds = RESULT["properties"]["error"]["oneOf"][1]["properties"]["type"]["enum"]
    assert {each.kind for each in classes} <= set(kinds)
    assert {each.exit_code for each in classes} <= set(EXIT_CODES)
