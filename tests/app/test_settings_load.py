"""The settings that count: scopes in their order, where each value comes from, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier.paths import Places
from amplifier.problems import SettingsProblem, UsageProblem
from amplifier.settings import Origin, Settings, flags_from
from amplifier.settings.layers import VARIABLES
from amplifier.settings.schema import schema_at


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A user and a project without any file, and a machine whose owner has no settings."""
    (tmp_path / "project" / ".amplifier").mkdir(parents=True)
    variables = {"HOME": str(tmp_path), "AMPLIFIER_MANAGED_SETTINGS": str(tmp_path / "managed.yaml")}
    return Places.find(variables, tmp_path / "project")


def write(path: Path, text: str) -> Path:
    """A file with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def load(places: Places, **more: Any) -> Settings:
    """The settings without the variables of the process."""
    return Settings.load(places, **{"environ": {}, **more})


def test_without_files_the_defaults_count(places: Places) -> None:
    """Nothing has to be there."""
    settings = load(places)
    assert list(settings.all()) == [
        ("bundle.active", "default", Origin("default")),
        ("chat.keys", "emacs", Origin("default")),
        ("chat.plain", False, Origin("default")),
        ("keys.store", "file", Origin("default")),
        ("output.color", "auto", Origin("default")),
        ("output.format", "text", Origin("default")),
        ("permissions.mode", "default", Origin("default")),
        ("session.persist", True, Origin("default")),
        ("session.retention_days", 30, Origin("default")),
    ]
    assert (settings.warnings, settings.get("model"), settings.get("model", "x")) == ([], None, "x")
    assert settings.origin("model") == Origin("default")


def test_the_scopes_count_in_their_order(places: Places) -> None:
    """Managed settings most, then flags, environment, local, project, user; each origin names its place."""
    managed = write(places.managed_settings, "model: managed\n")
    local = write(places.local_settings, "# mine\nmodel: local\n")
    project = write(places.project_settings, "model: project\n")
    user = write(places.user_settings, "model: user\n")
    environ = {"AMPLIFIER_MODEL": "environment"}
    everything = Settings.load(places, {"model": "flags"}, environ, texts=['{"model": "text"}'])
    assert everything.get("model") == "managed"
    assert everything.origins("model") == [
        Origin("managed", managed, 1),
        Origin("flags", name="-c model"),
        Origin("flags", name="--settings"),
        Origin("environment", name="AMPLIFIER_MODEL"),
        Origin("local", local, 2),
        Origin("project", project, 1),
        Origin("user", user, 1),
    ]
    counted: list[Any] = []
    managed.unlink()
    counted.append(Settings.load(places, {"model": "flags"}, environ, texts=['{"model": "text"}']).get("model"))
    counted.append(Settings.load(places, {}, environ, texts=['{"model": "text"}']).get("model"))
    counted.append(Settings.load(places, {}, environ).get("model"))
    for file in (local, project, user):
        counted.append(load(places).get("model"))
        file.unlink()
    counted.append(load(places).get("model"))
    assert counted == ["flags", "text", "environment", "local", "project", "user", None]


def test_the_process_s_variables_count_by_default(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to hand them over."""
    monkeypatch.setenv("AMPLIFIER_MODEL", "mine")
    assert Settings.load(places).get("model") == "mine"


def test_sections_are_merged_and_belong_to_the_caller(places: Places) -> None:
    """What the caller does to them changes no setting."""
    write(places.user_settings, "permissions:\n  allow: [a]\n  mode: plan\n")
    write(places.local_settings, "permissions:\n  allow: [b]\n")
    settings = load(places)
    section = settings.section("permissions")
    assert section == {"mode": "plan", "allow": ["a", "b"]}
    section["allow"].append("c")
    settings.get("permissions.allow").append("d")
    next(value for key, value, _ in settings.all() if key == "permissions.allow").append("e")
    assert settings.get("permissions.allow") == ["a", "b"]
    assert (settings.section("model"), settings.section("mcp"), settings.get("session.persist.deeper")) == (
        {},
        {},
        None,
    )


def test_null_takes_a_value_away(places: Places) -> None:
    """The caller's default counts, and the key is not listed."""
    write(places.user_settings, "model: x\n")
    settings = load(places, flags={"model": None})
    assert (settings.get("model", "mine"), "model" in {key for key, _, _ in settings.all()}) == ("mine", False)


