"""The chat without a terminal: turns, commands, answers, stops, what waits, what fails, and how one leaves."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.app.run_world import calls
from tests.app.tui_world import FILES, ChatWorld

from amplifier.problems import Problem
from amplifier.runtime.outcome import TurnOutcome
from amplifier.store.transcript import text_of
from amplifier.tui.chat import Chat
from amplifier.tui.view.theme import Theme

WRITE = calls(("write_file", {"file_path": "note.txt", "content": "hi\n"}))
NEVER: dict[str, Any] = {"text": "never", "delay_s": 3600}


def said_in(world: ChatWorld) -> list[tuple[str, str]]:
    """What was said in the session that is open, by whom."""
    stored = world.chat.talk.opening.setting.stored
    assert stored is not None
    return [(each["role"], text_of(each)) for each in stored.messages()]


@pytest.mark.slow
async def test_what_is_said_is_answered_and_kept(tmp_path: Path) -> None:
    """Prompt and answer are shown; leaving tells how to go on, and gives the exit code 0."""
    world = ChatWorld(tmp_path, ["It is **red**."])
    async with world:
        shown = await world.say("Which colour?", "   ")
        assert shown == "\n❯ Which colour?\n\nIt is red.\n"
        assert said_in(world) == [("user", "Which colour?"), ("assistant", "It is **red**.")]
        stored = world.chat.talk.opening.setting.stored
    assert world.terminal.shown.endswith(f"· to go on: amplifier resume {stored.short_id if stored else ''}\n")
    assert world.terminal.refreshed > 0


async def test_a_first_prompt_is_said_at_once_and_a_session_goes_on(tmp_path: Path) -> None:
    """The end of the conversation is shown again before the prompt is answered."""
    world = ChatWorld(tmp_path, ["And bread."])
    running = asyncio.create_task(world.chat.run("More?", world.talked("milk")))
    await world.until(lambda: "And bread." in world.terminal.shown)
    world.chat.leave()
    assert await running == 0
    shown = " ".join(world.terminal.shown.split())
    assert shown.index("❯ Remember the milk.") < shown.index("I will.") < shown.index("session milk goes on; 2 turns")
    assert shown.index("goes on") < shown.index("❯ More?") < shown.index("And bread.")


async def test_sessions_in_which_nothing_was_said_are_not_kept(tmp_path: Path) -> None:
    """Neither the one that is left for another, nor the last; one that has gone meanwhile is no trouble."""
    world = ChatWorld(tmp_path, ["Yes."])
    async with world:
        await world.say("/new", "Sure?", "/new", "/new")
        stored = world.chat.talk.opening.setting.stored
        assert stored is not None
        assert len(world.store.list()) == 2
        world.store.delete(stored)
    assert [[text_of(message) for message in each.messages()] for each in world.store.list()] == [["Sure?", "Yes."]]


async def test_a_chat_that_cannot_begin_is_a_problem(tmp_path: Path) -> None:
    """Without a provider there is nobody to talk with."""
    world = ChatWorld(tmp_path, [], providers=[])
    with pytest.raises(Problem, match="No provider is there"):
        await world.chat.run()


@pytest.mark.slow
async def test_an_edit_is_asked_about_and_allowed(tmp_path: Path) -> None:
    """The diff is shown, a digit answers, the file is written, and the line is given back."""
    world = ChatWorld(tmp_path, [WRITE, "Done."], **FILES)
    async with world:
        world.chat.submit("Write it.")
        await world.until(lambda: world.chat.is_asking)
        assert world.chat.choices()[0].startswith("1 Allow once")
        assert world.chat.press("1") is False
        world.now_s += 1
        assert world.chat.press("1") is True
        await world.until(lambda: world.chat.is_idle)
    assert (world.places.working_dir / "note.txt").read_text() == "hi\n"
    assert "--- note.txt\n+++ note.txt\n@@ -0,0 +1 @@\n+hi\n" in world.terminal.shown
    assert world.terminal.asides == ["aside", "back"]


async def test_a_refusal_in_words_reaches_the_model(tmp_path: Path) -> None:
    """What is typed while a question waits is its answer."""
    world = ChatWorld(tmp_path, [WRITE, "As you wish."], **FILES)
    async with world:
        world.chat.submit("Write it.")
        await world.until(lambda: world.chat.is_asking)
        world.chat.submit("not there")
        await world.until(lambda: world.chat.is_idle)
        assert "not there" in said_in(world)[2][1]
    assert not (world.places.working_dir / "note.txt").exists()


async def test_diffs_are_painted_where_there_is_colour(tmp_path: Path) -> None:
    """Added lines are green and removed ones red."""
    world = ChatWorld(tmp_path, [])
    Chat(world.open, world.places, lambda chat: world.terminal, Theme()).view.print_question("-a\n+b\n c", "diff")
    assert world.terminal.shown == "\n\x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n c\n"


async def test_once_stops_after_the_step_and_twice_at_once(tmp_path: Path) -> None:
    """A turn that waits for its model is stopped by the second interrupt; the chat goes on with another."""
    world = ChatWorld(tmp_path, [NEVER, "Here I am."])
    async with world:
        assert world.chat.interrupt() is False
        world.chat.submit("Wait.")
        await world.until(lambda: world.chat.talk.runtime.session.status.status == "running" and not world.chat.is_idle)
        await world.until(world.chat.interrupt)
        assert world.chat.interrupt() is True
        await world.until(lambda: world.chat.is_idle)
        assert "finishing the current step" in world.terminal.shown
        assert "stopping at once" in world.terminal.shown
        assert "! stopped; say what to do instead" in world.terminal.shown
        assert "Here I am." in await world.say("Still there?")


async def test_an_interrupt_withdraws_the_question(tmp_path: Path) -> None:
    """Nothing is written, and the turn ends."""
    world = ChatWorld(tmp_path, [WRITE, "Done."], **FILES)
    async with world:
        world.chat.submit("Write it.")
        await world.until(lambda: world.chat.is_asking)
        assert world.chat.interrupt() is True
        await world.until(lambda: world.chat.is_idle)
    assert not (world.places.working_dir / "note.txt").exists()
    assert "stopped; say what to do instead" in world.terminal.shown


async def test_what_is_said_while_the_agent_works_is_heard_or_waits(tmp_path: Path) -> None:
    """A loop that listens hears it before its next step; commands that only look are done at once, others wait."""
    world = ChatWorld(tmp_path, [WRITE, "Both done.", "Later."], **FILES)
    async with world:
        stored = world.chat.talk.opening.setting.stored
        world.chat.submit("Write it.")
        await world.until(lambda: world.chat.is_asking)
        world.chat.approval.withdraw()
        world.chat.submit("And be quick.")
        world.chat.submit("/cost")
        world.chat.submit("/new")
        await world.until(lambda: world.chat.is_idle)
        shown = world.terminal.shown
        assert "the agent hears this before its next step" in shown
        assert "comes next: /new" in shown
        assert shown.index("tokens in") < shown.index("a new session")
        assert stored is not None
        assert "And be quick." in [text_of(each) for each in stored.messages()]


async def test_of_a_long_answer_only_the_beginning_is_shown_again(tmp_path: Path) -> None:
    """When a session goes on; it is the end of the conversation that is recalled, not all of it."""
    answers = ("```\n" + "x\n" * 100 + "```", "y" * 20_000)
    talk = [
        {"role": role, "content": text}
        for asked, answer in zip(("List.", "Go on."), answers, strict=True)
        for role, text in (("user", asked), ("assistant", answer))
    ]
    world = ChatWorld(tmp_path, ["Yes."])
    running = asyncio.create_task(world.chat.run(None, world.talked("long", talk)))
    await world.until(lambda: "/help" in world.terminal.shown)
    world.chat.leave()
    assert await running == 0
    shown = world.terminal.shown
    assert shown.startswith("❯ List.\n\n```\n" + "x\n" * 39 + "```\n\n· … 62 more lines\n\n❯ Go on.\n")
    assert (shown.count("y" * 100), shown.count("· … and more\n")) == (100, 1)


async def test_what_nobody_hears_waits_for_its_turn(tmp_path: Path) -> None:
    """Where the loop cannot be steered, the next turn begins with it."""
    world = ChatWorld(tmp_path, [WRITE, "One.", "Two."], **FILES)
    world.orchestrator = "loop-basic"
    async with world:
        world.chat.submit("First.")
        world.chat.submit("Second.")
        await world.until(lambda: world.chat.is_asking)
        world.chat.submit("y")
        await world.until(lambda: world.chat.is_idle)
        assert [text for role, text in said_in(world) if role == "user"] == ["First.", "Second."]
        assert "comes next: Second." in world.terminal.shown


@pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming"])
async def test_a_line_that_comes_as_the_turn_ends_begins_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    """Nothing has to be waited for any more, so nothing is told of waiting."""
    world = ChatWorld(tmp_path, ["One.", "Two."])
    world.orchestrator = loop
    async with world:
        tell_status, late = world.chat.talk.tell_status, ["Second."]

        def told() -> None:
            tell_status()
            while late:
                world.chat.submit(late.pop())

        monkeypatch.setattr(world.chat.talk, "tell_status", told)
        shown = await world.say("First.")
    assert shown == "\n❯ First.\n\nOne.\n\n❯ Second.\n\nTwo.\n"


async def test_output_of_a_command_goes_along_with_the_next_prompt(tmp_path: Path) -> None:
    """It is shown without what steers a terminal; files that are mentioned go along as well, or it is told why not."""
    world = ChatWorld(tmp_path, ["Seen.", "Yes.", "A file."])
    (world.places.working_dir / "a.txt").write_text("alpha\n")
    (world.places.working_dir / "b.png").write_text("")
    async with world:
        shown = await world.say("!printf '\\033[31mred\\n'")
        assert shown == "\n❯ !printf '\\033[31mred\\n'\nred\n"
        shown = await world.say("What of @a.txt and @b.png?")
        assert "! " in shown
        assert "is named as an image and is none" in " ".join(shown.split())
        said = said_in(world)[0][1]
        assert said.startswith('What of @a.txt and @b.png?\n\n<file path="a.txt">\nalpha\n</file>\n\n<command line=')
        assert said.endswith("\n</command>")
        await world.say("!", "/etc/passwd is what?")
        assert [text for _, text in said_in(world)[2::2]] == ["!", "/etc/passwd is what?"]


async def test_a_command_of_the_shell_is_interrupted(tmp_path: Path) -> None:
    """Its whole group ends, and the chat goes on."""
    world = ChatWorld(tmp_path, [])
    async with world:
        world.chat.submit("!echo begun; sleep 1000")
        await world.until(lambda: "begun\n" in world.terminal.shown)
        assert world.chat.interrupt() is True
        await world.until(lambda: world.chat.is_idle)
        assert f"(exit code -{int(signal.SIGTERM)})" in world.terminal.shown


async def test_the_mode_is_cycled_and_shown(tmp_path: Path) -> None:
    """Shift+Tab goes through three modes; where nothing asks, it is told that there are none."""
    world = ChatWorld(tmp_path, [], **FILES)
    async with world:
        seen = [world.chat.talk.mode]
        for _ in range(3):
            before = seen[-1]
            world.chat.cycle_mode()
            await world.until(lambda before=before: world.chat.talk.mode != before)
            seen.append(world.chat.talk.mode)
        assert seen == ["default", "accept-edits", "plan", "default"]
        await world.chat.talk.set_mode("bypass")
        await world.chat.talk.next_mode()
        assert world.chat.talk.mode == "default"
        assert "default" in world.chat.status_line()
    bare = ChatWorld(tmp_path / "work", [])
    async with bare:
        bare.chat.cycle_mode()
        await bare.until(lambda: "there are no modes" in " ".join(bare.terminal.shown.split()))


async def test_two_keys_in_a_row_go_back_or_leave(tmp_path: Path) -> None:
    """Esc Esc lists the turns, Ctrl-C Ctrl-C leaves; with a while between them they do not."""
    world = ChatWorld(tmp_path, ["Yes."])
    async with world:
        await world.say("Sure?")
        world.chat.escape()
        world.now_s += 10
        world.chat.escape()
        assert world.chat.is_idle
        world.chat.escape()
        await world.until(lambda: [title for title, _ in world.terminal.offered] == ["Go back to before"])
        world.chat.cancel()
        assert "Ctrl-C again, or Ctrl-D, leaves" in world.terminal.shown
        world.chat.cancel()
        await world.until(world.terminal.left.done)


@pytest.mark.parametrize("line", ["/nonsense", "/helpp"])
async def test_unknown_commands_are_told(tmp_path: Path, line: str) -> None:
    """With the nearest one, if there is one; the model hears nothing of it."""
    world = ChatWorld(tmp_path, [])
    async with world:
        shown = " ".join((await world.say(line)).split())
    meant = "; did you mean /help?" if line == "/helpp" else "."
    assert shown == f"✗ There is no command '{line}'{meant} → /help lists them all."


async def test_an_error_inside_is_told_and_the_chat_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody has thought of does not end the conversation."""
    world = ChatWorld(tmp_path, ["Yes."])
    async with world:
        monkeypatch.setattr(world.chat.view, "unfold", lambda: 1 / 0)
        assert "An error inside the chat: ZeroDivisionError" in " ".join((await world.say("/unfold")).split())
        assert "Yes." in await world.say("Still there?")


