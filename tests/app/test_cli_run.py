"""``amplifier run``, ``continue`` and ``resume``: prompts, options, formats, sessions, and mistakes."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.app.command import Command, Result, environment
from tests.app.run_world import calls, write_bundle

from amplifier.console.approval import TerminalApproval
from amplifier.paths import Places
from amplifier.runtime.outcome import TurnOutcome
from amplifier.runtime.runtime import Runtime
from amplifier.store import SessionStore, StoredSession
from amplifier_core import ChatRequest, ChatResponse
from amplifier_module_provider_mock.provider import MockProvider

FILES: dict[str, Any] = {"tools": [{"module": "tool-filesystem"}], "hooks": [{"module": "hooks-approval"}]}
WRITE = calls(("write_file", {"file_path": "note.txt", "content": "hi"}))


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        yield Command(tmp_path, monkeypatch, capsys)


def only_session(command: Command) -> StoredSession:
    """The one session there is."""
    (session,) = SessionStore(Places.find(command.variables, command.work)).list()
    return session


def result_of(result: Result) -> dict[str, Any]:
    """The last line of output as JSON."""
    return json.loads(result.out.splitlines()[-1])


def test_a_prompt_is_answered_and_kept(command: Command) -> None:
    """The answer alone is on standard output; the conversation is in the session's folder, with how it ended."""
    bundle = write_bundle(command.work, ["It is red."])
    result = command("run", "Which colour?", "-B", bundle, "--name", "colours")
    assert result == Result(0, "It is red.\n", "")
    session = only_session(command)
    assert [(each["role"], each["content"]) for each in session.messages()] == [
        ("user", "Which colour?"),
        ("assistant", "It is red."),
    ]
    about = session.metadata()
    assert (about.name, about.status, about.turn_count, about.model, about.provider) == (
        "colours", "success", 1, "mock-model", "mock",
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["json", "json-trace", "stream-json"])
def test_programs_get_json(command: Command, kind: str) -> None:
    """The last line is the result, and there is nothing else on standard output."""
    bundle = write_bundle(command.work, ["It is red."])
    result = command("run", "?", "-B", bundle, "--output-format", kind, "--include-partial-messages")
    told = result_of(result)
    assert (told["status"], told["response"], told["session_id"]) == ("success", "It is red.", only_session(command).id)
    assert (len(told.get("trace", [])) > 5) == (kind == "json-trace")
    types = [json.loads(line)["type"] for line in result.out.splitlines()]
    assert types[0] == ("init" if kind == "stream-json" else "result")
    assert ("partial" in types) == (kind == "stream-json")


def test_what_is_not_allowed_is_refused_and_what_is_runs(command: Command) -> None:
    """Without a terminal nobody is asked; a rule, or a mode, allows."""
    bundle = write_bundle(command.work, [WRITE, "Done."], **FILES)
    assert command("run", "?", "-B", bundle).code == 0
    assert not (command.work / "note.txt").exists()
    assert command("run", "?", "-B", bundle, "--allowed-tools", "read_file,write_file(note.*)").code == 0
    assert (command.work / "note.txt").read_text() == "hi"
    (command.work / "note.txt").unlink()
    assert command("run", "?", "-B", bundle, "--permission-mode", "accept-edits").code == 0
    assert (command.work / "note.txt").exists()
    (command.work / "note.txt").unlink()
    denied = ("--permission-mode", "bypass", "--disallowed-tools", "write_file")
    assert command("run", "?", "-B", bundle, *denied).code == 0
    assert not (command.work / "note.txt").exists()


def test_a_folder_can_be_added(command: Command, tmp_path: Path) -> None:
    """What is outside the working directory is written only if the folder was named."""
    outside = tmp_path / "outside"
    outside.mkdir()
    call = calls(("write_file", {"file_path": str(outside / "x"), "content": "hi"}))
    bundle = write_bundle(command.work, [call, "Done."], **FILES)
    assert command("run", "?", "-B", bundle, "--permission-mode", "bypass").code == 0
    assert not (outside / "x").exists()
    assert command("run", "?", "-B", bundle, "--permission-mode", "bypass", "--add-dir", str(outside)).code == 0
    assert (outside / "x").read_text() == "hi"


