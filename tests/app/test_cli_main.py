"""The top level of the command: help, version, prompts without a command, and every way out with its exit code."""

from __future__ import annotations

import errno
import io
import os
import runpy
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import pytest
from tests.app.command import Command

from amplifier import __main__ as front_door
from amplifier import problems
from amplifier.cli import main as top_level
from amplifier.cli.implicit_run import with_command
from amplifier.cli.invocation import Invocation
from amplifier.cli.lazy_group import Entry
from amplifier.cli.main import SECTIONS, cli, main
from amplifier.problems import EXIT_CODES, Problem, StorageProblem


@pytest.fixture
def amplifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command with a home of its own."""
    return Command(tmp_path, monkeypatch, capsys)


Calls = list[tuple[str, Any]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """A command ``run`` that notes what it is called with, in the place of the real one."""
    noted: Calls = []

    @click.command()
    @click.argument("prompt", required=False)
    @click.option("-m", "--model")
    @click.option("-p", "--provider")
    @click.pass_obj
    def run(invocation: Invocation, prompt: str | None, model: str | None, provider: str | None) -> int:
        noted.append((str(prompt), [model, provider, invocation.assignments, invocation.is_debug]))
        return 7

    monkeypatch.setattr(top_level, "the_run_of_this_test", run, raising=False)
    monkeypatch.setitem(cli.entries, "run", Entry("amplifier.cli.main:the_run_of_this_test", ""))  # pyright: ignore[reportAttributeAccessIssue]
    return noted


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Makes ``amplifier run`` raise something."""

    def arrange(error: BaseException) -> None:
        @click.command()
        def run() -> None:
            raise error

        monkeypatch.setattr(top_level, "the_run_of_this_test", run, raising=False)
        monkeypatch.setitem(cli.entries, "run", Entry("amplifier.cli.main:the_run_of_this_test", ""))  # pyright: ignore[reportAttributeAccessIssue]

    return arrange


def test_without_arguments_there_is_help(amplifier: Command) -> None:
    """It tells how to begin, and is no error."""
    shown = amplifier()
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("Usage: amplifier [OPTIONS] [COMMAND] [ARGS]...\n")
    assert shown.out.endswith('To begin: amplifier run "What is in this directory?"\n')


def test_the_version_is_that_of_the_distribution(amplifier: Command) -> None:
    """One line, whatever else is asked."""
    assert amplifier("--version", "run") == (0, f"amplifier {version('amplifier')}\n", "")


