"""The tool ``bash``: what becomes of commands, in which environment they run, and that none outlives its call."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.modules.bash_world import BashSession, names_in, sleepers, told

from amplifier_core import HookResult
from amplifier_modkit.current_call import carrying_out
from amplifier_module_tool_bash import on_session_ready
from amplifier_module_tool_bash.config import BashConfig
from amplifier_module_tool_bash.environment import environment
from amplifier_module_tool_bash.events import SANDBOX_DEGRADED, TOOL_OUTPUT
from amplifier_module_tool_bash.sandbox import Offer

pytestmark = pytest.mark.slow  # real processes have to begin and end


def is_ready(folder: Path) -> bool:
    return (folder / "ready").exists()


async def test_a_command_gives_output_and_exit_code(tmp_path: Path) -> None:
    """It runs in the working directory; success is the exit code 0, and a failure tells its output as well."""
    async with BashSession(tmp_path) as session:
        good = await session.run("pwd; echo err >&2")
        bad = await session.run("echo out; exit 3")
        odd = await session.run("--version")
    assert (good.success, good.output) == (True, {"stdout": f"{tmp_path}\n", "stderr": "err\n", "returncode": 0})
    assert (bad.success, bad.output) == (False, {"stdout": "out\n", "stderr": "", "returncode": 3})
    assert bad.error == {"message": "Exit code 3", "type": "exit_code"}
    assert told(odd)["returncode"] == 127


async def test_long_output_is_cut_and_counted(tmp_path: Path) -> None:
    """Beginning and end are there, with the true sizes of both streams."""
    async with BashSession(tmp_path, max_output_bytes=100) as session:
        output = (await session.run("seq 1000")).output
    assert output == {
        "stdout": "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n"
        "\n[... 3817 bytes left out ...]\n992\n993\n994\n995\n996\n997\n998\n999\n1000\n",
        "stderr": "",
        "returncode": 0,
        "truncated": True,
        "stdout_total_bytes": 3893,
        "stderr_total_bytes": 0,
    }


async def test_the_output_of_a_command_that_takes_too_long_is_kept(tmp_path: Path) -> None:
    """It is ended with what it has started, and its result says what it had written and what can be done."""
    mark = f"5{os.getpid()}"
    async with BashSession(tmp_path, timeout=0.3) as session:
        result = await session.run(f"echo early; setsid sleep {mark} & sleep {mark}")
        asked = await session.run("sleep 9", timeout=0.05)
    assert (result.success, result.output) == (
        False,
        {"stdout": "early\n", "stderr": "", "returncode": 143, "timed_out": True},
    )
    assert result.error is not None
    assert (result.error["type"], result.error["message"][:23]) == ("timeout", "Timed out after 0.3 s a")
    assert asked.error is not None
    assert (asked.error["message"][:20], sleepers(mark)) == ("Timed out after 0.05", [])


async def test_no_command_may_ask_for_more_time_than_allowed(tmp_path: Path) -> None:
    """A time above the limit becomes the limit."""
    async with BashSession(tmp_path, max_timeout=0.1) as session:
        assert (await session.failure("sleep 9", timeout=100))[1].startswith("Timed out after 0.1 s")


async def test_a_cancelled_call_leaves_nothing_running(tmp_path: Path) -> None:
    """The cancellation comes out, and by then the command and its daemons have ended."""
    mark = f"4{os.getpid()}"
    async with BashSession(tmp_path) as session:
        call = asyncio.create_task(session.run(f"setsid sleep {mark} & touch ready; sleep {mark}"))
        while not (is_ready(tmp_path) or call.done()):  # noqa: ASYNC110 - a process tells by a file
            await asyncio.sleep(0.005)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert sleepers(mark) == []


async def test_nothing_is_read_from_this_process(tmp_path: Path) -> None:
    """A command that asks for input finds its end, and ``cmd &`` does not hold the call."""
    async with BashSession(tmp_path) as session:
        assert await session.stdout("read answer || echo nobody; sleep 99 &") == "nobody\n"


async def test_commands_at_the_same_time_are_limited(tmp_path: Path) -> None:
    """With ``max_concurrent`` one waits for the other."""
    async with BashSession(tmp_path, max_concurrent=1, safety_profile="unrestricted") as session:
        alone = "mkdir busy && sleep 0.05 && rmdir busy && echo alone"
        assert await asyncio.gather(*(session.stdout(alone) for _ in range(3))) == ["alone\n"] * 3


async def test_a_shell_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    """A working directory that is gone is a result, and no exception."""
    folder = tmp_path / "gone"
    folder.mkdir()
    async with BashSession(folder) as session:
        folder.rmdir()
        kind, message = await session.failure("echo hi")
    assert (kind, message[:29]) == ("io_error", "The command cannot be started")


WRONG: dict[str, Any] = {
    "no command": {},
    "empty": {"command": "  "},
    "number": {"command": 7},
    "nul": {"command": "echo \0"},
    "long": {"command": "x" * 200_001},
    "surrogate": {"command": "echo \ud800"},
    "timeout text": {"command": "ls", "timeout": "1"},
    "timeout flag": {"command": "ls", "timeout": True},
    "timeout nan": {"command": "ls", "timeout": float("nan")},
    "timeout negative": {"command": "ls", "timeout": -1},
    "background text": {"command": "ls", "run_in_background": "yes"},
}


@pytest.mark.parametrize("name", WRONG)
async def test_wrong_input_is_a_result(name: str, tmp_path: Path) -> None:
    """The result names the key that is wrong, and such a call asks nobody for approval."""
    async with BashSession(tmp_path) as session:
        result = await session.tool.execute(WRONG[name])
        assert result.error is not None
        assert (result.error["type"], result.error["message"][0]) == ("invalid_input", "'")
        if name != "long":
            assert session.tool.needs_approval(WRONG[name]) is None


RULES = {
    "sudo": ("sudo id", "denied"),
    "sudo in quotes": ('bash -c "sudo id"', "denied"),
    "sudo behind env": ("env sudo id", "denied"),
    "sudo after newline": ("true\nsudo id", "denied"),
    "remove root": ("rm -r -f /", "denied"),
    "unknown program": ("$PROGRAM", "approval_required"),
    "not a command": ("echo 'open", "approval_required"),
    "code": ("python3 -c 'print(1)'", "approval_required"),
}


@pytest.mark.parametrize("name", RULES)
async def test_rules_decide_before_anything_runs(name: str, tmp_path: Path) -> None:
    """What is refused is told with its reason; what needs approval says how the user can give it."""
    command, expected = RULES[name]
    async with BashSession(tmp_path) as session:
        kind, message = await session.failure(f"touch ran; {command}")
        needed = session.tool.needs_approval({"command": command})
    assert (kind, names_in(tmp_path)) == (expected, [])
    assert (needed is not None) is (expected == "approval_required")
    assert "ask the user" in message
    assert ("'allowed_commands'" in message) is (expected == "approval_required")


async def test_the_users_lists_count(tmp_path: Path) -> None:
    """Allowed commands need no approval, denied ones never run, whatever profile and overrides say."""
    overrides = {"allow": ["sudo -V*"], "block": ["seq *"]}
    async with BashSession(
        tmp_path, allowed_commands=["python3 -c *"], denied_commands=["whoami"], safety_overrides=overrides
    ) as session:
        assert await session.stdout("python3 -c 'print(1)'") == "1\n"
        assert (await session.failure("whoami"))[0] == "denied"
        assert (await session.failure("seq 3"))[0] == "denied"
        assert session.tool.needs_approval({"command": "sudo -V"}) is None
    async with BashSession(tmp_path, safety_profile="unrestricted", denied_commands=["whoami"]) as session:
        assert (await session.failure("x=whoami; $x"))[0] in ("denied", "approval_required")
        assert (await session.failure("$ANYTHING"))[0] == "approval_required"
        assert (await session.failure("bash -c whoami"))[0] == "denied"
    async with BashSession(tmp_path, safety_profile="unrestricted") as session:
        assert await session.stdout("x=echo; $x hi") == "hi\n"


@pytest.mark.parametrize("is_async", [True, False])
async def test_what_was_approved_runs(is_async: bool, tmp_path: Path) -> None:
    """Whoever decides on calls says by the capability which of them it has allowed; only a plain yes counts."""
    asked: list[Any] = []

    def granted(tool_name: str, tool_input: Any) -> Any:
        asked.append((tool_name, tool_input))
        return answer

    async def granted_later(tool_name: str, tool_input: Any) -> Any:
        return granted(tool_name, tool_input)

    async with BashSession(tmp_path) as session:
        session.coordinator.register_capability("approval.granted", granted_later if is_async else granted)
        answer: Any = True
        assert await session.stdout("x=echo; $x hi; python3 -c 'print(1)'") == "hi\n1\n"
        answer = "yes"
        assert (await session.failure("python3 -c 1"))[0] == "approval_required"
        assert (await session.failure("sudo id"))[0] == "denied"
        session.coordinator.register_capability("approval.granted", True)
        assert (await session.failure("python3 -c 1"))[0] == "approval_required"
    command = {"command": "x=echo; $x hi; python3 -c 'print(1)'"}
    assert asked == [("bash", command), ("bash", {"command": "python3 -c 1"})]


def test_the_environment_has_no_secrets() -> None:
    """Secrets by name or value stay out unless allowed; what makes shells run more stays out; ``env`` wins."""
    inherited = {
        "PATH": "/bin", "OPENAI_API_KEY": "sk-abcdefghijklmnopqrstuvwxyz123456", "GITHUB_TOKEN": "ghp_" + "a1B2" * 9,
        "URL": "postgres://user:pa55word9@host/db", "SSH_AUTH_SOCK": "/tmp/agent", "BASH_ENV": "/x",
        "BASH_FUNC_ls%%": "() { id; }",
        "EDITOR": "vi", "MINE": "1",
    }  # fmt: skip
    config = BashConfig.read(
        {"env_allow": ["GITHUB_*"], "env_deny": ["MINE", "EDIT*"], "env": {"EDITOR": "ed", "API_KEY": "given"}}
    )
    assert environment(inherited, config) == {
        "PATH": "/bin",
        "GITHUB_TOKEN": inherited["GITHUB_TOKEN"],
        "EDITOR": "ed",
        "API_KEY": "given",
    }


async def test_commands_do_not_see_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in this process's environment does not reach a command by ``env``."""
    monkeypatch.setenv("SOME_API_KEY", "sk-proj-4f9d8s7f6g5h4j3k2l1m0n9b8v7c6x5z")
    async with BashSession(tmp_path) as session:
        assert "sk-proj" not in await session.stdout("env")


