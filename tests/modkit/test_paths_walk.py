"""The way to a file: each step from an open folder, links by hand, and nobody can swap what was judged."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amplifier_modkit.paths.errors import PathDeniedError, UnstablePathError
from amplifier_modkit.paths.folders import Folder, SwappedError, is_link
from amplifier_modkit.paths.policy import PathPolicy
from amplifier_modkit.paths.walk import Place, walk

BOTH_WAYS = pytest.mark.parametrize("is_held", [True, False], ids=["held", "by path"])


class Onlooker:
    """A judge that lets everything pass, and remembers what it was asked."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, bool]] = []
        self.ends: list[str] = []

    def step(self, path: str, *, is_last: bool) -> None:
        self.steps.append((path, is_last))

    def meet(self, facts: os.stat_result, path: str) -> None: ...

    def arrive(self, path: str) -> None:
        self.ends.append(path)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    here = tmp_path.resolve()
    (here / "a/b").mkdir(parents=True)
    (here / "a/b/file").write_text("text")
    return here


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def go(path: Path | str, is_held: bool, judge: Any = None) -> Place:
    return walk(str(path), judge or Onlooker(), is_held=is_held)


@BOTH_WAYS
def test_every_step_is_judged_before_it_is_taken(here: Path, is_held: bool) -> None:
    """The judge hears of each name on the way and of the end, with links followed."""
    (here / "link").symlink_to("a/../a/b")
    judge = Onlooker()
    with go(here / "link/file", is_held, judge) as place:
        assert (place.path, place.is_folder, place.is_linked, place.missing) == (here / "a/b/file", False, False, ())
    above = [(str(each), False) for each in [*reversed(here.parents), here][1:]]
    names = [(str(here / "link"), False), (str(here / "a"), False)]
    again = [*above, (str(here / "a"), False), (str(here / "a/b"), False), (str(here / "a/b/file"), True)]
    assert judge.steps == [*above, *names, *again]
    assert judge.ends == [str(here / "a/b/file")]


@BOTH_WAYS
def test_where_a_way_ends(here: Path, is_held: bool) -> None:
    """Files, folders, links to either, and names that are missing are told apart."""
    (here / "link").symlink_to("a/b/file")
    (here / "dot").symlink_to(".")
    (here / "dangling").symlink_to("no/such")
    found = {}
    for name in ("a/b/file", "a/b", "link", "dot", "", "no/such/file", "dangling", "a/.."):
        with go(here / name, is_held) as place:
            found[name] = (place.path, place.is_folder, place.facts is not None, place.is_linked)
    assert found == {
        "a/b/file": (here / "a/b/file", False, True, False),
        "a/b": (here / "a/b", True, True, False),
        "link": (here / "a/b/file", False, True, True),
        "dot": (here, True, True, True),
        "": (here, True, True, False),
        "no/such/file": (here / "no/such/file", False, False, False),
        "dangling": (here / "no/such", False, False, True),
        "a/..": (here, True, True, False),
    }
    with go("/", is_held) as place:
        assert (place.path, place.is_folder) == (Path("/"), True)


@BOTH_WAYS
def test_what_the_system_says_is_told_with_the_whole_path(here: Path, is_held: bool) -> None:
    """A file in the middle, a missing folder before a step back, and a name that is too long name their path."""
    told = {}
    for name in ("a/b/file/x", "no/../a", "a/" + "x" * 300):
        with pytest.raises(OSError, match="folder|name") as caught:
            go(here / name, is_held)
        told[name[:6]] = (caught.value.errno, caught.value.filename)
    assert told == {
        "a/b/fi": (errno.ENOTDIR, str(here / "a/b/file")),
        "no/../": (errno.ENOENT, str(here / "no")),
        "a/xxxx": (errno.ENAMETOOLONG, str(here / "a" / ("x" * 300))),
    }