def test_help_imports_no_command(amplifier: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and short helps come from the table."""

    def fail(name: str) -> None:
        raise AssertionError(name)

    monkeypatch.setattr("amplifier.cli.lazy_group.import_module", fail)
    shown = amplifier("-h")
    assert [name for name in cli.list_commands(click.Context(cli)) if f"\n  {name} " not in shown.out] == []


def test_names_of_the_table_are_completed() -> None:
    """Commands and options that begin so, with their helps."""
    ctx = click.Context(cli)
    commands = [(item.value, item.help) for item in cli.shell_complete(ctx, "c")]
    assert commands == [
        ("chat", SECTIONS["Work"]["chat"].short_help),
        ("continue", SECTIONS["Work"]["continue"].short_help),
        ("config", SECTIONS["Look and manage"]["config"].short_help),
        ("completion", SECTIONS["Look and manage"]["completion"].short_help),
    ]
    assert "--version" in [item.value for item in cli.shell_complete(ctx, "--v")]


def test_every_command_of_the_table_is_there() -> None:
    """Its name is that of the table, and its help begins with the sentence of the table."""
    ctx = click.Context(cli)
    for section in SECTIONS.values():
        for name, entry in section.items():
            command = cli.get_command(ctx, name)
            assert command is not None
            assert (command.name, bool(entry.short_help)) == (name, True)
    assert cli.get_command(ctx, "nope") is None


@pytest.mark.parametrize(
    ("args", "called"),
    [
        (["say hi"], ("say hi", [None, None, [], False])),
        (["-p", "say hi"], ("say hi", [None, None, [], False])),
        (["--print", "say hi", "-m", "x"], ("say hi", ["x", None, [], False])),
        (["-m", "x", "-p", "say hi"], ("say hi", ["x", None, [], False])),
        (["-p", "-m", "x", "say hi"], ("say hi", ["x", None, [], False])),
        (
            ["-c", "a=b", "-cc=d", "--config=e=f", "--debug", "say hi"],
            ("say hi", [None, None, ["a=b", "c=d", "e=f"], True]),
        ),
        (["--color", "never", "-p", "hi"], ("hi", [None, None, [], False])),
        (["-p"], ("None", [None, None, [], False])),
        (["-p", "--", "-p"], ("-p", [None, None, [], False])),
        (["run", "-p", "openai", "hi"], ("hi", [None, "openai", [], False])),
        (["hello", "-m", "x"], ("hello", ["x", None, [], False])),
    ],
)
def test_a_prompt_needs_no_command(amplifier: Command, calls: Calls, args: list[str], called: tuple[str, Any]) -> None:
    """It is run, wherever ``-p`` stands; behind ``run`` itself ``-p`` is the provider. The exit code is that of run."""
    shown = amplifier(*args)
    assert (shown.code, shown.err, calls) == (7, "", [called])


def test_a_value_that_is_missing_is_left_to_the_parser() -> None:
    """The last option may want one."""
    assert with_command(["-c"], ["run"], [], ["-c"], lambda _: True) == ["-c"]


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (
            ["sesion", "list"],
            "There is no command 'sesion'; did you mean 'session'?",
            'For a prompt: amplifier run "sesion"',
        ),
        (["upgrade"], "There is no command 'upgrade'.", 'For a prompt: amplifier run "upgrade"'),
        (["version", "--9"], "No such option '--9'.", "amplifier version --help tells what there is."),
        (["version", "x"], "Got unexpected extra argument (x)", "amplifier version --help tells what there is."),
        (["--color", "blue"], None, "amplifier --help tells what there is."),
        (["-c"], "Option '-c' requires an argument.", "amplifier --help tells what there is."),
    ],
)
def test_a_wrong_call_is_told_with_what_to_do(
    amplifier: Command, args: list[str], message: str | None, hint: str
) -> None:
    """On standard error, with exit code 2."""
    shown = amplifier(*args)
    told = (
        "Invalid value for '--color': 'blue' is not one of 'auto', 'always', 'never'." if message is None else message
    )
    assert shown == (2, "", f"amplifier: {told}\n  → {hint}\n")


def test_a_group_without_a_command_shows_its_help(amplifier: Command) -> None:
    """On standard error, since nothing was asked for."""
    shown = amplifier("config")
    assert (shown.code, shown.out, shown.err.startswith("Usage: amplifier config [OPTIONS] COMMAND")) == (2, "", True)


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (Problem("It failed.", "Try again."), 1, "amplifier: It failed.\n  → Try again.\n"),
        (Problem("It\x1b[2J failed."), 1, "amplifier: It�[2J failed.\n"),
        (StorageProblem("No room."), 74, "amplifier: No room.\n"),
        (Problem("Ended.", exit_code=99), 99, "amplifier: Ended.\n"),
        (KeyboardInterrupt(), 130, "\namplifier: interrupted\n"),
        (click.Abort(), 130, "amplifier: interrupted\n"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            74,
            "amplifier: The output or a file cannot be written: [Errno 28] No space left on device.\n"
            "  → Make room, and call it again.\n",
        ),
        (
            ValueError("odd"),
            70,
            "amplifier: An error inside the command: ValueError: odd\n"
            "  → Call it with --debug to see where, and report it.\n",
        ),
        (BrokenPipeError(), 141, ""),
        (click.ClickException("no"), 1, "amplifier: no\n  → amplifier --help tells what there is.\n"),
    ],
)
def test_each_way_out_has_its_words_and_its_code(
    amplifier: Command, raising: Callable[[BaseException], None], error: BaseException, code: int, told: str
) -> None:
    """Without a traceback, and on standard error."""
    raising(error)
    assert amplifier("run") == (code, "", told)


def test_debugging_shows_the_traceback(amplifier: Command, raising: Callable[[BaseException], None]) -> None:
    """And then the same words."""
    raising(ValueError("odd"))
    shown = amplifier("--debug", "run")
    assert (shown.code, shown.err.startswith("Traceback"), "\namplifier: An error inside" in shown.err) == (
        70,
        True,
        True,
    )


def test_output_that_cannot_be_written_is_not_tried_again(
    amplifier: Command, raising: Callable[[BaseException], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is left in the buffer goes nowhere, so that the end of the process adds no error of its own."""

    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def fileno(self) -> int:
            return descriptor

    raising(BrokenPipeError())
    descriptor = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    monkeypatch.setattr(sys, "stdout", Full())
    assert main(["run"]) == 141
    os.write(descriptor, b"into nothing")
    os.close(descriptor)
    assert (tmp_path / "out").read_bytes() == b""


def test_a_process_without_output_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has no ``sys.stdout`` then."""
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["version"]) == 0


def test_arguments_of_the_process_are_taken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``python -m amplifier`` is the command."""
    monkeypatch.setattr("sys.argv", ["amplifier", "--version"])
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(Path(front_door.__file__)), run_name="__main__")
    assert (caught.value.code, capsys.readouterr().out) == (0, "amplifier 3.0.0\n")


