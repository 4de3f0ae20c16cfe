"""A list out of which one chooses: what fits, where one is, how it looks at any width; and its keys on a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.cells import cell_len
from tests.app.run_world import calls
from tests.app.store_world import StoreWorld
from tests.app.test_tui_board import CTRL_C, ENTER, ESC, Keyboard, keyboard
from tests.app.tui_world import FILES, ChatWorld

from amplifier.problems import SessionProblem
from amplifier.tui.input.lone_picker import pick, pick_in_lines
from amplifier.tui.input.plain_board import PlainBoard
from amplifier.tui.past_sessions import age, choose_session
from amplifier.tui.picker import Choice, Picker

UP, DOWN, PAGE_UP, PAGE_DOWN, HOME, END = "\x1b[A", "\x1b[B", "\x1b[5~", "\x1b[6~", "\x1b[H", "\x1b[F"
FRUIT = [Choice("apple", "red"), Choice("Banana", "yellow"), Choice("cherry", "dark red")]
LEGEND = "Enter chooses, Esc leaves it, typing looks for words"


def shown(picker: Picker, columns: int = 80, rows: int = 40) -> list[str]:
    return picker.lines((columns, rows), has_colour=False)


def test_it_shows_where_one_is() -> None:
    """The title, a row for each, with a sign at the present one, and its place among all."""
    picker = Picker("Fruit", FRUIT)
    picker.move(1)
    assert shown(picker) == [
        "Fruit",
        "  apple   red",
        "❯ Banana  yellow",
        "  cherry  dark red",
        f"2 of 3 · {LEGEND}",
    ]


def test_words_narrow_it() -> None:
    """Each must stand in the row, in whatever case; what is chosen keeps its number; nothing may fit."""
    picker = Picker("Fruit", FRUIT, start=9)
    assert picker.chosen == 2
    picker.narrow("RED dark")
    assert (picker.fitting, picker.chosen) == ([2], 2)
    assert shown(picker)[-1] == f"1 of 1, 3 in all · {LEGEND}"
    picker.narrow("plum")
    picker.move(1)
    assert picker.chosen is None
    assert shown(picker) == ["Fruit", f"nothing fits, 3 in all · {LEGEND}"]
    picker.narrow("")
    assert picker.fitting == [0, 1, 2]
    assert (picker.told(0), Picker("x", [Choice("a")]).told(0)) == ("apple — red", "a")
    assert Picker("x", []).chosen is None


def test_long_lists_scroll() -> None:
    """No more rows than fit; the present one is always among them."""
    picker = Picker("Numbers", [Choice(f"n{number}") for number in range(120)])
    for by, first in ((9, "  n0"), (1, "  n1"), (-1, "  n1"), (10**9, "  n110"), (-(10**9), "❯ n0")):
        picker.move(by)
        assert (shown(picker)[1], len(shown(picker))) == (first, 12)
    assert len(shown(picker, rows=5)) == 3


def test_a_terminal_that_grows_shows_all_again() -> None:
    """One is at the end of a list that had little room, and then it has enough."""
    picker = Picker("Fruit", FRUIT, len(FRUIT) - 1)
    assert len(shown(picker, rows=8)) == 3
    assert len(shown(picker)) == len(FRUIT) + 2


@pytest.mark.parametrize("columns", [1, 4, 10, 25, 60])
def test_rows_are_never_wider_than_the_terminal(columns: int) -> None:
    """Also with wide and combining characters, and nothing in a row steers the terminal."""
    choices = [Choice("日本語" * 30, "e\u0301" * 90), Choice("a\x1b[31mb\r\nc\x07", "\u202ex"), Choice("plain")]
    for line in Picker("タイトル" * 20, choices).lines((columns, 40), has_colour=False):
        assert cell_len(line) <= columns
        assert line.isprintable() or "\u0301" in line
    assert "a[31mb c" in shown(Picker("x", choices))[2]


def test_colours_are_an_option() -> None:
    """With them, the present row is bold and notes are dim."""
    lines = Picker("Fruit", FRUIT[:1]).lines((80, 40), has_colour=True)
    assert lines[:2] == ["\x1b[1mFruit\x1b[0m", "\x1b[1m❯ apple\x1b[0m  \x1b[2mred\x1b[0m"]


async def opened(keys: Keyboard, start: int = 0) -> asyncio.Task[int | None]:
    """A picker on the board that waits for keys."""
    numbers = [Choice(f"n{number}") for number in range(30)]
    choosing = asyncio.create_task(keys.board.choose("Numbers", numbers, start))
    await keys.until(lambda: keys.board.app.layout.current_buffer is not keys.board.buffer)
    return choosing


@pytest.mark.parametrize("is_vi", [False, True])
@pytest.mark.parametrize(
    ("pressed", "expected"),
    [
        (ENTER, 0),
        (f"{DOWN}{DOWN}{UP}{ENTER}", 1),
        (f"\x0e\x0e\x10{ENTER}", 1),
        (f"{PAGE_DOWN}{PAGE_DOWN}{PAGE_UP}{ENTER}", 10),
        (f"{END}{ENTER}", 29),
        (f"{END}{HOME}{ENTER}", 0),
        (f"N2{DOWN}{ENTER}", 20),
        (f"zz{ENTER}\x7f\x7f{ENTER}", 0),
        (f"\x1b[200~n\n17\x1b[201~{ENTER}", 17),
        (ESC, None),
        (CTRL_C, None),
        ("\x04", None),
        ("\x07", None),
    ],
)
async def test_keys_move_narrow_choose_and_leave(is_vi: bool, pressed: str, expected: int | None) -> None:
    """None of them reaches the chat, and what was being typed is in the line afterwards."""
    async with keyboard(is_vi=is_vi) as keys:
        keys.pipe.send_text("half a sen")
        await keys.until(lambda: keys.board.buffer.text == "half a sen")
        choosing = await opened(keys)
        keys.pipe.send_text(pressed)
        assert await choosing == expected
        assert keys.told.said == []
        await keys.type(f"tence{ENTER}", "submit half a sentence")


async def test_what_is_typed_behind_the_choice_is_for_the_line() -> None:
    """Also where it comes in one go; a choice that nobody waits for any more is given up."""
    async with keyboard() as keys:
        choosing = await opened(keys)
        await keys.type(f"{DOWN}{ENTER}next{ENTER}", "submit next")
        assert await choosing == 1
        choosing = await opened(keys)
        choosing.cancel()
        await keys.until(choosing.done)
        await keys.type(f"on{ENTER}", "submit on")


async def test_a_question_ends_it_and_comes_before_it() -> None:
    """Nothing is chosen then; without a question the next picker opens as ever."""
    async with keyboard() as keys:
        choosing = await opened(keys)
        keys.told.is_asking = True
        keys.board.put_aside()
        assert await choosing is None
        assert await keys.board.choose("Numbers", FRUIT) is None
        await keys.type("1", "press 1")
        keys.told.is_asking = False
        keys.board.take_back()
        choosing = await opened(keys, start=4)
        keys.pipe.send_text(ENTER)
        assert await choosing == 4


async def test_another_one_takes_its_place() -> None:
    """The first is left without a choice, and the line is the line again after the second."""
    async with keyboard() as keys:
        first = await opened(keys)
        second = asyncio.create_task(keys.board.choose("Fruit", FRUIT))
        assert await first is None
        keys.pipe.send_text(f"{DOWN}{ENTER}")
        assert await second == 1
        await keys.type(f"on{ENTER}", "submit on")


class Sent:
    """Keeps lines; may be asking."""

    def __init__(self) -> None:
        self.is_asking = False
        self.lines: list[str] = []

    def submit(self, text: str) -> None:
        self.lines.append(text)

    def choices(self) -> list[str]:
        return ["1 yes"]


class Lines:
    """What is typed line by line, and what is shown."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.shown = ""

    async def read(self) -> str:
        await asyncio.sleep(0)
        if not self._lines:
            raise EOFError
        return self._lines.pop(0)

    def write(self, text: str) -> None:
        self.shown += text


