"""What the command ``amplifier-core`` does, in click; ``cli`` is its front door.

Exit codes: 0 all is well, 1 the module is not valid, 2 it could not be tried. The chaos suite and the scaffolds are in
a distribution of their own, which is looked for when it is needed.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from contextlib import ExitStack, redirect_stdout
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import click

from amplifier_core.validation.base import ValidationCheck, ValidationResult
from amplifier_core.validation.kinds import VALIDATORS
from amplifier_core.validation.static import detect_kind, validate_static

DESCRIPTIONS = {
    "provider": "connects a language model",
    "tool": "something the model can call",
    "hook": "observes, guards or changes what happens",
    "orchestrator": "runs the agent loop of one turn",
    "context": "remembers the conversation",
}
_AUTO = "auto"
_KIT_MISSING = (
    "needs the distribution amplifier-kit, which is not installed; get it with: pip install 'amplifier-core[dev]'"
)


class CannotRunError(click.ClickException):
    """The command cannot do its work; ends it with exit code 2."""

    exit_code = 2


@click.group()
@click.version_option(package_name="amplifier-core", prog_name="amplifier-core")
def cli() -> None:
    """Validates Amplifier modules, and starts new ones."""


@cli.command()
@click.argument("module_type", metavar="KIND", type=click.Choice([*VALIDATORS, _AUTO]))
@click.argument("module_path", metavar="PATH", type=click.Path(exists=True))
@click.option("--entry-point", "-e", metavar="NAME", help="Which module, where pyproject.toml registers several.")
@click.option("--quiet", "-q", is_flag=True, help="Print the summary only.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--static", "is_static", is_flag=True, help="Read the source only; import and call nothing.")
@click.option("--chaos", "with_chaos", is_flag=True, help="Also run the module under faults.")
@click.option("--config", "config_text", metavar="JSON", help="The config to mount the module with, a JSON object.")
def validate(
    module_type: str,
    module_path: str,
    entry_point: str | None,
    quiet: bool,
    as_json: bool,
    is_static: bool,
    with_chaos: bool,
    config_text: str | None,
) -> None:
    """Validate the module at PATH.

    KIND is provider, tool, hook, orchestrator or context; auto finds it out. The module is imported and mounted on a
    coordinator that is thrown away, unless --static is given.
    """
    if is_static and with_chaos:
        raise click.UsageError("--static runs nothing of the module and --chaos does: give one of them.")
    config = _read_config(config_text)
    kind = _require_kind(module_type, module_path, is_static)
    if not as_json:
        _echo(f"Validating {kind} module: {module_path}\n")
    with ExitStack() as stack:
        if as_json:
            stack.enter_context(redirect_stdout(sys.stderr))  # whatever the module prints is no part of the answer
        if is_static:
            result = validate_static(module_path, kind, entry_point)
        else:
            result = asyncio.run(_tried(kind, module_path, entry_point, config, with_chaos))
    if as_json:
        _echo(json.dumps({**asdict(result), "passed": result.passed, "summary": result.summary()}, indent=2))
    else:
        print_result(result, quiet)
    sys.exit(0 if result.passed else 1)


@cli.command("list-types")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_types(as_json: bool) -> None:
    """List the kinds of modules."""
    if as_json:
        _echo(json.dumps(DESCRIPTIONS, indent=2))
        return
    width = max(map(len, DESCRIPTIONS))
    _echo("Available module types:")
    for kind, description in DESCRIPTIONS.items():
        _echo(f"  {kind:<{width}}  {description}")


@cli.command()
@click.argument("kind", metavar="KIND", type=click.Choice([*VALIDATORS]))
@click.argument("name", metavar="NAME")
@click.option("--into", metavar="DIR", default=".", type=click.Path(file_okay=False), help="Where to put it.")
def new(kind: str, name: str, into: str) -> None:
    """Write a new module NAME of KIND: a complete repository whose tests pass."""
    scaffold = _require_kit("amplifier_kit.scaffold", "amplifier-core new")
    try:
        created = scaffold.create(kind, name, Path(into))
    except (OSError, ValueError) as error:
        raise CannotRunError(str(error)) from error
    _echo(f"Created {created}\n")
    _echo(f"  cd {shlex.quote(str(created))}\n  pip install -e '.[dev]'\n  pytest\n  amplifier-core validate {kind} .")


def print_result(result: ValidationResult, quiet: bool = False) -> None:
    """Prints a result for people: the summary, and unless ``quiet`` a line for every check."""
    if quiet:
        _echo(result.summary())
        return
    _echo(click.style(result.summary(), fg="green" if result.passed else "red") + "\n")
    for check in result.checks:
        _echo(f"  {_mark(check)} [{check.severity}] {check.name}: {check.message}")


def _mark(check: ValidationCheck) -> str:
    if check.passed:
        return click.style("✓", fg="green")
    return click.style("✗", fg={"error": "red", "warning": "yellow", "info": "blue"}[check.severity])


async def _tried(
    kind: str, module_path: str, entry_point: str | None, config: dict[str, Any] | None, with_chaos: bool
) -> ValidationResult:
    chaos = _require_kit("amplifier_kit.chaos", "--chaos") if with_chaos else None
    result = await VALIDATORS[kind]().validate(module_path, entry_point, config)
    if chaos is None:
        return result
    if result.passed:
        result.checks += (await chaos.run(kind, module_path, config, entry_point=entry_point)).checks
    else:
        result.add(ValidationCheck("chaos", False, "Not run: the module must be valid first", "info"))
    return result


def _require_kind(module_type: str, module_path: str, is_static: bool) -> str:
    if module_type != _AUTO:
        return module_type
    kind = detect_kind(module_path)
    if kind is None:
        raise click.UsageError(
            f"The kind of {module_path} cannot be told: it declares no __amplifier_module_type__, and its name does "
            f"not say it. Give it: {', '.join(VALIDATORS)}."
        )
    if kind not in VALIDATORS and not is_static:
        raise click.UsageError(f"{module_path} is a {kind}, for which there is no validator; try --static.")
    return kind


def _read_config(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        config: Any = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"is no JSON: {error}", param_hint="--config") from error
    if not isinstance(config, dict):
        raise click.BadParameter('must be a JSON object such as {"key": "value"}', param_hint="--config")
    return cast("dict[str, Any]", config)


def _require_kit(module: str, wanted_by: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "amplifier_kit":
            raise
        raise CannotRunError(f"{wanted_by} {_KIT_MISSING}") from error


def _echo(text: str) -> None:
    """Prints in colour on a terminal only; what its encoding lacks is replaced."""
    encoding = sys.stdout.encoding or "utf-8"
    printable = text.encode(encoding, "replace").decode(encoding)
    click.echo(printable, color=False if os.environ.get("NO_COLOR") else None)
