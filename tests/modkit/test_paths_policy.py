"""The path policy: what its config means, what it tells, and what others can ask of it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from amplifier_core.testing import TestCoordinator
from amplifier_modkit.paths.errors import InvalidPathError, PathDeniedError, shown
from amplifier_modkit.paths.folders import Folder
from amplifier_modkit.paths.policy import PathPolicy
from amplifier_modkit.paths.settings import PathSettings
from amplifier_modkit.paths.spelling import fold, is_within
from amplifier_modkit.paths.working_dir import working_dir_of


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, in which the home of the user is as well."""
    here = tmp_path.resolve()
    (here / "home").mkdir()
    monkeypatch.setenv("HOME", str(here / "home"))
    return here


def put(here: Path, *names: str) -> None:
    for name in names:
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text("text")


def denial(policy: PathPolicy, verb: str, path: str) -> str:
    with pytest.raises(PathDeniedError) as caught:
        (policy.check_read if verb == "read" else policy.check_write)(path)
    return str(caught.value)


def test_without_config_everything_is_read_and_the_working_directory_written(here: Path) -> None:
    """Reading is free, writing stays in the working directory, and a refusal says where to go."""
    policy = PathPolicy.from_config(None, here)
    assert policy.check_read("/etc/hostname") == Path("/etc/hostname").resolve()
    assert policy.check_write("new/file.txt") == here / "new/file.txt"
    assert denial(policy, "write", "/elsewhere") == (
        f"Not allowed to write /elsewhere: it is outside of the allowed paths ({here}). Use a path inside, or ask the "
        "user to extend 'allowed_write_paths'."
    )
    assert (policy.readable_roots(), policy.writable_roots()) == (None, (here,))


