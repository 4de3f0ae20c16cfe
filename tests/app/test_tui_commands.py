"""The commands of the chat, each in a session on the scripted model: what they show, change and refuse."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.app.run_world import calls
from tests.app.tui_world import FILES, ChatWorld

from amplifier.bundles.bundle import AgentSpec
from amplifier.store.transcript import text_of
from amplifier.tui.commands.command import cell, fenced, table
from amplifier.tui.commands.written import filled, find_written, skills_prompt

COMMANDS = (
    "help", "clear", "new", "compact", "resume", "fork", "rewind", "undo", "redo", "model", "provider", "status",
    "cost", "context", "config", "permissions", "tools", "mcp", "hooks", "agents", "modes", "plan", "init", "export",
    "copy", "diff", "doctor", "quit", "skills", "unfold", "memory", "usage", "vim",
)  # fmt: skip


def flat(text: str) -> str:
    """``text`` on one line."""
    return " ".join(text.split())


def current(world: ChatWorld) -> Any:
    """The stored session that is open."""
    return world.chat.talk.opening.setting.stored


async def test_help_lists_commands_and_keys(tmp_path: Path) -> None:
    """All of them, or one with what may stand behind it; a beginning is enough where only one begins so."""
    world = ChatWorld(tmp_path, [])
    async with world:
        shown = await world.say("/help")
        one = await world.say("/help /rewind", "/he quit")
    for name in COMMANDS:
        assert f"/{name}" in shown
    assert "Shift+Tab" in shown
    assert flat(one) == (
        "/rewind [TURN] [WHAT] — Go back to before a turn: conversation, files, or both. /quit — Leave."
    )


@pytest.mark.slow
async def test_new_and_clear_begin_another_session(tmp_path: Path) -> None:
    """The former one stays, and can be gone on with."""
    world = ChatWorld(tmp_path, ["One.", "Two."])
    async with world:
        await world.say("first")
        former = current(world)
        assert flat(await world.say("/new")) == f"· a new session; the former one: /resume {former.short_id}"
        cleared = await world.say("/clear")
        assert (world.terminal.cleared, cleared[:18]) == (1, "· a new session; t")
        assert len({former.id, current(world).id}) == 2
        assert await world.say("/resume") == ""
        ((title, (offered,)),) = world.terminal.offered
        assert (title, offered.label) == ("Sessions of this directory", "first")
        assert offered.note == f"just now · 1 turn · mock-model · {former.short_id}"
        world.terminal.chosen = [0]
        assert "goes on; 1 turns so far" in flat(await world.say("/resume", "/new"))
        assert f"session {former.short_id} goes on; 1 turns so far" in flat(await world.say(f"/resume {former.id}"))
        assert current(world).id == former.id


async def test_a_session_that_is_not_kept_cannot_be_gone_on_with(tmp_path: Path) -> None:
    """What needs a stored session says so; a new one can be begun all the same."""
    world = ChatWorld(tmp_path, ["Yes."])
    world.is_kept = False
    world.context = "context-simple"
    async with world:
        await world.say("Sure?")
        for line in ("/resume", "/fork", "/rewind 1", "/undo", "/redo", "/export"):
            assert "This session is not kept" in await world.say(line)
        assert "nowhere (--ephemeral)" in await world.say("/status")
        assert flat(await world.say("/new")) == "· a new session"


async def test_there_may_be_nothing_to_resume_rewind_or_copy(tmp_path: Path) -> None:
    """Each says that there is nothing."""
    world = ChatWorld(tmp_path, [])
    async with world:
        shown = flat(await world.say("/resume", "/rewind", "/copy", "/unfold", "/rewind x"))
    assert "There is no other session to go on with." in shown
    assert "Nothing was said yet" in shown
    assert "There is no answer yet." in shown
    assert "nothing is folded" in shown


@pytest.mark.slow
async def test_the_conversation_is_shortened_for_the_model(tmp_path: Path) -> None:
    """Long results of tools go first; where there is nothing to take, that is told."""
    read = [calls(("read_file", {"file_path": f"{number}.txt"})) for number in range(12)]
    world = ChatWorld(tmp_path, [*read, "Read."], **FILES)
    for number in range(12):
        (world.places.working_dir / f"{number}.txt").write_text("word " * 2_000)
    async with world:
        assert "there is nothing to shorten" in await world.say("/compact")
        await world.say("Read all.")
        assert "shortened: about" in await world.say("/compact")


@pytest.mark.slow
async def test_the_conversation_is_written_to_a_file(tmp_path: Path) -> None:
    """As Markdown or JSON, with secrets masked where a module does that; never over another file."""
    world = ChatWorld(tmp_path, ["Yes."], hooks=[{"module": "hooks-redaction"}])
    async with world:
        await world.say("Sure?")
        assert flat(await world.say("/export talk.json")).endswith("talk.json")
        document = json.loads((world.places.working_dir / "talk.json").read_text())
        assert [each["role"] for each in document["messages"]] == ["user", "assistant"]
        assert "is there already" in flat(await world.say("/export talk.json"))
        await world.say("/export")
        assert (
            "## Assistant\n\nYes." in (world.places.working_dir / f"amplifier-{current(world).short_id}.md").read_text()
        )
    bare = ChatWorld(tmp_path / "work", [])
    async with bare:
        assert "secrets are not masked" in flat(await bare.say("/export x.md"))


async def test_the_last_answer_is_copied(tmp_path: Path) -> None:
    """Without what came before it."""
    world = ChatWorld(tmp_path, ["One.", "Two."])
    async with world:
        await world.say("first", "second", "/copy")
    assert world.terminal.copied == ["Two."]


@pytest.mark.slow
async def test_the_model_is_changed_in_the_same_conversation(tmp_path: Path) -> None:
    """The session goes on with another one; where that fails, with the former; without a name they are listed."""
    world = ChatWorld(tmp_path, ["One.", "Two."])
    world.refused.add("bad")
    async with world:
        await world.say("first")
        session = current(world)
        assert await world.say("/model") == ""
        ((title, offered),) = world.terminal.offered
        assert (title, [each.label for each in offered]) == ("Models of mock", ["mock-model"])
        assert "· model: other of mock" in await world.say("/model other")
        assert "no model bad → Choose." in await world.say("/model bad")
        assert "No provider is there" in flat(await world.say("/model broken"))
        assert world.chat.talk.model == "other"
        assert current(world).id == session.id
        assert "provider: mock, model: mock-model" in await world.say("/provider mock")
        assert await world.say("/provider") == ""
        world.terminal.chosen = [0, 0]
        assert "model: mock-model of mock" in await world.say("/model")
        assert "provider: mock" in await world.say("/provider")
        assert [each.note for each in world.terminal.offered[-1][1]] == ["Scripted model: mock · asked first"]
        assert "One." in await world.say("again")
    assert world.opened[1:] == [
        (session.id, {"model": "other"}),
        (session.id, {"model": "bad"}),
        (session.id, {"model": "broken"}),
        (session.id, {"model": "other"}),
        (session.id, {"provider": "mock"}),
        (session.id, {"provider": "mock", "model": "mock-model"}),
        (session.id, {"provider": "mock"}),
    ]


async def test_a_conversation_that_is_not_kept_goes_on_with_another_model(tmp_path: Path) -> None:
    """What was said is taken over, also where the other model cannot be had."""
    world = ChatWorld(tmp_path, ["One.", "Two."])
    world.is_kept = False
    world.context = "context-simple"
    async with world:
        await world.say("first", "/model broken")
        assert [text_of(each) for each in await world.chat.talk.messages()] == ["first", "One."]
        await world.say("/model other", "second")
        assert [text_of(each) for each in await world.chat.talk.messages()] == ["first", "One.", "second", "One."]


async def test_a_provider_may_not_tell_its_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The present one is told all the same."""
    world = ChatWorld(tmp_path, [])
    async with world:

        async def list_models() -> list[Any]:
            raise ConnectionError("no network")

        monkeypatch.setattr(world.chat.talk.provider[1], "list_models", list_models)
        shown = flat(await world.say("/model"))
    assert "mock does not tell its models: no network" in shown
    assert "Now: mock-model of mock." in shown


