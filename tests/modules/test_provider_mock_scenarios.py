"""Scenarios: scripts in YAML files, and what is told about one that is wrong."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from amplifier_core.llm_errors import RateLimitError
from amplifier_core.message_models import ChatRequest, Message, TextBlock, ToolCall, Usage
from amplifier_core.testing import FakeClock, TestCoordinator
from amplifier_module_provider_mock import mount
from amplifier_module_provider_mock.errors import ScriptError, ScriptFormatError
from amplifier_module_provider_mock.provider import MockProvider

REQUEST = ChatRequest(messages=[Message(role="user", content="Throw!")])


def write(folder: Path, text: str) -> Path:
    """A scenario file with ``text``."""
    file = folder / "play.yaml"
    file.write_text(dedent(text), encoding="utf-8")
    return file


async def test_a_scenario_plays_a_whole_conversation(tmp_path: Path) -> None:
    """Steps of every kind come in order; the file names the model; after the last one there is an error."""
    file = write(
        tmp_path,
        """\
        name: dice
        description: a throw with trouble
        model: dice-1
        steps:
          - expect: {last_role: user, contains: Throw, message_count: 1}
            thinking: I need a die.
            signature: s
            tool_calls:
              - {name: dice, arguments: {sides: 6}, id: throw}
            usage: {input_tokens: 5, output_tokens: 6, cost_usd: 0.01}
          - error: {type: RateLimitError, message: slow down, retry_after: 2}
          - text: "{{result.throw.eyes}} eyes"
            delay_s: 1.5
            chunks: 3
          - done
        """,
    )
    provider = MockProvider(scenario=file, clock=FakeClock())
    first = await provider.complete(REQUEST)
    assert first.tool_calls == [ToolCall(id="throw", name="dice", arguments={"sides": 6})]
    assert first.usage == Usage.model_validate(
        {"input_tokens": 5, "output_tokens": 6, "total_tokens": 11, "cost_usd": "0.01"}
    )
    with pytest.raises(RateLimitError, match="slow down"):
        await provider.complete(REQUEST)
    result = Message(role="tool", content='{"eyes": 4}', tool_call_id="throw")
    assert (await provider.complete(ChatRequest(messages=[result]))).content == [TextBlock(text="4 eyes")]
    assert (await provider.complete(REQUEST)).content == [TextBlock(text="done")]
    with pytest.raises(ScriptError) as caught:
        await provider.complete(REQUEST)
    assert str(caught.value) == (
        f"Scenario {file} has 4 answers; this is call 5. The last message is from 'user': 'Throw!'. "
        "Add an answer, or set at_end to 'repeat' or 'last'."
    )
    assert provider.get_info().defaults["model"] == "dice-1"
    assert MockProvider(scenario=file, model="mine").get_info().defaults["model"] == "mine"


async def test_a_scenario_that_is_not_as_expected_names_file_and_step(tmp_path: Path) -> None:
    """Which step of which file did not go as written."""
    file = write(tmp_path, "steps: [{text: a, expect: {message_count: 2}}]")
    with pytest.raises(ScriptError) as caught:
        await MockProvider(scenario=file).complete(REQUEST)
    assert str(caught.value) == (
        f"Step 1 of scenario {file} expected message_count 2, got 1. The last message is from 'user': 'Throw!'."
    )


async def test_a_relative_path_is_looked_up_where_the_session_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the working directory of the session, else of the process; an absolute one stays."""
    write(tmp_path, "steps: [found]")
    (tmp_path / "elsewhere").mkdir()
    working = TestCoordinator()
    working.register_capability("session.working_dir", str(tmp_path))
    await mount(working, {"scenario": "play.yaml"})
    monkeypatch.chdir(tmp_path)
    await mount(TestCoordinator(), {"scenario": "play.yaml"})
    monkeypatch.chdir(tmp_path / "elsewhere")
    await mount(TestCoordinator(), {"scenario": str(tmp_path / "play.yaml"), "at_end": "last"})
    with pytest.raises(ScriptFormatError, match="Scenario play.yaml cannot be read"):
        await mount(TestCoordinator(), {"scenario": "play.yaml"})


WRONG = [
    ("", ": must be a mapping with the key 'steps', got NoneType"),
    ("- a", ": must be a mapping with the key 'steps', got list"),
    ("name: x", ", key 'steps': is missing"),
    ("steps: text", ", key 'steps': Input should be a valid list (given: str)"),
    ("steps: [a]\nnam: x", ", key 'nam': nobody reads it; did you mean 'name'?"),
    ("steps: [a]\nmodel: 3", ", key 'model': Input should be a valid string (given: int)"),
]


@pytest.mark.parametrize(("text", "complaint"), WRONG)
def test_a_wrong_file_is_told_with_the_key(tmp_path: Path, text: str, complaint: str) -> None:
    """The message names the file, the key and what is expected there."""
    file = write(tmp_path, text)
    with pytest.raises(ScriptFormatError) as caught:
        MockProvider(scenario=file)
    assert str(caught.value) == f"Scenario {file}{complaint}"


