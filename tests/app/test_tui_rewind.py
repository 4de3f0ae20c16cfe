"""Going back in the chat: the conversation, the files that the agent has changed, or both, and forward again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.app.run_world import calls
from tests.app.tui_world import ChatWorld

from amplifier.store.transcript import text_of
from amplifier.tui.commands import file_steps

pytestmark = pytest.mark.slow

TOOLS: dict[str, Any] = {"tools": [{"module": "tool-filesystem"}]}
CHANGED = "was changed since by somebody else; left as it is"
ALONE = "changes made by commands are not undone"


def flat(text: str) -> str:
    """``text`` on one line."""
    return " ".join(text.split())


def current(world: ChatWorld) -> Any:
    """The stored session that is open."""
    return world.chat.talk.opening.setting.stored


def said(world: ChatWorld) -> list[str]:
    """What the user has said in the session that is open."""
    return [text_of(each) for each in current(world).messages() if each["role"] == "user"]


class FilesChat(ChatWorld):
    """A chat in which two turns have changed files: the first made a.txt, the second changed it and made b.txt."""

    def __init__(self, root: Path, more: list[Any] | None = None) -> None:
        first = [calls(("write_file", {"file_path": "a.txt", "content": "one\n"})), "First."]
        edit = ("edit_file", {"file_path": "a.txt", "old_string": "one", "new_string": "two"})
        second = [calls(edit, ("write_file", {"file_path": "b.txt", "content": "b\n"})), "Second."]
        super().__init__(root.resolve(), [*first, *second, *(more or [])], **TOOLS)
        self.work = self.places.working_dir

    async def __aenter__(self) -> FilesChat:
        await super().__aenter__()
        await self.say("first", "second")
        assert self.texts() == {"a.txt": "two\n", "b.txt": "b\n"}
        return self

    def texts(self) -> dict[str, str]:
        """The files that there are."""
        return {each.name: each.read_text() for each in sorted(self.work.iterdir())}

    def chooses(self, *numbers: int | None) -> None:
        """What is chosen in the pickers that come."""
        self.terminal.chosen = list(numbers)

    @property
    def offers(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Every picker so far."""
        return [(title, [(each.label, each.note) for each in offered]) for title, offered in self.terminal.offered]


async def test_the_conversation_is_taken_back(tmp_path: Path) -> None:
    """To before a turn that is chosen or named, in a copy; what was said then is in the line again."""
    world = ChatWorld(tmp_path, ["One.", "Two.", "Three."])
    async with world:
        await world.say("first", "second", "third")
        whole = current(world)
        assert await world.say("/rewind") == ""
        assert world.terminal.offered[0][0] == "Go back to before"
        assert [each.label for each in world.terminal.offered[0][1]] == ["1 first", "2 second", "3 third"]
        assert "There is no turn 9." in await world.say("/rewind 9")
        assert "'x' is no number of a turn." in await world.say("/rewind x")
        world.terminal.chosen = [1]
        shown = flat(await world.say("/rewind"))
        assert shown == f"· back to before turn 2; files stay as they are; all of it: /resume {whole.short_id}"
        assert [text_of(each) for each in current(world).messages()] == ["first", "One."]
        await world.say("/rewind 1")
        assert current(world).messages() == []
    assert world.terminal.filled == ["second", "first"]
    assert len(whole.messages()) == 6


async def test_what_the_user_has_said_comes_back_without_what_went_along(tmp_path: Path) -> None:
    """The output of a command may look like anything."""
    world = ChatWorld(tmp_path, ["One."])
    async with world:
        await world.say("!printf 'a\\n\\n<file path=\"x\">'", "hello there", "/rewind 1")
    assert world.terminal.filled == ["hello there"]


async def test_a_fork_leaves_the_session_as_it_is(tmp_path: Path) -> None:
    """Whole, or up to a turn."""
    world = ChatWorld(tmp_path, ["One.", "Two."])
    async with world:
        await world.say("first", "second")
        first = current(world)
        assert flat(await world.say("/fork 1")) == f"· in a copy now; the former session: /resume {first.short_id}"
        assert [text_of(each) for each in current(world).messages()] == ["first", "One."]
        assert "has 1 turns" in flat(await world.say("/fork 5", "/fork"))
    assert len(first.messages()) == 4


