"""Changes of settings files: comments and order stay, wrong changes are refused, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier.paths import Places
from amplifier.problems import SettingsProblem, UsageProblem
from amplifier.settings import Written, set_value, unset_value
from amplifier.settings.edits import with_value, without
from amplifier.settings.yaml_text import parse_yaml


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A user without settings, in a folder that is no project."""
    return Places.find({"HOME": str(tmp_path)}, tmp_path / "work")


def names_in(folder: Path) -> list[str]:
    """The names of everything in a folder."""
    return sorted(path.name for path in folder.iterdir())


def changed(places: Places, before: str, key: str, value: Any) -> tuple[str, bool]:
    """The file after a change, and whether its comments were kept."""
    places.home.mkdir(exist_ok=True)
    places.user_settings.write_text(before, encoding="utf-8")
    written = set_value(places, "user", key, value)
    return places.user_settings.read_text(encoding="utf-8"), written.kept_comments


def taken_out(places: Places, before: str, key: str) -> tuple[str, bool]:
    """The file after a setting was taken out, and whether its comments were kept."""
    places.home.mkdir(exist_ok=True)
    places.user_settings.write_text(before, encoding="utf-8")
    written = unset_value(places, "user", key)
    return places.user_settings.read_text(encoding="utf-8"), written.kept_comments


def test_a_file_and_its_folder_are_made(places: Places) -> None:
    """With nothing else in them."""
    written = set_value(places, "local", "session.persist", False)
    assert written == Written(places.local_settings, True, True)
    assert places.local_settings.read_text() == "session:\n  persist: false\n"
    assert names_in(places.local_settings.parent) == ["settings.local.yaml"]


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("model: a  # why\n# end\n", "model", "b", "model: b  # why\n# end\n"),
        ("model: a", "provider", "p", "model: a\nprovider: p\n"),
        ("# only\n", "model", "a", "# only\nmodel: a\n"),
        ("model:\n", "model", "a", "model: a\n"),
        ("model: 'a'\n", "model", "yes", "model: 'yes'\n"),
        ("session:\n  persist: true\n# end\n", "session.retention_days", 3, None),
        ("session:\n# end\n", "session.persist", True, "session:\n  persist: true\n# end\n"),
        ("session: # keep\n  persist: true\n", "session.persist", False, "session: # keep\n  persist: false\n"),
        ("session: {persist: true}  # x\n", "session.persist", False, "session: {persist: false}  # x\n"),
        ("session: {} # x\n", "session.persist", False, "session: {persist: false} # x\n"),
        ("{model: a} # x\n", "provider", "p", "{model: a, provider: p} # x\n"),
        ("{} # x\n", "provider", "p", "{provider: p} # x\n"),
        ("env: null # x\n", "env.A", "p", "env: {A: p} # x\n"),
        ("env: 3 # x\n", "env.A.B", "p", "env: {A: {B: p}} # x\n"),
        ("permissions:\n  allow: # mine\n    - a\n  # end\n", "permissions.allow", ["b"], None),
        ("permissions:\n  allow:\n    - a\n    # in\n    - b\n\nmodel: x\n", "permissions.allow", ["b"], None),
        ("env:\n  A: |\n    one\n    two\n\n# end\nmodel: x\n", "env.A", "z", "env:\n  A: z\n\n# end\nmodel: x\n"),
        ("env:\n  A: |\n    one\n\n# end\n", "env.B", 1, "env:\n  A: |\n    one\n  B: 1\n\n# end\n"),
        ("env:\n    A: 1\nmodel: x\n", "env.B", 2, "env:\n    A: 1\n    B: 2\nmodel: x\n"),
        ("model: a\r\nprovider: b\r\n", "model", "c", "model: c\r\nprovider: b\r\n"),
        ("env: # one\n  <<: {X: 1}\n", "env.X", 2, "env: # one\n  <<: {X: 1}\n  X: 2\n"),
        ("--- # first\nmodel: a\n", "model", "c", "--- # first\nmodel: c\n"),
    ],
)
def test_a_change_leaves_the_rest_as_it_is(
    places: Places, before: str, key: str, value: Any, after: str | None
) -> None:
    """Comments, order and blank lines; the value is where it was, or at the end of its mapping."""
    expected = {
        "session.retention_days": "session:\n  persist: true\n  retention_days: 3\n# end\n",
        "permissions.allow": (
            "permissions:\n  allow: # mine\n    [b]\n  # end\n"
            if "mine" in before
            else "permissions:\n  allow: [b]\n\nmodel: x\n"
        ),
    }
    places.home.mkdir()
    places.user_settings.write_bytes(before.encode())
    assert set_value(places, "user", key, value).kept_comments is True
    assert places.user_settings.read_bytes().decode() == (expected[key] if after is None else after)


