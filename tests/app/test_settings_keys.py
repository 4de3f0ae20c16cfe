"""Keys of services: kept for their user alone, or in the keyring, and never shown."""

from __future__ import annotations

import errno
import stat
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier.paths import Places
from amplifier.problems import Problem, SettingsProblem, UsageProblem
from amplifier.settings import load_keys, set_key, unset_key


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A user who has a folder and no keys."""
    (tmp_path / ".amplifier").mkdir()
    return Places.find({"HOME": str(tmp_path)}, tmp_path)


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """A keyring in memory in the place of the package."""
    kept: dict[tuple[str, str], str] = {}
    package: Any = ModuleType("keyring")
    package.set_password = lambda service, name, value: kept.__setitem__((service, name), value)
    package.get_password = lambda service, name: kept.get((service, name))
    package.delete_password = lambda service, name: kept.pop((service, name))
    monkeypatch.setitem(sys.modules, "keyring", package)
    return kept


def write(places: Places, text: str, mode: int = 0o600) -> None:
    """The file of keys as somebody has written it."""
    places.keys_file.write_text(text)
    places.keys_file.chmod(mode)


def test_without_a_file_there_are_no_keys(places: Places) -> None:
    """That is no error."""
    assert (dict(load_keys(places)), load_keys(places).warnings) == ({}, [])


def test_lines_are_read_as_shells_write_them(places: Places) -> None:
    """Comments, blank lines, ``export``, quotes; the last line of a name counts."""
    write(places, '# mine\n\nexport A=1\n B = two words \nC=\'a"\\x\'\nD="a\\"b\\\\c"\nE=\nA=3\nF=a=b#c\n')
    keys = load_keys(places)
    wanted = {"A": "3", "B": "two words", "C": 'a"\\x', "D": 'a"b\\c', "E": "", "F": "a=b#c"}
    assert (dict(keys), len(keys), keys.warnings) == (wanted, 6, [])


def test_a_line_that_is_no_key_is_told_without_its_text(places: Places) -> None:
    """It may be a key that was pasted into a wrong line."""
    write(places, "A=1\nsk-secret\n")
    with pytest.raises(SettingsProblem) as caught:
        load_keys(places)
    assert caught.value.message == f"{places.keys_file}:2: expected NAME=value."


def test_keys_are_not_shown(places: Places) -> None:
    """Not where an object is printed by mistake either."""
    write(places, "A=secret\n")
    assert repr(load_keys(places)) == "Keys(A)"


def test_a_file_that_others_can_read_is_closed(places: Places) -> None:
    """With a warning, once."""
    write(places, "A=1\n", 0o644)
    warnings = [f"{places.keys_file} could be read by others (mode 644); now only you can read it"]
    assert (load_keys(places).warnings, load_keys(places).warnings) == (warnings, [])
    assert stat.S_IMODE(places.keys_file.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_closed_is_warned_of(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys can be used all the same."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    write(places, "A=1\n", 0o640)
    monkeypatch.setattr(Path, "chmod", refuse)
    reason = "and that cannot be changed: Operation not permitted"
    assert load_keys(places).warnings == [f"{places.keys_file} can be read by others (mode 640), {reason}"]


def test_a_key_is_kept_in_the_place_of_the_one_before(places: Places) -> None:
    """Other lines and comments stay; the file is for its user alone."""
    write(places, "# mine\nexport A=1\nB=2\n", 0o644)
    assert set_key(places, "A", "it's new") == places.keys_file
    assert places.keys_file.read_text() == '# mine\nB=2\nA="it\'s new"\n'
    assert stat.S_IMODE(places.keys_file.stat().st_mode) == 0o600


def test_a_key_is_forgotten(places: Places) -> None:
    """The others stay."""
    write(places, "A=1\nB=2\n")
    unset_key(places, "A")
    assert dict(load_keys(places)) == {"B": "2"}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("A B", "x", "'A B' cannot be the name of a key: expected letters, digits and '_'."),
        ("A=B", "x", "'A=B' cannot be the name of a key: expected letters, digits and '_'."),
        ("A", "", "The key for A must be one line of visible characters."),
        ("A", "two\nlines", "The key for A must be one line of visible characters."),
    ],
)
def test_what_cannot_be_kept_is_refused(places: Places, name: str, value: str, message: str) -> None:
    """Without the key in the message, and without a file."""
    with pytest.raises(UsageProblem) as caught:
        set_key(places, name, value)
    assert (caught.value.message, places.keys_file.exists()) == (message, False)


def test_a_key_that_is_not_there_cannot_be_forgotten(places: Places) -> None:
    """The message names the file."""
    with pytest.raises(UsageProblem) as caught:
        unset_key(places, "A")
    assert caught.value.message == f"There is no key A in {places.keys_file}."


def test_the_keyring_keeps_the_key_and_the_file_its_name(places: Places, keyring: dict[tuple[str, str], str]) -> None:
    """The key is fetched when it is used, and forgotten in both places."""
    set_key(places, "A", "secret", in_keyring=True)
    assert (places.keys_file.read_text(), keyring) == ("A=@keyring\n", {("amplifier", "A"): "secret"})
    keys = load_keys(places)
    assert (keys.place_of("A"), keys["A"], keys["A"]) == ("keyring", "secret", "secret")
    unset_key(places, "A")
    assert (places.keys_file.read_text(), keyring) == ("", {})


def test_a_key_that_the_keyring_has_lost_is_told(places: Places, keyring: dict[tuple[str, str], str]) -> None:
    """With the command that keeps it again."""
    write(places, "A=@keyring\n")
    with pytest.raises(SettingsProblem) as caught:
        load_keys(places)["A"]
    assert (caught.value.message, caught.value.hint) == (
        "The key A is not in the system's keyring any more.",
        "amplifier config set-key A",
    )
    assert keyring == {}


def test_without_the_package_there_is_no_keyring(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says how to install it, and what else there is."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(Problem) as caught:
        set_key(places, "A", "x", in_keyring=True)
    assert caught.value.message.endswith("the package keyring is not installed.")
    assert places.keys_file.exists() is False


def test_keys_become_variables_where_none_is_set(places: Places) -> None:
    """Modules look there; what the user has set for this call counts more."""
    write(places, "A=1\nB=2\nC=3\n")
    environ = {"A": "mine", "B": ""}
    load_keys(places).export_to(environ)
    assert environ == {"A": "mine", "B": "2", "C": "3"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1).filter(lambda text: text.isprintable() and text == text.strip()))
def test_any_key_comes_back(places: Places, value: str) -> None:
    """Whatever visible characters it has."""
    set_key(places, "A", value)
    assert dict(load_keys(places)) == {"A": value}
