"""Servers that are child processes, good and bad ones: what the model gets of them, and what is left of them."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.modules.mcp_world import McpSession, scripted, session

from amplifier_core.message_models import ChatResponse, TextBlock
from amplifier_core.testing import MockTool, TestCoordinator
from amplifier_module_tool_mcp import link, stdio, tools
from amplifier_module_tool_mcp.callbacks import Callbacks
from amplifier_module_tool_mcp.connection import Connection, Line, Offer, connected, load_sdk
from amplifier_module_tool_mcp.errors import LostError, ServerError, TimedOutError, UnreachableError
from amplifier_module_tool_mcp.link import Observer, ServerLink
from amplifier_module_tool_mcp.plans import to_plan
from amplifier_module_tool_mcp.server_log import ServerLog, log_path

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own."""
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("AMPLIFIER_MCP_CONFIG", raising=False)
    return tmp_path / "home"


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def commands_with(word: str) -> list[bytes]:
    """The commands that run and have ``word`` among their words."""
    commands: list[bytes] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            commands.append(path.read_bytes())
    return [command for command in commands if word.encode() in command.split(b"\0")]


async def test_tools_are_called_and_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server gets its arguments, its environment and no other, and its working directory; its answers are results."""
    monkeypatch.setenv("A_SECRET", "hunter2")
    monkeypatch.setenv("GIVEN", "passed on")
    (tmp_path / "sub").mkdir()
    entry = scripted("word=${GIVEN}", env={"TOKEN": "${GIVEN}", "OTHER": "${UNSET:-none}"}, cwd="sub")
    async with session({"s": entry}, tmp_path) as world:
        echoed = await world.call("mcp_s_echo", a=1, b="ü")
        assert json.loads(echoed.output["content"]) == {"a": 1, "b": "ü"}
        assert echoed.output == {
            "content": echoed.output["content"],
            "mcp_server": "s",
            "mcp_tool": "echo",
            "content_size_chars": len(echoed.output["content"]),
            "content_truncated": False,
        }
        variables, folder, words = json.loads((await world.call("mcp_s_env")).output["content"])
        assert {"TOKEN", "OTHER", "PATH"} <= set(variables)
        assert "A_SECRET" not in variables
        assert (folder, words) == (str((tmp_path / "sub").resolve()), ["word=passed on"])
        image = await world.call("mcp_s_image")
        assert [block.type for block in image.content or []] == ["image"]
        ready = world.told("mcp:server_ready")
        assert [(each["server"], each["transport"], each["protocol_version"]) for each in ready] == [
            ("s", "stdio", "2025-11-25")
        ]
        assert not any(tool.read_only for name, tool in world.tools.items() if name != "mcp_servers")


async def test_failures_are_results(tmp_path: Path) -> None:
    """What a server calls an error, what it refuses, too long texts and garbage on stdout are told, and it goes on."""
    async with session({"s": scripted(trust_annotations=True)}, tmp_path, max_content_size=1000) as world:
        failed = await world.call("mcp_s_error")
        facts = {"mcp_server": "s", "mcp_tool": "error"}
        assert (failed.success, failed.error) == (False, {"type": "tool_error", "message": "it failed␇", **facts})
        refused = await world.call("mcp_s_refuse")
        facts = {"mcp_server": "s", "mcp_tool": "refuse"}
        assert refused.error == {"type": "server_error", "message": "no such thing", **facts}
        huge = await world.call("mcp_s_huge")
        assert (len(huge.output["content"]), huge.output["content_size_chars"]) == (1000, 200_000)
        assert huge.output["content_truncated"] is True
        assert (await world.call("mcp_s_garbage")).output["content"] == "after garbage"
        assert [name for name, tool in world.tools.items() if tool.read_only] == ["mcp_servers", "mcp_s_echo"]


async def test_a_call_has_a_time_limit_and_can_be_cancelled(tmp_path: Path) -> None:
    """The server is told that nobody waits any more, and the next call finds it at work."""
    async with session({"s": scripted()}, tmp_path) as world:
        silent = world.tools["mcp_s_silent"]
        patient, silent._desk = silent._desk, dataclasses.replace(silent._desk, timeout_s=0.05)
        late = await world.call("mcp_s_silent")
        message = "no answer within 0.05 s; the call was cancelled"
        facts = {"mcp_server": "s", "mcp_tool": "silent"}
        assert late.error == {"type": "timeout", "message": message, **facts}
        silent._desk = patient
        call = asyncio.create_task(world.call("mcp_s_silent"))
        await world.call("mcp_s_echo")
        call.cancel()
        started = asyncio.get_running_loop().time()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert asyncio.get_running_loop().time() - started < 3
        assert len(json.loads((await world.call("mcp_s_cancelled")).output["content"])) == 2


async def test_a_time_out_of_somebody_else_passes(tmp_path: Path) -> None:
    """A ``TimeoutError`` that is not the call's own limit is not taken for it."""
    async with session({"s": scripted()}, tmp_path) as world:
        tool = world.tools["mcp_s_echo"]

        async def raise_timeout(connection: Connection) -> Any:
            raise TimeoutError("not ours")

        with pytest.raises(TimeoutError, match="not ours"):
            await tool._desk.carry_out("echo", raise_timeout)


