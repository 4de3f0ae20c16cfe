"""No path leads to what the policy keeps, however it is spelled, linked, or changed while it is used."""

from __future__ import annotations

import os
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.modules.attacks_paths import ATTACKS, CANARY, Attack, World, confined

from amplifier_core.models import ToolResult
from amplifier_core.testing import TestCoordinator
from amplifier_modkit.paths.errors import InvalidPathError, PathDeniedError, UnstablePathError
from amplifier_modkit.paths.policy import PathPolicy
from amplifier_module_tool_filesystem import mount

TYPES = {
    "denied": "denied",
    "invalid": "invalid_input",
    "unstable": "stale",
    "missing": "not_found",
    "no folder": "io_error",
    "fails": "io_error",
}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path.resolve()).build()
    monkeypatch.setenv("HOME", str(world.home))
    return world


async def tools_of(world: World, config: dict[str, Any]) -> dict[str, Any]:
    coordinator = TestCoordinator()
    coordinator.register_capability("session.working_dir", str(world.project))
    await mount(coordinator, {"require_read": False, **config})
    return coordinator.get_mounted("tools")


def verdict_on(ask: Callable[[str], Path], path: str) -> str:
    try:
        found = ask(path)
    except PathDeniedError:
        return "denied"
    except InvalidPathError:
        return "invalid"
    except UnstablePathError:
        return "unstable"
    except NotADirectoryError:
        return "no folder"
    except FileNotFoundError:
        return "missing"
    except OSError:
        return "fails"
    return "allowed" if found.exists() else "missing"


def verdict_of(result: ToolResult) -> str:
    return "allowed" if result.success else (result.error or {})["type"]


def prepared(attack: Attack, world: World) -> str:
    if attack.prepare is not None:
        attack.prepare(world)
    return attack.asked(world)


def ids(attack: Attack) -> str:
    return attack.id


def test_there_are_enough_attacks_and_each_has_a_name() -> None:
    """Every row has an id of its own, and there are more than a hundred."""
    assert [name for name, count in Counter(map(ids, ATTACKS)).items() if count > 1] == []
    assert len(ATTACKS) > 100


@pytest.mark.parametrize("attack", ATTACKS, ids=ids)
async def test_reading_where_it_is_not_allowed(attack: Attack, world: World) -> None:
    """The verdict on reading is the expected one, with and without held folders, and no secret comes out."""
    path = prepared(attack, world)
    config = attack.config(world)
    for is_held in (True, False):
        policy = PathPolicy.from_config(config, world.project, is_held=is_held)
        # Only whoever opens a file can see its other names.
        asks = policy.check_read if "hard-link" not in attack.id else lambda path, ask=policy: open_and_close(ask, path)
        assert verdict_on(asks, path) == attack.read
    result = await (await tools_of(world, config))["read_file"].execute({"file_path": path})
    assert verdict_of(result) == TYPES.get(attack.read, "allowed")
    assert CANARY not in result.model_dump_json()


def open_and_close(policy: PathPolicy, path: str) -> Path:
    with policy.open_read(path) as file:
        return file.path


@pytest.mark.parametrize("attack", ATTACKS, ids=ids)
async def test_writing_where_it_is_not_allowed(attack: Attack, world: World) -> None:
    """The verdict on writing is the expected one, with and without held folders, and nothing around is changed."""
    path = prepared(attack, world)
    config = attack.config(world)
    before = world.snapshot()
    for is_held in (True, False):
        policy = PathPolicy.from_config(config, world.project, is_held=is_held)
        verdict = verdict_on(policy.check_write, path)
        assert ("allowed" if verdict == "missing" and attack.write == "allowed" else verdict) == attack.write
    tools = await tools_of(world, config)
    expected = TYPES.get(attack.write, "allowed")
    result = await tools["write_file"].execute({"file_path": path, "content": "spoiled"})
    assert verdict_of(result) == expected
    assert world.snapshot() == before
    assert CANARY not in result.model_dump_json()