async def test_output_is_told_while_a_command_runs(tmp_path: Path) -> None:
    """Observers get what both streams write, seldom, in bounded pieces, and before the result."""
    async with BashSession(tmp_path) as session:
        session.watch()
        await session.run("echo one; echo oops >&2; sleep 0.25; echo two; yes | head -c 50000")
    told = [data for _, data in session.seen.get_events(TOOL_OUTPUT)]
    assert {(each["tool_name"], each["run_id"]) for each in told} == {("bash", "run_1")}
    out = [each for each in told if each["stream"] == "stdout"]
    assert "".join(each["text"] for each in told if each["stream"] == "stderr") == "oops\n"
    assert (out[0]["text"][:4], len(out) < 6) == ("one\n", True)
    assert sum(len(each["text"]) + each["skipped_bytes"] for each in out) == 50_008


async def test_output_tells_of_which_call_it_is(tmp_path: Path) -> None:
    """Also where two write by turns, and the one that began later writes first; without a loop that tells, nothing."""
    first = "until [ -e go ]; do sleep 0.01; done; echo one; touch gone"
    second = "echo two; touch go; until [ -e gone ]; do sleep 0.01; done; echo three"
    async with BashSession(tmp_path) as session:
        session.watch()

        async def called(call_id: str, command: str) -> None:
            with carrying_out(call_id):
                await session.run(command)

        await asyncio.gather(called("c1", first), called("c2", second))
        await session.run("echo four")
    written: dict[str | None, str] = {}
    for _, data in session.seen.get_events(TOOL_OUTPUT):
        call_id = data.get("tool_call_id")
        written[call_id] = written.get(call_id, "") + data["text"]
    assert written == {"c1": "one\n", "c2": "two\nthree\n", None: "four\n"}
    assert "tool_call_id" not in session.seen.get_events(TOOL_OUTPUT)[-1][1]


