"""Keys that newer terminals tell apart: read as what they stand for, and asked for only while the chat is drawn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.input import DummyInput
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from tests.app.test_tui_board import CTRL_C, ENTER, ESC, keyboard

from amplifier.tui.input.modified_keys import OFF, ON, Parser, as_ever, keys_as_ever


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("plain é 日", "plain é 日"),
        ("\x1b[27;2;13~", "\n"), ("\x1b[13;2u", "\n"), ("\x1b[13;5u", "\n"), ("\x1b[27;6;13~", "\n"),
        ("\x1b[13u", "\r"), ("\x1b[13;3u", "\x1b\r"), ("\x1b[27;3;13~", "\x1b\r"),
        ("\x1b[27u", ESC), ("\x1b[27;129u", ESC), ("\x1b[99;5u", CTRL_C), ("\x1b[27;5;99~", CTRL_C),
        ("\x1b[99;133u", CTRL_C), ("\x1b[100;5u", "\x04"), ("\x1b[67;6u", CTRL_C), ("\x1b[32;5u", "\x00"),
        ("\x1b[47;5u", "\x1f"), ("\x1b[91;5u", ESC), ("\x1b[59;5u", ""), ("\x1b[223;5u", ""), ("\x1b[49;7u", ""),
        ("\x1b[98;3u", "\x1bb"), ("\x1b[98;4u", "\x1bB"), ("\x1b[98;7u", "\x1b\x02"), ("\x1b[97;2u", "A"),
        ("\x1b[9;2u", "\x1b[Z"), ("\x1b[9;5u", ""), ("\x1b[9;3u", "\x1b\t"), ("\x1b[27;2;9~", "\x1b[Z"),
        ("\x1b[127;5u", "\x17"), ("\x1b[127;3u", "\x1b\x7f"), ("\x1b[8;1u", "\x7f"),
        ("\x1b[57414u", "\r"), ("\x1b[57419;129u", "\x1b[A"), ("\x1b[57358u", ""), ("\x1b[9999999u", ""),
        ("\x1b[99;9u", ""), ("\x1b[1u", ""), ("\x1b[99:67;6:1;67u", CTRL_C), ("\x1b[97;u", "a"),
        ("\x1b[1;129A", "\x1b[A"), ("\x1b[1;133D", "\x1b[1;5D"), ("\x1b[1;5D", "\x1b[1;5D"), ("\x1b[3;129~", "\x1b[3~"),
        ("\x1b[1;129P", "\x1bOP"), ("\x1b[1;137A", ""), ("\x1b[12;140R", "\x1b[12;140R"), ("\x1b[A", "\x1b[A"),
    ],
)  # fmt: skip
def test_every_key_is_what_it_has_always_been(sent: str, expected: str) -> None:
    """Shift+Enter begins a line; locks do not count; what has no old form is left out."""
    assert as_ever(f"a{sent}b") == f"a{expected}b"


def read(parser: Vt100Parser | Parser, keys: list[KeyPress], *chunks: str) -> list[tuple[str, str]]:
    """The keys that come out, with what they insert."""
    for chunk in chunks:
        parser.feed(chunk)
    parser.flush()
    return [(str(each.key), each.data) for each in keys]


@given(
    st.lists(st.sampled_from(["a", ESC, "\x1b[A", "\x1b[13;2u", "\x1b[27;5;99~", "\x1b[200~x\ny\x1b[201~", "é"])),
    st.data(),
)
def test_reports_may_come_in_pieces(keys: list[str], data: st.DataObject) -> None:
    """However the bytes arrive, the keys are those of the old forms in one piece."""
    sent = "".join(keys)
    cut = data.draw(st.integers(0, len(sent)))
    ours: list[KeyPress] = []
    theirs: list[KeyPress] = []
    assert read(Parser(Vt100Parser(ours.append)), ours, sent[:cut], sent[cut:]) == read(
        Vt100Parser(theirs.append), theirs, as_ever(sent)
    )


PASTED = ("a\x1b[27u[201~!b\r", "\x1b[27;1;27~[201~!b\r", "\x1b[99;5u\x1b[13u", "\x1b", "\x1b[2", "\x1b[200~")


@pytest.mark.parametrize("text", PASTED)
def test_what_is_pasted_is_no_keys(text: str) -> None:
    """However it comes and however long that takes: a report cannot end the paste and press Enter."""
    sent = f"\x1b[200~{text}\x1b[201~"
    for cut in range(len(sent)):
        keys: list[KeyPress] = []
        parser = Parser(Vt100Parser(keys.append))
        parser.feed(sent[:cut])
        if cut >= len("\x1b[200~"):
            parser.flush()
        assert read(parser, keys, sent[cut:], "\x1b[13;2u") == [("Keys.BracketedPaste", text), ("Keys.ControlJ", "\n")]


async def test_shift_enter_begins_a_line_and_all_else_works() -> None:
    """In both ways of telling it; Esc, Ctrl-C, Ctrl-D and Shift+Tab have their meaning."""
    async with keyboard(tells_keys=True) as keys:
        await keys.type(f"one\x1b[27;2;13~two\x1b[13;2uthree{ENTER}", "submit one\ntwo\nthree")
        for pressed, expected in (
            ("\x1b[27u", "escape"),
            ("\x1b[99;5u", "cancel"),
            ("\x1b[9;2u", "mode"),
            ("\x1b[100;5u", "leave"),
        ):
            await keys.type(pressed, expected)


async def test_reports_are_asked_for_only_while_it_is_drawn() -> None:
    """What is printed above comes when they are off; at the end they are off as well."""
    async with keyboard(tells_keys=True) as keys:
        await keys.until(lambda: ON in keys.output.raw)
        keys.board.write("above\n")
        await keys.until(lambda: "above\r\n" in keys.output.raw)
    assert [each for each in keys.output.raw if each] == [ON, OFF, "above\r\n", ON, OFF]
    async with keyboard() as keys:
        pass
    assert ON not in keys.output.raw


async def test_an_editor_has_the_terminal_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it runs, nothing is asked for; the same holds for the shell when the chat is in the background."""
    monkeypatch.setenv("VISUAL", "true")
    async with keyboard(tells_keys=True) as keys:
        await keys.until(lambda: ON in keys.output.raw)
        keys.pipe.send_text("\x18\x05")
        await keys.until(lambda: keys.output.raw.count(ON) == 2)
    assert [each for each in keys.output.raw if each] == [ON, OFF, ON, OFF]


def test_other_terminals_are_left_alone() -> None:
    """One that sends no bytes needs nothing."""
    terminal = DummyInput()
    with keys_as_ever(terminal):
        assert not hasattr(terminal, "vt100_parser")
