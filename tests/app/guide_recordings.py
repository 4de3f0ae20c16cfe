"""The pictures of the guide, made from real runs; ``python -m tests.app.guide_recordings [NAME …]`` makes them anew."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.app.guide_picture import picture
from tests.app.guide_scenes import COLUMNS, SCENES
from tests.app.guide_stage import SceneError, stage

RECORDINGS = Path(__file__).parents[2] / "docs" / "guide" / "recordings"
COMMAND = "python -m tests.app.guide_recordings"
_AT_ONCE = 4


def record(name: str) -> str:
    """Plays a scene; gives its picture. Raises ``SceneError`` with the name and what the terminal showed."""
    scene = SCENES[name]
    with stage(COLUMNS, scene.rows) as made:
        try:
            frames = scene.play(made)
        except SceneError as error:
            raise SceneError(f"The scene {name!r} failed. {error}") from None
    return picture(frames, scene.title, COLUMNS)


def record_all(names: Sequence[str] = tuple(SCENES)) -> dict[str, str | SceneError]:
    """Plays scenes side by side, as each mostly waits; gives picture or failure of each."""

    def played(name: str) -> str | SceneError:
        try:
            return record(name)
        except SceneError as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(names, pool.map(played, names), strict=True))


def file_of(name: str) -> Path:
    """Where the picture of a scene lies."""
    return RECORDINGS / f"{name}.svg"


def is_stored(name: str, made: str | SceneError) -> bool:
    """Whether a picture is the one that lies there."""
    return file_of(name).exists() and file_of(name).read_text(encoding="utf-8") == made


def main(names: Sequence[str]) -> int:
    """Writes pictures, all unless some are named; those of scenes that are gone are removed.

    What has changed is played twice: a scene that does not look the same each time would fail its test by luck.
    """
    RECORDINGS.mkdir(exist_ok=True)
    for file in set(RECORDINGS.iterdir()) - {file_of(name) for name in SCENES}:
        file.unlink()
    made = record_all(names or tuple(SCENES))
    changed = [name for name, each in made.items() if not isinstance(each, SceneError) and not is_stored(name, each)]
    again = record_all(changed)
    failures = 0
    for name, each in made.items():
        if isinstance(each, SceneError):
            failures += 1
            sys.stderr.write(f"{each}\n\n")
        elif name in again and again[name] != each:
            failures += 1
            sys.stderr.write(
                f"The scene {name!r} does not look the same each time. Let it wait for what comes last.\n\n"
            )
        else:
            file_of(name).write_text(each, encoding="utf-8")
            sys.stderr.write(f"{name}.svg: {len(each.encode()):,} bytes{' (changed)' if name in again else ''}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