_PARTS = "text, thinking, tool_calls, chunks, blocks, error, break_after, finish_reason"
WRONG_STEPS: list[tuple[str, str]] = [
    ("3", ": must be a text or a mapping, got int; texts may need quotes"),
    ("{}", f": says nothing; give one of: {_PARTS}"),
    ("{delay_s: 1, tool_calls: []}", f": says nothing; give one of: {_PARTS}"),
    ("{text: }", f": says nothing; give one of: {_PARTS}"),
    ("{txt: a}", ", key 'txt': nobody reads it; did you mean 'text'?"),
    (
        "{text: a, foo: 1}",
        ", key 'foo': nobody reads it; known are expect, delay_s, thinking, signature, text, tool_calls, blocks, "
        "chunks, break_after, error, usage, finish_reason",
    ),
    ("{text: 1}", ", key 'text': Input should be a valid string (given: int)"),
    ("{text: a, delay_s: -1}", ", key 'delay_s': Input should be greater than or equal to 0 (given: int)"),
    ("{text: a, delay_s: .inf}", ", key 'delay_s': Input should be a finite number (given: float)"),
    ("{text: a, signature: s}", ": has a 'signature' without the 'thinking' that it signs"),
    (
        "{text: a, chunks: 0}",
        ", key 'chunks': must be the number of characters per piece, or the list of pieces (given: int)",
    ),
    (
        "{chunks: [a, 1]}",
        ", key 'chunks': must be the number of characters per piece, or the list of pieces (given: list)",
    ),
    (
        "{chunks: x}",
        ", key 'chunks': must be the number of characters per piece, or the list of pieces (given: str)",
    ),
    ("{text: ab, chunks: [a]}", ": has 'chunks' that do not make up its 'text'; leave 'text' out"),
    ("{tool_calls: [{arguments: {}}]}", ", key 'tool_calls.0.name': is missing"),
    ("{tool_calls: [{nam: a}]}", ", key 'tool_calls.0.name': is missing"),
    (
        "{tool_calls: [{name: a, arguments: 3}]}",
        ", key 'tool_calls.0.arguments': must be a mapping whose keys are texts, or the raw text of one that the model "
        "got wrong (given: int)",
    ),
    (
        "{tool_calls: [{name: a, arguments: {1: 2}}]}",
        ", key 'tool_calls.0.arguments': must be a mapping whose keys are texts, or the raw text of one that the model "
        "got wrong (given: dict)",
    ),
    (
        "{usage: {cost_usd: much}, text: a}",
        ", key 'usage.cost_usd': must be an amount of money such as 0.01 (given: str)",
    ),
    ("{expect: {contain: a}, text: a}", ", key 'expect.contain': nobody reads it; did you mean 'contains'?"),
    ("{expect: {contains: 1}, text: a}", ", key 'expect.contains': must be a text or a list of texts (given: int)"),
    (
        "{blocks: [{type: text}]}",
        ", key 'blocks': must be a list of content blocks; 0.text.text: Field required (given: list)",
    ),
    (
        "{blocks: [{type: text, text: a}], text: b}",
        ": has 'blocks', which are the whole answer; leave out text, thinking, tool_calls, chunks",
    ),
    ("{error: {message: x}}", ", key 'error.type': is missing"),
    (
        "{error: {type: ValueError, retry_after: 3}}",
        ", key 'error': ValueError cannot be made of a message and ['retry_after']: ValueError() takes no keyword "
        "arguments (given: dict)",
    ),
]


@pytest.mark.parametrize(("step", "complaint"), WRONG_STEPS)
def test_a_wrong_step_is_told_with_its_number_and_key(tmp_path: Path, step: str, complaint: str) -> None:
    """The message names the file, the step, the key and what is expected there."""
    file = write(tmp_path, f"steps:\n- fine\n- {step}\n")
    with pytest.raises(ScriptFormatError) as caught:
        MockProvider(scenario=file)
    assert str(caught.value).split("; Step 2")[0] == f"Step 2 of scenario {file}{complaint}"


@pytest.mark.parametrize("name", ["RateLimitErr", "int", "os", "ExceptionGroup"])
def test_an_error_class_that_does_not_exist_is_answered_with_those_that_do(tmp_path: Path, name: str) -> None:
    """Nothing but exceptions that a message is enough for can be played."""
    file = write(tmp_path, f"steps: [{{error: {{type: {name}}}}}]")
    with pytest.raises(ScriptFormatError) as caught:
        MockProvider(scenario=file)
    expected = (
        "ExceptionGroup cannot be made of a message and []"
        if name == "ExceptionGroup"
        else f"there is no error class '{name}'; known are AbortError, AccessDeniedError, "
    )
    assert str(caught.value).startswith(f"Step 1 of scenario {file}, key 'error': {expected}")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("steps: [", "while parsing a flow node"),
        ("steps: [a]\nsteps: [b]", "key 'steps' is there twice"),
        ("steps: [!!python/object:os.system {}]", "could not determine a constructor for the tag"),
    ],
)
def test_what_is_no_yaml_is_told_with_the_line(tmp_path: Path, text: str, complaint: str) -> None:
    """Nothing is loaded that is no plain data, and no key is dropped."""
    file = write(tmp_path, text)
    with pytest.raises(ScriptFormatError) as caught:
        MockProvider(scenario=file)
    told = str(caught.value)
    assert (told.startswith(f"Scenario {file} is no valid YAML: "), complaint in told, "line " in told) == (True,) * 3


def test_a_file_that_is_not_there_or_no_text_is_told(tmp_path: Path) -> None:
    """With the reason and what is wanted."""
    with pytest.raises(
        ScriptFormatError, match="cannot be read: .*No such file.*Give the path of a YAML file in UTF-8"
    ):
        MockProvider(scenario=tmp_path / "gone.yaml")
    (tmp_path / "play.yaml").write_bytes(b"steps: [\xff]")
    with pytest.raises(ScriptFormatError, match="cannot be read: 'utf-8' codec.*Give the path of a YAML file"):
        MockProvider(scenario=tmp_path / "play.yaml")


@pytest.mark.parametrize("settings", [{"responses": []}, {"script": [], "at_end": "last"}])
def test_a_script_that_goes_on_needs_something_to_go_on_with(settings: dict[str, Any]) -> None:
    """An empty script may only end with an error."""
    with pytest.raises(ScriptFormatError, match="has no answer, and at_end is '(repeat|last)'; give at least one"):
        MockProvider(**settings)
