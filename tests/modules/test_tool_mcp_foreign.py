"""tool-mcp with servers that nobody here wrote."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from tests.modules.aimock import aimock
from tests.modules.foreign import needs_foreign, program
from tests.modules.mcp_world import session

pytestmark = [pytest.mark.slow, needs_foreign]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of the test's own."""
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("AMPLIFIER_MCP_CONFIG", raising=False)


async def test_server_everything(tmp_path: Path) -> None:
    """Text, images, resources, prompts and progress of the reference server arrive."""
    command, *args = program("@modelcontextprotocol/server-everything", "mcp-server-everything")
    async with session({"every": {"command": command, "args": [*args, "stdio"]}}, tmp_path) as world:
        assert (await world.call("mcp_every_echo", message="hi")).output["content"] == "Echo: hi"
        total = await world.call("mcp_every_get-sum", a=2, b=3)
        assert "5" in total.output["content"]
        image = await world.call("mcp_every_get-tiny-image")
        assert [block.type for block in image.content] == ["text", "image", "text"]
        resources = (await world.call("mcp_every_read_resource")).output["content"]
        uri = resources.splitlines()[0].split(": ")[0]
        assert (await world.call("mcp_every_read_resource", uri=uri)).success
        assert "simple-prompt" in (await world.call("mcp_every_get_prompt")).output["content"]
        assert (await world.call("mcp_every_get_prompt", name="simple-prompt")).success
        slow = await world.call("mcp_every_trigger-long-running-operation", duration=0.4, steps=2)
        assert slow.success
        assert {each["total"] for each in world.told("mcp:progress")} == {2}


async def test_server_filesystem(tmp_path: Path) -> None:
    """It works in the folder that it is allowed, which it learns from the roots, and says no to others."""
    command, *args = program("@modelcontextprotocol/server-filesystem", "mcp-server-filesystem")
    (tmp_path / "note.txt").write_text("milk", encoding="utf-8")
    async with session({"files": {"command": command, "args": [*args, str(tmp_path)]}}, tmp_path) as world:
        read = await world.call("mcp_files_read_text_file", path=str(tmp_path / "note.txt"))
        assert read.output["content"] == "milk"
        written = await world.call("mcp_files_write_file", path=str(tmp_path / "new.txt"), content="bread")
        assert written.success
        refused = await world.call("mcp_files_read_text_file", path="/etc/passwd")
        assert (refused.success, refused.error["type"]) == (False, "tool_error")
    assert (tmp_path / "new.txt").read_text(encoding="utf-8") == "bread"


async def test_aimock_answers(tmp_path: Path) -> None:
    """The mock of several vendors can be used by tests of providers."""
    async with aimock(tmp_path, [{"match": {"userMessage": "Hi"}, "response": {"content": "Hello"}}]) as url:
        question = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        async with httpx2.AsyncClient(trust_env=False) as client:
            answer = await client.post(f"{url}/v1/chat/completions", json=question)
    assert answer.json()["choices"][0]["message"]["content"] == "Hello"