@pytest.mark.parametrize("attack", [each for each in ATTACKS if "denied" in (each.read, each.write)], ids=ids)
async def test_editing_and_patching_where_it_is_not_allowed(attack: Attack, world: World) -> None:
    """Whoever changes a file sees parts of it, so both reading and writing must be allowed."""
    path = prepared(attack, world)
    tools = await tools_of(world, attack.config(world))
    before = world.snapshot()
    results = [
        await tools["edit_file"].execute({"file_path": path, "old_string": "can", "new_string": "spoiled"}),
        await tools["apply_patch"].execute(
            {"patch": f"*** Begin Patch\n*** Update File: {path}\n@@\n-x\n+{CANARY[:3]}\n*** End Patch"}
        ),
        await tools["apply_patch"].execute({"patch": f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch"}),
        await tools["apply_patch"].execute(
            {"patch": f"*** Begin Patch\n*** Update File: readme.md\n*** Move to: {path}\n*** End Patch"}
        ),
    ]
    assert [result.success for result in results] == [False] * 4
    assert world.snapshot() == before
    assert CANARY not in "".join(result.model_dump_json() for result in results)
    assert (world.project / "readme.md").read_text() == "harmless"


@contextmanager
def meanwhile(act: Callable[[], object]) -> Generator[None]:
    """Does something again and again in a thread while the block runs."""
    stop = threading.Event()

    def repeat() -> None:
        while not stop.is_set():
            with suppress(OSError):
                act()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def swapping_file(world: World) -> Callable[[], None]:
    """Lets the name 'swing' be a file, a link to a secret, a file, …"""
    swing, spare = world.project / "swing", world.project / "spare"
    swing.write_text("harmless")

    def swap() -> None:
        spare.symlink_to(world.outside / "secret.txt")
        spare.replace(swing)
        spare.write_text("harmless")
        spare.replace(swing)

    return swap


def swapping_folder(world: World) -> Callable[[], None]:
    """Lets the name 'swing' be a folder, nothing, a link to a folder outside, nothing, a folder, …"""
    swing, aside = world.project / "swing", world.project / "aside"
    swing.mkdir()
    (swing / "inner.txt").write_text("harmless")

    def swap() -> None:
        swing.rename(aside)
        swing.symlink_to(world.outside / "folder")
        swing.unlink()
        aside.rename(swing)

    return swap


@pytest.mark.slow
@pytest.mark.parametrize(("swapping", "path"), [(swapping_file, "swing"), (swapping_folder, "swing/inner.txt")])
def test_a_link_that_is_swapped_in_meanwhile_reads_nothing(
    world: World, swapping: Callable[[World], Callable[[], None]], path: str
) -> None:
    """A thousand reads, while somebody swaps a file or folder for a link: each gives the harmless text or an error."""
    policy = PathPolicy.from_config(confined(world), world.project)
    outcomes: Counter[str] = Counter()
    with meanwhile(swapping(world)):
        for _ in range(1000):
            try:
                with policy.open_read(path) as file:
                    outcomes[file.stream.read().decode()] += 1
            except OSError as error:
                outcomes[type(error).__name__] += 1
    assert set(outcomes) <= {
        "harmless",
        "",
        "PathDeniedError",
        "FileNotFoundError",
        "SwappedError",
        "UnstablePathError",
    }
    assert outcomes["harmless"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("swapping", "path"), [(swapping_file, "swing"), (swapping_folder, "swing/inner.txt")])
async def test_a_link_that_is_swapped_in_meanwhile_writes_nothing(
    world: World, swapping: Callable[[World], Callable[[], None]], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand writes in the same circumstances change nothing outside, and leave no other file there."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # the disk itself has no part in this
    before = world.snapshot()
    tools = await tools_of(world, confined(world))
    outcomes: Counter[str] = Counter()
    with meanwhile(swapping(world)):
        for number in range(1000):
            given = {"file_path": path if number % 2 else f"{path}.{number}", "content": "spoiled"}
            outcomes[verdict_of(await tools["write_file"].execute(given))] += 1
    assert world.snapshot() == before
    assert set(outcomes) <= {"allowed", "denied", "stale", "not_found", "io_error"}
    assert outcomes["allowed"] > 0


@pytest.mark.slow
async def test_a_parent_that_is_renamed_meanwhile_takes_its_files_along(world: World) -> None:
    """What is written while its folder moves is in that folder, and nowhere else outside."""
    moving, elsewhere = world.project / "moving", world.outside / "moving"
    (moving / "inner").mkdir(parents=True)
    tools = await tools_of(world, confined(world))

    def move() -> None:
        moving.rename(elsewhere)
        (world.project / "moving").symlink_to(world.outside / "folder")
        (world.project / "moving").unlink()
        elsewhere.rename(moving)

    with meanwhile(move):
        for number in range(300):
            given = {"file_path": f"moving/inner/../inner/{number}.txt", "content": "spoiled"}
            await tools["write_file"].execute(given)
    outside = {str(path.relative_to(world.outside)) for path in world.outside.rglob("*") if "moving" not in path.parts}
    assert outside == {"secret.txt", "folder", "folder/inner.txt"}


async def test_a_link_in_place_of_the_temporary_file_is_not_followed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even somebody who knows the name of the temporary file beforehand cannot have it written elsewhere."""
    monkeypatch.setattr(secrets, "token_hex", lambda count: "known")
    before = world.snapshot()
    world.link(".readme.md.known.tmp", world.outside / "secret.txt")
    tools = await tools_of(world, {})
    result = await tools["write_file"].execute({"file_path": "readme.md", "content": "spoiled"})
    assert (verdict_of(result), (world.project / "readme.md").read_text()) == ("io_error", "harmless")
    assert world.snapshot() == before
    assert (world.project / ".readme.md.known.tmp").readlink() == world.outside / "secret.txt"


async def test_a_mode_that_keeps_others_out_does_so_from_the_beginning(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The temporary file of a private file is private before anything is in it."""
    (world.project / "readme.md").chmod(0o600)
    seen: list[int] = []
    write = os.write

    def spy(descriptor: int, data: Any) -> int:
        seen.append(os.fstat(descriptor).st_mode & 0o777)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", spy)
    tools = await tools_of(world, {})
    await tools["write_file"].execute({"file_path": "readme.md", "content": "private"})
    assert seen == [0o600]
    assert (world.project / "readme.md").stat().st_mode & 0o777 == 0o600
