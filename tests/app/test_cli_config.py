"""``amplifier config`` in this process: each command's work, its output for people and programs, and its mistakes."""

from __future__ import annotations

import io
import json
import stat
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.app.command import Command

from amplifier.settings import schema


@pytest.fixture
def amplifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command with a home of its own."""
    return Command(tmp_path, monkeypatch, capsys)


def test_get_prints_the_value_and_where_it_comes_from(amplifier: Command) -> None:
    """The value on standard output, for scripts; the place on standard error."""
    file = amplifier.settings("\nmodel: gpt\npermissions: {allow: [Read], mode: plan}\n")
    assert amplifier("config", "get", "model") == (0, "gpt\n", f"from user ({file}:2)\n")
    assert amplifier("config", "get", "session.persist") == (0, "true\n", "from default\n")
    assert amplifier("config", "get", "permissions") == (
        0,
        "mode: plan\nallow:\n- Read\n",
        f"from user ({file}:3)\nfrom default\n",
    )
    assert amplifier("-c", "model=x", "config", "get", "model", "-c", "model=y") == (
        0,
        "y\n",
        f"from flags (-c model)\nfrom user ({file}:2)\n",
    )


def test_get_prints_json(amplifier: Command) -> None:
    """With every place that has a part in the value."""
    file = amplifier.settings("limits: {timeout: 5}\n")
    shown = amplifier("config", "get", "limits.timeout", "--json", "-c", "limits.timeout=3")
    flags = {"scope": "flags", "file": None, "line": None, "name": "-c limits.timeout"}
    user = {"scope": "user", "file": str(file), "line": 1, "name": None}
    wanted = {"key": "limits.timeout", "value": 3, "origin": flags, "origins": [flags, user]}
    assert (shown.code, json.loads(shown.out), shown.err) == (0, wanted, "")


def test_secrets_are_not_shown(amplifier: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one nor in a list, for people or programs."""
    monkeypatch.setenv("MY_TOKEN", "s3cret")
    amplifier.settings("providers: {a: {api_key: s3cret-too}}\nenv: {A: 'x${MY_TOKEN}'}\n")
    shown = [
        amplifier("config", "get", "providers.a.api_key"),
        amplifier("config", "get", "providers"),
        amplifier("config", "get", "env", "--json"),
        amplifier("config", "list"),
        amplifier("config", "list", "--json"),
    ]
    assert [(each.code, "s3cret" in each.out + each.err, "••••••" in each.out) for each in shown] == [
        (0, False, True)
    ] * 5


@pytest.mark.parametrize(
    ("key", "code", "message"),
    [
        ("model", 1, "'model' is not set.\n  → amplifier config set model VALUE"),
        (
            "modle",
            2,
            "There is no setting 'modle'; did you mean 'model'?\n  → amplifier config schema tells all of them.",
        ),
        (
            "a..b",
            2,
            "The key 'a..b' cannot be read: expected names joined by dots, such as session.persist.\n"
            '  → A name that has a dot stands in quotes: sources."my.module"',
        ),
    ],
)
def test_get_tells_what_is_not_there(amplifier: Command, key: str, code: int, message: str) -> None:
    """A setting without a value, a key that does not exist, and what is no key."""
    assert amplifier("config", "get", key) == (code, "", f"amplifier: {message}\n")


def test_list_shows_every_value_with_its_place(amplifier: Command) -> None:
    """In the order of the alphabet; lists may come from several places."""
    file = amplifier.settings("model: x\npermissions:\n  allow: [Read]\n")
    shown = amplifier("config", "list", "--set", "-c", "permissions.allow=[Write]", "-c", "model=y")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines() == [
        "KEY                VALUE          FROM",
        "model              y              flags (-c model)",
        "permissions.allow  [Read, Write]  flags (-c permissions.allow) and 1 more",
    ]
    everything = json.loads(amplifier("config", "list", "--json").out)
    assert [each["key"] for each in everything] == sorted(each["key"] for each in everything)
    assert everything[4] == {
        "key": "model",
        "value": "x",
        "origin": {"scope": "user", "file": str(file), "line": 1, "name": None},
    }


