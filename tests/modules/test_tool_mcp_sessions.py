"""tool-mcp in whole sessions: a model calls what a server offers, and what is written where decides which servers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.modkit.spawning_world import call, plan
from tests.modules.mcp_world import McpSession, scripted, session

from amplifier_core import AmplifierSession
from amplifier_core.testing import TestCoordinator
from amplifier_module_tool_mcp import fleet, mount

REAL = {"command": sys.executable, "args": [str(Path(__file__).with_name("mcp_real_server.py"))]}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own."""
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("AMPLIFIER_MCP_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming", "loop-events"])
async def test_a_model_calls_the_tools_of_a_server(loop: str) -> None:
    """The first turn waits for the server, its tools are offered, and one that it adds is so in the next round."""
    offered: list[list[str]] = []
    seen: list[Any] = []

    def first(request: Any) -> Any:
        offered.append([spec.name for spec in request.tools])
        seen.append(request.messages[-1].content)
        return call("mcp_s_echo", a=1)

    def second(request: Any) -> Any:
        seen.append(request.messages[-2].content[0].text)
        return call("mcp_s_change")

    async def wait_for_change(event: str, data: dict[str, Any]) -> None:
        if data["tool_name"] == "mcp_s_change":
            async with asyncio.timeout(10):
                while "mcp_s_another" not in running.coordinator.get("tools"):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)

    def third(request: Any) -> str:
        offered.append([spec.name for spec in request.tools])
        return "done"

    tools = [{"module": "tool-mcp", "config": {"servers": {"s": scripted()}, "startup_wait": 30}}]
    parts = {"orchestrator": loop, "context": "context-simple"}
    async with AmplifierSession(plan(first, second, third, session=parts, tools=tools)) as running:
        running.coordinator.hooks.register("tool:post", wait_for_change)
        assert await running.execute("Go") == "done"
    assert set(offered[1]) ^ set(offered[0]) == {"mcp_s_noise", "mcp_s_another"}
    assert "- s: 16 tools" in seen[0]
    assert json.loads(seen[1]) == {"a": 1}


@pytest.mark.slow
async def test_a_real_server_over_stdio(tmp_path: Path) -> None:
    """A server on the official SDK speaks the current protocol, and its tools work."""
    async with session({"real": REAL}, tmp_path) as world:
        assert world.told("mcp:server_ready")[0]["protocol_version"] == "2026-07-28"
        assert (await world.call("mcp_real_add", a=2, b=3)).output["content"] == "5"
        wrong = await world.call("mcp_real_add", a="x")
        assert wrong.error is not None
        assert wrong.error["type"] == "tool_error"