@pytest.mark.slow
@BOTH_WAYS
def test_a_way_without_end_is_given_up(here: Path, is_held: bool) -> None:
    """Loops of links and endless ways back and forth are told, and end soon."""
    (here / "loop").symlink_to("loop/x")
    with pytest.raises(UnstablePathError, match="has more than 40 links, or changes while it is followed"):
        go(here / "loop", is_held)
    with pytest.raises(UnstablePathError, match="has too many parts"):
        go(f"{here}/" + "a/b/../../" * 20_000, is_held)


def test_only_a_bounded_number_of_folders_is_open(here: Path) -> None:
    """However deep a way goes, one folder is held at a time, and none is left open."""
    deep = here.joinpath(*["d"] * 100)
    deep.mkdir(parents=True)
    before = open_files()
    with go(deep / "x", True):
        assert open_files() == before + 1
    with pytest.raises(NotADirectoryError):
        go(here / "a/b/file/x", True)
    assert open_files() == before


def test_a_closed_folder_does_nothing_any_more(here: Path) -> None:
    """Using a folder that was let go of is an error, never a step by path; letting go twice is fine."""
    folder = go(here / "a/x", True).folder
    folder.close()
    folder.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        folder.look("b")


def swap_after(monkeypatch: pytest.MonkeyPatch, method: str, name: str, act: Callable[[], object]) -> None:
    """Lets ``act`` happen right after the first time that a folder did ``method`` with ``name``."""
    original = getattr(Folder, method)
    waiting = [act]

    def wrapped(folder: Folder, given: str, *rest: Any) -> Any:
        answer = original(folder, given, *rest)
        if given == name and waiting:
            waiting.pop()()
        return answer

    monkeypatch.setattr(Folder, method, wrapped)