async def test_a_failure_of_the_model_is_told(tmp_path: Path) -> None:
    """With what to do next."""
    error = {"error": {"type": "AuthenticationError", "message": "no key", "retryable": False}}
    world = ChatWorld(tmp_path, [error])
    async with world:
        shown = " ".join((await world.say("Hello?")).split())
    assert "refuses the key" in shown
    assert "→ Set another one" in shown


@pytest.mark.parametrize(
    ("outcome", "told", "left"),
    [
        (TurnOutcome("s", "", "incomplete", "max_iterations"), "the work is not finished (max_iterations)", False),
        (TurnOutcome("s", "", "cancelled", problem=Problem("Interrupted.", exit_code=130)), "stopped;", False),
        (TurnOutcome("s", "", "cancelled", problem=Problem("Terminated.", exit_code=143)), "", True),
        (TurnOutcome("s", "yes", "success"), "", False),
    ],
)  # fmt: skip
async def test_how_a_turn_ended_is_told(tmp_path: Path, outcome: TurnOutcome, told: str, left: bool) -> None:
    """Unfinished and stopped work is told; a signal that ends the process ends the chat."""
    world = ChatWorld(tmp_path, [])
    world.chat._conclude(outcome)
    assert told in world.terminal.shown
    assert bool(world.terminal.shown) == bool(told)
    assert world.terminal.left.done() is left