def test_a_session_goes_on(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By continue, by the beginning of its id, by name; from another directory it goes back to its own."""
    seen = ["One.", "Two.", "Three.", "Four."]
    bundle = write_bundle(command.work, seen)
    command("run", "first", "-B", "./scripted.md", "--session-id", "abc-1", "--name", "counting")
    assert Path(bundle).exists()
    assert command("continue", "second").out == "One.\n"
    assert command("resume", "abc", "third").code == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    result = command("run", "--resume", "counting", "fourth")
    assert (result.code, f"goes on in its own directory, {command.work}" in result.err) == (0, True)
    texts = [each["content"] for each in only_session(command).messages() if each["role"] == "user"]
    assert texts == ["first", "second", "third", "fourth"]
    refused = command("continue", "more")
    assert (refused.code, f"There is no session in {elsewhere} yet" in refused.err) == (66, True)


def test_a_session_whose_directory_is_gone_goes_on_here(command: Command, tmp_path: Path) -> None:
    """With a warning."""
    bundle = write_bundle(tmp_path, ["One."])
    command("run", "first", "-B", bundle)
    only_session(command).update(working_dir=str(tmp_path / "gone"))
    result = command("resume", only_session(command).id, "second")
    assert (result.code, "gone, is gone; it goes on in" in result.err) == (0, True)


def test_a_fork_leaves_the_session_as_it_is(command: Command) -> None:
    """It goes on in a copy."""
    bundle = write_bundle(command.work, ["One."])
    command("run", "first", "-B", bundle, "--session-id", "abc")
    assert command("resume", "abc", "second", "--fork-session", "--session-id", "copy").code == 0
    store = SessionStore(Places.find(command.variables, command.work))
    assert [len(store.find(name).messages()) for name in ("abc", "copy")] == [2, 4]
    assert command("continue", "third", "--fork-session").code == 0
    assert len(store.list()) == 3


def test_the_same_model_and_prompt_are_used_when_a_session_goes_on(command: Command) -> None:
    """What options said at the beginning counts again, unless something else is said."""
    bundle = write_bundle(command.work, ["Yes."])
    options = ("--model", "mock/other", "--system-prompt", "Be brief.", "--append-system-prompt", "Be kind.")
    first = command("run", "?", "-B", bundle, *options, "--output-format", "json")
    again = command("continue", "?", "--output-format", "json")
    assert (result_of(first)["model"], result_of(again)["model"]) == ("other", "other")
    assert only_session(command).metadata().overrides == {
        "instruction": "Be brief.", "append_instruction": "Be kind.",
    }  # fmt: skip


def test_nothing_is_kept_of_an_ephemeral_run(command: Command) -> None:
    """No folder is made, and the context is held in memory."""
    logging: dict[str, Any] = {"hooks": [{"module": "hooks-logging"}]}
    bundle = write_bundle(command.work, ["One."], **logging)
    assert command("run", "?", "-B", bundle, "--ephemeral").out == "One.\n"
    assert not (command.home / "projects").exists()
    command.settings("session: {persist: false}\n")
    assert command("run", "?", "-B", bundle).code == 0
    assert not (command.home / "projects").exists()


def test_events_are_logged_beside_the_transcript(command: Command) -> None:
    """The log of a session is in its folder."""
    bundle = write_bundle(command.work, ["One."], hooks=[{"module": "hooks-logging"}])
    assert command("run", "?", "-B", bundle).code == 0
    events = [json.loads(line)["event"] for line in only_session(command).events.read_text().splitlines()]
    assert {"session:start", "prompt:submit", "session:end"} <= set(events)


def test_a_context_that_keeps_nothing_is_kept_by_the_store(command: Command) -> None:
    """After each tool result and each turn; the conversation goes on from there."""
    sections: dict[str, Any] = {
        "session": {"orchestrator": {"module": "loop-basic"}, "context": {"module": "context-simple"}}
    }
    bundle = write_bundle(command.work, [WRITE, "Done."], **FILES, **sections)
    assert command("run", "first", "-B", bundle).code == 0
    roles = [each["role"] for each in only_session(command).messages()]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert command("continue", "second").code == 0
    roles = [each["role"] for each in only_session(command).messages()]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool", "assistant"]


def test_an_answer_of_a_given_shape(command: Command, tmp_path: Path) -> None:
    """The schema is JSON text or a file; the answer goes into a file as well, if wanted."""
    bundle = write_bundle(command.work, ['{"sum": 5}'])
    schema = {"type": "object", "required": ["sum"]}
    target = tmp_path / "answer"
    result = command("run", "?", "-B", bundle, "--json-schema", json.dumps(schema), "-o", str(target))
    assert (json.loads(result.out), json.loads(target.read_text())) == ({"sum": 5}, {"sum": 5})
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    assert command("run", "?", "-B", bundle, "--json-schema", str(tmp_path / "schema.json")).code == 0
    misfit = write_bundle(command.work, ["no", "no"], "misfit")
    assert command("run", "?", "-B", misfit, "--json-schema", json.dumps(schema)).code == 1
    for odd, told in (("{", "is no JSON"), (str(tmp_path / "missing"), "cannot be read")):
        refused = command("run", "?", "-B", bundle, "--json-schema", odd)
        assert (refused.code, told in refused.err) == (2, True)
    (tmp_path / "list.json").write_text("[]")
    assert "must be an object" in command("run", "?", "-B", bundle, "--json-schema", str(tmp_path / "list.json")).err
    blocked = command("run", "?", "-B", bundle, "-o", str(tmp_path / "no" / "x"))
    assert (blocked.code, "cannot be written" in blocked.err) == (2, True)


def test_limits_end_the_work_with_their_own_code(command: Command) -> None:
    """Model calls and time; what was done is kept and told."""
    listing = calls(("read_file", {"file_path": "."}))
    endless = write_bundle(command.work, [listing, listing, listing, "Never."], "endless", **FILES)
    result = command("run", "?", "-B", endless, "--max-turns", "1", "--output-format", "json")
    assert (result.code, result_of(result)["error"]["type"]) == (53, "limit")
    slow = write_bundle(command.work, [{"text": "late", "delay_s": 30}], "slow")
    result = command("run", "?", "-B", slow, "--timeout", "0.2")
    assert (result.code, "took longer than 0.2 s" in result.err, "amplifier resume" in result.err) == (124, True, True)


def test_a_budget_ends_the_work_before_it_is_passed(command: Command) -> None:
    """The call that would pass it is not made."""
    usage = {"input_tokens": 10, "output_tokens": 10, "cost_usd": "2.0"}
    listing = {**calls(("read_file", {"file_path": "."})), "usage": usage}
    bundle = write_bundle(command.work, [listing, {"text": "Done.", "usage": usage}], "dear", **FILES)
    result = command("run", "?", "-B", bundle, "--max-budget-usd", "1", "--output-format", "json")
    told = result_of(result)
    assert (told["num_turns"], told["status"], result.code) == (1, "incomplete", 53)


def test_what_the_provider_raises_is_told(command: Command) -> None:
    """With the exit code of its kind, and as JSON where JSON was asked for."""
    broken = write_bundle(command.work, [{"error": {"type": "AuthenticationError", "message": "bad key"}}], "broken")
    result = command("run", "?", "-B", broken, "--output-format", "json")
    told = result_of(result)
    assert (result.code, told["error"]["type"], told["is_error"]) == (69, "provider", True)
    assert "refuses the key" in result.err
    away = write_bundle(command.work, [{"error": {"type": "InvalidRequestError", "message": "odd"}}], "away")
    result = command("run", "?", "-B", away)
    assert (result.code, "cannot be asked: odd" in result.err) == (69, True)


def test_several_prompts_come_as_json_lines(command: Command) -> None:
    """One turn each in one session; a line that is none is a mistake."""
    bundle = write_bundle(command.work, ["One.", "Two.", "Three."])
    lines = [{"type": "user", "text": "a"}, {"content": "b"}, {"message": {"content": "c"}}]
    stdin = "\n".join([json.dumps(line) for line in lines[:1]] + [""] + [json.dumps(line) for line in lines[1:]])
    options = ("--input-format", "stream-json", "--output-format", "stream-json")
    result = command.process("run", "-B", bundle, *options, stdin=stdin.encode())
    answers = [line["response"] for line in map(json.loads, result.out.splitlines()) if line["type"] == "result"]
    assert (result.code, answers) == (0, ["One.", "Two.", "Three."])
    for odd, told in ((b"{", "Line 1 of standard input is no JSON"), (b"[]", "Line 1 of standard input has no text")):
        refused = command.process("run", "-B", bundle, *options, stdin=odd)
        assert (refused.code, told in refused.err) == (2, True)
    assert "Leave the prompt out" in command("run", "x", "-B", bundle, *options).err


@pytest.mark.slow
def test_a_prompt_may_be_piped_in(command: Command) -> None:
    """Alone, by a dash, or behind a prompt; odd bytes, too many and none at all are mistakes."""
    bundle = write_bundle(command.work, ["Yes."])
    assert command.process("run", "-B", bundle, stdin="grün?".encode()).out == "Yes.\n"
    assert command.process("run", "-B", bundle, "-", stdin=b"dash").code == 0
    assert command.process("run", "-B", bundle, "look:", stdin=b"at this").code == 0
    store = SessionStore(Places.find(command.variables, command.work))
    prompts = {session.messages()[0]["content"] for session in store.list()}
    assert prompts == {"grün?", "dash", "look:\n\n<stdin>\nat this\n</stdin>"}
    for stdin, told in ((b"\xff\xfe", "is no UTF-8"), (b"", "There is no prompt"), (b" \n", "There is no prompt")):
        refused = command.process("run", "-B", bundle, stdin=stdin)
        assert (refused.code, told in refused.err, refused.out) == (2, True, "")
    big = command.process("run", "-B", bundle, stdin=b"x" * 10_000_001)
    assert (big.code, "more than 10,000,000 bytes" in big.err) == (2, True)


def test_mistakes_are_told_before_anything_is_made(command: Command, tmp_path: Path) -> None:
    """Each with its exit code, a hint, and no folder of a session."""
    bundle = write_bundle(command.work, ["Yes."])
    (tmp_path / "odd.txt").write_bytes(b"\xff")
    mistakes = [
        (("run", "?", "-B", "nowhere"), 78, "nowhere"),
        (("run", "?", "-B", "git+file:///no/such/repository"), 78, "no/such/repository"),
        (("run", "?", "-B", bundle, "--fork-session"), 2, "--fork-session needs a session"),
        (("run", "?", "-B", bundle, "--mode", "chat"), 2, "A chat needs a terminal."),
        (("run", "?", "-B", bundle, "--resume", "nobody"), 66, "There is no session 'nobody'"),
        (("run", "?", "-B", bundle, "--session-id", "a b"), 66, "cannot be the id"),
        (("run", "?", "-B", bundle, "--provider", "nobody"), 69, "nobody"),
        (("run", "?", "-B", bundle, "--system-prompt-file", str(tmp_path / "odd.txt")), 2, "cannot be read"),
        (("run", "?", "-B", bundle, "--max-turns", "none"), 2, "'none' is not a valid integer"),
        (("resume",), 2, "No session is named."),
    ]
    for args, code, told in mistakes:
        result = command(*args)
        assert (args, result.code, told in result.err, result.out) == (args, code, True, "")
    as_json = command("run", "?", "-B", "nowhere", "--output-format", "json")
    assert (as_json.code, result_of(as_json)["error"]["type"]) == (78, "bundle")
    command("run", "?", "-B", bundle, "--session-id", "mine")
    assert "keeps its id" in command("resume", "mine", "?", "--session-id", "other").err


def test_a_session_that_cannot_be_set_up_is_a_problem(command: Command) -> None:
    """No provider mounted, and a loop that fails to mount, are told with what to do."""
    keyless = write_bundle(
        command.work, [], "keyless", providers=[{"module": "provider-mock", "config": {"script": 3}}]
    )
    result = command("run", "?", "-B", keyless)
    assert (result.code, "No provider is there to ask" in result.err) == (69, True)
    session = {
        "orchestrator": {"module": "loop-basic", "config": {"max_iterations": "many"}},
        "context": {"module": "context-simple"},
    }
    loopless = write_bundle(command.work, ["x"], "loopless", session=session)
    result = command("run", "?", "-B", loopless)
    assert (result.code, "The session cannot be set up" in result.err) == (1, True)


def test_what_does_not_mount_is_told(command: Command) -> None:
    """A tool that fails and a key that nobody reads are warnings."""
    tools = [{"module": "tool-filesystem", "config": {"allowed_read_paths": 3}}]
    bundle = write_bundle(
        command.work, ["Yes."], tools=tools, hooks=[{"module": "hooks-approval", "config": {"mod": "x"}}]
    )
    result = command("run", "?", "-B", bundle, "--verbose")
    assert (result.code, "tool-filesystem" in result.err, "nobody reads config key 'mod'" in result.err) == (
        0,
        True,
        True,
    )
    assert "session " in result.err


def _started(command: Command, bundle: str, *args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "amplifier", "run", "go", "-B", bundle, *args],
        cwd=command.work,
        env=environment() | command.variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _wait_until_running(command: Command) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = list(command.home.glob("projects/*/sessions/*/transcript.jsonl"))
        if found and b'"user"' in found[0].read_bytes():
            return
        time.sleep(0.02)
    raise AssertionError("the turn did not begin")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "times"),
    [(signal.SIGINT, 130, 2), (signal.SIGTERM, 143, 1), (signal.SIGHUP, 129, 1)],
    ids=["interrupt", "terminate", "hang up"],
)
def test_signals_end_the_work_and_nothing_is_lost(command: Command, number: int, code: int, times: int) -> None:
    """The process ends with the signal's code, the prompt is in the transcript, and the session can go on."""
    bundle = write_bundle(command.work, [{"text": "late", "delay_s": 60}])
    process = _started(command, bundle)
    _wait_until_running(command)
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.3)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, b"Traceback" in err) == (code, False)
    session = only_session(command)
    assert (session.messages()[0]["content"], session.metadata().status) == ("go", "cancelled")