def test_origins_are_told_in_words(places: Places) -> None:
    """With file and line, variable, option, or nothing."""
    file = write(places.user_settings, "env:\n  A: x\n  B: [1]\n")
    settings = load(places, environ={"AMPLIFIER_TIMEOUT": "3"}, texts=['{"model": "m"}'])
    told = [str(settings.origin(key)) for key in ("env.A", "env.B", "limits.timeout", "model", "output.color")]
    assert told == [
        f"user ({file}:2)",
        f"user ({file}:3)",
        "environment (AMPLIFIER_TIMEOUT)",
        "flags (--settings)",
        "default",
    ]
    assert settings.origin("env.B").to_dict() == {"scope": "user", "file": str(file), "line": 3, "name": None}
    assert settings.origin("model").to_dict() == {"scope": "flags", "file": None, "line": None, "name": "--settings"}
    assert (str(settings.origin("limits")), str(settings.origin("env"))) == (
        "environment (AMPLIFIER_TIMEOUT)",
        f"user ({file}:1)",
    )
    assert str(Origin("user", file)) == f"user ({file})"


def test_every_variable_stands_for_a_setting() -> None:
    """None of the names leads nowhere."""
    assert [key for key in VARIABLES.values() if not schema_at(tuple(key.split(".")))] == []


def test_any_setting_can_come_from_the_environment(places: Places) -> None:
    """By its name in capitals; texts as they are, the rest as YAML reads it, empty ones not at all."""
    environ = {
        "AMPLIFIER__SESSION__RETENTION_DAYS": "7",
        "AMPLIFIER__PERMISSIONS__ALLOW": "[Read, 'Bash(ls *)']",
        "AMPLIFIER__PERMISSIONS__DENY": "Bash(rm *)",
        "AMPLIFIER__MODEL": "a: b",
        "AMPLIFIER__PROVIDER": "",
        "AMPLIFIER_MAX_BUDGET_USD": "0.5",
    }
    settings = load(places, environ=environ)
    assert {key: value for key, value, origin in settings.all() if origin.scope == "environment"} == {
        "session.retention_days": 7,
        "permissions.allow": ["Read", "Bash(ls *)"],
        "permissions.deny": ["Bash(rm *)"],
        "model": "a: b",
        "limits.max_budget_usd": 0.5,
    }


def test_assignments_become_flags() -> None:
    """``-c key=value``, the last one counts; a value may have an equals sign and may be empty."""
    given = ["model=a", "model=b=c", "session.persist=false", 'env."A.B"=1', "provider=", "limits.timeout="]
    assert flags_from(given) == {
        "model": "b=c",
        "session.persist": False,
        'env."A.B"': 1,
        "provider": "",
        "limits.timeout": None,
    }


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("model", "-c model has no value: expected KEY=VALUE."),
        ("=x", "The key '' cannot be read: expected names joined by dots, such as session.persist."),
        ("env.A=[1", "-c env.A:1:3: expected ',' or ']', but got '<stream end>'"),
    ],
)
def test_an_assignment_that_cannot_be_read_is_told(assignment: str, message: str) -> None:
    """It is a mistake in the call."""
    with pytest.raises(UsageProblem) as caught:
        flags_from([assignment])
    assert (caught.value.message, caught.value.exit_code) == (message, 2)


def test_a_settings_option_may_name_a_file(places: Places, tmp_path: Path) -> None:
    """Its values have their lines; a later option counts more."""
    file = write(tmp_path / "more.yaml", "\nmodel: x\nprovider: p\n")
    settings = load(places, texts=[str(file), ' {"provider": "q"}'])
    assert (settings.get("model"), settings.origin("model")) == ("x", Origin("flags", file, 2))
    assert (settings.get("provider"), settings.origin("provider")) == ("q", Origin("flags", name="--settings"))


@pytest.mark.parametrize(
    ("text", "problem", "message"),
    [
        ("/none.yaml", UsageProblem, "There is no file /none.yaml, which --settings names."),
        ("{nope", SettingsProblem, "--settings:1:6: expected ',' or '}', but got '<stream end>'"),
        ('{"model": 3}', UsageProblem, "--settings: 'model' must be a text, not 3"),
    ],
)
def test_a_settings_option_that_cannot_be_used_is_told(
    places: Places, text: str, problem: type[Exception], message: str
) -> None:
    """Whether it is a file or a text."""
    with pytest.raises(problem) as caught:
        load(places, texts=[text])
    assert str(caught.value) == message


