"""Where everything is: homes, caches and projects in all the ways that variables and folders can say."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplifier.paths import Places


def test_the_home_is_in_the_user_s_folder_by_default(tmp_path: Path) -> None:
    """Without any variable everything is below ``~/.amplifier``, and the working directory is the project."""
    places = Places.find({"HOME": str(tmp_path)}, tmp_path / "work")
    home = tmp_path / ".amplifier"
    assert places == Places(home, home / "cache", tmp_path / "work", tmp_path / "work")
    assert {
        "user": places.user_settings,
        "project": places.project_settings,
        "local": places.local_settings,
        "managed": places.managed_settings,
        "keys": places.keys_file,
        "sessions": places.sessions_root,
    } == {
        "user": home / "settings.yaml",
        "project": tmp_path / "work/.amplifier/settings.yaml",
        "local": tmp_path / "work/.amplifier/settings.local.yaml",
        "managed": Path("/etc/amplifier/settings.yaml"),
        "keys": home / "keys.env",
        "sessions": home / "projects",
    }


@pytest.mark.parametrize(
    ("variables", "home", "cache"),
    [
        ({"AMPLIFIER_HOME": "/elsewhere"}, "/elsewhere", "/elsewhere/cache"),
        ({"AMPLIFIER_HOME": "/elsewhere", "XDG_CACHE_HOME": "/caches"}, "/elsewhere", "/elsewhere/cache"),
        ({"XDG_CONFIG_HOME": "/configs"}, "/configs/amplifier", "/configs/amplifier/cache"),
        ({"XDG_CONFIG_HOME": "/configs", "XDG_CACHE_HOME": "/caches"}, "/configs/amplifier", "/caches/amplifier"),
        ({"XDG_CACHE_HOME": "/caches"}, "{user}/.amplifier", "/caches/amplifier"),
        ({"AMPLIFIER_HOME": "", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": ""}, "{user}/.amplifier", None),
        ({"AMPLIFIER_HOME": "~/mine"}, "{user}/mine", "{user}/mine/cache"),
        ({"AMPLIFIER_HOME": "~"}, "{user}", "{user}/cache"),
    ],
)
def test_variables_move_the_home_and_the_cache(
    tmp_path: Path, variables: dict[str, str], home: str, cache: str | None
) -> None:
    """``AMPLIFIER_HOME`` counts more than the XDG variables; an empty one counts as not set."""
    places = Places.find({"HOME": str(tmp_path), **variables}, tmp_path)
    wanted = (cache or f"{home}/cache").format(user=tmp_path)
    assert (str(places.home), str(places.cache)) == (home.format(user=tmp_path), wanted)


def test_a_home_that_is_there_already_stays_the_home(tmp_path: Path) -> None:
    """``XDG_CONFIG_HOME`` moves nobody who has a ``~/.amplifier``."""
    (tmp_path / ".amplifier").mkdir()
    places = Places.find({"HOME": str(tmp_path), "XDG_CONFIG_HOME": "/configs"}, tmp_path)
    assert places.home == tmp_path / ".amplifier"


def test_a_relative_home_is_below_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays the same when the command changes its directory."""
    monkeypatch.chdir(tmp_path)
    assert Places.find({"HOME": "/none", "AMPLIFIER_HOME": "here"}, tmp_path).home == tmp_path / "here"


def test_the_user_s_folder_is_known_without_the_variable(tmp_path: Path) -> None:
    """Where ``HOME`` is not set the system is asked."""
    assert Places.find({}, tmp_path).home.name == ".amplifier"


def test_managed_settings_can_be_elsewhere(tmp_path: Path) -> None:
    """``AMPLIFIER_MANAGED_SETTINGS`` names the file."""
    places = Places.find({"HOME": str(tmp_path), "AMPLIFIER_MANAGED_SETTINGS": "/managed.yaml"}, tmp_path)
    assert places.managed_settings == Path("/managed.yaml")


@pytest.mark.parametrize("mark", [".git", ".amplifier"])
def test_a_project_begins_where_its_mark_is(tmp_path: Path, mark: str) -> None:
    """The nearest folder with a mark counts, from however far below."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "project" / mark).mkdir(parents=True)
    deep = tmp_path / "project/a/b"
    deep.mkdir(parents=True)
    assert Places.find({"HOME": "/none"}, deep).project_dir == tmp_path / "project"


@pytest.mark.parametrize("variables", [{}, {"AMPLIFIER_HOME": "/elsewhere"}])
def test_the_user_s_own_settings_make_no_project(tmp_path: Path, variables: dict[str, str]) -> None:
    """``~/.amplifier`` does not make the user's folder the project of everything below."""
    (tmp_path / ".amplifier").mkdir()
    below = tmp_path / "below"
    below.mkdir()
    assert Places.find({"HOME": str(tmp_path), **variables}, below).project_dir == below


def test_the_slug_of_a_project_is_its_path_in_one_name(tmp_path: Path) -> None:
    """As modules name the folders of their files: separators become hyphens."""
    assert Places.find({"HOME": "/h"}, Path("/home/me/my project")).project_slug == "-home-me-my project"