def test_list_warns_of_unknown_settings(amplifier: Command) -> None:
    """And fails when it is told to be strict, before the command or behind it."""
    file = amplifier.settings("modle: x\n")
    told = f"{file}:1: there is no setting 'modle'; did you mean 'model'?"
    shown = amplifier("config", "list")
    assert (shown.code, shown.err) == (0, f"amplifier: warning: {told}\n")
    hint = "  → Correct it there; amplifier config schema tells what is allowed.\n"
    assert [amplifier("--strict-config", "config", "list"), amplifier("config", "list", "--strict-config")] == [
        (78, "", f"amplifier: {told}\n{hint}")
    ] * 2


def test_list_takes_settings_for_this_call(amplifier: Command, tmp_path: Path) -> None:
    """From a file, and from JSON."""
    (tmp_path / "more.yaml").write_text("model: x\n")
    shown = amplifier(
        "--settings", str(tmp_path / "more.yaml"), "config", "list", "--set", "--settings", '{"provider": "p"}'
    )
    assert [line.split()[:2] for line in shown.out.splitlines()[1:]] == [["model", "x"], ["provider", "p"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model: [\n", "{file}:2:1: expected the node content, but found '<stream end>'"),
        ("session: {persist: 3}\n", "{file}:1: 'session.persist' must be true or false, not 3"),
        ("- x\n", "{file}:1:1: expected settings as 'key: value', not a list."),
    ],
)
def test_list_tells_what_is_wrong_with_a_file(amplifier: Command, text: str, message: str) -> None:
    """With its place; nothing is shown as if it counted."""
    file = amplifier.settings(text)
    shown = amplifier("config", "list")
    assert (shown.code, shown.out, shown.err.splitlines()[0]) == (78, "", f"amplifier: {message.format(file=file)}")


def test_set_changes_a_file_and_says_which(amplifier: Command) -> None:
    """Comments stay; the value is read as the setting wants it."""
    file = amplifier.settings("# mine\nmodel: a # why\n")
    assert amplifier("config", "set", "model", "true") == (0, "", f"model is set in {file}\n")
    assert amplifier("config", "set", "session.persist", "false").code == 0
    assert amplifier("config", "set", "permissions.allow", "[Read, 'Bash(git *)']").code == 0
    assert file.read_text() == (
        "# mine\nmodel: 'true' # why\nsession:\n  persist: false\npermissions:\n  allow: [Read, Bash(git *)]\n"
    )
    assert amplifier("config", "set", "model", "true").err == f"model was so already in {file}\n"


def test_set_writes_other_scopes_and_tells_when_they_do_not_count(amplifier: Command) -> None:
    """A value of a higher scope hides what was set."""
    local = amplifier.work / ".amplifier/settings.local.yaml"
    assert amplifier("config", "set", "--scope", "local", "model", "a") == (0, "", f"model is set in {local}\n")
    user = amplifier.home / "settings.yaml"
    assert amplifier("config", "set", "model", "b").err == (
        f"model is set in {user}\namplifier: warning: another value of 'model' counts more: local ({local}:1)\n"
    )
    project = amplifier.work / ".amplifier/settings.yaml"
    amplifier("config", "set", "model", "c", "--scope", "project")
    assert (user.read_text(), project.read_text(), local.read_text()) == ("model: b\n", "model: c\n", "model: a\n")


def test_set_tells_when_comments_are_lost(amplifier: Command) -> None:
    """Some ways to write YAML cannot be edited."""
    file = amplifier.settings("env: &a {X: 1} # one\nsandbox: *a\n")
    assert amplifier("config", "set", "sandbox.Y", "2").err == (
        f"sandbox.Y is set in {file}\namplifier: warning: the comments of {file} could not be kept\n"
    )


def test_set_mends_a_file_that_is_wrong(amplifier: Command) -> None:
    """One setting after the other; what is still wrong is a warning, since the change is made."""
    file = amplifier.settings("limits: {timeout: soon, max_turns: many}\n")
    shown = amplifier("config", "set", "limits.timeout", "5")
    told = f"{file}:1: 'limits.max_turns' must be a whole number, not 'many'"
    assert shown == (0, "", f"limits.timeout is set in {file}\namplifier: warning: {told}\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["modle", "x"], "There is no setting 'modle'; did you mean 'model'?"),
        (["session.persist", "maybe"], "'session.persist' must be true or false, not 'maybe'."),
        (["session.persist", "[1"], "session.persist:1:3: expected ',' or ']', but got '<stream end>'"),
        (["model"], "Missing argument 'VALUE'."),
        (["model", "x", "--scope", "managed"], "Invalid value for '--scope': 'managed' is not one of"),
    ],
)
def test_set_refuses_what_does_not_fit(amplifier: Command, args: list[str], message: str) -> None:
    """Nothing is written."""
    shown = amplifier("config", "set", *args)
    assert (shown.code, shown.out, (amplifier.home / "settings.yaml").exists()) == (2, "", False)
    assert shown.err.startswith(f"amplifier: {message}")