ASKED = "Type a number to choose, a word to look for, or nothing to leave it.\n"
LISTED = f"Fruit\n1 apple — red\n2 Banana — yellow\n3 cherry — dark red\n{ASKED}"


async def test_in_plain_lines_a_number_is_typed() -> None:
    """Numbers stay the same when words narrow the list; a number that is not listed is a word like any other."""
    lines = Lines("red", "2", "red", "3")
    assert await pick_in_lines("Fruit", FRUIT, lines.read, lines.write) == 2
    narrowed = f"Fruit\n1 apple — red\n3 cherry — dark red\n{ASKED}"
    assert lines.shown == f"{LISTED}{narrowed}Fruit\nnothing fits\n{ASKED}{narrowed}"


@pytest.mark.parametrize("typed", [("",), (), ("red", " ")])
async def test_in_plain_lines_nothing_may_be_chosen(typed: tuple[str, ...]) -> None:
    """An empty line leaves it, and so does the end of the input."""
    lines = Lines(*typed)
    assert await pick_in_lines("Fruit", FRUIT, lines.read, lines.write) is None


async def test_a_plain_chat_has_its_line_back_after_the_list() -> None:
    """What is typed while it is open is for it alone; a long list is not shown whole."""
    sent, lines = Sent(), Lines("n2", "25", "on")
    board = PlainBoard(sent, lines.read, lines.write, lambda: (80, 24))
    choosing = asyncio.create_task(board.choose("Numbers", [Choice(f"n{number}") for number in range(30)]))
    await asyncio.sleep(0)
    await board.run()
    assert (await choosing, sent.lines) == (24, ["on"])
    assert f"\n20 n19\nand 10 more\n{ASKED}Numbers\n3 n2\n21 n20\n" in lines.shown