async def test_progress_becomes_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is told while a call runs, not more often than anybody can read, and log messages go to the log."""
    monkeypatch.setattr(tools, "_BETWEEN_PROGRESS_S", 3600.0)
    async with session({"s": scripted()}, tmp_path) as world:
        assert (await world.call("mcp_s_progress")).output["content"] == "went"
        usual = {"server": "s", "tool_name": "mcp_s_progress", "mcp_tool": "progress", "total": 3}
        assert world.told("mcp:progress") == [
            {**usual, "progress": 1, "message": "step 1"},
            {**usual, "progress": 3, "message": "step 3"},
        ]
    assert "[info] a log line" in log_path(tmp_path / "home" / "logs" / "mcp-servers", "s").read_text()


async def test_tools_follow_the_server(tmp_path: Path) -> None:
    """What a server adds is mounted while the session runs, and what it takes away is not there any more."""
    async with session({"s": scripted()}, tmp_path) as world:
        assert "mcp_s_noise" in world.tools
        await world.call("mcp_s_change")
        await world.until("mcp:tools_changed")
        assert world.told("mcp:tools_changed") == [
            {"server": "s", "added": ["mcp_s_another"], "removed": ["mcp_s_noise"]}
        ]
        assert "mcp_s_another" in world.tools
        assert "mcp_s_noise" not in world.tools
    assert list(world.tools) == ["mcp_servers"]


async def test_tools_of_others_stay(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A name that is taken is left to whom it belongs."""
    mine = MockTool("mcp_s_echo")

    def prepare(coordinator: TestCoordinator) -> None:
        coordinator.mount("tools", mine)

    async with session({"s": scripted()}, tmp_path, prepare=prepare) as world:
        assert world.tools["mcp_s_echo"] is mine
        assert "there is another tool called 'mcp_s_echo'" in caplog.text
        world.tools["mcp_s_env"] = mine
    assert [world.tools["mcp_s_echo"], world.tools["mcp_s_env"]] == [mine, mine]


async def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """The end of a session is the end of its servers and of all they have started, also of those that will not go."""
    async with session({"s": scripted(), "stays": scripted("linger=1")}, tmp_path) as world:
        child = int((await world.call("mcp_s_child")).output["content"])
        grandchild = int((await world.call("mcp_stays_child")).output["content"])
        assert is_alive(child)
        assert is_alive(grandchild)
    assert not is_alive(child)
    assert not is_alive(grandchild)


