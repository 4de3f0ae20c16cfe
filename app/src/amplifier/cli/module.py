"""``amplifier module``: which modules there are, what is in them, whether they are right, and beginning your own."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from amplifier.cli.invocation import Invocation, common_options
from amplifier.cli.lazy_group import Entry, LazyGroup
from amplifier.cli.output import echo, echo_json, echo_table, plain
from amplifier.cli.planning import json_option, scope_option
from amplifier.problems import Problem, UsageProblem

if TYPE_CHECKING:
    from amplifier.inspector.inside import Inside
    from amplifier.inspector.installed_modules import InstalledModule
    from amplifier.inspector.validity import Verdict

_HERE = "amplifier.cli.module"
_KINDS = ("provider", "tool", "hook", "orchestrator", "context")
_SECTIONS = {"provider": "providers", "tool": "tools", "hook": "hooks"}
_config_option = click.option("--config-json", "config_text", metavar="JSON", help="The module's config, an object.")


@click.group(
    cls=LazyGroup,
    sections={
        "Commands": {
            "list": Entry(f"{_HERE}:list_", "List the modules that are installed."),
            "show": Entry(f"{_HERE}:show", "Show what a module puts into a session."),
            "validate": Entry(f"{_HERE}:validate", "Check that a module keeps its contract."),
            "new": Entry(f"{_HERE}:new", "Begin a module of your own."),
            "add": Entry(f"{_HERE}:add", "Put a module into every session."),
            "remove": Entry(f"{_HERE}:remove", "Take such a module out again."),
        }
    },
)
def module() -> None:
    """List, show, check, begin, add and remove modules.

    Everything that an agent is made of is a module: its loop, its memory, its models, tools and hooks.
    """


@click.command("list")
@click.option("--kind", type=click.Choice(_KINDS), help="Only these.")
@json_option
@common_options
def list_(kind: str | None, as_json: bool) -> None:
    """List the modules that are installed; none of them is imported."""
    from amplifier.inspector.installed_modules import installed_modules

    found = [each for each in installed_modules(os.environ) if kind in (None, each.kind)]
    if as_json:
        echo_json([each._asdict() for each in found])
        return
    echo_table(["ID", "KIND", "FROM", "DESCRIPTION"], [(e.id, e.kind, _source(e), e.description) for e in found])


@click.command()
@click.argument("module_id", metavar="ID")
@click.option("--static", "is_static", is_flag=True, help="Read the source only; import and mount nothing.")
@_config_option
@json_option
@common_options
@click.pass_obj
def show(invocation: Invocation, module_id: str, is_static: bool, config_text: str | None, as_json: bool) -> None:
    """Show what the module ID is and what it puts into a session: it is mounted for that, and taken down again."""
    from amplifier.inspector.inside import Inside, look_inside
    from amplifier.inspector.installed_modules import require_module

    found = require_module(module_id, os.environ)
    config = _config(config_text) or {}
    working_dir = invocation.places.working_dir
    inside = Inside() if is_static else asyncio.run(look_inside(found, config, working_dir))
    if as_json:
        echo_json({**found._asdict(), **({} if is_static else inside.to_dict())})
        return
    for key, value in _shown(found, inside).items():
        if value:
            echo(f"{key + ':':14}{plain(value)}")
    if inside.config:
        echo()
        echo_table(["CONFIG", "TYPE", "DEFAULT", "MEANING"], _config_rows(inside.config))


@click.command()
@click.argument("target", metavar="ID|PATH")
@click.option("-b", "--behaviour", "--behavior", is_flag=True, help="Also run the behaviour suite of its kind.")
@click.option("--kind", type=click.Choice(_KINDS), help="Where neither source nor name tell it.")
@_config_option
@click.option(
    "-o", "--output", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The form."
)
@common_options
def validate(target: str, behaviour: bool, kind: str | None, config_text: str | None, form: str) -> int:
    """Check that a module, installed or in a folder, keeps its contract.

    It is imported and mounted on a coordinator that is thrown away. Exit code 1 tells of a module that is not valid.
    """
    from amplifier.inspector import validity

    path = _path_of(target)
    verdict = asyncio.run(validity.validate(path, _config(config_text), kind))
    if behaviour:
        verdict.checks.extend(validity.behaviour(verdict.kind, path))
    if form == "json":
        echo_json({**verdict._asdict(), "valid": verdict.is_valid})
    else:
        _echo_verdict(verdict)
    return 0 if verdict.is_valid else 1


@click.command()
@click.argument("kind", metavar="KIND", type=click.Choice(_KINDS))
@click.argument("name")
@click.option("--into", metavar="DIR", default=".", type=click.Path(file_okay=False), help="Where to put it.")
@common_options
def new(kind: str, name: str, into: str) -> None:
    """Begin a module of your own: a complete repository whose tests pass.

    KIND is provider, tool, hook, orchestrator or context.
    """
    from amplifier_core.cli import new as begin

    try:
        begin.main([kind, name, "--into", into], standalone_mode=False)
    except click.ClickException as error:
        raise UsageProblem(error.format_message(), "Such as: amplifier module new tool weather") from None


@click.command()
@click.argument("module_id", metavar="ID")
@click.option("--source", metavar="SOURCE", help="Where it comes from, if it is not installed.")
@_config_option
@scope_option
@common_options
@click.pass_obj
def add(invocation: Invocation, module_id: str, source: str | None, config_text: str | None, scope: str) -> None:
    """Put the provider, tool or hook ID into every session, whatever the bundle is.

    What is there already is replaced.
    """
    from amplifier.settings import set_value

    section = _SECTIONS.get(_kind_of(module_id, source))
    if section is None:
        raise UsageProblem(
            f"'{module_id}' cannot be added to sessions: there is one loop and one context, and the bundle names them.",
            "Make a bundle with: session: {orchestrator: …}",
        )
    given = {"module": module_id, "source": source, "config": _config(config_text)}
    entry = {key: value for key, value in given.items() if value is not None}
    others = [each for each in _entries(invocation, scope, section) if each.get("module") != module_id]
    file = set_value(invocation.places, scope, f"modules.{section}", [*others, entry]).file
    echo(f"{module_id} is in every session ({file})")


@click.command()
@click.argument("module_id", metavar="ID")
@scope_option
@common_options
@click.pass_obj
def remove(invocation: Invocation, module_id: str, scope: str) -> None:
    """Take a module that was added out of the settings; what bundles have stays."""
    from amplifier.settings import set_value, unset_value

    for section in _SECTIONS.values():
        entries = _entries(invocation, scope, section)
        kept = [each for each in entries if each.get("module") != module_id]
        if len(kept) < len(entries):
            key = f"modules.{section}"
            change = (
                set_value(invocation.places, scope, key, kept) if kept else unset_value(invocation.places, scope, key)
            )
            echo(f"{module_id} is taken out ({change.file})")
            return
    raise UsageProblem(
        f"'{module_id}' was not added in the {scope} settings.",
        "amplifier config get modules tells what was, and where; bundles are changed in their files.",
    )


def _kind_of(module_id: str, source: str | None) -> str:
    from amplifier.inspector.installed_modules import KINDS, require_module

    if source is not None:
        return KINDS.get(module_id.partition("-")[0], "unknown")
    return require_module(module_id, os.environ).kind


def _entries(invocation: Invocation, scope: str, section: str) -> list[dict[str, Any]]:
    """The modules that one settings file lists; others may list more."""
    from amplifier.settings.layers import file_layer
    from amplifier.settings.writing import scope_file

    layer = file_layer(scope, scope_file(invocation.places, scope))
    found: Any = layer.get(("modules", section)) if layer is not None else None
    listed = cast("list[Any]", found) if isinstance(found, list) else []
    return [cast("dict[str, Any]", each) for each in listed if isinstance(each, dict)]


def _path_of(target: str) -> Path:
    from amplifier.inspector.installed_modules import require_module

    path = Path(target)
    if path.exists() or "/" in target:
        if not path.exists():
            raise UsageProblem(f"There is no {target}.", "Give the folder of a module, or the id of an installed one.")
        return path
    package = require_module(target, os.environ).package
    if package is None:
        raise Problem(f"The package of '{target}' is not there.", "Install the distribution that has it again.")
    return package


def _config(text: str | None) -> dict[str, Any] | None:
    import json

    if text is None:
        return None
    try:
        config: Any = json.loads(text)
    except ValueError as error:
        raise UsageProblem(f"--config-json is no JSON: {error}.", 'Such as \'{"key": "value"}\'.') from None
    if not isinstance(config, dict):
        raise UsageProblem("--config-json must be an object.", 'Such as \'{"key": "value"}\'.')
    return cast("dict[str, Any]", config)


def _source(found: InstalledModule) -> str:
    return f"{found.distribution} {found.version}" if found.distribution else str(found.package)


def _shown(found: InstalledModule, inside: Inside) -> dict[str, str]:
    mounted = [f"{point}: {', '.join(names)}" for point, names in inside.mounted.items()]
    return {
        "id": found.id,
        "kind": found.kind,
        "description": found.description,
        "from": _source(found),
        "package": str(found.package),
        "mounts": "; ".join(mounted),
        "handles": ", ".join(inside.events),
        "capabilities": ", ".join(inside.capabilities),
        "contributes": ", ".join(inside.channels),
        "problem": inside.problem or "",
    }


def _config_rows(config: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    from amplifier.inspector.event_list import type_told

    def default(declared: dict[str, Any]) -> str:
        import json

        return json.dumps(declared["default"], ensure_ascii=False) if "default" in declared else ""

    return [(name, type_told(each), default(each), str(each.get("description", ""))) for name, each in config.items()]


def _echo_verdict(verdict: Verdict) -> None:
    for check in verdict.checks:
        mark = click.style("✓", fg="green") if check["passed"] else click.style("✗", fg="red")
        echo(f"{mark} {check['name']}: {plain(check['message'])}")
    failed = sum(not check["passed"] for check in verdict.checks)
    word = "valid" if verdict.is_valid else "not valid"
    echo(f"{verdict.path}: {word} ({len(verdict.checks)} checks, {failed} failed)")