@pytest.mark.slow
async def test_status_cost_and_context_tell_how_things_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is kept, what it took, and what fills the window, by source."""
    used = {"text": "One.", "usage": {"input_tokens": 1200, "output_tokens": 5, "cost_usd": "0.5"}}
    write = calls(("read_file", {"file_path": "a.txt"}))
    world = ChatWorld(tmp_path, [write, used], tools=FILES["tools"], hooks=[*FILES["hooks"], {"module": "hooks-cost"}])
    (world.places.working_dir / "a.txt").write_text("word " * 100)
    async with world:
        await world.say("x" * 400)
        status = await world.say("/status")
        assert f" kept in            {current(world).folder}\n" in status
        cost = await world.say("/cost")
        assert "0.5" in cost
        numbers = [line for line in cost.splitlines() if line.startswith((" tokens in", " tokens out"))]
        assert len({len(line) for line in numbers}) == 1
        assert "with sub-agents" in cost
        context = await world.say("/context")
        for source in ("system prompt", "tools", "what you said", "answers", "results of tools", "calls of tools"):
            assert source in context
        assert "four characters counted as a token" in flat(context)
        monkeypatch.setattr(world.chat.talk.provider[1], "get_info", lambda: Info({}))
        assert "About" in await world.say("/context")
        assert "its default" in await world.say("/status")
        monkeypatch.setattr(world.chat.talk.provider[1], "get_info", lambda: Info({"context_window": 1000}))
        assert "of 1,000 tokens" in flat(await world.say("/context"))


class Info:
    """What a provider tells of itself."""

    display_name = "Mock"

    def __init__(self, defaults: dict[str, Any]) -> None:
        self.defaults = defaults


async def test_costs_may_be_unknown(tmp_path: Path) -> None:
    """Then it is said so."""
    world = ChatWorld(tmp_path, [])
    async with world:
        assert "not known" in await world.say("/cost")


@pytest.mark.slow
async def test_settings_and_rules_are_shown(tmp_path: Path) -> None:
    """With where they come from; rules that answers have added too."""
    world = ChatWorld(tmp_path, [calls(("write_file", {"file_path": "n.txt", "content": "x"})), "Done."], **FILES)
    world.places.home.mkdir(exist_ok=True)
    world.places.user_settings.write_text(
        "permissions:\n  deny: ['Bash(rm:*)']\nmcp:\n  servers: {files: {command: x}}\n"
    )
    async with world:
        assert "Bash(rm:*)" in await world.say("/config permissions.deny")
        assert "output.format" in await world.say("/config")
        assert "There is nothing set for 'nothing'." in await world.say("/config nothing")
        world.chat.submit("Write it.")
        await world.until(lambda: world.chat.is_asking)
        world.chat.submit("2")
        await world.until(lambda: world.chat.is_idle)
        shown = flat(await world.say("/permissions"))
        assert "Mode: default" in shown
        assert "deny Bash(rm:*)" in shown
        assert "allow, this session write_file(=" in shown
        assert "files" in await world.say("/mcp")
    bare = ChatWorld(tmp_path / "work", [])
    async with bare:
        assert flat(await bare.say("/permissions")) == "Mode: nothing asks There are no rules."
        assert "The settings name no servers" in await bare.say("/mcp")
        assert flat(await bare.say("/tools")) == "The model has no tools."
        assert flat(await bare.say("/agents")) == "The bundle has no agents."


async def test_modes_are_shown_and_changed(tmp_path: Path) -> None:
    """One that does not exist is refused; ``/plan`` lets the agent only read, and says something at once."""
    world = ChatWorld(tmp_path, ["Planned."], **FILES)
    async with world:
        assert await world.say("/modes") == ""
        world.terminal.chosen = [2]
        assert "· mode: plan" in await world.say("/modes")
        assert [each.note for each in world.terminal.offered[-1][1]][2] == "only reading"
        assert "· mode: bypass" in await world.say("/modes bypass")
        assert "There is no mode 'wild'." in await world.say("/modes wild")
        await world.say("/plan")
        assert world.chat.talk.mode == "plan"
        assert "Planned." in await world.say("/plan how to go on")
        assert text_of(current(world).messages()[0]) == "how to go on"


async def test_tools_hooks_and_agents_are_listed(tmp_path: Path) -> None:
    """With what they are for; tools of servers stand with their server."""
    world = ChatWorld(tmp_path, [], **FILES)
    world.agents = {"painter": AgentSpec("painter", "Paints | houses.", {})}
    world.places.home.mkdir(exist_ok=True)
    world.places.user_settings.write_text("mcp:\n  servers: {files: {command: x}}\n")

    class Tool:
        description = "Does much. Really."

    async with world:
        tools = world.chat.talk.runtime.session.coordinator.get("tools")
        assert "read_file" in await world.say("/tools")
        tools |= {"mcp_files_list": Tool(), "mcp_other_x": Tool()}
        shown = flat(await world.say("/mcp"))
        assert "files mcp_files_list" in shown
        assert "Tools of others: mcp_other_x" in shown
        assert "Does much" in await world.say("/tools")
        del tools["mcp_files_list"], tools["mcp_other_x"]
        assert "hooks-approval" in await world.say("/hooks")
        assert "Paints | houses." in await world.say("/agents")


@pytest.mark.slow
async def test_the_installation_is_looked_at(tmp_path: Path) -> None:
    """The findings of ``amplifier doctor``, without the network."""
    world = ChatWorld(tmp_path, [])
    async with world:
        assert "python" in (await world.say("/doctor")).lower()


async def test_init_has_the_agent_write_down_the_project(tmp_path: Path) -> None:
    """The prompt names the file, with what the user adds; the line that was typed is shown."""
    world = ChatWorld(tmp_path, ["Written."])
    async with world:
        await world.say("/init In German.")
        said = text_of(current(world).messages()[0])
    assert "\n❯ /init In German.\n" in world.terminal.shown
    assert said.startswith("Write the file AGENTS.md")
    assert said.endswith("\n\nIn German.")


def commit(folder: Path) -> None:
    """Makes a repository of a folder, with what is in it."""
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run([*git, *arguments], cwd=folder, check=True)


@pytest.mark.slow
async def test_changes_since_the_last_commit_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The diff and the files that git does not know; where there is no repository, or no git, that is told."""
    world = ChatWorld(tmp_path, [])
    folder = world.places.working_dir
    async with world:
        assert "git cannot tell what has changed" in flat(await world.say("/diff"))
        (folder / "a.txt").write_text("one\n")
        commit(folder)
        assert "nothing has changed" in await world.say("/diff")
        (folder / "late.txt").write_text("")
        assert "late.txt" in await world.say("/diff")
        (folder / "a.txt").write_text("two\n" * 500)
        shown = await world.say("/diff a.txt")
        assert "-one" in shown
        assert "lines in all)" in shown
        monkeypatch.setenv("PATH", "")
        assert "git cannot be started" in flat(await world.say("/diff"))