@pytest.mark.parametrize(
    ("before", "key", "after"),
    [
        ("# a\nmodel: x  # b\nprovider: p\n", "model", "# a\nprovider: p\n"),
        ("session:\n  persist: true\n  retention_days: 3\n# end\n", "session.persist", None),
        ("session:\n  persist: true\n# end\n", "session.persist", "# end\n"),
        ("a:\n  b:\n    c: 1\n# x\n", "a.b.c", "# x\n"),
        ("a:\n  d: 2\n  b:\n    c: 1\n# x\n", "a.b.c", "a:\n  d: 2\n# x\n"),
        ("session: {persist: true, retention_days: 3} # x\n", "session.persist", "session: {retention_days: 3} # x\n"),
        ("env: {A: {B: 1, C: 2}, D: 3} # x\n", "env.A.B", "env: {A: {C: 2}, D: 3} # x\n"),
        (
            "permissions:\n  allow:\n    - a\n    - b\n  mode: plan\n",
            "permissions.allow",
            "permissions:\n  mode: plan\n",
        ),
    ],
)
def test_a_setting_is_taken_out_with_what_held_nothing_else(
    places: Places, before: str, key: str, after: str | None
) -> None:
    """The rest stays as it is; mappings that would be empty go too. Unknown keys can be taken out as well."""
    expected = "session:\n  retention_days: 3\n# end\n" if after is None else after
    assert taken_out(places, before, key) == (expected, True)


def test_what_is_not_there_changes_nothing(places: Places) -> None:
    """Taking out what is not there and setting what is so already write nothing."""
    places.home.mkdir()
    places.user_settings.write_text("session: {persist: true}\nmodel: x\n")
    stamp = places.user_settings.stat().st_mtime_ns
    assert [
        set_value(places, "user", "model", "x"),
        unset_value(places, "user", "session.retention_days"),
        unset_value(places, "user", "env.A.B"),
        unset_value(places, "user", "model.deeper"),
        unset_value(places, "user", "provider"),
    ] == [Written(places.user_settings, False, True)] * 5
    assert places.user_settings.stat().st_mtime_ns == stamp


@pytest.mark.parametrize(
    ("before", "key", "value"),
    [
        ("env: &a {X: 1} # one\nsandbox: *a\n", "sandbox.Y", 2),
        ("env: &a # one\n  X: 1\nsandbox: *a\n", "env.X", 2),
        ("? model\n: x # one\n", "model", "y"),
    ],
)
def test_what_cannot_be_edited_is_written_whole(places: Places, before: str, key: str, value: Any) -> None:
    """The values are right, and it is told whether comments were lost."""
    wanted = parse_yaml(before, "").value
    *inner, name = key.split(".")
    (wanted[inner[0]] if inner else wanted)[name] = value
    after, kept_comments = changed(places, before, key, value)
    assert (yaml.safe_load(after), kept_comments, "#" in after) == (wanted, False, False)


def test_a_file_of_one_setting_that_is_taken_out_is_empty(places: Places) -> None:
    """Also when it is written in one line."""
    assert taken_out(places, "{model: x}", "model") == ("", True)


def test_edits_of_what_is_not_there_change_nothing() -> None:
    """The edit itself leaves a text alone that has no such entry."""
    assert (without("a: 1\n", ("b",)), without("# x\n", ("b",))) == ("a: 1\n", "# x\n")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("modle", "x", "There is no setting 'modle'; did you mean 'model'?"),
        ("session.persist", "maybe", "'session.persist' must be true or false, not 'maybe'."),
        ("session", {"persist": 3}, "'session.persist' must be true or false, not 3."),
        ("a..b", 1, "The key 'a..b' cannot be read: expected names joined by dots, such as session.persist."),
    ],
)
def test_a_wrong_change_is_refused(places: Places, key: str, value: Any, message: str) -> None:
    """Nothing is written."""
    with pytest.raises(UsageProblem) as caught:
        set_value(places, "user", key, value)
    assert (caught.value.message, places.user_settings.exists()) == (message, False)