@pytest.mark.slow
def test_mounting_does_not_import_the_sdk() -> None:
    """Neither the module nor a session without servers loads what takes most of a second."""
    program = (
        "import asyncio, sys\n"
        "from amplifier_core.testing import TestCoordinator\n"
        "from amplifier_module_tool_mcp import mount\n"
        "async def main():\n"
        "    close = await mount(TestCoordinator(), {})\n"
        "    await asyncio.sleep(0.05)\n"
        "    await close()\n"
        "asyncio.run(main())\n"
        "print([name for name in ('mcp', 'anyio', 'httpx2', 'mcp_types') if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


async def test_what_cannot_be_used_is_told_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Wrong entries, missing variables and broken files cost nobody else anything; disabled servers do not exist."""
    (tmp_path / ".mcp.json").write_text("{", encoding="utf-8")
    servers = {
        "odd": 7,
        "poor": {"command": "x", "env": {"K": "${NO_SUCH}"}},
        "off": {"command": "x", "disabled": True},
    }
    async with session(servers, tmp_path) as world:
        failed = {each["server"]: each["error"] for each in world.told("mcp:server_failed")}
        assert sorted(failed) == ["odd", "poor"]
        assert "the variable NO_SUCH is not set" in failed["poor"]
        listed = (await world.call("mcp_servers")).output
        assert "- odd (failed): the entry: Input should be a valid dictionary" in listed
        for server, message in (
            ("nobody", "there is no MCP server 'nobody'; known are: odd, poor"),
            ("odd", "the entry"),
        ):
            refused = await world.call("mcp_servers", reconnect=server)
            assert refused.error is not None
            assert message in refused.error["message"]
    assert f"the servers in {tmp_path / '.mcp.json'} are left out" in caplog.text


async def test_a_defect_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What should never happen in the background does not happen in silence, and the session goes on."""

    def fail(*_: Any) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(fleet, "find_servers", fail)
    async with session({"s": scripted()}, tmp_path) as world:
        assert "There are no MCP servers" in (await world.call("mcp_servers")).output
    assert "The task 'mcp' of tool-mcp has failed: RuntimeError: a defect" in caplog.text


async def test_without_the_sdk_the_way_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing library is no crash: the problem names what to install."""
    monkeypatch.setitem(sys.modules, "mcp", None)
    async with session({"s": scripted()}, tmp_path) as world:
        problem = "the library 'mcp' is not installed; run: pip install 'amplifier-modules[mcp]'"
        assert [each["error"] for each in world.told("mcp:server_failed")] == [problem]


def write_project(tmp_path: Path) -> None:
    """Lets the project bring a server along."""
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"p": scripted()}}), encoding="utf-8")


@pytest.mark.slow
async def test_servers_of_the_project_need_leave(tmp_path: Path) -> None:
    """They run when the user allows it, then and in later sessions; otherwise the problem says what to do."""
    write_project(tmp_path)

    def agree(coordinator: TestCoordinator) -> None:
        coordinator.approval_system.answer = "Allow"

    async with session({}, tmp_path) as world:
        assert "it comes with the project" in world.told("mcp:server_failed")[0]["error"]
    async with session({}, tmp_path, project_servers="ignore") as world:
        assert "There are no MCP servers" in (await world.call("mcp_servers")).output
        refused = await world.call("mcp_servers", reconnect="p")
        assert refused.error is not None
        assert refused.error["message"] == "there is no MCP server 'p'; known are: none"
    async with session({}, tmp_path, prepare=agree) as world:
        assert (await world.call("mcp_p_echo")).success
    async with session({}, tmp_path) as world:
        assert (await world.call("mcp_p_echo")).success


async def test_a_server_that_is_not_decided_yet_is_told(tmp_path: Path) -> None:
    """While the user is being asked, a server is neither there nor missing, and the session can end."""
    write_project(tmp_path)
    asked = asyncio.Event()

    class Asker:
        async def request_approval(self, *_: Any) -> str:
            asked.set()
            await asyncio.sleep(60)
            return "Allow"

    def prepare(coordinator: TestCoordinator) -> None:
        coordinator.approval_system = Asker()

    async with session({}, tmp_path, settle=False, prepare=prepare) as world:
        await asked.wait()
        assert (await world.call("mcp_servers")).output == "- p (connecting): no tools"
        refused = await world.call("mcp_servers", reconnect="p")
        assert refused.error is not None
        assert refused.error["message"] == "it cannot be connected: it is not known yet how"


async def test_visibility_can_be_switched_off(tmp_path: Path) -> None:
    """Then nothing is added to requests; the events of the module are announced in any case."""
    coordinator = TestCoordinator()
    close = await mount(coordinator, {"servers": {"odd": 7}, "visibility": {"enabled": False}})
    world = McpSession(coordinator)
    await coordinator.hooks.emit("prompt:submit", {})
    assert (await coordinator.hooks.emit("provider:request", {})).action == "continue"
    announced = await coordinator.collect_contributions("observability.events")
    assert announced == [
        ["mcp:server_ready", "mcp:server_failed", "mcp:tools_changed", "mcp:progress", "mcp:authorization_required"]
    ]
    assert list(world.tools) == ["mcp_servers"]
    await close()
