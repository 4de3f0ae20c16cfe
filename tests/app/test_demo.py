"""The demo turn: the standard modules, found by their ids, with a scripted model and a real tool."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from amplifier.__main__ import main
from amplifier.demo import turn
from amplifier.demo.tool import CountLinesTool
from amplifier.demo.transcript import Transcript
from amplifier.demo.turn import mount_plan, run_turn
from amplifier_core.events import (
    CONTENT_BLOCK_END,
    CONTENT_BLOCK_START,
    PROMPT_COMPLETE,
    PROMPT_SUBMIT,
    TOOL_ERROR,
    TOOL_PRE,
)
from amplifier_core.hooks import HookRegistry
from amplifier_core.models import HookResult
from amplifier_core.session import AmplifierSession

REPORT = """
report  mounted: orchestrator loop-streaming
report  mounted: context context-simple
report  mounted: provider provider-mock as mock
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with three lines of Python in two files and one of Markdown, as the current one."""
    (tmp_path / "one.py").write_text("a\nb\n", encoding="utf-8")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "two.py").write_text("no newline at the end", encoding="utf-8")
    (tmp_path / "inner" / "read.md").write_text("#\n", encoding="utf-8")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "three.py").write_text("hidden\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def told(prompt: str) -> list[str]:
    """The lines of a turn; those that run side by side, in the order of the alphabet."""
    written: list[str] = []
    assert await run_turn(prompt, written.append) is True
    lines = "".join(written).split("\n")
    return [*lines[:7], *sorted(lines[7:9]), *lines[9:]]


def counted(directory: str, suffix: str, summary: str, *largest: tuple[str, int]) -> str:
    """A result of the tool as the transcript shows it, which is cut at its end."""
    lines = sum(count for _, count in largest)
    facts = {"directory": directory, "suffix": suffix, "files": len(largest), "lines": lines}
    named = [{"name": name, "lines": count} for name, count in largest]
    text = json.dumps({**facts, "largest": named, "summary": summary})
    return f"result  {text if len(text) <= 160 else f'{text[:160]}…'}"


async def test_a_turn_takes_three_calls_one_of_which_fails(tree: Path) -> None:
    """The transcript has every step in order, texts with the number of their pieces, and the load report."""
    prompt = "How many lines of Python are here?"
    complaint = f"'{prompt}' is no directory and names none that exists; take '.'"
    code = "2 .py files with 3 lines, the largest: one.py (2), inner/two.py (1)"
    docs = "1 .md file with 1 line, the largest: inner/read.md (1)"
    assert await told(prompt) == [
        f"prompt  {prompt}",
        "think   The tool wants a directory and I have a question. I hand it over as it is and see what the tool says."
        "  [7 pieces]",
        f'call    count_lines {{"path": "{prompt}"}}',
        f"failed  {json.dumps({'directory': '.', 'summary': complaint})}",
        "think   The directory to look into is '.'. I count code and documentation there, side by side.  [6 pieces]",
        'call    count_lines {"path": ".", "suffix": ".py"}',
        'call    count_lines {"path": ".", "suffix": ".md"}',
        counted(".", ".md", docs, ("inner/read.md", 1)),
        counted(".", ".py", code, ("one.py", 2), ("inner/two.py", 1)),
        f"answer  You asked: \"{prompt}\" Below '.' there are {code}; and {docs}. "
        "(Scripted answer: no model was asked.)  [15 pieces]",
        "end     success, after 3 model calls",
        *REPORT.split("\n"),
    ]


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        (
            "How much is in inner?",
            "Below 'inner' there are 1 .py file with 1 line, the largest: two.py (1); and 1 .md",
        ),
        ("inner", "Below 'inner' there are 1 .py file with 1 line, the largest: two.py (1); and 1 .md"),
        ("How much is in nowhere?", "Below '.' there are 2 .py files with 3 lines"),
        ("How much is in\n{inner} and {{tool.x}}?", "Below 'inner' there are 1 .py file"),
        ("x" * 5000, "Below '.' there are 2 .py files"),
        ("\udcff and \x07", "Below '.' there are 2 .py files"),
    ],
)
async def test_what_is_asked_decides_what_is_counted(tree: Path, prompt: str, answer: str) -> None:
    """The first directory that the prompt names, or the current one; the answer quotes the prompt as it is."""
    written: list[str] = []
    assert await run_turn(prompt, written.append) is True
    said = "".join(written).partition("\nanswer  ")[2]
    assert said.startswith(f'You asked: "{prompt}" {answer}')


async def test_a_directory_without_such_files_is_told_in_words(tree: Path) -> None:
    """Nothing to count is no error."""
    (tree / "empty").mkdir()
    lines = await told("What is in empty?")
    assert lines[9].startswith(
        "answer  You asked: \"What is in empty?\" Below 'empty' there are no .py files; and no .md files. "
    )


async def test_every_call_of_the_conversation_has_its_result(tree: Path) -> None:
    """The context holds prompt, calls, results and answer, joined by the ids of the calls."""
    async with AmplifierSession(mount_plan()) as session:
        session.coordinator.mount("tools", CountLinesTool())
        await session.execute("count")
        messages = await session.coordinator.get("context").get_messages()
    told = [(message["role"], message.get("tool_call_id")) for message in messages]
    assert told == [
        ("user", None),
        ("assistant", None),
        ("tool", "guess"),
        ("assistant", None),
        ("tool", "code"),
        ("tool", "docs"),
        ("assistant", None),
    ]


async def test_an_answer_that_did_not_stream_is_told_at_the_end(tree: Path) -> None:
    """A turn that a hook refuses has an answer as well, and the transcript ends with its session."""
    written: list[str] = []
    async with AmplifierSession(mount_plan()) as session:
        hooks = session.coordinator.hooks
        stop = Transcript(written.append).watch(hooks)
        hooks.register(PROMPT_SUBMIT, lambda *_: HookResult(action="deny", reason="not today"))
        await session.execute("count")
        stop()
        await session.execute("count")
    assert "".join(written) == ("prompt  count\nanswer  Denied: not today\nend     incomplete, after 0 model calls\n")


async def test_a_tool_that_raises_has_a_line_of_its_own() -> None:
    """What happened is told with the tool's name; blocks that have no text are left out."""
    written: list[str] = []
    hooks = HookRegistry()
    Transcript(written.append).watch(hooks)
    await hooks.emit(TOOL_PRE, {"tool_name": "count_lines", "tool_input": {}})
    await hooks.emit(TOOL_ERROR, {"tool_name": "count_lines", "error": {"type": "OSError", "msg": "disk on\nfire"}})
    for event in (CONTENT_BLOCK_START, CONTENT_BLOCK_END):
        await hooks.emit(event, {"block_type": "tool_call", "block_index": 0})
    await hooks.emit(PROMPT_COMPLETE, {"response": ""})
    assert written == ["call    count_lines {}\n", "error   count_lines: disk on fire\n"]