async def test_stderr_goes_to_a_bounded_log_without_secrets(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What a server writes is in its log, with stars for what it was given in confidence; verbose, it is logged too."""
    caplog.set_level("INFO")
    entry = scripted(env={"TOKEN": "top-secret"})
    async with session({"s": entry}, tmp_path, verbose_servers=True, server_log_dir=str(tmp_path / "logs")) as world:
        await world.call("mcp_s_noise")
        await world.call("mcp_s_garbage")
    written = (tmp_path / "logs" / "s.log").read_text()
    assert "noise ***\n" in written
    assert "[no message on stdout: this is no JSON]" in written
    assert "MCP server s: noise ***" in caplog.text
    assert "top-secret" not in written + caplog.text


class Watcher(Observer):
    """Notes what becomes of a link."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def on_ready(self, link: ServerLink, offer: Offer) -> None:
        self.seen.append(("ready", len(offer.tools)))

    async def on_changed(self, link: ServerLink, offer: Offer) -> None:
        self.seen.append(("changed", len(offer.tools)))

    async def on_failed(self, link: ServerLink, retry_s: float | None) -> None:
        self.seen.append(("failed", retry_s))


def line_to(entry: dict[str, Any], tmp_path: Path, **changes: Any) -> Line:
    """The line to a server of one test."""

    async def open_nothing(url: str) -> None:
        raise AssertionError(url)

    plan = to_plan("s", entry, os.environ, tmp_path)
    log = ServerLog(tmp_path / "s.log", plan.mask, max_bytes=10_000, is_verbose=False)
    usual = {"timeout_s": 20.0, "max_message_bytes": 1_000_000, **changes}
    return Line(plan, log, Callbacks("s", tmp_path), open_nothing, **usual)


class RunningLink:
    """A link at work, whose pauses take no time."""

    def __init__(self, line: Line, wait_s: float = 20.0) -> None:
        self.watcher = Watcher()
        self.pauses: list[float] = []
        self.link = ServerLink(line.plan, lambda: connected(line), self.watcher, wait_s=wait_s, pause=self._pause)
        self._task: asyncio.Task[None] | None = None

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)

    async def __aenter__(self) -> RunningLink:
        await load_sdk()
        self._task = asyncio.create_task(self.link.run())
        await self.link.settled()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def call(self, tool: str) -> Any:
        async def progress(progress: float, total: float | None, message: str | None) -> None: ...

        return await self.link.use(lambda connection: connection.call_tool(tool, {}, progress))


async def test_a_server_that_dies_comes_back(tmp_path: Path) -> None:
    """A call during which the server dies says what is not known; the next one waits for the server and works."""
    async with RunningLink(line_to(scripted(), tmp_path)) as running:
        with pytest.raises(LostError, match="Whether the call had its effect is not known"):
            await running.call("crash")
        assert (await running.call("echo")).content[0].text == "{}"
        assert running.watcher.seen == [("ready", 16), ("failed", 1.0), ("ready", 16)]
    assert "about to crash" in (tmp_path / "s.log").read_text()


async def test_a_message_that_is_too_large_ends_the_connection(tmp_path: Path) -> None:
    """It is not read to its end, the log tells why, and the server is started anew."""
    async with RunningLink(line_to(scripted(), tmp_path)) as running:
        with pytest.raises(LostError):
            await running.call("oversize")
        assert (await running.call("echo")).content[0].text == "{}"
    assert "larger than max_message_bytes" in (tmp_path / "s.log").read_text()


async def test_a_server_that_dies_at_once_is_tried_three_times_more(tmp_path: Path) -> None:
    """The pauses get longer; then nothing happens until somebody wants to call it, and that works if it can."""
    (tmp_path / "lives").write_text("4")
    async with RunningLink(line_to(scripted(f"lives={tmp_path / 'lives'}"), tmp_path)) as running:
        server = running.link
        assert (server.state, running.pauses) == ("failed", [1.0, 2.0, 4.0])
        assert running.watcher.seen == [("failed", 1.0), ("failed", 2.0), ("failed", 4.0), ("failed", None)]
        assert server.problem == "the server has ended the connection"
        assert server.protocol_version is None
        await server.connect()
        assert (server.state, server.problem, server.protocol_version) == ("ready", None, "2025-11-25")


async def test_a_server_that_has_lived_long_starts_from_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failures of long ago do not count: the pause before the first try is the shortest again."""
    monkeypatch.setattr(link, "_STABLE_S", -1.0)
    async with RunningLink(line_to(scripted(), tmp_path)) as running:
        for _ in range(3):
            with pytest.raises(LostError):
                await running.call("crash")
        assert (await running.call("echo")).content[0].text == "{}"
        assert running.pauses == [1.0, 1.0, 1.0]


async def test_a_server_that_cannot_be_started_is_tried_once(tmp_path: Path) -> None:
    """Nothing is gained by trying again, and the message names the command."""
    async with RunningLink(line_to({"command": str(tmp_path / "nothing")}, tmp_path)) as running:
        assert running.pauses == []
        assert f"the command '{tmp_path / 'nothing'}' cannot be started" in (running.link.problem or "")
        with pytest.raises(UnreachableError, match="the MCP server 's' is not connected: the command"):
            await running.call("echo")


async def test_a_slow_server_is_given_up_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not say anything is ended when its time is over."""
    monkeypatch.setattr(stdio, "_LEAVE_S", 0.01)
    async with RunningLink(line_to(scripted("delay=30"), tmp_path, timeout_s=0.2)) as running:
        assert running.link.problem == "no connection within 0.2 s (connect_timeout)"


