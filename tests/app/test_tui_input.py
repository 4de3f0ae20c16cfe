"""What is typed in the chat: pastes, history, completion, files that go along, commands of the shell, plain lines."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, InMemoryHistory

from amplifier.paths import Places
from amplifier.tui.input.completion import ChatCompleter, Suggestion, suggestions
from amplifier.tui.input.files import ProjectFiles
from amplifier.tui.input.history import history_file, history_in
from amplifier.tui.input.pastes import Pastes
from amplifier.tui.input.plain_board import PlainBoard
from amplifier.tui.input.shell import ShellCommand
from amplifier.tui.notices import Notices


def test_long_pastes_are_folded_and_put_back() -> None:
    """A short paste stays, a long one becomes a word that stands for it; what only looks like one stays."""
    pastes = Pastes()
    long, wide = "\n".join(map(str, range(20))), "x" * 900
    assert pastes.folded("a\r\nb") == "a\nb"
    assert pastes.folded(long) == "[Pasted #1: 20 lines]"
    assert pastes.folded(wide) == "[Pasted #2: 900 characters]"
    typed = "see [Pasted #1: 20 lines] and [Pasted #2: 900 characters] and [Pasted #3: 1 lines]"
    assert pastes.unfolded(typed) == f"see {long} and {wide} and [Pasted #3: 1 lines]"


@pytest.mark.slow
@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\r"), max_size=2000), max_size=4))
def test_whatever_is_folded_comes_back(texts: list[str]) -> None:
    """Folding and unfolding give what was pasted."""
    pastes = Pastes()
    shown = [pastes.folded(text) for text in texts]
    assert [pastes.unfolded(each) for each in shown if each.startswith("[Pasted #")] == [
        text for text, each in zip(texts, shown, strict=True) if each.startswith("[Pasted #")
    ]


def test_history_is_kept_per_project_for_the_user_alone(tmp_path: Path) -> None:
    """The file is made with narrow permissions; where none can be written, nothing is kept."""
    places = Places(home=tmp_path, cache=tmp_path, working_dir=Path("/a/b"), project_dir=Path("/a/b"))
    file = history_file(places)
    assert file == tmp_path / "projects" / "-a-b" / "history"
    history = history_in(file)
    assert isinstance(history, FileHistory)
    history.append_string("one\ntwo")
    assert list(history_in(file).load_history_strings()) == ["one\ntwo"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert isinstance(history_in(None), InMemoryHistory)
    assert isinstance(history_in(file / "below"), InMemoryHistory)


@pytest.mark.parametrize("has_git", [True, False])
def test_files_are_those_git_knows_of_or_those_that_lie_there(tmp_path: Path, has_git: bool) -> None:
    """Ignored files are left out in a repository; the best fit comes first; folders are there too."""
    (tmp_path / "src").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("src/main.py", "main.txt", "made.log", ".gitignore", ".hidden/main.c", "src/domain.py"):
        (tmp_path / name).write_text("*.log\n")
    if has_git:
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    now = 0.0
    files = ProjectFiles(tmp_path, lambda: now)
    found = files.matching("ma")
    hidden = [".hidden/main.c"] if has_git else []
    logs = [] if has_git else ["made.log"]
    assert found == [*logs, "main.txt", "src/main.py", *hidden, "src/domain.py"]
    assert files.matching("src")[0] == "src/"
    (tmp_path / "late.txt").write_text("")
    assert files.matching("late") == []
    now = 10.0
    assert files.matching("late") == ["late.txt"]


def test_commands_and_paths_are_completed() -> None:
    """A slash at the beginning completes commands, an ``@`` anywhere paths, anything else nothing."""
    commands = {"help": "Helps.", "hooks": "Hooks.", "quit": "Leaves."}

    def paths(word: str) -> list[str]:
        return [each for each in ("a b.txt", "src/", "src/x.py") if word in each]

    def found(before: str) -> list[Suggestion]:
        return suggestions(before, lambda: commands, paths)

    assert found("/h") == [("/help ", "/help", "Helps.", -2), ("/hooks ", "/hooks", "Hooks.", -2)]
    assert found("/help me") == []
    assert found("see @src") == [("@src/", "src/", "", -4), ("@src/x.py ", "src/x.py", "", -4)]
    assert found('see @"a b') == [('@"a b.txt" ', "a b.txt", "", -5)]
    assert found("me@src") == []
    shown = ChatCompleter(lambda: commands, paths).get_completions(Document("/qu"), CompleteEvent())
    assert [(each.text, each.start_position, each.display_text, each.display_meta_text) for each in shown] == [
        ("/quit ", -3, "/quit", "Leaves.")
    ]


async def test_a_command_of_the_shell_is_shown_in_lines_and_kept(tmp_path: Path) -> None:
    """Whole lines are shown as they come; the agent gets the line, the exit code and the output."""
    shown: list[str] = []
    told = await ShellCommand("echo one; printf two; exit 3", tmp_path, shown.append).run()
    assert "".join(shown) == "one\ntwo\n(exit code 3)\n"
    assert told == '<command line="echo one; printf two; exit 3" exit_code="3">\none\ntwo\n</command>'
    assert (
        await ShellCommand("true", tmp_path, shown.append).run() == '<command line="true" exit_code="0">\n\n</command>'
    )


async def test_a_command_of_the_shell_can_be_stopped(tmp_path: Path) -> None:
    """The first stop asks, the second ends it; before it runs there is nothing to stop."""
    shown = asyncio.Event()
    command = ShellCommand(
        "trap 'echo no' TERM; echo on; while :; do sleep 0.01; done", tmp_path, lambda _: shown.set()
    )
    command.stop()
    running = asyncio.create_task(command.run())
    await shown.wait()
    command.stop()
    assert f'exit_code="-{signal.SIGKILL}"' in await running
    command.stop()


class Sent:
    """Keeps lines; has choices."""

    def __init__(self) -> None:
        self.is_asking = False
        self.lines: list[str] = []
        self.then: Callable[[], None] = lambda: None

    def submit(self, text: str) -> None:
        self.lines.append(text)
        self.then()

    def choices(self) -> list[str]:
        return ["1 yes", "2 no"]


async def test_plain_lines_are_sent_as_they_come() -> None:
    """A backslash goes on in the next line; the end of the input ends it; nothing is drawn."""
    sent, shown = Sent(), list[str]()
    lines = iter(["one", "two\\", "three"])

    async def read() -> str:
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    board = PlainBoard(sent, read, shown.append, lambda: (80, 24))
    board.leave()
    await board.run()
    assert sent.lines == ["one", "two\nthree"]
    assert board.size() == (80, 24)
    board.put_aside()
    board.take_back()
    board.refresh()
    board.prefill("said\x1b[2J")
    board.copy("copied")
    board.clear_screen()
    assert shown == ["1 yes\n2 no\n", "said[2J\n", "copied\n"]


@pytest.mark.parametrize("error", [None, RuntimeError("broken")])
async def test_a_plain_chat_can_be_left_while_it_waits(error: Exception | None) -> None:
    """Leaving ends the waiting for a line, with the error if there is one; a second time does nothing."""
    board: PlainBoard

    async def read() -> str:
        board.leave(error)
        board.leave(error)
        return await asyncio.get_running_loop().create_future()

    board = PlainBoard(Sent(), read, lambda _: None, lambda: (80, 24))
    if error is None:
        await board.run()
    else:
        with pytest.raises(RuntimeError, match="broken"):
            await board.run()


async def test_a_plain_chat_that_is_left_by_a_line_reads_no_more() -> None:
    """Who leaves in answer to a line is not asked for another."""
    sent = Sent()

    async def read() -> str:
        return "quit"

    board = PlainBoard(sent, read, lambda _: None, lambda: (80, 24))
    sent.then = board.leave
    await board.run()
    assert sent.lines == ["quit"]


async def test_standard_error_becomes_notices() -> None:
    """Whole lines are shown, from any thread; empty ones are not, and none when all is over."""
    shown: list[str] = []
    stream = Notices(lambda text, level: shown.append(f"{level} {text}"))
    assert await asyncio.to_thread(stream.write, "one\n\ntw") == 7
    stream.write("o\namplifier: error: bad\namplifier: warning: careful\namplifier: goes on\n")
    await asyncio.sleep(0)
    assert shown == ["info one", "info two", "error bad", "warning careful", "info goes on"]
    assert stream.isatty() is False