def test_unset_takes_a_setting_out(amplifier: Command) -> None:
    """What is not there is told."""
    file = amplifier.settings("model: x\nprovider: y\n")
    assert amplifier("config", "unset", "model") == (0, "", f"model is taken out in {file}\n")
    assert file.read_text() == "provider: y\n"
    assert amplifier("config", "unset", "model") == (
        1,
        "",
        f"amplifier: 'model' is not in {file}.\n  → amplifier config get model tells where it comes from.\n",
    )


def test_path_shows_the_files(amplifier: Command) -> None:
    """All of them, one for scripts, or as JSON."""
    file = amplifier.settings("model: x\n")
    lines = amplifier("config", "path").out.splitlines()
    assert [line.split()[0] for line in lines] == ["SCOPE", "managed", "local", "project", "user", "keys", "home"]
    assert (lines[1].endswith("not there"), lines[4].split()) == (True, ["user", str(file)])
    assert amplifier("config", "path", "--scope", "user") == (0, f"{file}\n", "")
    assert json.loads(amplifier("config", "path", "--json").out)[3] == {
        "scope": "user",
        "path": str(file),
        "exists": True,
    }


def test_schema_prints_the_schema(amplifier: Command) -> None:
    """As JSON, whatever the settings are."""
    amplifier.settings("model: [\n")
    shown = amplifier("config", "schema")
    assert (shown.code, json.loads(shown.out), shown.err) == (0, schema(), "")


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [
        ("echo 'model: x' > \"$1\"", 0, "{file} can be used; 1 of its settings count\n"),
        ("true", 0, "{file} can be used; 0 of its settings count\n"),
        ("echo '- x' > \"$1\"", 78, "amplifier: {file}:1:1: expected settings as 'key: value', not a list.\n"),
        ("exit 3", 1, "amplifier: {editor}: Editing failed\n"),
    ],
)
def test_edit_opens_the_editor_and_checks_the_file(
    amplifier: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, code: int, told: str
) -> None:
    """A file that is not there is made; what is wrong afterwards is told with its place."""
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    shown = amplifier("config", "edit")
    file = amplifier.home / "settings.yaml"
    assert (shown.code, file.exists()) == (code, True)
    assert shown.err.startswith(told.format(file=file, editor=editor))
    assert amplifier("config", "edit").code == code


