"""The command ``amplifier-core``: what it prints, and how it ends."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

from amplifier_core import __version__, cli
from amplifier_core.validation import VALIDATORS, ValidationCheck, ValidationResult

_numbers = itertools.count(1)

TOOL = """
class Hammer:
    name = "hammer"
    description = "Drives nails."

    async def execute(self, input): ...

async def mount(coordinator, config):
    print("mounting with", config)
    coordinator.mount("tools", Hammer())
"""


def run(*arguments: str | Path, **options: Any) -> Result:
    """The outcome of the command."""
    return CliRunner().invoke(cli.cli, [str(argument) for argument in arguments], prog_name="amplifier-core", **options)


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[Path]:
    """A package with a fine tool; tests may write another source into it."""
    package = tmp_path / f"cli_made_tool_{next(_numbers)}"
    package.mkdir()
    (package / "__init__.py").write_text(TOOL, encoding="utf-8")
    yield package
    sys.modules.pop(package.name, None)


@pytest.fixture
def kit(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A stand-in for the distribution with the chaos suite and the scaffolds."""
    package: Any = ModuleType("amplifier_kit")
    package.chaos, package.scaffold = ModuleType("amplifier_kit.chaos"), ModuleType("amplifier_kit.scaffold")
    monkeypatch.setitem(sys.modules, "amplifier_kit", package)
    monkeypatch.setitem(sys.modules, "amplifier_kit.chaos", package.chaos)
    monkeypatch.setitem(sys.modules, "amplifier_kit.scaffold", package.scaffold)
    return package


@pytest.fixture
def no_kit(monkeypatch: pytest.MonkeyPatch) -> None:
    """That distribution is not installed."""
    for name in ("amplifier_kit", "amplifier_kit.chaos", "amplifier_kit.scaffold"):
        monkeypatch.setitem(sys.modules, name, None)


def test_the_names_of_the_command() -> None:
    """People import them; others are no attributes."""
    assert [name for name in cli.__all__ if not hasattr(cli, name)] == []
    assert set(cli.__all__) == {"VALIDATORS", "cli", "list_types", "main", "new", "print_result", "validate"}
    assert cli.VALIDATORS is VALIDATORS
    with pytest.raises(AttributeError, match=r"^module 'amplifier_core\.cli' has no attribute 'nothing'$"):
        cli.nothing  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]


def test_the_version_is_the_real_one() -> None:
    """Not a fixed text."""
    assert (run("--version").output, run("--version").exit_code) == (f"amplifier-core, version {__version__}\n", 0)


def test_a_valid_module(tool: Path) -> None:
    """A line for every check, without colours where there is no terminal, and exit code 0."""
    result = run("validate", "tool", tool)
    assert result.exit_code == 0
    assert result.output == (
        f"Validating tool module: {tool}\n\n"
        "mounting with {}\n"
        "PASSED: 8/8 checks passed (0 errors, 0 warnings)\n\n"
        f"  ✓ [info] module_importable: Module loaded from {tool}\n"
        "  ✓ [info] mount_exists: mount() function found\n"
        "  ✓ [info] mount_signature: mount() is async with correct signature\n"
        "  ✓ [info] protocol_compliance: Tool 'hammer' implements Tool interface\n"
        "  ✓ [info] tool_name: Tool 'hammer': name is 'hammer'\n"
        "  ✓ [info] tool_description: Tool 'hammer': description is 'Drives nails.'\n"
        "  ✓ [info] tool_input_schema: Tool 'hammer': has no input schema, which is optional\n"
        "  ✓ [info] tool_execute: Tool 'hammer': execute(input) is async\n"
    )


def test_an_invalid_module(tool: Path) -> None:
    """Exit code 1."""
    (tool / "__init__.py").write_text("import sys\nsys.exit(0)\n")
    result = run("validate", "tool", tool)
    assert result.exit_code == 1
    assert result.output == (
        f"Validating tool module: {tool}\n\n"
        "FAILED: 0/1 checks passed (1 errors, 0 warnings)\n\n"
        "  ✗ [error] module_importable: Error loading module: the import calls sys.exit(0), which ends the whole "
        "application; raise an error\n"
    )


@pytest.mark.parametrize("option", ["--quiet", "-q"])
def test_quiet_prints_the_summary_only(tool: Path, option: str) -> None:
    """Below the line that says what is validated."""
    result = run("validate", "tool", tool, option, "--static")
    assert (result.exit_code, result.output) == (
        0,
        f"Validating tool module: {tool}\n\nPASSED: 6/6 checks passed (0 errors, 0 warnings)\n",
    )