def test_relative_entries_start_in_the_working_directory(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that changes its directory, before or after, does not move the rules of a session."""
    monkeypatch.chdir("/")
    config = {"allowed_read_paths": ["in", "~/own"], "allowed_write_paths": ["out"], "denied_write_paths": ["out/no"]}
    policy = PathPolicy.from_config(config, here)
    monkeypatch.chdir(here / "home")
    assert policy.readable_roots() == (here / "in", here / "home/own")
    assert policy.check_read("in/x") == here / "in/x"
    assert policy.check_write("out/x") == here / "out/x"
    assert "'denied_write_paths' has the entry 'out/no'" in denial(policy, "write", "out/no/x")
    assert "outside of the allowed paths" in denial(policy, "read", "x")


def test_nothing_may_be_allowed(here: Path) -> None:
    """An empty list allows nothing at all."""
    policy = PathPolicy.from_config({"allowed_write_paths": []}, here)
    assert "it is outside of the allowed paths (nothing is allowed)" in denial(policy, "write", "x")
    assert policy.writable_roots() == ()


def test_an_allowed_file_is_allowed_alone(here: Path) -> None:
    """An entry may be a file, and what begins like it is another."""
    policy = PathPolicy.from_config({"allowed_write_paths": ["one.txt"]}, here)
    assert policy.check_write("one.txt") == here / "one.txt"
    assert "outside" in denial(policy, "write", "one.txt.bak")


def test_an_entry_that_is_a_link_means_what_it_led_to(here: Path) -> None:
    """An allowed link is settled when the policy is made, so that nobody can point it elsewhere later."""
    put(here, "real/x", "other/y")
    (here / "link").symlink_to("real")
    policy = PathPolicy.from_config({"allowed_read_paths": ["link"]}, here)
    assert policy.check_read("link/x") == here / "real/x"
    (here / "link").unlink()
    (here / "link").symlink_to("other")
    assert "outside" in denial(policy, "read", "link/y")
    assert policy.check_read("real/x") == here / "real/x"


def test_a_denied_link_denies_its_name_and_whatever_it_leads_to(here: Path) -> None:
    """Of a denied link the name, the former and the present target are denied."""
    put(here, "one/x", "two/y")
    (here / "link").symlink_to("one")
    policy = PathPolicy.from_config({"denied_read_paths": ["link"]}, here)
    (here / "link").unlink()
    (here / "link").symlink_to("two")
    for path in ("link/x", "one/x", "two/y"):
        assert "'denied_read_paths' has the entry 'link'" in denial(policy, "read", path)


@pytest.mark.parametrize(
    ("entry", "denied", "free"),
    [
        ("*.log", ["a.log", "x/y/b.log", "x.log/inner"], ["a.logs", "log"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "a.py", "other/src/a.py"]),
        ("src/**/t?.py", ["src/t1.py", "src/a/b/t2.py"], ["src/t.py", "src/t10.py"]),
        ("**", ["a", "a/b"], []),
        ("a[1]", ["a[1]", "a[1]/x"], ["a1"]),
        ("what?", ["what?", "whats"], ["what"]),
    ],
)
def test_denied_entries_may_have_wildcards(here: Path, entry: str, denied: list[str], free: list[str]) -> None:
    """A star is any part of a name, two are any way, and without a slash a name is meant at any depth."""
    policy = PathPolicy.from_config({"denied_write_paths": [entry]}, here)
    for path in denied:
        assert entry in denial(policy, "write", path)
    assert [policy.check_write(path) for path in free] == [here / path for path in free]


@pytest.mark.parametrize("key", ["allowed_read_paths", "allowed_write_paths", "allow_secrets"])
def test_allowed_entries_have_no_wildcards(key: str) -> None:
    """What would allow nothing as a name, and too much as a pattern, is refused."""
    with pytest.raises(ValidationError, match="'src/\\*' has wildcards, which only the lists of denied paths take"):
        PathSettings.read({key: ["src/*"]})


def test_unknown_keys_are_left_to_the_kernel() -> None:
    """Other keys of a module's config do not disturb the policy, and the config stays as it is."""
    config = {"allow_secrets": ["x"], "timeout": 3}
    assert PathSettings.read(config) == PathSettings(allow_secrets=("x",))
    assert config == {"allow_secrets": ["x"], "timeout": 3}


SECRET = "secrets are kept there. Do without it, or ask the user to name it under 'allow_secrets'."


def test_secrets_are_denied_until_somebody_names_them(here: Path) -> None:
    """By name, by a list, or all at once secrets become files like any other; an allowed folder is no such word."""
    put(here, ".env", "keys/a.pem", "keys/b.pem", "home/.ssh/config", "home/.ssh/id_rsa")
    closed = PathPolicy.from_config({"allowed_read_paths": ["."]}, here)
    assert denial(closed, "read", ".env") == f"Not allowed to read {here}/.env: {SECRET}"
    assert denial(closed, "write", "keys/a.pem") == f"Not allowed to write {here}/keys/a.pem: {SECRET}"
    some = PathPolicy.from_config({"allow_secrets": [".env", "home/.ssh/config"]}, here)
    assert some.check_read(".env") == some.check_write(".env") == here / ".env"
    assert some.check_read("~/.ssh/config") == here / "home/.ssh/config"
    assert SECRET in denial(some, "read", "~/.ssh/id_rsa")
    assert SECRET in denial(some, "read", "keys/a.pem")
    named = PathPolicy.from_config({"allowed_read_paths": [".", "keys/a.pem"]}, here)
    assert named.check_read("keys/a.pem") == here / "keys/a.pem"
    assert SECRET in denial(named, "read", "keys/b.pem")
    assert SECRET in denial(named, "write", "keys/a.pem")
    everything = PathPolicy.from_config({"allow_secrets": True}, here)
    assert everything.check_read("~/.ssh/id_rsa") == here / "home/.ssh/id_rsa"
    assert everything.denied_roots() == ()


def test_a_denial_wins_over_a_secret_that_is_allowed(here: Path) -> None:
    """Who allows all secrets and denies one gets both wishes."""
    policy = PathPolicy.from_config({"allow_secrets": True, "denied_read_paths": [".env"]}, here)
    assert "'denied_read_paths' has the entry '.env'" in denial(policy, "read", ".env")
    assert policy.check_read("x.pem") == here / "x.pem"


def test_system_places_can_be_named_and_shared_memory_is_none(here: Path) -> None:
    """What belongs to the system is refused unless an entry says so; /dev/shm is a folder like any other."""
    policy = PathPolicy.from_config(None, here)
    assert denial(policy, "read", "/proc/cpuinfo") == (
        "Not allowed to read /proc: what is there belongs to the operating system and its devices. Use a command that "
        "tells the same."
    )
    assert policy.check_read("/dev/shm/x") == Path("/dev/shm/x")
    named = PathPolicy.from_config({"allowed_read_paths": ["/proc/cpuinfo"]}, here)
    assert named.check_read("/proc/cpuinfo") == Path("/proc/cpuinfo")
    assert "belongs to the operating system" in denial(named, "read", "/proc/meminfo")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_no_file(here: Path) -> None:
    """What would wait for somebody else, or is a device, is neither read nor written."""
    os.mkfifo(here / "pipe")
    policy = PathPolicy.from_config(None, here)
    for verb in ("read", "write"):
        assert denial(policy, verb, "pipe") == (
            f"Not allowed to {verb} {here / 'pipe'}: it is neither a file nor a folder, but a device, a pipe or a "
            "socket. Use a file."
        )


def test_what_guards_the_agent_can_be_named(here: Path) -> None:
    """Settings of agents are read freely, and written only where an entry says so."""
    policy = PathPolicy.from_config(None, here)
    assert policy.check_read(".amplifier/agents/a.md") == here / ".amplifier/agents/a.md"
    assert denial(policy, "write", ".amplifier/agents/a.md") == (
        f"Not allowed to write {here}/.amplifier: what is written there decides what agents may do, or runs by itself. "
        "Ask the user to do it, or to name it under 'allowed_write_paths'."
    )
    named = PathPolicy.from_config({"allowed_write_paths": [".", ".amplifier/agents"]}, here)
    assert named.check_write(".amplifier/agents/a.md") == here / ".amplifier/agents/a.md"
    assert "decides what agents may do" in denial(named, "write", ".amplifier/settings.yaml")


def test_roots_for_a_sandbox(here: Path) -> None:
    """What is denied is told as paths: what to hide, and what to keep from being written."""
    put(here, "home/.ssh/id_rsa", "home/.netrc", ".git/config", ".git/hooks/x", ".mcp.json", "no/x", "ro/x", "a/.env")
    config = {"denied_read_paths": ["no", "*.tmp"], "denied_write_paths": ["ro"], "allowed_read_paths": [".", "/usr"]}
    policy = PathPolicy.from_config(config, here)
    own = [path for path in policy.denied_roots() if path.is_relative_to(here)]
    assert own == [here / "no", here / "home/.ssh", here / "home/.netrc"]
    protected = [path for path in policy.protected_roots() if path.is_relative_to(here)]
    assert protected == [
        *(here / name for name in ("ro", "home/.ssh", "home/.netrc")),
        *(here / name for name in (".git/hooks", ".git/config", ".mcp.json")),
    ]
    assert policy.readable_roots() == (here, Path("/usr"))
    assert set(policy.unreadable_below(here)) == {
        here / name for name in ("home/.ssh/id_rsa", "home/.netrc", "no/x", "a/.env")
    }


def test_a_guard_that_was_named_is_not_protected(here: Path) -> None:
    """Who names the hooks of git under the allowed paths can have them written in a sandbox as well."""
    put(here, ".git/config", ".git/hooks/x")
    policy = PathPolicy.from_config({"allowed_write_paths": [".", ".git/hooks"]}, here)
    assert [path for path in policy.protected_roots() if path.is_relative_to(here)] == [here / ".git/config"]


def test_a_verdict_without_the_file_system(here: Path) -> None:
    """Whoever lists many files can ask for each by its resolved path."""
    policy = PathPolicy.from_config({"allowed_read_paths": ["."]}, here)
    assert policy.why_unreadable(here / "a.txt") is None
    assert policy.why_unreadable(str(here / ".env")) == f"Not allowed to read {here}/.env: {SECRET}"
    assert "outside" in (policy.why_unreadable("/etc/passwd") or "")


def test_opening_gives_the_file_that_was_judged(here: Path) -> None:
    """An open file tells its resolved path and what it is; folders and what is not there are told apart."""
    put(here, "real.txt", ".bashrc")
    (here / "link").symlink_to("real.txt")
    policy = PathPolicy.from_config(None, here)
    with policy.open_read("link") as file:
        assert (file.path, file.facts.st_size, file.stream.read()) == (here / "real.txt", 4, b"text")
    assert file.stream.closed
    with pytest.raises(FileNotFoundError, match=f"There is no such file: '{here}/nothing'"):
        policy.open_read("nothing")
    with pytest.raises(IsADirectoryError, match=f"It is a folder: '{here}'"):
        policy.open_read(".")
    with pytest.raises(NotADirectoryError, match=f"It is no folder: '{here}/real.txt'"):
        policy.open_read("real.txt/x")


def test_what_the_system_refuses_is_told_with_its_path(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of somebody else is refused by the system, and the error names all of its path."""
    put(here, "closed/x")

    def refuse(folder: Folder, name: str) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied", name)

    monkeypatch.setattr(Folder, "open_file", refuse)
    with pytest.raises(PermissionError) as caught:
        PathPolicy.from_config(None, here).open_read("closed/x")
    assert (caught.value.filename, caught.value.errno) == (str(here / "closed/x"), errno.EACCES)


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("", "is empty"),
        ("a\0b", "holds a NUL character"),
        ("\ud800", "holds half a character (a lone surrogate)"),
        ("é" * 2049, "has 4098 bytes, and 4096 are the most a path may have"),
    ],
)
def test_what_is_no_path_is_told(here: Path, path: str, what: str) -> None:
    """A text that no system takes as a path is refused with the reason, and shown as one short line."""
    with pytest.raises(InvalidPathError) as caught:
        PathPolicy.from_config(None, here).check_read(path)
    assert str(caught.value) == f"The path {shown(path)!r} {what}. Give the path of a file."
    assert caught.value.path == path


def test_names_that_deceive_are_shown_as_they_are() -> None:
    """Line breaks, escapes and endless names do not get into messages."""
    assert shown("a\nb\x1b[0m\u202ec\ud800é") == "a\\nb\\x1b[0m\\u202ec\\ud800é"
    assert shown("x" * 1000) == "x" * 1000
    assert shown("x" * 1001) == "x" * 1000 + "…"


@given(st.text(alphabet="aAéÉ.: /\u200b\u0301", max_size=20))
def test_folding_twice_is_folding_once(text: str) -> None:
    """What was folded stays as it is."""
    assert fold(fold(text)) == fold(text)


@given(st.text(alphabet="abé\u0301 .", max_size=12), st.sampled_from(["upper", "lower", "title"]))
def test_case_does_not_matter_to_folding(name: str, change: str) -> None:
    """A name in another case is the same name."""
    assert fold(f"/{getattr(name, change)()}") == fold(f"/{name}".casefold())


@given(st.lists(st.sampled_from("abc"), max_size=5), st.lists(st.sampled_from("abc"), max_size=5))
def test_being_within_is_a_matter_of_whole_names(path: list[str], root: list[str]) -> None:
    """A path is within a root if the names of the root come first."""
    assert is_within("/" + "/".join(path), "/" + "/".join(root)) == (path[: len(root)] == root)


def test_the_working_directory_of_a_session(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The config counts, then the session's capability, then the process's directory; each with links resolved."""
    put(here, "a/b/x", "c/x")
    (here / "link").symlink_to("a")
    monkeypatch.chdir(here / "c")
    coordinator: Any = TestCoordinator()
    assert working_dir_of(coordinator) == here / "c"
    assert working_dir_of(coordinator, "../link") == here / "a"
    coordinator.register_capability("session.working_dir", str(here / "link"))
    assert working_dir_of(coordinator) == here / "a"
    assert working_dir_of(coordinator, "b") == here / "a/b"
    assert working_dir_of(coordinator, "~/x") == here / "home/x"