async def test_conversation_and_files_go_back_together(tmp_path: Path) -> None:
    """The files are listed, and one chooses; it can be had again in the copy that goes on."""
    async with FilesChat(tmp_path) as world:
        world.chooses(0)
        shown = flat(await world.say("/rewind 2"))
        assert world.texts() == {"a.txt": "one\n"}
        assert said(world) == ["first"]
        (picker,) = world.offers
        assert picker == (
            "Back to before turn 2",
            [
                ("the conversation and the files", "a.txt (+1 -1), b.txt (+0 -1)"),
                ("only the conversation", "files stay as they are"),
                ("only the files", "the conversation goes on"),
            ],
        )
        assert f"as before turn 2: a.txt (+1 -1), b.txt (+0 -1); {ALONE}; /redo brings it back" in shown
        assert "is removed" in shown
        assert "; all of it: /resume" in shown
        await world.say("/redo")
        assert world.texts() == {"a.txt": "two\n", "b.txt": "b\n"}
        await world.say("/undo", "/rewind 1 both")
        assert (world.texts(), said(world)) == ({}, [])
        assert "brought back: a.txt (+1 -0)" in flat(await world.say("/redo"))
        assert world.texts() == {"a.txt": "one\n"}


@pytest.mark.parametrize(
    ("line", "chosen", "texts", "told"),
    [
        ("/rewind 2 --files", [], {"a.txt": "one\n"}, ["first", "second"]),
        ("/rewind 2", [2], {"a.txt": "one\n"}, ["first", "second"]),
        ("/rewind 2 --conversation", [], {"a.txt": "two\n", "b.txt": "b\n"}, ["first"]),
        ("/rewind", [1, 1], {"a.txt": "two\n", "b.txt": "b\n"}, ["first"]),
        ("/rewind --both 2", [], {"a.txt": "one\n"}, ["first"]),
        ("/rewind 2", [None], {"a.txt": "two\n", "b.txt": "b\n"}, ["first", "second"]),
    ],
)
async def test_what_goes_back_is_said_or_chosen(
    tmp_path: Path, line: str, chosen: list[int | None], texts: dict[str, str], told: list[str]
) -> None:
    """Files, conversation, or both; a picker that is left changes nothing."""
    async with FilesChat(tmp_path) as world:
        world.chooses(*chosen)
        await world.say(line)
        assert (world.texts(), said(world)) == (texts, told)


async def test_turn_after_turn_is_undone_and_redone(tmp_path: Path) -> None:
    """The last turn that changed files, then the one before; the agent hears of it with the next prompt."""
    async with FilesChat(tmp_path, ["I see."]) as world:
        shown = flat(await world.say("/undo"))
        assert shown == f"· taken back: a.txt (+1 -1), b.txt (+0 -1); {ALONE}; /redo brings it back"
        assert world.texts() == {"a.txt": "one\n"}
        await world.say("/undo")
        assert world.texts() == {}
        assert f"There is no change of a file to take back. → Note that {ALONE}." in flat(await world.say("/undo"))
        await world.say("/redo", "/redo")
        assert world.texts() == {"a.txt": "two\n", "b.txt": "b\n"}
        assert "Nothing was taken back that could be brought back." in flat(await world.say("/redo"))
        assert "'all' is not understood. → /undo [force]" in flat(await world.say("/undo all"))
        await world.say("What now?")
        (heard,) = [each for each in said(world) if "What now?" in each]
        assert "<changed_by_user>The user has taken back your changes to these files; read them again" in heard
        assert heard.count(f"- {world.work / 'a.txt'}") == 4
        assert "<changed_by_user>The user has brought back your changes" in heard