async def test_a_server_has_to_say_what_it_offers(tmp_path: Path) -> None:
    """A server that connects and then says nothing is not waited for any longer than for a connection."""
    await load_sdk()
    async with connected(line_to(scripted("secretive=1"), tmp_path)) as connection:
        assert connection._list_s == 20.0
        connection._list_s = 0.05
        with pytest.raises(TimedOutError, match="it has not said within 0.05 s what it offers"):
            await connection.offer()


async def test_whoever_hears_of_a_server_can_call_it(tmp_path: Path) -> None:
    """The tools are there when the event tells of them."""
    answers: list[Any] = []

    def prepare(coordinator: TestCoordinator) -> None:
        async def call(event: str, data: dict[str, Any]) -> None:
            answers.append(await coordinator.get("tools")["mcp_s_echo"].execute({"a": 1}))

        coordinator.hooks.register("mcp:server_ready", call)

    async with session({"s": scripted()}, tmp_path, prepare=prepare) as world:
        await world.until("mcp:server_ready")
    assert [answer.output["content"] for answer in answers] == ['{"a": 1}']


async def test_a_call_does_not_wait_for_ever_for_a_connection(tmp_path: Path) -> None:
    """While a server is being connected, a call waits as long as a connection may take."""
    line = line_to(scripted(), tmp_path)
    waiting = ServerLink(line.plan, lambda: connected(line), Watcher(), wait_s=0.05)
    with pytest.raises(TimedOutError, match="the MCP server 's' is not connected, and was not within 0.05 s"):
        await waiting.connect()