def test_only_the_scopes_of_files_are_written(places: Places) -> None:
    """Managed settings belong to the owner of the machine."""
    with pytest.raises(UsageProblem) as caught:
        set_value(places, "managed", "model", "x")
    assert (caught.value.message, caught.value.hint) == (
        "The scope 'managed' cannot be written.",
        "Choose one of user, project, local.",
    )


def test_something_else_that_is_wrong_does_not_stop_a_change(places: Places) -> None:
    """Settings can be mended one after the other."""
    before = "modle: x\nlimits:\n  timeout: soon\nsession:\n  persist: maybe\n"
    after, _ = changed(places, before, "limits.timeout", 5)
    assert after == "modle: x\nlimits:\n  timeout: 5\nsession:\n  persist: maybe\n"


@pytest.mark.parametrize("text", ["model: [\n", "- a\n"])
def test_a_malformed_file_is_not_overwritten(places: Places, text: str) -> None:
    """It is told with its place, and stays."""
    places.home.mkdir()
    places.user_settings.write_text(text)
    with pytest.raises(SettingsProblem) as caught:
        set_value(places, "user", "model", "x")
    assert (caught.value.message.startswith(f"{places.user_settings}:"), places.user_settings.read_text()) == (
        True,
        text,
    )


names = st.sampled_from(["a", "b", "c.d", "on", "x y", "#"])
leaves = st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=8)
trees = st.dictionaries(
    names, leaves | st.lists(leaves, max_size=2) | st.dictionaries(names, leaves, max_size=3), max_size=4
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=trees, path=st.lists(names, min_size=1, max_size=3), value=leaves | trees, flow=st.booleans())
def test_any_change_comes_back(places: Places, tree: Any, path: list[str], value: Any, flow: bool) -> None:
    """Whatever stands in the file, the value is read as it was set, and taking it out again leaves no trace of it."""
    places.home.mkdir(exist_ok=True)
    places.user_settings.write_text(yaml.safe_dump({"env": tree, "model": "x"}, default_flow_style=flow), "utf-8")
    key = ".".join(["env", *(f'"{name}"' for name in path)])
    set_value(places, "user", key, value)
    read = parse_yaml(places.user_settings.read_text("utf-8"), "").value
    for name in ["env", *path]:
        read = read[name]
    assert read == value
    unset_value(places, "user", key)
    rest: Any = parse_yaml(places.user_settings.read_text("utf-8"), "").value
    assert rest["model"] == "x"
    for name in ["env", *path]:
        rest = rest.get(name, {})
    assert rest == {}


def test_an_edit_of_nothing_makes_the_text() -> None:
    """The names of keys are quoted where YAML would read something else."""
    assert with_value("", ("env", "on", "a: b"), [1]) == "env:\n  'on':\n    'a: b': [1]\n"


SET_OWN = """
import sys
from pathlib import Path
from amplifier.paths import Places
from amplifier.settings import set_value
places = Places.find({"HOME": sys.argv[1]}, Path(sys.argv[1]))
for n in range(10):
    set_value(places, "user", f"env.P{sys.argv[2]}_{n}", n)
"""


@pytest.mark.slow
def test_two_processes_at_once_keep_each_other_s_settings(places: Places) -> None:
    """Each change is made on what the other has written."""
    command = [sys.executable, "-c", SET_OWN, str(places.home.parent)]
    processes = [subprocess.Popen([*command, str(number)]) for number in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    written = yaml.safe_load(places.user_settings.read_text())
    assert written == {"env": {f"P{number}_{n}": n for number in range(3) for n in range(10)}}


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029"], ids=["next line", "line", "paragraph"])
def test_line_ends_that_are_easily_overlooked_come_back(places: Places, mark: str) -> None:
    """They are escaped, whether the file can be edited in place or must be written whole."""
    places.home.mkdir(exist_ok=True)
    for text in ("", "env: {a: b}\n", "env: &e {a: 1}\nhooks: *e\n"):
        places.user_settings.write_text(text, "utf-8")
        set_value(places, "user", "env.c", f"a{mark}b")
        assert parse_yaml(places.user_settings.read_text("utf-8"), "").value["env"]["c"] == f"a{mark}b"