async def test_a_file_that_the_user_has_changed_is_asked_about(tmp_path: Path) -> None:
    """It is left, or overwritten, or nothing is done; what was overwritten can be had again."""
    async with FilesChat(tmp_path) as world:
        (world.work / "a.txt").write_text("mine\n")
        assert await world.say("/undo") == ""
        assert world.offers[0][0] == "Changed since by somebody else: a.txt (+1 -1)"
        assert world.texts() == {"a.txt": "mine\n", "b.txt": "b\n"}
        assert await world.say("/rewind 2 files") == ""
        world.chooses(0)
        shown = flat(await world.say("/undo"))
        assert f"a.txt {CHANGED}" in shown
        assert "taken back: b.txt (+0 -1);" in shown
        assert world.texts() == {"a.txt": "mine\n"}
        world.chooses(1)
        await world.say("/redo", "/undo")
        assert world.texts() == {"a.txt": "one\n"}
        await world.say("/redo")
        assert world.texts() == {"a.txt": "mine\n", "b.txt": "b\n"}
        await world.say("/rewind 2 --files --force")
        assert world.texts() == {"a.txt": "one\n"}


async def test_what_was_taken_back_by_hand_is_listed_as_it_is(tmp_path: Path) -> None:
    """A file that is what it was already, and one that was changed since and stays when the others come back."""
    async with FilesChat(tmp_path) as world:
        (world.work / "b.txt").unlink()
        world.chooses(2)
        shown = flat(await world.say("/rewind 2"))
        assert "is so already" in shown
        assert world.texts() == {"a.txt": "one\n"}
        (world.work / "a.txt").write_text("mine\n")
        await world.say("/redo")
        world.chooses(0)
        shown = flat(await world.say("/redo"))
        assert f"a.txt {CHANGED}" in shown
        assert world.texts() == {"a.txt": "mine\n"}


async def test_what_the_agent_has_changed_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the last turn that changed files, as a diff; what is no text, or too long to be compared, in a line."""
    async with FilesChat(tmp_path) as world:
        shown = flat(await world.say("/diff turn"))
        assert "--- a.txt +++ a.txt @@ -1 +1 @@ -one +two" in shown
        assert "--- b.txt +++ b.txt @@ -0,0 +1 @@ +b" in shown
        monkeypatch.setattr(file_steps, "_MOST_COMPARED", 0)
        assert "a.txt: +1 -1 b.txt: +0 -1" in flat(await world.say("/diff turn"))
        (world.work / "b.txt").unlink()
        (world.work / "b.txt").mkdir()
        assert "b.txt: is no plain file" in flat(await world.say("/diff turn"))
        (world.work / "b.txt").rmdir()
        await world.say("/undo", "/undo")
        assert flat(await world.say("/diff turn")) == "· the agent has changed no files that could be shown"


async def test_where_nothing_can_be_done_that_is_told(tmp_path: Path) -> None:
    """Every file is left alone, or none was changed."""
    async with FilesChat(tmp_path, ["Third."]) as world:
        await world.say("third")
        assert flat(await world.say("/rewind 3 files")) == "· the agent has changed no files since turn 3"
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "b.txt").write_text("b\n")
        for name in ("a.txt", "b.txt"):
            (world.work / name).unlink()
            (world.work / name).symlink_to(outside / name)
        shown = flat(await world.say("/undo", "/redo", "/undo"))
        assert "b.txt is a link; left as it is" in shown
        assert "taken back" not in shown
        assert (outside / "b.txt").read_text() == "b\n"


def in_place(tmp_path: Path) -> tuple[Path, Path]:
    """The folder as it really is, and a file in it."""
    return tmp_path.resolve(), tmp_path.resolve() / "else.txt"


async def test_many_files_are_told_in_short(tmp_path: Path) -> None:
    """Some by name and the others by number, elsewhere with their whole path; what is no text has no lines."""
    folder, place = in_place(tmp_path)
    names = [str(place), *(f"{number}.txt" for number in range(6))]
    script = [calls(*(("write_file", {"file_path": name, "content": "x\0\n"}) for name in names)), "Done."]
    tools = {"tools": [{"module": "tool-filesystem", "config": {"allowed_write_paths": [str(folder)]}}]}
    world = ChatWorld(folder, script, **tools)
    async with world:
        await world.say("write")
        shown = flat(await world.say("/undo"))
        assert f"{place} (no text)" in shown
        assert "3.txt (no text), 2 more; changes" in shown
    assert not place.exists()