def test_json_is_all_that_is_printed(tool: Path) -> None:
    """What the module prints goes elsewhere."""
    result = run("validate", "tool", tool, "--json", "--config", '{"a": 1}')
    answer = json.loads(result.stdout)
    assert list(answer) == ["module_type", "module_path", "checks", "passed", "summary"]
    assert (answer["module_type"], answer["module_path"], answer["passed"]) == ("tool", str(tool), True)
    assert answer["checks"][1] == {
        "name": "mount_exists",
        "passed": True,
        "message": "mount() function found",
        "severity": "info",
    }
    assert (result.stderr, result.exit_code) == ("mounting with {'a': 1}\n", 0)


def test_static_runs_nothing(tool: Path) -> None:
    """The module stays out of the process."""
    result = run("validate", "tool", tool, "--static", "--json")
    assert (json.loads(result.stdout)["passed"], tool.name in sys.modules) == (True, False)


def test_an_entry_point_selects_the_module(tmp_path: Path, tool: Path) -> None:
    """By its name in the project file."""
    text = f'[project.entry-points."amplifier.modules"]\none = "gone:mount"\ntwo = "{tool.name}:mount"\n'
    (tmp_path / "pyproject.toml").write_text(text)
    assert run("validate", "tool", tmp_path, "-e", "two").exit_code == 0
    assert run("validate", "tool", tmp_path, "--entry-point", "one", "--static").exit_code == 1


def test_the_kind_may_be_found_out(tool: Path) -> None:
    """It is named in the output."""
    assert run("validate", "auto", tool, "-q").output.startswith(f"Validating tool module: {tool}\n")


def test_a_kind_that_cannot_be_found_out_is_asked_for(tmp_path: Path) -> None:
    """Exit code 2."""
    package = tmp_path / "thing"
    package.mkdir()
    result = run("validate", "auto", package)
    assert result.exit_code == 2
    assert f"The kind of {package} cannot be told" in result.stderr
    assert "Give it: provider, tool, hook, orchestrator, context." in result.stderr


def test_a_kind_without_a_validator_can_be_read_only(tool: Path) -> None:
    """A resolver is one."""
    source = "__amplifier_module_type__ = 'resolver'\nasync def mount(coordinator, config): ...\n"
    (tool / "__init__.py").write_text(source)
    refused = run("validate", "auto", tool)
    assert refused.exit_code == 2
    assert f"{tool} is a resolver, for which there is no validator; try --static." in refused.stderr
    assert run("validate", "auto", tool, "--static").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["gadget", "."], "Invalid value for 'KIND'"),
        (["tool", "nowhere"], "Path 'nowhere' does not exist"),
        (["tool"], "Missing argument 'PATH'"),
        (["tool", ".", "--config", "{"], "Invalid value for --config: is no JSON: "),
        (["tool", ".", "--config", "[]"], 'Invalid value for --config: must be a JSON object such as {"key": "value"}'),
        (["tool", ".", "--static", "--chaos"], "--static runs nothing of the module and --chaos does"),
    ],
)
def test_wrong_usage(arguments: list[str], told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Exit code 2 and a reason."""
    monkeypatch.chdir(tmp_path)
    result = run("validate", *arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def test_colours_on_a_terminal_only(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not for those who do not want them."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[32m✓" in run("validate", "tool", tool, "--static", color=True).output
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("validate", "tool", tool, "--static", color=True).output


def test_a_result_is_printed_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """What the terminal cannot show is replaced."""
    result = ValidationResult("tool", "/x")
    for severity in ("error", "warning", "info"):
        result.add(ValidationCheck("check", False, "\udce9", severity))
    cli.print_result(result)
    assert capsys.readouterr().out == (
        "FAILED: 0/3 checks passed (1 errors, 1 warnings)\n\n"
        "  ✗ [error] check: ?\n  ✗ [warning] check: ?\n  ✗ [info] check: ?\n"
    )


def test_the_kinds_are_listed() -> None:
    """For people and for programs."""
    assert run("list-types").output == (
        "Available module types:\n"
        "  provider      connects a language model\n"
        "  tool          something the model can call\n"
        "  hook          observes, guards or changes what happens\n"
        "  orchestrator  runs the agent loop of one turn\n"
        "  context       remembers the conversation\n"
    )
    assert list(json.loads(run("list-types", "--json").output)) == list(VALIDATORS)


def test_chaos_adds_its_checks(tool: Path, kit: Any) -> None:
    """They decide, too."""
    asked: list[Any] = []

    async def run_chaos(
        kind: str, module_path: str, config: Any = None, *, entry_point: str | None = None
    ) -> ValidationResult:
        asked.append((kind, module_path, config))
        return ValidationResult(kind, module_path, [ValidationCheck("chaos_cancel", False, "hangs", "error")])

    kit.chaos.run = run_chaos
    result = run("validate", "tool", tool, "--chaos", "--config", '{"a": 1}')
    assert (asked, result.exit_code) == ([("tool", str(tool), {"a": 1})], 1)
    assert result.output.endswith("  ✗ [error] chaos_cancel: hangs\n")


def test_chaos_waits_until_the_module_is_valid(tool: Path, kit: Any) -> None:
    """Faults would tell nothing."""
    (tool / "__init__.py").write_text("")
    result = run("validate", "tool", tool, "--chaos")
    assert result.exit_code == 1
    assert result.output.endswith("  ✗ [info] chaos: Not run: the module must be valid first\n")


@pytest.mark.usefixtures("no_kit")
@pytest.mark.parametrize("arguments", [["validate", "tool", ".", "--chaos"], ["new", "tool", "x"]])
def test_what_the_kit_does_needs_the_kit(arguments: list[str]) -> None:
    """The way to get it is told; exit code 2."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.endswith(
        "needs the distribution amplifier-kit, which is not installed; get it with: pip install 'amplifier-core[dev]'\n"
    )