async def test_a_slow_server_delays_nobody(tmp_path: Path) -> None:
    """Mounting takes no time, the first turn waits no longer than it may, and only once; the others are there."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    servers = {"quick": scripted(), "slow": scripted("delay=60", f"mark={tmp_path}")}
    async with session(servers, tmp_path, settle=False, startup_wait=0.01) as world:
        assert loop.time() - started < 5
        await world.coordinator.hooks.emit("prompt:submit", {})
        await world.until("mcp:server_ready")
        await world.coordinator.hooks.emit("prompt:submit", {})
        listed = await world.call("mcp_servers")
        assert "- slow (connecting): no tools" in listed.output
        shown = await world.coordinator.hooks.emit("provider:request", {})
        assert "- quick: 16 tools\n- slow: not connected yet" in (shown.context_injection or "")
        assert len(commands_with(f"mark={tmp_path}")) == 1
    assert loop.time() - started < 30
    assert commands_with(f"mark={tmp_path}") == []


async def test_a_pipe_that_breaks_is_a_loss() -> None:
    """Whatever goes wrong with a pipe, the connection counts as lost, and nothing is raised."""

    async def broken() -> None:
        raise BrokenPipeError

    lost = asyncio.Event()
    await stdio._until_lost(broken(), lost)
    assert lost.is_set()


async def test_what_cannot_be_sent_costs_no_connection(tmp_path: Path) -> None:
    """Input that no message can carry is refused, and the server stays."""
    async with session({"s": scripted()}, tmp_path) as world:
        for odd in ("\ud800", object()):
            refused = await world.call("mcp_s_echo", a=odd)
            assert refused.error["type"] == "invalid_input"
        assert (await world.call("mcp_s_echo")).success
        assert world.told("mcp:server_failed") == []


async def test_servers_ask_where_we_work(tmp_path: Path) -> None:
    """The roots are the working directory; what nobody offers is refused."""
    async with session({"s": scripted()}, tmp_path) as world:
        roots = await world.call("mcp_s_ask", method="roots/list")
        assert json.loads(roots.output["content"]) == {"roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]}
        for method in ("elicitation/create", "sampling/createMessage"):
            asked = await world.call("mcp_s_ask", method=method, params=FORMS[method])
            assert json.loads(asked.output["content"])["code"] == -32600


FORM = {
    "message": "Your name?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string", "default": "Jo"}, "age": {"type": "integer"}},
    },
}
QUESTION = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 9}
FORMS = {"elicitation/create": FORM, "sampling/createMessage": QUESTION}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"age": 7}, {"action": "accept", "content": {"name": "Jo", "age": 7}}),
        (False, {"action": "decline"}),
        (None, {"action": "cancel"}),
    ],
    ids=["filled", "refused", "ignored"],
)
async def test_forms_are_filled_in_by_the_host(tmp_path: Path, answer: Any, expected: Any) -> None:
    """A capability of the host asks the user; defaults of the form count for what is left out."""
    seen: list[Any] = []

    async def elicit(server: str, message: str, schema: dict[str, Any]) -> Any:
        seen.append((server, message, sorted(schema["properties"])))
        return answer

    def prepare(coordinator: TestCoordinator) -> None:
        coordinator.register_capability("mcp.elicit", elicit)

    async with session({"s": scripted()}, tmp_path, prepare=prepare) as world:
        asked = await world.call("mcp_s_ask", method="elicitation/create", params=FORM)
        assert json.loads(asked.output["content"]) == expected
        page = {"mode": "url", "message": "Look", "url": "https://example.com/", "elicitationId": "1"}
        asked = await world.call("mcp_s_ask", method="elicitation/create", params=page)
        assert "only forms can be shown" in asked.output["content"]
    assert seen == [("s", "Your name?", ["age", "name"])]


class Model:
    """A provider that answers what it was asked."""

    name = "model"

    def __init__(self, priority: int) -> None:
        self.priority = priority
        self.requests: list[Any] = []

    async def complete(self, request: Any) -> ChatResponse:
        self.requests.append(request)
        return ChatResponse(content=[TextBlock(text="Hello yourself")])


async def ask_model(world: McpSession, **changes: Any) -> Any:
    """Lets the server ask the model."""
    asked = await world.call("mcp_s_ask", method="sampling/createMessage", params={**QUESTION, **changes})
    return json.loads(asked.output["content"])


async def test_servers_may_ask_the_model_if_the_user_wants_that(tmp_path: Path) -> None:
    """The most preferred provider answers text; other content and failures are refused."""
    first, second = Model(1), Model(2)

    def prepare(coordinator: TestCoordinator) -> None:
        coordinator.mount("providers", second, name="second")
        coordinator.mount("providers", first, name="first")

    async with session({"s": scripted()}, tmp_path, sampling=True, prepare=prepare) as world:
        answer = await ask_model(world, systemPrompt="Be kind", temperature=0, maxTokens=10**6)
        text = {"type": "text", "text": "Hello yourself"}
        assert answer == {"role": "assistant", "content": text, "model": "model"}
        request = first.requests[0]
        assert [(each.role, each.content) for each in request.messages] == [("system", "Be kind"), ("user", "Hi")]
        assert (request.max_output_tokens, request.temperature, request.tools) == (8192, 0, None)
        image = {"role": "user", "content": {"type": "image", "data": "aGk=", "mimeType": "image/png"}}
        assert (await ask_model(world, messages=[image]))["message"] == "sampling failed: ValueError"
        world.coordinator.get("providers").clear()
        assert (await ask_model(world))["message"] == "sampling failed: LookupError"
    assert second.requests == []


async def test_lists_that_cannot_be_had_cost_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """When a server says that its tools have changed and cannot list them, the old ones stay."""
    async with RunningLink(line_to(scripted(), tmp_path)) as running:
        connection = running.link._connection
        assert connection is not None

        async def fail() -> Offer:
            raise ServerError("not now")

        connection.offer = fail
        connection.changed.set()
        while not running.pauses:  # noqa: ASYNC110 - the server decides when
            await asyncio.sleep(0.005)
        assert running.pauses == [0.5]
        assert running.watcher.seen == [("ready", 16)]
    assert "MCP server s: its tools cannot be listed: not now" in caplog.text
