"""Commands that try to get out of the sandbox, and the choice of a sandbox on machines with more and with less."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.modules.bash_world import BashSession, names_in, told

from amplifier_modkit.confinement import landlock
from amplifier_modkit.paths.policy import PathPolicy
from amplifier_modkit.processes import Confinement
from amplifier_module_tool_bash import sandbox
from amplifier_module_tool_bash.bubblewrap import wrapper
from amplifier_module_tool_bash.landlock_words import covering, keeper_settings
from amplifier_module_tool_bash.sandbox import Offer, SandboxError, choose
from amplifier_module_tool_bash.surroundings import Runtime, Surroundings, surroundings_of

SECRET = "s3cr3t-that-nobody-may-see"
OFFERS = {
    "bubblewrap": Offer(shutil.which("bwrap"), 0),
    "landlock": Offer(None, landlock.version()),
}


@dataclass
class World:
    """A user's folder with a project, something precious beside it, and a server on this machine."""

    work: Path
    home: Path
    precious: Path
    server: socket.socket

    def project(self, name: str) -> Path:
        """One more project in the user's folder."""
        folder = self.work.with_name(name)
        for each in (folder / ".git/hooks", folder / "home"):
            each.mkdir(parents=True)
        (folder / ".env").write_text(SECRET)
        return folder

    def fill(self, command: str) -> str:
        """A command with the places of this world."""
        places = {
            "secret": SECRET,
            "out": self.precious.parent,
            "port": self.server.getsockname()[1],
            "pid": os.getpid(),
            "python": f"{sys.executable} -I -S",
        }
        for name, value in places.items():
            command = command.replace(f"@{name}", str(value))
        return command


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    work, home, outside = tmp_path / "work", tmp_path / "home", tmp_path / "outside"
    for folder in (home / ".ssh", outside):
        folder.mkdir(parents=True)
    (home / ".ssh/id_rsa").write_text(SECRET)
    (outside / "precious").write_text("precious")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        found = World(work, home, outside / "precious", server)
        found.project("work")
        yield found


def connect(code: str) -> str:
    return f'@python -c "import socket; {code}"'


ESCAPES = {
    "write outside": "echo x > @out/precious",
    "write through a link": "ln -s @out link; echo x > link/precious",
    "write through proc": "echo x > /proc/self/root@out/precious",
    "write through the first process": "echo x > /proc/1/root@out/precious",
    "write through the working directory of another": "echo x > /proc/@pid/cwd/../../../../../..@out/precious",
    "write through a hard link": "ln @out/precious mine; echo x > mine",
    "append": "echo x >> @out/precious",
    "truncate": "truncate -s 0 @out/precious",
    "remove": "rm -f @out/precious",
    "move away": "mv @out/precious .",
    "replace": "echo x > y; mv y @out/precious",
    "add a file": "touch @out/more",
    "add a folder": "mkdir @out/more",
    "add a link": "ln -s / @out/more",
    "add a pipe": "mkfifo @out/more",
    "write from other code": "@python -c \"open('@out/precious', 'w').write('x')\"",
    "write later": "(setsid sh -c 'sleep 0.1; echo x > @out/precious' &)",
    "mount over": "mount --bind . @out; echo x > @out/precious",
    "make writable again": "mount -o remount,rw,bind @out; mount -o remount,rw /; echo x > @out/precious",
    "mount in a namespace": "unshare -Urm sh -c 'mount -o remount,rw /; mount -t tmpfs x /mnt; echo x > @out/precious'",
    "another root": "unshare -Ur chroot / sh -c 'echo x > @out/precious'",
    "read a key": "cat ~/.ssh/id_rsa",
    "read a key through proc": "cat /proc/self/root$HOME/.ssh/id_rsa",
    "read a key through a link": "ln -s ~/.ssh s; cat s/id_rsa",
    "read a key through a hard link": "ln ~/.ssh/id_rsa key; cat key",
    "read a key that was moved": "mv ~/.ssh s; cat s/id_rsa",
    "read a key from an archive": "tar c -C ~ .ssh | cat",
    "read a key in a namespace":
        "unshare -Urm sh -c 'umount $HOME/.ssh; umount /tmp; cat $HOME/.ssh/id_rsa'",
    "read passwords": "cat /etc/shadow | grep -q root: && echo @secret",
    "read the environment": "env; cat /proc/*/environ | tr '\\\\0' '\\\\n'",
    "read the agent's environment": "cat /proc/@pid/environ",
    "read the agent's memory": "head -c 1 /proc/@pid/mem && cat /proc/@pid/maps && echo @secret",
    "read the agent's files": "ls -l /proc/@pid/fd && cat /proc/@pid/fd/* && echo @secret",
    "connect": connect("socket.create_connection(('127.0.0.1', @port))"),
    "connect by the shell": "echo x > /dev/tcp/127.0.0.1/@port",
    "connect by another address": connect("socket.create_connection(('127.1.2.3', @port))"),
    "connect by IPv6": connect("socket.create_connection(('::ffff:127.0.0.1', @port))"),
    "connect in the network of another": "nsenter -t 1 -n bash -c 'echo x > /dev/tcp/127.0.0.1/@port'",
    "connect in the network of the agent":
        "nsenter --net=/proc/@pid/ns/net bash -c 'echo x > /dev/tcp/127.0.0.1/@port'",
    "signal the agent": "kill -USR1 @pid && echo @secret",
    "stop the keeper": "kill -STOP $PPID; kill -9 $PPID; echo gone",
    # What is written is what was there, so that an escape changes nothing.
    "set up the kernel":
        "cd /proc/sys/kernel; cat core_pattern > $TMPDIR/c; cat $TMPDIR/c > core_pattern && echo @secret",
    "set up interrupts": "f=/proc/irq/default_smp_affinity; cat $f > c; cat c > $f && echo @secret",
    "set up devices":
        "for f in /sys/kernel/mm/ksm/run /sys/power/state; do test -w $f && cat $f > c && cat c > $f && "
        "echo @secret; done",
    "use devices":
        "for f in /dev/mem /dev/kmsg /dev/vda /dev/sda /dev/kvm; do test -e $f && head -c 1 $f && echo @secret; done",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ESCAPES)