def test_a_kit_that_lacks_something_itself_is_not_hidden(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is installed, so another message would be wrong."""
    (tmp_path / "amplifier_kit").mkdir()
    (tmp_path / "amplifier_kit" / "__init__.py").write_text("import no_such_package_of_mine")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "amplifier_kit", raising=False)
    monkeypatch.delitem(sys.modules, "amplifier_kit.scaffold", raising=False)
    result = run("new", "tool", "x")
    assert isinstance(result.exception, ModuleNotFoundError)
    assert result.exception.name == "no_such_package_of_mine"


def test_a_new_module_is_written(kit: Any, tmp_path: Path) -> None:
    """What to do next is printed."""
    asked: list[Any] = []

    def create(kind: str, name: str, into: Path) -> Path:
        asked.append((kind, name, into))
        return into / f"amplifier-module-{kind}-{name}"

    kit.scaffold.create = create
    result = run("new", "tool", "hammer", "--into", tmp_path)
    created = tmp_path / "amplifier-module-tool-hammer"
    assert (asked, result.exit_code) == ([("tool", "hammer", tmp_path)], 0)
    assert result.output == (
        f"Created {created}\n\n  cd {created}\n  pip install -e '.[dev]'\n  pytest\n  amplifier-core validate tool .\n"
    )


@pytest.mark.parametrize("error", [FileExistsError("it is there already"), ValueError("no name")])
def test_a_new_module_that_cannot_be_written(kit: Any, error: Exception) -> None:
    """Exit code 2, and the reason as the scaffold gives it."""

    def create(kind: str, name: str, into: Path) -> Path:
        raise error

    kit.scaffold.create = create
    result = run("new", "tool", "x")
    assert (result.exit_code, result.stderr) == (2, f"Error: {error}\n")


def test_main_runs_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As the console script does."""
    monkeypatch.setattr(sys, "argv", ["anything", "list-types"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("Available module types:\n")


def test_without_click_the_command_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, with exit code 2."""
    monkeypatch.delitem(sys.modules, "amplifier_core._commands", raising=False)
    monkeypatch.setitem(sys.modules, "click", None)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    assert capsys.readouterr().err == (
        "amplifier-core: error: this command needs click; install it with: pip install 'amplifier-core[cli]'\n"
    )


def test_another_package_that_is_missing_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message would send people the wrong way."""
    monkeypatch.setitem(sys.modules, "amplifier_core._commands", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        cli.main()
    assert caught.value.name == "amplifier_core._commands"


@pytest.mark.slow
def test_the_front_door_imports_without_click() -> None:
    """So that the message above can be given."""
    code = "import sys; sys.modules['click'] = None; from amplifier_core.cli import main; sys.argv = ['x']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