async def test_leaving_stops_what_goes_on(tmp_path: Path) -> None:
    """A turn that runs does not keep one in the chat."""
    world = ChatWorld(tmp_path, [NEVER])
    async with world:
        world.chat.submit("Wait.")
        await world.until(world.chat.interrupt)
        world.chat.submit("/quit")
        await world.until(world.terminal.left.done)
    assert world.chat.talk.runtime.session.coordinator.cancellation.is_immediate


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
async def test_signals_end_the_chat_between_turns(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    """The terminal is given back, and the exit code tells the signal."""
    world = ChatWorld(tmp_path, ["Yes."])
    running = asyncio.create_task(world.chat.run("Sure?"))
    await world.until(lambda: "Yes." in world.terminal.shown and world.chat.is_idle)
    os.kill(os.getpid(), sent)
    assert await running == code


async def test_a_broken_worker_ends_the_chat_with_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing goes on as if all were well."""
    world = ChatWorld(tmp_path, [])
    async with asyncio.timeout(10):
        running = asyncio.create_task(world.chat.run())
        await world.until(lambda: "/help" in world.terminal.shown)

        async def broken(text: str) -> None:
            raise KeyError("inside")

        monkeypatch.setattr(world.chat, "_carried_out", broken)
        world.chat.submit("x")
        with pytest.raises(KeyError, match="inside"):
            await running


async def test_the_cancellation_of_the_chat_itself_is_no_outcome(tmp_path: Path) -> None:
    """A task that is cancelled from outside stays cancelled."""
    world = ChatWorld(tmp_path, [NEVER])
    async with world:
        turn = asyncio.create_task(world.chat.talk.ask("Wait."))
        await world.until(lambda: world.chat.view.is_working)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn


async def test_a_turn_that_ends_by_cancellation_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a loop raises when it is stopped at once, that is an outcome like any other."""
    world = ChatWorld(tmp_path, [])
    async with world:

        async def run_turn(prompt: str) -> TurnOutcome:
            world.chat.talk.stop()
            raise asyncio.CancelledError

        monkeypatch.setattr(world.chat.talk.runtime, "run_turn", run_turn)
        outcome = await world.chat.talk.ask("Wait.")
        assert (outcome.status, outcome.reason) == ("cancelled", "interrupted")


async def test_messages_of_hooks_and_warnings_are_shown(tmp_path: Path) -> None:
    """What did not mount, and what hooks say, are notices."""
    world = ChatWorld(tmp_path, [], tools=[{"module": "tool-nowhere"}])
    (world.places.home / "commands").mkdir(parents=True)
    (world.places.home / "commands" / "Bad Name.md").write_text("x")
    async with world:
        shown = " ".join(world.terminal.shown.split())
        assert "tool-nowhere" in shown
        assert "a name needs small letters" in shown
        world.chat.talk.opening.setting.display.show_message("hello", "warning", "hook-x")
        assert "! [hook-x] hello" in world.terminal.shown


async def test_a_terminal_that_has_gone_ends_the_chat(tmp_path: Path) -> None:
    """With the code of a hang-up."""
    world = ChatWorld(tmp_path, ["And bread."])
    running = asyncio.create_task(world.chat.run("More?", world.talked("milk")))
    await world.until(lambda: "And bread." in world.terminal.shown)
    world.chat.lost()
    assert await running == 129


@pytest.mark.slow
async def test_figures_of_the_status_line_are_those_of_the_session(tmp_path: Path) -> None:
    """Another session begins with none, also one that goes on; with another model they go on being counted."""
    used = {"text": "One.", "usage": {"input_tokens": 1200, "output_tokens": 300, "cost_usd": "0.5"}}
    world = ChatWorld(tmp_path, [used, used])
    async with world:
        status = world.chat.view.status_line
        begun = status()
        assert "tokens" not in begun
        await world.say("first")
        first = world.chat.talk.opening.setting.stored
        assert first is not None
        assert "1.5k tokens" in status()
        assert "$0.5000" in status()
        await world.say("/model broken")
        assert "$0.5000" in status()
        await world.say("/model other", "more")
        assert "3.0k tokens" in status()
        assert "$1.00" in status()
        for line in ("/new", f"/resume {first.id}", "/fork"):
            await world.say(line)
            assert status() == begun.replace("mock-model", "other")
            await world.say("more")
            assert "1.5k tokens" in status()
            assert "$0.5000" in status()