@pytest.mark.slow
def test_a_killed_run_goes_on(command: Command) -> None:
    """After kill -9 in the middle of a turn the session resumes with everything that was said."""
    bundle = write_bundle(command.work, [{"text": "late", "delay_s": 60}])
    process = _started(command, bundle)
    _wait_until_running(command)
    process.kill()
    process.communicate(timeout=30)
    quick = write_bundle(command.work, ["Here I am."])
    assert quick == bundle
    result = command.process("continue", "still there?")
    assert (result.code, result.out) == (0, "Here I am.\n")
    assert only_session(command).messages()[0]["content"] == "go"


@pytest.mark.slow
def test_two_processes_do_not_share_a_session(command: Command) -> None:
    """The second one is told that it is in use."""
    bundle = write_bundle(command.work, [{"text": "late", "delay_s": 60}])
    process = _started(command, bundle, "--session-id", "mine")
    _wait_until_running(command)
    result = command.process("resume", "mine", "me too")
    process.kill()
    process.communicate(timeout=30)
    assert (result.code != 0, "mine" in result.err) == (True, True)


def test_modules_of_a_bundle_may_come_from_a_source(command: Command) -> None:
    """A folder beside the bundle is found, loaded and mounted; in a batch as well."""
    package = command.work / "modules" / "hooks-greeting" / "amplifier_module_hooks_greeting"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from pathlib import Path\n\n\nasync def mount(coordinator, config=None):\n"
        "    with Path(config['file']).open('a') as file:\n        file.write('hello ')\n",
        encoding="utf-8",
    )
    marker = command.work / "greeted"
    hook = {"module": "hooks-greeting", "source": "./modules/hooks-greeting", "config": {"file": str(marker)}}
    bundle = write_bundle(command.work, ["Yes."], hooks=[hook])
    result = command("run", "?", "-B", bundle)
    assert (result.code, result.out, marker.read_text()) == (0, "Yes.\n", "hello ")
    (command.work / "prompts.jsonl").write_text('{"id": "1", "prompt": "?"}\n')
    assert command("batch", "prompts.jsonl", "-B", bundle, "-o", "results.jsonl").code == 0
    assert marker.read_text() == "hello hello "