class Terminal(io.StringIO):
    """Standard input that says it is a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_a_key_is_read_from_standard_input(amplifier: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept for the user alone, and never printed."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("sk-secret\nmore"))
    file = amplifier.home / "keys.env"
    assert amplifier("config", "set-key", "A_KEY") == (0, "", f"A_KEY is kept in {file}\n")
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("A_KEY=sk-secret\n", 0o600)


def test_a_key_is_asked_for_on_a_terminal(amplifier: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without being shown."""
    asked: list[tuple[str, bool, bool]] = []

    def prompt(text: str, *, hide_input: bool, err: bool) -> str:
        asked.append((text, hide_input, err))
        return " sk-secret "

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("click.prompt", prompt)
    assert amplifier("config", "set-key", "A_KEY").code == 0
    assert (asked, (amplifier.home / "keys.env").read_text()) == ([("A_KEY", True, True)], "A_KEY=sk-secret\n")


@pytest.mark.parametrize(
    ("name", "stdin", "message"),
    [
        ("A KEY", b"x\n", "'A KEY' cannot be the name of a key: expected letters, digits and '_'."),
        ("A_KEY", b"", "No key came for A_KEY on standard input."),
        ("A_KEY", b"\xff\n", "What came for A_KEY on standard input is no UTF-8."),
        ("A_KEY", b"a\x07b\n", "The key for A_KEY must be one line of visible characters."),
    ],
)
def test_what_is_no_key_is_refused(
    amplifier: Command, monkeypatch: pytest.MonkeyPatch, name: str, stdin: bytes, message: str
) -> None:
    """Nothing is kept, and nothing of it is shown."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
    shown = amplifier("config", "set-key", name)
    assert (shown.code, shown.err.splitlines()[0]) == (2, f"amplifier: {message}")
    assert (amplifier.home / "keys.env").exists() is False


@pytest.mark.parametrize(("args", "settings"), [(["--keyring"], ""), ([], "keys: {store: keyring}\n")])
def test_a_key_goes_to_the_keyring_when_that_is_chosen(
    amplifier: Command, monkeypatch: pytest.MonkeyPatch, args: list[str], settings: str
) -> None:
    """By the option or by the setting."""
    kept: list[tuple[str, ...]] = []
    package: Any = ModuleType("keyring")
    package.set_password = lambda *given: kept.append(given)
    monkeypatch.setitem(sys.modules, "keyring", package)
    monkeypatch.setattr(sys, "stdin", io.StringIO("sk-secret\n"))
    amplifier.settings(settings)
    shown = amplifier("config", "set-key", "A_KEY", *args)
    assert shown == (0, "", "A_KEY is kept in the keyring of the system\n")
    assert (kept, (amplifier.home / "keys.env").read_text()) == (
        [("amplifier", "A_KEY", "sk-secret")],
        "A_KEY=@keyring\n",
    )


def test_keys_are_listed_by_name(amplifier: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """With where they are, and whether a variable counts more; a file that others could read is closed."""
    amplifier.settings("")
    file = amplifier.home / "keys.env"
    file.write_text("A_KEY=secret\nB_KEY=@keyring\n")
    file.chmod(0o644)
    monkeypatch.setenv("B_KEY", "x")
    shown = amplifier("config", "keys")
    assert shown == (
        0,
        "NAME   STORE\nA_KEY  file\nB_KEY  keyring  the environment's counts\n",
        f"amplifier: warning: {file} could be read by others (mode 644); now only you can read it\n",
    )
    assert json.loads(amplifier("config", "keys", "--json").out) == [
        {"name": "A_KEY", "store": "file", "in_environment": False},
        {"name": "B_KEY", "store": "keyring", "in_environment": True},
    ]


def test_a_key_is_forgotten(amplifier: Command) -> None:
    """One that is not there is told."""
    amplifier.settings("")
    file = amplifier.home / "keys.env"
    file.write_text("A_KEY=secret\n")
    assert amplifier("config", "unset-key", "A_KEY") == (0, "", f"A_KEY is taken out of {file}\n")
    assert amplifier("config", "unset-key", "A_KEY").code == 2
    assert file.read_text() == ""