async def test_nothing_gets_out(name: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a command tries, files outside stay, secrets stay secret, nobody connects, and the agent lives on."""
    config: dict[str, Any] = {"sandbox": "required", "safety_profile": "unrestricted", "timeout": 5}
    kinds = [kind for kind, offer in OFFERS.items() if offer != Offer(None, 0)]
    async with contextlib.AsyncExitStack() as opened:
        sessions: list[BashSession] = []
        for kind in kinds:
            monkeypatch.setattr(sandbox.Offer, "of_this_machine", lambda kind=kind: OFFERS[kind])
            sessions.append(await opened.enter_async_context(BashSession(world.project(kind), **config)))
        assert [session.tool.metadata["sandbox"] for session in sessions] == kinds
        # Both kinds at once: each in a project of its own, with the same things to get at.
        results = await asyncio.gather(*(session.run(world.fill(ESCAPES[name])) for session in sessions))
    assert [kind for kind, result in zip(kinds, results, strict=True) if SECRET in str(result.output)] == []
    assert (world.precious.read_text(), names_in(world.precious.parent)) == ("precious", ["precious"])
    assert (world.home / ".ssh/id_rsa").read_text() == SECRET
    with pytest.raises(BlockingIOError):
        world.server.accept()


IN_WORK = {
    "read secrets": "cat .env; cat $(pwd)/.env; cp .env copy; cat copy; @python -c \"print(open('.env').read())\"",
    "write what runs by itself": "echo x > .git/hooks/pre-commit; rm -rf .git/hooks; mv .git/hooks hooks",
    "uncover": "rm -f .env; mv .env env; umount .env; cat .env env",
    "sockets of services": "ls /run/* /var/run/* 2>/dev/null | grep -c sock && echo @secret",
    "other processes": "ls -d /proc/@pid && echo @secret",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_WORK)
async def test_bubblewrap_guards_the_project_as_well(name: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets in folders that can be written stay hidden, and what runs by itself stays as it is."""
    if OFFERS["bubblewrap"].bubblewrap is None:
        pytest.skip("this machine has no bubblewrap")
    monkeypatch.setattr(sandbox.Offer, "of_this_machine", lambda: OFFERS["bubblewrap"])
    async with BashSession(world.work, sandbox="required", safety_profile="unrestricted") as session:
        result = await session.run(world.fill(IN_WORK[name]))
    assert SECRET not in str(result.output)
    assert (world.work / ".env").read_text() == SECRET
    assert (names_in(world.work / ".git"), names_in(world.work / ".git/hooks")) == (["hooks"], [])


@pytest.mark.slow
@pytest.mark.parametrize("kind", OFFERS)
async def test_ordinary_work_goes_on_inside(kind: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of the project and temporary files are read and written, pipes and programs work, results carry a note."""
    if OFFERS[kind] == Offer(None, 0):
        pytest.skip(f"this machine has no {kind}")
    monkeypatch.setattr(sandbox.Offer, "of_this_machine", lambda: OFFERS[kind])
    async with BashSession(world.work, safety_profile="permissive", sandbox="best-effort") as session:
        made = "mkdir -p a/b && echo text > a/b/c && cat a/b/c | wc -l && ls -A a && echo x > $TMPDIR/t && rm a/b/c"
        assert await session.stdout(made) == "1\nb\n"
        assert (
            await session.stdout(world.fill("cat $TMPDIR/t; @python -c 'print(1)'; echo hi > >(cat)")) == "x\n1\nhi\n"
        )
        job = told(await session.run("sleep 99", run_in_background=True))
        assert told(await session.jobs("stop", job_id=job["job_id"]))["status"] == "stopped"
        assert ("The sandbox is not complete" in session.tool.description) is (kind == "landlock")
        assert "It runs in a sandbox without network; outside of" in session.tool.description
    assert (world.work / "a/b").is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("kind", OFFERS)
async def test_the_network_is_there_when_it_is_allowed(
    kind: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ``network: true`` a command reaches what the user reaches."""
    if OFFERS[kind] == Offer(None, 0):
        pytest.skip(f"this machine has no {kind}")
    monkeypatch.setattr(sandbox.Offer, "of_this_machine", lambda: OFFERS[kind])
    async with BashSession(world.work, safety_profile="unrestricted", sandbox="required", network=True) as session:
        assert await session.stdout(world.fill(ESCAPES["connect"])) == ""
        assert "a sandbox with network" in session.tool.description
    world.server.accept()[0].close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", OFFERS)
async def test_only_some_paths_can_be_made_readable(kind: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``allowed_read_paths`` programs run, and other people's files cannot be seen."""
    if OFFERS[kind] == Offer(None, 0):
        pytest.skip(f"this machine has no {kind}")
    monkeypatch.setattr(sandbox.Offer, "of_this_machine", lambda: OFFERS[kind])
    config: dict[str, Any] = {"allowed_read_paths": [str(world.work)], "allowed_write_paths": [str(world.work)]}
    async with BashSession(world.work, safety_profile="unrestricted", sandbox="required", **config) as session:
        assert await session.stdout("echo text > f; cat f") == "text\n"
        assert "precious" not in str((await session.run(world.fill("cat @out/precious >&1 2>/dev/null"))).output)


@pytest.mark.slow
async def test_a_required_sandbox_that_is_not_there_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module does not mount, says what is missing and what to do, and leaves no temporary folder."""
    monkeypatch.setattr(sandbox.Offer, "of_this_machine", lambda: Offer(None, 0))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(SandboxError, match="'sandbox: required' of tool-bash cannot be kept .* Install bubblewrap"):
        async with BashSession(tmp_path, sandbox="required"):
            raise AssertionError
    assert names_in(tmp_path) == []


@pytest.mark.slow
async def test_secrets_that_come_and_go_are_followed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that appears is hidden when it is looked for again; one that is gone is not put there by hiding it."""
    if OFFERS["bubblewrap"].bubblewrap is None:
        pytest.skip("this machine has no bubblewrap")
    looks: list[Path] = []
    monkeypatch.setattr(sandbox.Offer, "of_this_machine", lambda: OFFERS["bubblewrap"])
    find = PathPolicy.unreadable_below

    def count(self: PathPolicy, root: Path) -> Iterator[Path]:
        looks.append(root)
        return find(self, root)

    monkeypatch.setattr(PathPolicy, "unreadable_below", count)
    async with BashSession(world.work, safety_profile="unrestricted", sandbox="required") as session:
        runner, now = session.tool._runner, [0.0]
        runner._known, runner._clock = None, lambda: now[0]
        await session.run("true")
        (world.work / ".env").unlink()
        (world.work / "late.env").write_text(SECRET)
        assert (await session.stdout("ls -A"), len(looks)) == (".git\nhome\nlate.env\n", 2)
        now[0] = 1.0
        assert SECRET not in str((await session.run("cat late.env")).output)
    assert (names_in(world.work), len(looks)) == ([".git", "home", "late.env"], 3)


def place(folder: Path, **changes: Any) -> Surroundings:
    return dataclasses.replace(Surroundings(folder, folder / "tmp", writable=(folder,)), **changes)


LEAVES = sandbox._LANDLOCK_LEAVES
ALL_OPEN = sandbox._ALL_OPEN
# What works on a machine, what it offers, and what is chosen: name and what stays open beside the usual.
CHOICES: dict[str, Any] = {
    "everything": (lambda words: True, Offer("/bwrap", 7), False, ("bubblewrap", ())),
    "network namespaces forbidden": (
        lambda words: "--unshare-net" not in words,
        Offer("/bwrap", 7),
        False,
        ("bubblewrap", ("the network can be reached",)),
    ),
    "bubblewrap forbidden": (lambda words: "/bwrap" not in words, Offer("/bwrap", 7), False, ("landlock", LEAVES)),
    "no namespaces": (
        lambda words: "no-network=" not in words,
        Offer(None, 7),
        False,
        ("landlock", (*LEAVES, "the network can be reached but for TCP")),
    ),
    "old Landlock": (
        lambda words: "no-network=" not in words,
        Offer(None, 3),
        False,
        ("landlock", (*LEAVES, "the network can be reached", "other processes can be signalled")),
    ),
    "network wanted": (lambda words: True, Offer("/bwrap", 7), True, ("bubblewrap", ())),
    "network wanted, Landlock": (lambda words: True, Offer(None, 7), True, ("landlock", LEAVES)),
    "nothing works": (lambda words: False, Offer("/bwrap", 7), False, ("none", ALL_OPEN)),
    "nothing is there": (lambda words: True, Offer(None, 0), False, ("none", ALL_OPEN)),
}


@pytest.mark.parametrize("name", CHOICES)
async def test_the_best_that_works_is_chosen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each candidate is tried once per process; ``required`` refuses where files or network stay open."""
    works, offer, network, expected = CHOICES[name]
    tried: list[Confinement] = []

    async def try_out(confinement: Confinement) -> bool:
        tried.append(confinement)
        return works((*confinement.wrapper, *confinement.keeper_settings))

    monkeypatch.setattr(sandbox, "_works", try_out)
    monkeypatch.setattr(sandbox, "_TRIED", {})
    surroundings = place(tmp_path, network=network)
    chosen = await choose("best-effort", offer, surroundings)
    assert (chosen.name, chosen.missing) == expected
    so_far = len(tried)
    if set(expected[1]) & set(ALL_OPEN):
        with pytest.raises(SandboxError):
            await choose("required", offer, surroundings)
    else:
        assert (await choose("required", offer, surroundings)).name == expected[0]
    assert len(tried) == so_far
    assert (await choose("off", offer, surroundings)).confine is None


@pytest.mark.slow
async def test_a_candidate_is_tried_by_running_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be started, fails, or takes too long does not work."""
    monkeypatch.setattr("amplifier_modkit.processes._KEEPER_GRACE_S", 0.0)
    assert await sandbox._works(Confinement()) is True
    assert await sandbox._works(Confinement(("/no/such/program",))) is False
    assert await sandbox._works(Confinement(("false",))) is False
    monkeypatch.setattr(sandbox, "_PROBE_LIMIT_S", 0.1)
    assert await sandbox._works(Confinement(("sh", "-c", "exec sleep 60"))) is False


def test_bubblewrap_is_told_all_of_it(tmp_path: Path) -> None:
    """Later words cover earlier ones: first the machine, then what can be written, then what is kept from that."""
    for name in ("deep", "secret"):
        (tmp_path / name).mkdir()
    (tmp_path / "key").touch()
    surroundings = place(
        tmp_path,
        writable=(tmp_path / "deep", tmp_path),
        protected=(tmp_path / "deep",),
        hidden=(tmp_path / "secret", tmp_path / "key"),
        runtime=(Path("/python"),),
    )
    words = list(wrapper("bwrap", surroundings))
    at, deep, secret, key = (str(tmp_path / name) for name in ("", "deep", "secret", "key"))
    tail = words[words.index("/var/tmp") + 1 :]
    assert tail == [
        *("--ro-bind-try", "/python", "/python", "--bind", at, at, "--bind", deep, deep, "--ro-bind", deep, deep),
        *("--tmpfs", secret, "--remount-ro", secret, "--ro-bind", "/dev/null", key, "--chdir", at, "--"),
    ]
    assert (words[0], "--unshare-net" in words, "--die-with-parent" in words) == ("bwrap", True, True)
    assert words[words.index("--ro-bind") :][:3] == ["--ro-bind", "/", "/"]
    everything = list(wrapper("bwrap", place(tmp_path, writable=(Path("/"),), network=True)))
    assert everything[everything.index("--bind") :][:3] == ["--bind", "/", "/"]
    assert "--unshare-net" not in everything


def test_bubblewrap_shows_only_what_may_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where reading is limited the machine is built anew, links of the system as links."""
    (tmp_path / "lib").symlink_to("usr/lib")
    monkeypatch.setattr("amplifier_module_tool_bash.bubblewrap._SYSTEM", ("/usr", str(tmp_path / "lib")))
    words = list(wrapper("bwrap", place(tmp_path, readable=(Path("/data"),))))
    assert words[words.index("--ro-bind-try") :][:6] == [
        *("--ro-bind-try", "/usr", "/usr", "--symlink", "usr/lib", str(tmp_path / "lib"))
    ]
    assert "--ro-bind" not in words
    assert words[words.index("/data") - 1 :][:3] == ["--ro-bind-try", "/data", "/data"]


def test_landlock_covers_everything_but_the_holes(tmp_path: Path) -> None:
    """Around a hole every neighbour is named; links are not, since they can lead into one."""
    for name in ("a/hole", "a/b", "c"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a/hole")
    hole = tmp_path / "a/hole"
    assert list(covering(tmp_path, [hole])) == [tmp_path / "a/b", tmp_path / "c"]
    assert list(covering(tmp_path / "c", [hole])) == [tmp_path / "c"]
    assert list(covering(hole / "below", [hole])) == []
    inside = place(tmp_path, hidden=(tmp_path / "key",), readable=(tmp_path,), network=True)
    settings = keeper_settings(inside, has_namespace=True)
    assert (f"read={tmp_path}" in settings, "no-tcp=" in settings, "list=/" in settings) == (True, False, False)


def test_surroundings_are_those_of_the_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is denied or secret is hidden, outermost only; the agent's installation inside a project is protected."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("denied/below", ".venv", ".amplifier"):
        (tmp_path / name).mkdir(parents=True)
    for name in (".env", "denied/.env", "plain"):
        (tmp_path / name).touch()
    config = {"denied_read_paths": ["denied", "gone"], "allowed_write_paths": [".", "missing"]}
    policy = PathPolicy.from_config(config, tmp_path)
    runtime = Runtime((tmp_path / ".venv", Path("/usr")), tmp_path / "src")
    found = surroundings_of(policy, tmp_path / "tmp", runtime, network=True)
    mine = tuple(path for path in found.hidden if tmp_path in path.parents)
    assert (set(mine), found.writable) == ({tmp_path / "denied", tmp_path / ".env"}, (tmp_path,))
    assert {tmp_path / ".amplifier", tmp_path / ".venv"} <= set(found.protected)
    assert (found.readable, found.network) == (None, True)
    assert found.runtime == (tmp_path / ".venv", Path("/usr"), tmp_path / "src")
    meant = PathPolicy.from_config({"allowed_write_paths": [".", ".venv"]}, tmp_path)
    assert tmp_path / ".venv" not in surroundings_of(meant, tmp_path, runtime, network=False).protected