async def test_a_question_ends_the_list_of_a_plain_chat() -> None:
    """The question is told, and lines answer it; another list has to wait for another call."""
    sent, lines = Sent(), Lines("1")
    board = PlainBoard(sent, lines.read, lines.write, lambda: (80, 24))
    choosing = asyncio.create_task(board.choose("Fruit", FRUIT))
    await asyncio.sleep(0)
    sent.is_asking = True
    board.put_aside()
    assert await choosing is None
    assert await board.choose("Fruit", FRUIT) is None
    await board.run()
    assert (sent.lines, lines.shown) == (["1"], f"{LISTED}1 yes\n")


@pytest.mark.parametrize(
    ("pressed", "expected"),
    [(f"{DOWN}{ENTER}", 1), (ESC, None), (f"dark{ENTER}", 2), ("\x1b[27u", None), ("\x1b[99;5u", None)],
)
async def test_it_can_be_alone_on_a_terminal(pressed: str, expected: int | None) -> None:
    """Before a chat begins; also where one that was killed has left the terminal reporting keys."""
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        pipe.send_text(pressed)
        assert await pick("Fruit", FRUIT, has_colour=True) == expected


class Chosen:
    """Chooses what it is told to, and keeps what was offered."""

    def __init__(self, *numbers: int | None) -> None:
        self._numbers = list(numbers)
        self.offered: list[tuple[str, list[Choice]]] = []

    async def __call__(self, title: str, choices: Sequence[Choice]) -> int | None:
        self.offered.append((title, list(choices)))
        return self._numbers.pop(0)


async def test_sessions_of_the_directory_are_offered_first(tmp_path: Path) -> None:
    """The last used first, with name or first prompt, age, turns, model; others behind a row of their own."""
    world = StoreWorld(tmp_path)
    elsewhere = world.store_in("other").create(name="far away", working_dir=str(tmp_path / "other"))
    first = world.talked(turn_count=2, model="m-1")
    world.wait(hours=2)
    second = world.talked(name="eggs", turn_count=1)
    world.wait(minutes=5)
    present = world.talked()
    empty = world.store.create()
    choose = Chosen(2, None, 3, 0)
    here = world.places.working_dir
    assert await choose_session(choose, world.store, here, present) == first
    assert await choose_session(choose, world.store, here, present) is None
    assert await choose_session(choose, world.store, here, present) == elsewhere
    assert choose.offered[0] == (
        "Sessions of this directory",
        [
            Choice("(nothing said)", f"just now · {empty.short_id}"),
            Choice("eggs", f"5 min ago · 1 turn · {second.short_id}"),
            Choice("Remember the milk.", f"2 h ago · 2 turns · m-1 · {first.short_id}"),
            Choice("…", "sessions of other directories"),
        ],
    )
    far = Choice("far away", f"2 h ago · {tmp_path / 'other'} · {elsewhere.short_id}")
    assert choose.offered[-1] == ("Sessions of other directories", [far])


async def test_where_there_is_no_session_in_the_directory_others_are_offered(tmp_path: Path) -> None:
    """Nothing may be chosen; without any session that is told."""
    world = StoreWorld(tmp_path)
    with pytest.raises(SessionProblem, match="There is no other session"):
        await choose_session(Chosen(), world.store, world.places.working_dir)
    far = world.talked()
    for chosen, expected in ((0, far), (None, None)):
        choose = Chosen(chosen)
        assert await choose_session(choose, world.store, tmp_path) == expected
        assert choose.offered[0][0] == "Sessions of other directories"


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2026-01-02T09:00:00+00:00", "just now"),
        ("2026-01-02T10:00:00+00:00", "just now"),
        ("2026-01-02T08:58:30+00:00", "1 min ago"),
        ("2026-01-01T10:00:00+00:00", "23 h ago"),
        ("2025-12-30T08:00:00+00:00", "3 d ago"),
        ("2025-12-30T08:00:00", ""),
        ("long ago", ""),
    ],
)
def test_ages_are_told_in_the_largest_unit(moment: str, expected: str) -> None:
    """What is no moment has none."""
    assert age(moment, datetime(2026, 1, 2, 9, 0, tzinfo=UTC)) == expected


async def test_the_agent_may_ask_while_a_list_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is left, which is told, and the question is answered as ever; then the command can be called again."""
    write = calls(("write_file", {"file_path": "note.txt", "content": "hi\n"}))
    world = ChatWorld(tmp_path, [write, "Written."], **FILES)
    released = asyncio.Event()

    async def choose(title: str, choices: Sequence[Choice], start: int = 0) -> int | None:
        await released.wait()
        return None

    async with world:
        monkeypatch.setattr(world.terminal, "choose", choose)
        world.chat.submit("Write it.")
        world.chat.submit("/modes")
        await world.until(lambda: world.chat.is_asking)
        released.set()
        await world.until(lambda: "the agent asks first; call the command again afterwards" in world.terminal.shown)
        world.chat.submit("y")
        await world.until(lambda: world.chat.is_idle)
        assert "Written." in world.terminal.shown
