"""The pictures of the guide show what the command shows today, need nothing from outside, and are told in words."""

from __future__ import annotations

import re
import shutil
from difflib import unified_diff
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.app import guide_stage
from tests.app.guide_picture import picture, texts_of
from tests.app.guide_recordings import COMMAND, RECORDINGS, file_of, main, record, record_all
from tests.app.guide_scenes import SCENES, Scene
from tests.app.guide_stage import Frame, SceneError, Stage

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<path>[^)]*recordings/(?P<name>[\w-]+)\.svg)\)")
MOST_BYTES = 60_000

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def stale(name: str, made: str) -> str:
    """What is different from the stored picture; empty if nothing is."""
    stored = file_of(name).read_text(encoding="utf-8") if file_of(name).exists() else None
    if stored == made:
        return ""
    before, after = ([line for text in texts_of(svg or made) for line in text] for svg in (stored, made))
    told = "\n".join(unified_diff(before, after, "stored", "today", lineterm="")) or "(only colours or places)"
    return f"{name}.svg does not show what the command shows. Run `{COMMAND}`, look at it, and commit it.\n{told}"


@needs_tmux
@pytest.mark.slow
def test_the_recordings_are_current() -> None:
    """Every scene, played again, gives the stored picture to the byte; if not, the message says what to run."""
    wrong: list[str] = []
    for name, made in record_all().items():
        # On a busy machine keys may come too early; a scene that has changed is different every time.
        if isinstance(made, SceneError) or stale(name, made):
            wrong.append(stale(name, record(name)))
    assert "\n\n".join(filter(None, wrong)) == ""


def test_every_recording_is_shown_and_told_in_words() -> None:
    """Each stored picture belongs to a scene and is on some page, with a sentence for those who cannot see it."""
    shown = {
        image["name"]: image["alt"] for page in PAGES for image in IMAGE.finditer(page.read_text(encoding="utf-8"))
    }
    stored = {file.name for file in RECORDINGS.iterdir()}
    assert stored == {f"{name}.svg" for name in SCENES} == {f"{name}.svg" for name in shown}
    assert [name for name, alt in shown.items() if len(alt.split()) < 8] == []


@pytest.mark.parametrize("name", SCENES)
def test_a_recording_is_small_and_complete_in_itself(name: str) -> None:
    """Nothing is fetched by a picture, and nothing of the machine it was made on is in it."""
    svg = file_of(name).read_text(encoding="utf-8")
    kinds = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()}
    assert kinds <= {"svg", "title", "style", "g", "rect", "circle", "text"}
    assert re.findall(r"\w+://[^\"]*|url\(|@import|/tmp|/root", svg) == ["http://www.w3.org/2000/svg"]
    assert len(svg.encode()) < MOST_BYTES


def test_a_picture_has_the_text_the_colours_and_the_cursor_of_the_screen() -> None:
    """What is read stays in its columns, wide characters and gaps included; the same screen gives the same bytes."""
    lines = ["plain \x1b[1;32mgreen\x1b[0m", "", "\x1b[41m日本\x1b[0m    <&>\x1b[2m dim\x1b[0m", "\x1b[7mback\x1b[0m"]
    svg = picture([Frame(lines, (5, 0))], "a < b", 40)
    assert texts_of(svg) == [["plain green", "日本    <&> dim", "back"]]
    assert svg.count("<rect") == 1 + 3
    assert ".c0 { fill: #56d364; font-weight: bold }\n" in svg
    assert "animation" not in svg
    assert picture([Frame(lines, (5, 0))], "a < b", 40) == svg


def test_frames_follow_one_another_and_the_last_one_stays_without_motion() -> None:
    """A picture of several frames moves only where that is wanted."""
    svg = picture([Frame([text], None) for text in ("one", "two")], "two frames", 20)
    assert texts_of(svg) == [["one"], ["two"]]
    before, _, motion = svg.partition("@media (prefers-reduced-motion: no-preference) {")
    assert ".frame { visibility: hidden }\n#frame-1 { visibility: visible }\n" in before
    assert motion.count("animation:") == 2


@needs_tmux
@pytest.mark.slow
def test_a_scene_that_fails_tells_its_name_and_the_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Whoever makes the pictures anew sees which scene does not go as written, or not twice, and nothing is stored."""

    def play(stage: Stage) -> list[Frame]:
        stage.start("--version")
        stage.until(r"amplifier, version|amplifier \d")
        monkeypatch.setattr(guide_stage, "LIMIT_S", 0.2)
        stage.until("never")
        return []

    def waver(stage: Stage) -> list[Frame]:
        return [Frame([f"{stage.project.parent}"], None)]

    monkeypatch.setitem(SCENES, "hopeless", Scene("hopeless", 5, play))
    monkeypatch.setitem(SCENES, "wavering", Scene("wavering", 5, waver))
    monkeypatch.setattr("tests.app.guide_recordings.RECORDINGS", tmp_path / "made")
    exit_code = main(["hopeless", "wavering"])
    told = capsys.readouterr().err
    assert (exit_code, list((tmp_path / "made").iterdir())) == (1, [])
    assert "The scene 'hopeless' failed. 'never' does not come up. The terminal shows:\n$ amplifier --version\n" in told
    assert "The scene 'wavering' does not look the same each time." in told
