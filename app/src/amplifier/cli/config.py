"""``amplifier config``: reads and changes settings and keys, and tells where each value comes from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.lazy_group import Entry, LazyGroup
from amplifier.cli.output import echo, echo_json, echo_table, warn
from amplifier.problems import Problem, UsageProblem

if TYPE_CHECKING:
    from amplifier.settings import Settings, Written

_HERE = "amplifier.cli.config"

_scope_option = click.option(
    "--scope",
    type=click.Choice(["user", "project", "local"]),
    default="user",
    show_default=True,
    help="Which file: yours for all projects, the project's, or yours for this project.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(
    cls=LazyGroup,
    sections={
        "Settings": {
            "get": Entry(f"{_HERE}:get", "Print one setting, and where it comes from."),
            "set": Entry(f"{_HERE}:set_", "Change one setting."),
            "unset": Entry(f"{_HERE}:unset", "Take one setting out of a file."),
            "list": Entry(f"{_HERE}:list_", "List all settings, and where they come from."),
            "edit": Entry(f"{_HERE}:edit", "Open a settings file in your editor, and check it."),
            "path": Entry(f"{_HERE}:path", "Show where the files are."),
            "schema": Entry(f"{_HERE}:schema", "Print the JSON Schema of settings files."),
        },
        "Keys of services": {
            "set-key": Entry(f"{_HERE}:set_key", "Keep a key, read from the terminal or standard input."),
            "unset-key": Entry(f"{_HERE}:unset_key", "Forget a key."),
            "keys": Entry(f"{_HERE}:keys", "List the names of the keys that are kept."),
        },
    },
)
def config() -> None:
    """Read and change settings, and see where they come from.

    What counts most comes first: managed settings, options, environment variables, .amplifier/settings.local.yaml,
    .amplifier/settings.yaml, the settings.yaml of your home, defaults.
    """


@click.command()
@_json_option
@click.argument("key")
@common_options
@click.pass_obj
def get(invocation: Invocation, key: str, as_json: bool) -> None:
    """Print the setting KEY, such as session.persist.

    The value goes to standard output, and where it comes from to standard error. Secrets are masked.
    """
    settings = invocation.settings
    settings.require_known(key)
    value = settings.get(key)
    if value is None:
        raise Problem(f"'{key}' is not set.", f"amplifier config set {key} VALUE")
    shown = settings.shown(key, value)
    if as_json:
        origins = [origin.to_dict() for origin in settings.origins(key)]
        echo_json({"key": key, "value": shown, "origin": origins[0], "origins": origins})
        return
    echo(_as_text(shown))
    for origin in settings.origins(key):
        echo(f"from {origin}", err=True)


@click.command("list")
@_json_option
@click.option("--set", "only_set", is_flag=True, help="Leave the defaults out.")
@common_options
@click.pass_obj
def list_(invocation: Invocation, as_json: bool, only_set: bool) -> None:
    """List all settings that have a value, and where they come from. Secrets are masked."""
    settings = invocation.settings
    found = [each for each in _described(settings) if not only_set or each["origin"]["scope"] != "default"]
    if as_json:
        echo_json(found)
    else:
        rows = [(each["key"], _as_text(each["value"], flow=True), _told(settings, each["key"])) for each in found]
        echo_table(["KEY", "VALUE", "FROM"], rows)


@click.command("set")
@_scope_option
@click.argument("key")
@click.argument("value")
@common_options
@click.pass_obj
def set_(invocation: Invocation, scope: str, key: str, value: str) -> None:
    """Set KEY to VALUE in a settings file; comments stay.

    VALUE is a text where a text is wanted, and YAML otherwise: true, 30, '[Read, Bash(git *)]'.
    """
    from amplifier.settings import set_value
    from amplifier.settings.key_paths import split_key
    from amplifier.settings.layers import value_from_text

    wanted = value_from_text(split_key(key), value, key)
    _tell_written(set_value(invocation.places, scope, key, wanted), f"{key} is set", f"{key} was so already")
    _warn_if_hidden(invocation, scope, key)


@click.command()
@_scope_option
@click.argument("key")
@common_options
@click.pass_obj
def unset(invocation: Invocation, scope: str, key: str) -> None:
    """Take KEY out of a settings file."""
    from amplifier.settings import unset_value

    written = unset_value(invocation.places, scope, key)
    if not written.is_changed:
        raise Problem(f"'{key}' is not in {written.file}.", f"amplifier config get {key} tells where it comes from.")
    _tell_written(written, f"{key} is taken out", "")


@click.command()
@_json_option
@click.option(
    "--scope", type=click.Choice(["managed", "local", "project", "user", "keys", "home"]), help="Only this path."
)
@common_options
@click.pass_obj
def path(invocation: Invocation, as_json: bool, scope: str | None) -> None:
    """Show the files that settings come from, what counts most first."""
    places = invocation.places
    files = {
        "managed": places.managed_settings,
        "local": places.local_settings,
        "project": places.project_settings,
        "user": places.user_settings,
        "keys": places.keys_file,
        "home": places.home,
    }
    if scope is not None:
        echo(str(files[scope]))
    elif as_json:
        echo_json([{"scope": name, "path": str(file), "exists": file.exists()} for name, file in files.items()])
    else:
        rows = [(name, file, "" if file.exists() else "not there") for name, file in files.items()]
        echo_table(["SCOPE", "PATH", ""], rows)


@click.command()
@common_options
def schema() -> None:
    """Print the JSON Schema of settings files, for editors and checks."""
    from amplifier.settings import schema as settings_schema

    echo_json(settings_schema())


@click.command()
@_scope_option
@common_options
@click.pass_obj
def edit(invocation: Invocation, scope: str) -> None:
    """Open a settings file in your editor ($VISUAL, $EDITOR), and check it afterwards."""
    from amplifier.settings.files import locked, write_atomically
    from amplifier.settings.trust import keeping_trust
    from amplifier.settings.writing import scope_file

    file = scope_file(invocation.places, scope)
    if not file.exists():
        with locked(file) as target:
            write_atomically(target, "# amplifier config schema tells what may stand here\n")
    with keeping_trust(invocation.places):
        click.edit(filename=str(file))
    count = sum(origin.file == file for _, _, origin in invocation.settings.all())
    echo(f"{file} can be used; {count} of its settings count", err=True)


@click.command("set-key")
@click.option(
    "--keyring", "in_keyring", is_flag=True, help="Keep it in the system's keyring, whatever keys.store says."
)
@click.argument("name")
@common_options
@click.pass_obj
def set_key(invocation: Invocation, name: str, in_keyring: bool) -> None:
    """Keep the key NAME, such as ANTHROPIC_API_KEY.

    The key is asked for without being shown, or read from standard input. It is never an argument, since those can be
    seen by others and stay in the shell's history.
    """
    from amplifier.settings import set_key as keep

    in_keyring = in_keyring or invocation.settings.get("keys.store") == "keyring"
    file = keep(invocation.places, name, _secret(name), in_keyring=in_keyring)
    echo(f"{name} is kept in {'the keyring of the system' if in_keyring else file}", err=True)


@click.command("unset-key")
@click.argument("name")
@common_options
@click.pass_obj
def unset_key(invocation: Invocation, name: str) -> None:
    """Forget the key NAME."""
    from amplifier.settings import unset_key as forget

    file = forget(invocation.places, name)
    echo(f"{name} is taken out of {file}", err=True)


@click.command()
@_json_option
@common_options
@click.pass_obj
def keys(invocation: Invocation, as_json: bool) -> None:
    """List the names of the keys that are kept, and where; never the keys."""
    import os

    from amplifier.settings import load_keys

    kept = load_keys(invocation.places)
    for warning in kept.warnings:
        warn(warning)
    found = [
        {"name": name, "store": kept.place_of(name), "in_environment": bool(os.environ.get(name))} for name in kept
    ]
    if as_json:
        echo_json(found)
        return
    rows = [
        (each["name"], each["store"], "the environment's counts" if each["in_environment"] else "") for each in found
    ]
    echo_table(["NAME", "STORE", ""], rows)


def _described(settings: Settings) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": settings.shown(key, value), "origin": origin.to_dict()}
        for key, value, origin in settings.all()
    ]


def _told(settings: Settings, key: str) -> str:
    first, *others = settings.origins(key)
    # Lists may have entries from several places; anything else comes from the first alone.
    has_parts = isinstance(settings.get(key), list) and len(settings.get(key)) > 1
    return f"{first} and {len(others)} more" if others and has_parts else str(first)


def _as_text(value: Any, *, flow: bool = False) -> str:
    if isinstance(value, str):
        return value
    import yaml

    text: str = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=True, sort_keys=False, width=10**9)
    return text.removesuffix("\n").removesuffix("\n...")


def _tell_written(written: Written, changed: str, unchanged: str) -> None:
    echo(f"{changed} in {written.file}" if written.is_changed else f"{unchanged} in {written.file}", err=True)
    if not written.kept_comments:
        warn(f"the comments of {written.file} could not be kept")


def _warn_if_hidden(invocation: Invocation, scope: str, key: str) -> None:
    try:
        origin = invocation.settings.origin(key)
    except Problem as problem:
        # The change is made; that something else is wrong must not look as if it was not.
        warn(problem.message)
        return
    if origin.scope not in (scope, "default"):
        warn(f"another value of '{key}' counts more: {origin}")


def _secret(name: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(name, hide_input=True, err=True)).strip()
    try:
        secret = sys.stdin.readline().strip()
    except UnicodeDecodeError:
        raise UsageProblem(f"What came for {name} on standard input is no UTF-8.", "Is it the right file?") from None
    if not secret:
        raise UsageProblem(
            f"No key came for {name} on standard input.", f"Such as: amplifier config set-key {name} < FILE"
        )
    return secret