@pytest.mark.parametrize("scope", ["user_settings", "project_settings", "local_settings", "managed_settings"])
def test_a_malformed_file_is_never_skipped(places: Places, scope: str) -> None:
    """Of whichever scope, it is an error with file, line and column."""
    file = write(getattr(places, scope), "model: x\nsession: [\n")
    with pytest.raises(SettingsProblem) as caught:
        load(places)
    assert str(caught.value).startswith(f"{file}:3:1: ")


def test_a_file_that_is_no_mapping_is_told(places: Places) -> None:
    """The message says what was expected."""
    file = write(places.user_settings, "- model\n")
    with pytest.raises(SettingsProblem) as caught:
        load(places)
    assert str(caught.value) == f"{file}:1:1: expected settings as 'key: value', not a list."


def test_a_value_that_does_not_fit_is_told_with_its_line(places: Places) -> None:
    """A file's is an error of settings, an option's one of the call."""
    file = write(places.user_settings, "\nsession:\n  persist: maybe\n")
    with pytest.raises(SettingsProblem) as caught:
        load(places)
    assert str(caught.value) == f"{file}:3: 'session.persist' must be true or false, not 'maybe'"
    file.unlink()
    with pytest.raises(UsageProblem) as usage:
        load(places, flags={"session.persist": "maybe"})
    assert str(usage.value) == "-c session.persist: 'session.persist' must be true or false, not 'maybe'"


def test_an_unknown_key_warns_and_strictly_fails(places: Places) -> None:
    """Its value is kept, for whoever reads it."""
    file = write(places.user_settings, "modle: x\n")
    settings = load(places)
    assert settings.warnings == [f"{file}:1: there is no setting 'modle'; did you mean 'model'?"]
    assert settings.get("modle") == "x"
    with pytest.raises(SettingsProblem) as caught:
        load(places, strict=True)
    assert [str(caught.value)] == settings.warnings


def test_variables_and_keys_are_put_in(places: Places) -> None:
    """The environment counts more than the keys of the user; what is missing is warned of."""
    file = write(places.user_settings, "env:\n  A: ${A_KEY}\n  B: ${B_KEY}\n  C: ${C_KEY}\n  D: x${C_KEY}\n")
    write(places.keys_file, "A_KEY=a\nB_KEY=stored\n").chmod(0o600)
    settings = load(places, environ={"B_KEY": "b"})
    assert settings.section("env") == {"A": "a", "B": "b", "C": None, "D": "x"}
    assert settings.warnings == [
        f"{file}:4: 'env.C' names ${{C_KEY}}, which is not set",
        f"{file}:5: 'env.D' names ${{C_KEY}}, which is not set",
    ]


def test_secrets_are_masked_for_showing(places: Places) -> None:
    """By the name of the setting, and by the value wherever it comes up; the values themselves are there."""
    write(places.user_settings, "providers: {a: {api_key: direct}}\nenv: {A: 'x ${MINE}', N: 1}\n")
    write(places.keys_file, "MINE=hidden\n").chmod(0o600)
    settings = load(places)
    assert {key: settings.shown(key, value) for key, value, origin in settings.all() if origin.scope == "user"} == {
        "providers.a.api_key": "••••••",
        "env.A": "x ••••••",
        "env.N": 1,
    }
    assert (settings.get("env.A"), settings.get("providers.a.api_key")) == ("x hidden", "direct")


def test_a_project_whose_folder_is_the_home_has_one_file(tmp_path: Path) -> None:
    """It counts as the user's, once."""
    home = tmp_path / ".amplifier"
    file = write(home / "settings.yaml", "model: x\n")
    places = Places(home, home / "cache", tmp_path, tmp_path, tmp_path / "none")
    assert load(places).origins("model") == [Origin("user", file, 1)]


def test_the_project_s_file_is_found_through_a_link(places: Places, tmp_path: Path) -> None:
    """Its values are told under the name of the link."""
    shared = write(tmp_path / "shared.yaml", "model: x\n")
    places.project_settings.symlink_to(shared)
    assert load(places).origin("model") == Origin("project", places.project_settings, 1)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("modle", "There is no setting 'modle'; did you mean 'model'?"),
        ("session.persits.x", "There is no setting 'session.persits'; did you mean 'session.persist'?"),
        ("model.x", "There is no setting 'model.x': 'model' has none inside"),
    ],
)
def test_a_key_that_no_setting_has_is_told(places: Places, key: str, message: str) -> None:
    """With the nearest, at the part that is wrong."""
    with pytest.raises(UsageProblem) as caught:
        load(places).require_known(key)
    assert str(caught.value) == message
    load(places).require_known("env.ANY.thing")