@BOTH_WAYS
def test_a_folder_that_becomes_a_link_is_looked_at_again(
    here: Path, is_held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at a folder and the step into it somebody puts a link there: the link is followed and judged."""
    (here / "elsewhere").mkdir()

    def swap() -> None:
        (here / "a").rename(here / "aside")
        (here / "a").symlink_to("elsewhere")

    swap_after(monkeypatch, "look", "a", swap)
    judge = Onlooker()
    with go(here / "a/file", is_held, judge) as place:
        assert (place.path, place.facts) == (here / "elsewhere/file", None)
    assert (str(here / "elsewhere"), False) in judge.steps


@BOTH_WAYS
def test_a_link_that_becomes_a_folder_is_looked_at_again(
    here: Path, is_held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at a link and reading it somebody puts a folder there: it is entered after another look."""
    (here / "link").symlink_to("nowhere")

    def swap() -> None:
        (here / "link").unlink()
        (here / "a").rename(here / "link")

    swap_after(monkeypatch, "look", "link", swap)
    with go(here / "link/b/file", is_held) as place:
        assert (place.path, place.is_linked) == (here / "link/b/file", False)


@BOTH_WAYS
@pytest.mark.parametrize("replacement", ["link", "pipe", "folder", "socket-like"])
def test_a_file_that_becomes_something_else_is_not_opened(
    here: Path, is_held: bool, replacement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the judgement and the opening somebody puts a link, a pipe or a folder there: opening fails at once."""
    secret = here / "secret"
    secret.write_text("secret")
    policy = PathPolicy.from_config({"denied_read_paths": ["secret"]}, here, is_held=is_held)
    file = here / "a/b/file"
    with policy.visit("a/b/file", "read") as place:
        file.unlink()
        if replacement == "link":
            file.symlink_to(secret)
        elif replacement == "pipe":
            os.mkfifo(file)
        elif replacement == "folder":
            file.mkdir()
        else:
            monkeypatch.setattr(os, "open", _no_such_device)
        with pytest.raises(SwappedError, match="was changed by somebody else meanwhile"):
            policy.open_place(place)


def _no_such_device(*given: Any, **named: Any) -> int:
    raise OSError(errno.ENXIO, "No such device or address")


def test_by_path_a_swapped_parent_is_noticed_after_opening(here: Path) -> None:
    """Where folders cannot be held, what was opened is compared with what was judged, the way to it included."""
    (here / "other").mkdir()
    (here / "other/file").write_text("secret")
    policy = PathPolicy.from_config(None, here, is_held=False)
    with policy.visit("a/b/file", "read") as place:
        (here / "a/b").rename(here / "aside")
        (here / "a/b").symlink_to(here / "other")
        with pytest.raises(SwappedError):
            policy.open_place(place)


def test_a_held_folder_stays_the_one_that_was_judged(here: Path) -> None:
    """A folder that is renamed and replaced after the judgement is still the one that a name is looked up in."""
    policy = PathPolicy.from_config(None, here)
    (here / "other").mkdir()
    (here / "other/file").write_text("secret")
    with policy.visit("a/b/file", "read") as place:
        (here / "a/b").rename(here / "aside")
        (here / "a/b").symlink_to(here / "other")
        with policy.open_place(place) as file:
            assert file.stream.read() == b"text"


@BOTH_WAYS
def test_a_denied_folder_under_another_name_is_recognised(here: Path, is_held: bool) -> None:
    """What makes a folder the same is not its path: one that was renamed after the policy was made stays denied."""
    (here / "denied").mkdir()
    (here / "denied/x").write_text("secret")
    policy = PathPolicy.from_config({"denied_read_paths": ["denied"]}, here, is_held=is_held)
    (here / "denied").rename(here / "innocent")
    for path in ("innocent/x", "innocent"):
        with pytest.raises(PathDeniedError, match="'denied_read_paths' has the entry 'denied'"):
            policy.check_read(path)


def test_a_secret_folder_under_another_name_is_recognised(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds for known places of secrets, and the message says so."""
    monkeypatch.setenv("HOME", str(here))
    (here / ".ssh").mkdir()
    policy = PathPolicy.from_config(None, here)
    (here / ".ssh").rename(here / "innocent")
    with pytest.raises(PathDeniedError) as caught:
        policy.check_read("innocent/x")
    assert caught.value.rule == f"it is {here}/.ssh under another name"


def test_other_names_of_a_file_are_looked_for_in_denied_folders(here: Path) -> None:
    """A hard link to a file in the depth of a denied folder is found when the file is opened; others are fine."""
    (here / "denied/deep").mkdir(parents=True)
    (here / "denied/deep/x").write_text("secret")
    os.link(here / "denied/deep/x", here / "innocent")
    os.link(here / "a/b/file", here / "twin")
    policy = PathPolicy.from_config({"denied_read_paths": ["denied", "/proc", "nothing"]}, here)
    with pytest.raises(PathDeniedError, match="'denied_read_paths' has the entry 'denied'"):
        policy.open_read("innocent")
    with policy.open_read("twin") as file:
        assert file.stream.read() == b"text"


def test_junctions_of_windows_count_as_links(here: Path) -> None:
    """What serves as a link on Windows is one."""

    class Facts:
        st_mode = 0o040777
        st_reparse_tag = 0xA0000003

    facts: Any = Facts()
    assert is_link(facts)
    assert not is_link((here / "a").lstat())


@pytest.mark.parametrize("method", ["enter", "read_link", "open_file"])
def test_other_failures_of_a_step_come_out_as_they_are(
    here: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what tells of a swap is taken for one."""

    def fail(*given: Any, **named: Any) -> Any:
        raise OSError(errno.EIO, "Input/output error")

    with go(here / "x", True) as place:
        monkeypatch.setattr(os, "open", fail)
        monkeypatch.setattr(os, "readlink", fail)
        with pytest.raises(OSError, match="Input/output error") as caught:
            getattr(place.folder, method)("a")
        assert not isinstance(caught.value, SwappedError)


@BOTH_WAYS
def test_what_is_in_a_folder(here: Path, is_held: bool) -> None:
    """A folder tells its names."""
    (here / "x").touch()
    with go(here / "x", is_held) as place:
        assert sorted(place.folder.names()) == ["a", "x"]