def test_settings_of_a_folder_count_only_if_it_is_trusted(command: Command) -> None:
    """A project that allows everything to itself allows nothing, until the user says so."""
    (command.work / ".amplifier").mkdir()
    (command.work / ".amplifier" / "settings.yaml").write_text("permissions: {mode: bypass}\n")
    bundle = write_bundle(command.work, [WRITE, "Done."], **FILES)
    result = command("run", "?", "-B", bundle)
    assert (result.code, (command.work / "note.txt").exists(), "trust" in result.err) == (0, False, True)
    assert command("run", "?", "-B", bundle, "--trust").code == 0
    assert (command.work / "note.txt").read_text() == "hi"


def test_a_rule_for_good_is_saved_for_this_project(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who answers "always" is not asked again: the rule is in the user's own settings of the project."""

    class Always:
        async def request_approval(self, prompt: str, options: list[str], timeout: float, default: str) -> str:
            return "Allow always"

    monkeypatch.setattr("amplifier.cli.working.approval_system", Always)
    bundle = write_bundle(command.work, [WRITE, "Done."], **FILES)
    assert command("run", "?", "-B", bundle).code == 0
    assert (command.work / "note.txt").read_text() == "hi"
    saved = next(command.work.rglob("settings.local.yaml")).read_text()
    assert "write_file" in saved


def test_on_a_terminal_an_edit_is_asked_about_with_the_change_that_it_makes(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a diff, not as the text that the model has sent."""
    asked: list[str] = []

    async def ask(question: str) -> str:
        asked.append(question)
        return "1"

    monkeypatch.setattr("amplifier.cli.working.approval_system", lambda: TerminalApproval(ask))
    bundle = write_bundle(command.work, [WRITE, "Done."], **FILES)
    assert command("run", "?", "-B", bundle).code == 0
    (question,) = asked
    begin = "\nAllow 'write_file'?\n\n--- note.txt\n+++ note.txt\n@@ -0,0 +1 @@\n+hi\n\nAsked because "
    assert question.startswith(begin)
    assert (command.work / "note.txt").read_text() == "hi"


@pytest.mark.parametrize(
    ("status", "code", "told"),
    [("cancelled", 130, ""), ("incomplete", 0, "the work is not finished (denied)")],
    ids=["cancelled", "incomplete"],
)
def test_how_a_turn_ended_is_told(
    command: Command, monkeypatch: pytest.MonkeyPatch, status: Any, code: int, told: str
) -> None:
    """By the exit code, and by a word where the answer alone would not tell."""

    async def ended(self: Runtime, prompt: str, **options: Any) -> TurnOutcome:
        return TurnOutcome("s", "So far.", status, "denied")

    monkeypatch.setattr(Runtime, "run_turn", ended)
    result = command("run", "?", "-B", write_bundle(command.work, ["Yes."]))
    assert (result.code, result.out, told in result.err) == (code, "So far.\n", True)


def test_a_terminal_is_not_read_for_a_prompt(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who says that the prompt comes from standard input, and types nothing, has given none."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    result = command("run", "-", "-B", write_bundle(command.work, ["Yes."]))
    assert (result.code, "There is no prompt" in result.err) == (2, True)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[ChatRequest]:
    """Every request that reaches the scripted provider."""
    requests: list[ChatRequest] = []
    answer = MockProvider.complete

    async def recorded(self: MockProvider, request: ChatRequest, **options: Any) -> ChatResponse:
        requests.append(request.model_copy(deep=True))
        return await answer(self, request, **options)

    monkeypatch.setattr(MockProvider, "complete", recorded)
    return requests


def test_wishes_of_options_reach_the_provider(command: Command, asked: list[ChatRequest]) -> None:
    """The length of the answer, the effort and the model are part of the request."""
    bundle = write_bundle(command.work, ["Yes."])
    assert command("run", "?", "-B", bundle, "--max-tokens", "77", "--effort", "high").code == 0
    assert (asked[0].max_output_tokens, asked[0].reasoning_effort) == (77, "high")


def test_a_session_that_goes_on_sends_what_it_sent_before(command: Command, asked: list[ChatRequest]) -> None:
    """The former request is the beginning of the next one, byte for byte, so that services can use their caches."""
    bundle = write_bundle(command.work, ["One."])
    assert command("run", "first", "-B", bundle, "--append-system-prompt", "Be kind.").code == 0
    assert command("continue", "second").code == 0
    before, after = ([message.model_dump_json() for message in request.messages] for request in asked)
    assert after[: len(before)] == before
    assert [message.role for message in asked[1].messages] == ["system", "user", "assistant", "user"]
