"""What is printed for people: tables that fit, colours where they belong, and nothing that steers a terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest
from tests.app.command import Command

from amplifier.cli.output import color_from, echo_json, echo_table, plain, printable, tell, warn
from amplifier.problems import Problem


@pytest.mark.parametrize(
    ("choice", "environ", "color"),
    [
        (None, {}, None),
        ("auto", {}, None),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
        (None, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (None, {"NO_COLOR": ""}, None),
        (None, {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        ("auto", {"FORCE_COLOR": "0"}, None),
        (None, {"TERM": "dumb"}, False),
        (None, {"TERM": "xterm"}, None),
    ],
)
def test_what_decides_about_colour(choice: str | None, environ: dict[str, str], color: bool | None) -> None:
    """The choice, then NO_COLOR, then FORCE_COLOR, then the terminal."""
    assert color_from(choice, environ) is color


def test_what_would_steer_a_terminal_is_taken_out() -> None:
    """Escapes, bells and turned-round text; line ends become blanks, or stay lines."""
    text = "a\x1b[31mb\x07\nc\td\x9b\u202ee"
    assert (plain(text), printable(text)) == ("a�[31mb� c d��e", "a�[31mb�\nc d��e")


def test_a_table_is_whole_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Columns are as wide as their widest cell; wide characters count twice, combining ones not at all."""
    echo_table(["NAME", "N"], [("日本", 1), ("e\u0301", "x" * 200), ("long name", "")])
    assert capsys.readouterr().out == (f"NAME       N\n日本       1\ne\u0301          {'x' * 200}\nlong name\n")


def test_a_table_without_rows_has_its_headers(capsys: pytest.CaptureFixture[str]) -> None:
    """So that an empty list looks like one."""
    echo_table(["NAME", "N"], [])
    assert capsys.readouterr().out == "NAME  N\n"


def test_a_table_fits_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The widest columns give way, cells are cut with a mark, and no column vanishes."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "24")
    echo_table(["A", "B"], [("x" * 30, "short"), ("日" * 15, "y" * 30)])
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert lines == ["A            B", "xxxxxxxxxx…  short", "日日日日日…  yyyyyyyyyy…"]
    monkeypatch.setenv("COLUMNS", "5")
    echo_table(["A"], [("x" * 30,), ("日" * 15,)])
    assert click.unstyle(capsys.readouterr().out).splitlines() == ["A", "xxxxxxx…", "日日日…"]


def test_json_keeps_its_characters(capsys: pytest.CaptureFixture[str]) -> None:
    """What JSON does not know is printed as text."""
    echo_json({"ä": Path("x")})
    assert capsys.readouterr().out == '{\n  "ä": "x"\n}\n'


def test_warnings_and_problems_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A problem may have several lines."""
    warn("odd\x1b")
    tell(Problem("one\ntwo", "hint"))
    assert capsys.readouterr() == ("", "amplifier: warning: odd�\namplifier: one\ntwo\n  → hint\n")


@pytest.mark.parametrize(
    ("args", "variables", "settings", "is_colored"),
    [
        ((), {}, "", False),
        (("--color", "always"), {}, "", True),
        (("--color", "always"), {"NO_COLOR": "1"}, "", True),
        ((), {"FORCE_COLOR": "1"}, "", True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, "", False),
        ((), {}, "output: {color: always}", True),
        (("--color", "never"), {}, "output: {color: always}", False),
    ],
)
def test_colours_are_where_they_are_wanted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    args: tuple[str, ...],
    variables: dict[str, str],
    settings: str,
    is_colored: bool,
) -> None:
    """Before the command or behind it; the setting counts where no option says anything."""
    amplifier = Command(tmp_path, monkeypatch, capsys)
    amplifier.settings(settings)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    before = amplifier(*args, "config", "list")
    behind = amplifier("config", "list", *args)
    assert (before.code, behind.code, "\x1b[" in before.out, "\x1b[" in behind.out) == (0, 0, is_colored, is_colored)