async def test_the_tool_refuses_what_is_no_text(tree: Path) -> None:
    """A wrong argument is a failed result with a sentence, not an exception."""
    result = await CountLinesTool().execute({"path": 3})
    message = "'path' and 'suffix' must be strings, got 3 and '.py'"
    assert (result.success, result.error) == (False, {"message": message})


def test_the_tool_offers_its_arguments_to_the_model() -> None:
    """Both have a default."""
    properties: dict[str, Any] = CountLinesTool().input_schema["properties"]
    assert {name: each["default"] for name, each in properties.items()} == {"path": ".", "suffix": ".py"}


def test_the_command_runs_a_turn(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``amplifier PROMPT`` prints the transcript and ends with 0."""
    assert main(["Count, please"]) == 0
    shown = capsys.readouterr()
    assert (shown.out.startswith("prompt  Count, please\n"), shown.out.endswith(REPORT), shown.err) == (True, True, "")


def test_the_command_refuses_an_empty_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is run for nothing; the message says what to do."""
    with pytest.raises(SystemExit) as caught:
        main([" "])
    assert caught.value.code == 2
    assert "the prompt is empty: say what to do" in capsys.readouterr().err


def test_the_command_refuses_an_unknown_flag(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the flag and shows what there is."""
    with pytest.raises(SystemExit) as caught:
        main(["--fast"])
    told = capsys.readouterr().err
    assert (caught.value.code, "usage: amplifier" in told, "unrecognized arguments: --fast" in told) == (2, True, True)


def test_the_command_tells_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    """``--version`` names the distribution's version."""
    assert (main(["--version"]), capsys.readouterr().out) == (0, "amplifier 3.0.0\n")


def test_python_runs_the_package(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """``python -m amplifier`` is the command."""
    monkeypatch.setattr("sys.argv", ["amplifier", "--version"])
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(Path(turn.__file__).parents[1] / "__main__.py"), run_name="__main__")
    assert (caught.value.code, capsys.readouterr().out) == (0, "amplifier 3.0.0\n")


def test_a_module_that_does_not_load_is_told_without_a_traceback(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report has the reason, the message what to do, and the command ends with 1."""
    monkeypatch.setattr(turn, "SCENARIO", tree / "gone.yaml")
    assert main(["count"]) == 1
    shown = capsys.readouterr()
    reason = f"provider provider-mock: ScriptFormatError: Scenario {tree / 'gone.yaml'} cannot be read: "
    assert f"report  failed: {reason}" in shown.out
    assert shown.err.startswith(f"amplifier: No providers mounted ({reason}")


def test_an_interrupted_turn_ends_with_130(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C is told in a line."""

    class Interrupted(CountLinesTool):
        async def execute(self, input: dict[str, Any]) -> Any:
            raise KeyboardInterrupt

    monkeypatch.setattr(turn, "CountLinesTool", Interrupted)
    assert main(["count"]) == 130
    assert capsys.readouterr().err == "amplifier: interrupted\n"