async def test_an_observer_that_fails_does_not_hold_a_command(tmp_path: Path) -> None:
    """What hooks make of the output is their own affair."""

    async def fail(event: str, data: Any) -> HookResult:
        raise RuntimeError

    async with BashSession(tmp_path) as session:
        session.coordinator.hooks.register(TOOL_OUTPUT, fail)
        assert await session.stdout("echo hi") == "hi\n"


async def test_what_an_observer_does_slowly_is_followed_by_the_rest(tmp_path: Path) -> None:
    """What comes while the last piece is being told is told afterwards."""
    texts: list[str] = []

    async def slow(event: str, data: Any) -> HookResult:
        texts.append(data["text"])
        await asyncio.sleep(0.05)
        return HookResult()

    async with BashSession(tmp_path) as session:
        session.coordinator.hooks.register(TOOL_OUTPUT, slow)
        await session.run("for i in 1 2 3 4 5 6; do echo $i; sleep 0.04; done")
    assert "".join(texts) == "1\n2\n3\n4\n5\n6\n"


async def test_a_session_tells_what_its_sandbox_leaves_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where less is there than was wanted, log, event, description and results say so."""
    nothing = Offer(None, 0)
    monkeypatch.setattr(Offer, "of_this_machine", lambda: nothing)
    async with BashSession(tmp_path, sandbox="best-effort") as session:
        session.watch()
        await on_session_ready(session.coordinator)
        output = told(await session.run("echo hi"))
        job = told(await session.run("true", run_in_background=True))
        description = session.tool.description
    missing = [
        "files anywhere can be written",
        "files with secrets can be read",
        "the network can be reached",
        "other processes can be signalled",
    ]
    note = f"The sandbox is not complete: {'; '.join(missing)}."
    assert caplog.messages == [f"tool-bash runs commands with less of a sandbox than wanted: {'; '.join(missing)}"]
    ((_, event),) = session.seen.get_events(SANDBOX_DEGRADED)
    assert (event["tool_name"], event["sandbox"], event["missing"]) == ("bash", "none", missing)
    assert (output["note"], job["note"].endswith(note)) == (note, True)
    assert description.endswith("There is no sandbox: commands can do what the user can.")


async def test_a_sandbox_that_is_turned_off_is_nothing_to_warn_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Who turns it off knows; the metadata say so all the same. A plain ``off`` of YAML is understood."""
    async with BashSession(tmp_path, sandbox=False, require_approval=False) as session:
        session.watch()
        await on_session_ready(session.coordinator)
        assert session.tool.metadata == {"require_approval": False, "sandbox": "off"}
        assert session.tool.require_approval is False
        assert "note" not in told(await session.run("true"))
    assert (caplog.messages, session.seen.get_events()) == ([], [])


async def test_temporary_files_go_with_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that a session had for them is gone after its end."""
    monkeypatch.setattr(tempfile, "mkdtemp", lambda prefix: _made(tmp_path / "tmp"))
    async with BashSession(tmp_path):
        assert names_in(tmp_path) == ["tmp"]
    assert names_in(tmp_path) == []


def _made(folder: Path) -> str:
    folder.mkdir()
    return str(folder)