def test_versions_of_all_parts_are_shown(amplifier: Command) -> None:
    """For people and for programs; a part without metadata is unknown."""
    python = sys.version.split()[0]
    shown = amplifier("version")
    assert shown == (0, f"amplifier 3.0.0\namplifier-core 3.0.0\namplifier-modules 3.0.0\npython {python}\n", "")
    assert '"amplifier-core": "3.0.0"' in amplifier("version", "--json").out


def test_a_part_without_metadata_is_unknown(amplifier: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source tree that was not installed has none."""
    monkeypatch.setattr("amplifier.cli.version._DISTRIBUTIONS", ("amplifier-gone",))
    assert amplifier("version").out.splitlines()[0] == "amplifier-gone unknown"


def test_every_exit_code_of_a_problem_is_in_the_table() -> None:
    """The table is what the documentation has."""
    kinds = [each for each in vars(problems).values() if isinstance(each, type) and issubclass(each, Problem)]
    assert {kind.exit_code for kind in kinds} <= EXIT_CODES.keys()
    assert (len({kind.kind for kind in kinds}), all(EXIT_CODES.values())) == (len(kinds), True)


def test_a_problem_is_told_in_json_as_well() -> None:
    """Kind, message, and what to do next."""
    assert StorageProblem("No room.", "Make some.").to_dict() == {
        "type": "storage",
        "message": "No room.",
        "hint": "Make some.",
    }


def test_a_working_directory_that_is_gone_is_told(amplifier: Command) -> None:
    """Nothing can be found from nowhere."""
    amplifier.work.rmdir()
    assert amplifier("config", "path") == (
        2,
        "",
        "amplifier: The working directory does not exist any more.\n  → Change to one that does, and call it again.\n",
    )


def test_modules_are_told_the_home(amplifier: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variable is set to what the command has found, for everything that is started later."""
    monkeypatch.delenv("AMPLIFIER_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    amplifier("config", "path")
    assert os.environ["AMPLIFIER_HOME"] == str(tmp_path / ".amplifier")


def test_a_call_can_work_in_another_folder(amplifier: Command, tmp_path: Path) -> None:
    """Everything is found as if it had been started there."""
    invocation = Invocation()
    invocation.work_in(tmp_path / "other")
    assert (invocation.places.working_dir, invocation.places.home) == (tmp_path / "other", amplifier.home)


def test_a_shell_is_told_what_completes(amplifier: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks with a variable, and gets names from the table."""
    for name, value in {
        "_AMPLIFIER_COMPLETE": "bash_complete",
        "COMP_WORDS": "amplifier conf",
        "COMP_CWORD": "1",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as caught:
        amplifier()
    assert caught.value.code == 0


def test_help_can_be_asked_for_as_a_command(amplifier: Command) -> None:
    """As people try it; anything else behind it is a prompt."""
    assert amplifier("help") == amplifier("--help")
    assert amplifier("help", "config", "set") == amplifier("config", "set", "--help")


def test_help_with_a_sentence_is_a_prompt(amplifier: Command, calls: Calls) -> None:
    """It does not name a command."""
    assert (amplifier("help me").code, calls) == (7, [("help me", [None, None, [], False])])
    assert amplifier("help", "me out").code == 2