def write(folder: Path, name: str, text: str) -> None:
    """Writes a file and its folders."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


async def test_commands_that_users_write_are_said_to_the_agent(tmp_path: Path) -> None:
    """With what stands behind them filled in, but no file that they name.

    The project's come before the user's, and none before ours.
    """
    world = ChatWorld(tmp_path, ["One.", "Two."])
    project, home = world.places.project_dir / ".amplifier", world.places.home
    write(
        project, "commands/review.md", "---\ndescription: Reviews.\nargument-hint: FILE\n---\nReview $1 ($ARGUMENTS)."
    )
    write(project, "commands/git/log.md", "Tell the log of @.amplifier/commands/review.md.")
    write(home, "commands/review.md", "Not this one.")
    write(home, "commands/help.md", "Not this one either.")
    write(home, "commands/broken.md", "---\n: : :\n---\n")
    async with world:
        assert "broken.md" in flat(world.terminal.shown)
        help_ = await world.say("/help")
        assert "/review FILE" in help_
        assert "/git:log" in help_
        await world.say("/review a.py now", "/git:log")
        said = [text_of(each) for each in current(world).messages() if each["role"] == "user"]
    assert said == ["Review a.py (a.py now).", "Tell the log of @.amplifier/commands/review.md."]


def test_placeholders_are_filled() -> None:
    """Words by number, all of it by name, at the end where there is no place; quotes keep words together."""
    assert filled("Do.", "it") == "Do.\n\nit"
    assert filled("Do.", "") == "Do."
    assert filled("$1-$2-$3|$ARGUMENTS", "'a b' c") == "a b-c-|'a b' c"
    assert filled("$1", "it's") == "it's"


async def test_skills_are_told_to_the_model_and_read_on_demand(tmp_path: Path) -> None:
    """Name and description are in the prompt; ``/name`` says the whole; what is no skill is told."""
    world = ChatWorld(tmp_path, ["Painted."])
    home = world.places.home
    async with world:
        assert "There are no skills" in flat(await world.say("/skills"))
    assert skills_prompt(world.places) == ""
    write(home, "skills/paint/SKILL.md", "---\nname: paint\ndescription: Paints walls.\n---\nTake a brush.")
    write(home, "skills/nothing/SKILL.md", "No description.")
    write(home, "skills/other/SKILL.md", "---\nname: another\ndescription: x\n---\n")
    write(world.places.project_dir / ".amplifier", "skills/paint/SKILL.md", "---\ndescription: Ours.\n---\nOurs.")
    write(home, "skills/B@d/SKILL.md", "---\ndescription: x\n---\n")
    found = find_written(world.places)
    assert list(found.skills) == ["paint"]
    assert len(found.warnings) == 3
    file = world.places.project_dir / ".amplifier" / "skills" / "paint" / "SKILL.md"
    assert f"- paint: Ours. ({file})" in skills_prompt(world.places)
    again = ChatWorld(tmp_path, ["Painted."])
    async with again:
        assert "Ours." in await again.say("/skills")
        await again.say("/paint the door")
        said = text_of(current(again).messages()[0])
        assert said == f"Use the skill 'paint' of the folder {file.parent}:\n\nOurs.\n\nthe door"
        assert "# Skills" in again.chat.talk.opening.plan.instruction


def test_markdown_is_to_the_letter() -> None:
    """Nothing in a cell or a block can end it or become a mark."""
    assert cell("a|b *c* _d_ `e`\nf\\") == "a\\|b \\*c\\* \\_d\\_ \\`e\\` f\\\\"
    assert table(("x",), [("1",)]) == "| x |\n| --- |\n| 1 |"
    assert fenced("```\nx\n```", "md") == "````md\n```\nx\n```\n````"
    assert fenced("x") == "```\nx\n```"
