"""The pytest plug-in, seen from test runs of module authors and of people who only have the kernel installed.

Runs inside a run happen in this process; what they must not find loaded, they load in a process of their own.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

# Loaded now, so that all runs inside this one share them: a run forgets what it imported first.
import amplifier_core._module_under_test
import amplifier_core.session
import amplifier_core.validation.behavioral
import amplifier_core.validation.structural
from amplifier_core import pytest_plugin

pytest_plugins = ["pytester"]

QUIET = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
LOOP_SCOPE = ("-o", "asyncio_default_fixture_loop_scope=function")  # or pytest-asyncio warns
MODES = ["strict", "auto"]
FIXTURES = [
    "module_path",
    "module_type",
    "is_module_context",
    "coordinator",
    "mock_deps",
    "amplifier_module_config",
    "provider_module",
    "tool_module",
    "orchestrator_module",
    "context_module",
    "hook_cleanup",
]

TOOL = """
class Hammer:
    name = "hammer"
    description = "Hits."
    async def execute(self, input): ...

async def mount(coordinator, config):
    await coordinator.mount("tools", Hammer())
"""


def write(root: Path, **files: str) -> None:
    """Writes files below ``root``; in names, two underscores stand for a folder's end."""
    for name, text in files.items():
        file = root.joinpath(*name.split("__")).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def package(folder: Path, source: str = "") -> Path:
    """Makes ``folder`` a package."""
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(source, encoding="utf-8")
    return folder


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """A test run in this process."""
    options = () if "no:asyncio" in arguments else LOOP_SCOPE
    return pytester.runpytest_inprocess(*QUIET, *options, *arguments)


def expect_outcomes(pytester: pytest.Pytester, *arguments: str, **outcomes: int) -> pytest.RunResult:
    """A test run in this process, which has to end with these outcomes, one passed test by default."""
    result = run(pytester, *arguments)
    result.assert_outcomes(**(outcomes or {"passed": 1}))
    return result


def seen(pytester: pytest.Pytester, fixture: str, *arguments: str) -> str:
    """The ``repr`` of a fixture in the file ``test_it.py`` below the first path, or here."""
    result = expect_outcomes(pytester, "-s", *arguments, passed=1)
    (line,) = [line for line in result.outlines if line.startswith(f"{fixture}=")]
    return line.partition("=")[2].strip(".")


def showing(fixture: str) -> str:
    """A test that prints a fixture."""
    return f"def test_it({fixture}):\n    print('\\n{fixture}=' + repr(str({fixture})))\n"


def test_the_plugin_is_registered_by_the_distribution() -> None:
    """Whoever installs the kernel has it, under the name that ``-p`` takes."""
    (entry,) = entry_points(group="pytest11", name="amplifier_module")
    assert entry.value == "amplifier_core.pytest_plugin"


@pytest.mark.slow
def test_option_and_marker_are_documented(pytester: pytest.Pytester) -> None:
    """They are listed where pytest lists such things, and so are the fixtures."""
    run(pytester, "--help").stdout.fnmatch_lines(["*--module-path=PATH*"])
    run(pytester, "--markers").stdout.fnmatch_lines(
        ["@pytest.mark.module_validation: checks that an Amplifier module*"]
    )
    shown = run(pytester, "--fixtures").stdout.str()
    documented = [line.partition(" -- ")[0] for line in shown.splitlines() if "-- " in line]
    assert set(FIXTURES) <= set(documented)


@pytest.mark.slow
@pytest.mark.parametrize("options", [LOOP_SCOPE, ("-p", "no:asyncio")])
def test_an_unrelated_run_loads_nothing_of_the_kernel(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Without a fixture of ours in use, in a module's repository too, only plug-in and front door are imported."""
    write(tmp_path, test_it="def test_it(): pass")
    package(tmp_path / "my_tool", TOOL)
    (tmp_path / "pyproject.toml").write_text("[project.entry-points.'amplifier.modules']\nx = 'my_tool:mount'\n")
    arguments = [*QUIET, *options, "--strict-markers", "-W", "error", "-q", str(tmp_path)]
    code = (
        f"import sys, pytest; code = pytest.main({arguments!r})\n"
        "loaded = [name for name in sys.modules if name.partition('.')[0] in ('amplifier_core', 'pydantic')]\n"
        "print(sorted(loaded)); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 passed" in done.stdout
    assert done.stdout.splitlines()[-1] == "['amplifier_core', 'amplifier_core.pytest_plugin']"


@pytest.mark.slow
def test_module_path_is_the_package_in_the_folder_around_the_test(pytester: pytest.Pytester) -> None:
    """The first package by name counts, also below ``src``."""
    root = pytester.path / "amplifier-module-tool-x"
    package(root / "amplifier_module_tool_x")
    package(root / "amplifier_module_tool_y")
    (root / "amplifier_a_folder_only").mkdir()
    write(root, tests__deep__test_it=showing("module_path"))
    assert seen(pytester, "module_path", str(root)) == repr(str(root / "amplifier_module_tool_x"))

    other = pytester.path / "amplifier-module-tool-z"
    package(other / "src" / "amplifier_module_tool_z")
    write(other, tests__test_it=showing("module_path"))
    assert seen(pytester, "module_path", str(other)) == repr(str(other / "src" / "amplifier_module_tool_z"))


@pytest.mark.slow
def test_module_path_is_none_outside_of_modules(pytester: pytest.Pytester) -> None:
    """A test may ask for it anywhere."""
    write(pytester.path, test_it=showing("module_path"))
    assert seen(pytester, "module_path") == "'None'"
    write(pytester.path, test_it=showing("is_module_context"))
    assert seen(pytester, "is_module_context") == "'False'"
    write(pytester.path, test_it=showing("module_type"))
    assert seen(pytester, "module_type") == "'None'"


@pytest.mark.slow
def test_the_option_goes_before_names(pytester: pytest.Pytester) -> None:
    """It may name the package, its repository, or a file, relative to where pytest was started."""
    root = pytester.path / "amplifier-module-tool-x"
    package(root / "amplifier_module_tool_x")
    repository = pytester.path / "amplifier-module-provider-y"
    other = package(repository / "amplifier_module_provider_y")
    single = pytester.path / "my_hook.py"
    single.write_text("__amplifier_module_type__ = 'hook'\n")
    for given, path, kind in (
        ("amplifier-module-provider-y/amplifier_module_provider_y", other, "provider"),
        ("amplifier-module-provider-y", other, "provider"),
        (str(other), other, "provider"),
        ("my_hook.py", single, "hook"),
        ("amplifier-module-provider-y/typing_error", repository / "typing_error", None),
    ):
        write(root, tests__test_it=showing("module_path"))
        assert seen(pytester, "module_path", "--module-path", given, str(root)) == repr(str(path))
        write(root, tests__test_it=showing("module_type"))
        assert seen(pytester, "module_type", "--module-path", given, str(root)) == repr(str(kind))


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("provider", "provider"),
        ("tool", "tool"),
        ("hooks", "hook"),
        ("hook", "hook"),
        ("loop", "orchestrator"),
        ("orchestrator", "orchestrator"),
        ("context", "context"),
        ("resolver", None),
    ],
)
def test_module_type_follows_from_the_folder(pytester: pytest.Pytester, word: str, kind: str | None) -> None:
    """The word after the prefix says it; an unknown one is none of the five kinds."""
    root = pytester.path / f"amplifier-module-{word}-x"
    package(root / f"amplifier_module_{word}_x")
    write(root, tests__test_it=showing("module_type"))
    assert seen(pytester, "module_type", str(root)) == repr(str(kind))


class Config:
    """What detection reads of a run's configuration."""

    def __init__(self, directory: Path, *arguments: str, root: Path | None = None) -> None:
        self.invocation_params = type("Parameters", (), {"dir": directory})()
        self.rootpath = root or directory
        self.args = list(arguments)


def detected(*arguments: Any, **options: Any) -> tuple[Path | None, str | None]:
    """What a run with this configuration is found to be about."""
    plugin = pytest_plugin.AmplifierModulePlugin()
    plugin.module_path, plugin.module_type = Path("before"), "before"
    config: Any = Config(*arguments, **options)
    plugin.detect(config)
    found = plugin.module_path, plugin.module_type
    config.args = config.rootpath = config.invocation_params = None
    plugin.detect(config)  # is answered from memory
    assert found == (plugin.module_path, plugin.module_type)
    return found


def test_detection_finds_the_repository_around_or_the_package_inside(tmp_path: Path) -> None:
    """A folder named after a module counts with a package of its kind, any folder with a package of any kind."""
    repository = tmp_path / "amplifier-module-hooks-x"
    hook = package(repository / "amplifier_module_hooks_x")
    package(repository / "amplifier_module_hookset_x")
    inner = package(repository / "tests" / "amplifier_module_loop_y")
    assert detected(repository) == (hook, "hook")
    assert detected(repository / "tests" / "deep") == (hook, "hook")

    wrong = tmp_path / "amplifier-module-provider-z"
    tool = package(wrong / "amplifier_module_tool_z")
    assert detected(wrong) == (tool, "tool")
    assert detected(inner.parent.rename(tmp_path / "elsewhere")) == (
        tmp_path / "elsewhere" / "amplifier_module_loop_y",
        "orchestrator",
    )
    assert detected(tmp_path) == (None, None)


def test_detection_looks_here_then_at_the_root_then_along_the_command_line(tmp_path: Path) -> None:
    """Paths that do not exist are passed over; a file, or a test in it, counts as its folder."""
    empty = tmp_path / "empty"
    empty.mkdir()
    here, root, named = (package(tmp_path / name / f"amplifier_module_tool_{name}") for name in ("a", "b", "c"))
    (tmp_path / "c" / "test_c.py").touch()
    arguments = ("nowhere", "../c/test_c.py::TestIt::test_it")
    assert detected(here.parent, *arguments, root=root.parent) == (here, "tool")
    assert detected(empty, *arguments, root=root.parent) == (root, "tool")
    assert detected(empty, *arguments)[0] == empty / ".." / "c" / named.name
    assert detected(empty, "../c")[0] == empty / ".." / "c" / named.name
    assert detected(empty, "nowhere") == (None, None)


@pytest.mark.parametrize(
    ("name", "source", "kind"),
    [
        ("my_tool", "", "tool"),
        ("my_thing", "__amplifier_module_type__ = 'context'", "context"),
        ("my_thing", 'import os\n__amplifier_module_type__: str = "provider"\n', "provider"),
    ],
)
def test_detection_reads_what_pyproject_registers(tmp_path: Path, name: str, source: str, kind: str) -> None:
    """A package of any name is found where its entry point is registered; its kind is declared or guessed."""
    folder = package(tmp_path / name, source)
    project = tmp_path / "pyproject.toml"
    project.write_text("[project]\nname = 'other'\n")
    assert detected(tmp_path) == (None, None)
    project.write_text(f"[project]\nname = 'x'\n[project.entry-points.'amplifier.modules']\nx = '{name}:mount'\n")
    assert detected(tmp_path) == (folder, kind)
    project.write_text("[project.entry-points.'amplifier.modules']\nx = 'gone:mount'\n")
    assert detected(tmp_path) == (None, None)


def test_a_run_inside_a_module_is_about_it(pytester: pytest.Pytester) -> None:
    """What detection found serves tests outside of a folder that says so by its name."""
    package(pytester.path / "amplifier_module_loop_x")
    write(
        pytester.path,
        test_it="""
def test_it(module_path, module_type, is_module_context):
    assert (module_path.name, module_type) == ("amplifier_module_loop_x", "orchestrator")
    assert is_module_context
""",
    )
    expect_outcomes(pytester)


def test_fakes_are_new_for_each_test(pytester: pytest.Pytester) -> None:
    """The coordinator and what an orchestrator needs, as documented."""
    write(
        pytester.path,
        test_it="""
from amplifier_core.testing import EventRecorder, MockContextManager, MockCoordinator, MockProvider, MockTool

seen = []

def test_one(coordinator, mock_deps, amplifier_module_config):
    assert type(coordinator) is MockCoordinator
    context, providers, tools, hooks = mock_deps
    assert (type(context), type(hooks)) == (MockContextManager, EventRecorder)
    assert {name: type(provider) for name, provider in providers.items()} == {"default": MockProvider}
    assert {name: type(tool) for name, tool in tools.items()} == {"test_tool": MockTool}
    assert tools["test_tool"].name == "test_tool"
    assert amplifier_module_config == {}
    seen.extend([coordinator, *mock_deps])

def test_two(coordinator, mock_deps):
    assert not [new for new in (coordinator, *mock_deps) for old in seen if new is old]
""",
    )
    expect_outcomes(pytester, passed=2)


KINDS = {
    "provider": (
        "providers",
        "name = 'p'\n    def get_info(self): ...\n    async def list_models(self): ...\n"
        "    async def complete(self, request): ...\n    def parse_tool_calls(self, response): ...\n",
    ),
    "tool": ("tools", "name = description = 't'\n    async def execute(self, input): ...\n"),
    "loop": ("orchestrator", "async def execute(self, prompt, context, providers, tools, hooks): ...\n"),
    "context": ("context", "async def add_message(self, message): ...\n"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("word", "fixture"),
    [
        ("provider", "provider_module"),
        ("tool", "tool_module"),
        ("loop", "orchestrator_module"),
        ("context", "context_module"),
    ],
)
def test_a_module_is_mounted_for_each_test_and_cleaned_up(
    pytester: pytest.Pytester, mode: str, word: str, fixture: str
) -> None:
    """In both modes of pytest-asyncio: on the coordinator and the loop of the test, with a clean-up at the end."""
    point, body = KINDS[word]
    root = pytester.path / f"amplifier-module-{word}-x"
    package(
        root / f"amplifier_module_{word}_x",
        "import asyncio\nfrom .thing import Thing\n"
        "async def mount(coordinator, config):\n"
        "    thing = Thing()\n    thing.loop = asyncio.get_running_loop()\n"
        f"    await coordinator.mount({point!r}, thing)\n"
        "    async def cleanup():\n        print('\\ncleaned up')\n    return cleanup\n",
    )
    (root / f"amplifier_module_{word}_x" / "thing.py").write_text(f"class Thing:\n    {body}")
    write(
        root,
        tests__test_it=f"""
import asyncio
import pytest

@pytest.mark.asyncio
async def test_async({fixture}, coordinator):
    assert type({fixture}).__name__ == "Thing"
    assert {fixture}.loop is asyncio.get_running_loop()
    mounted = coordinator.get({point!r})
    assert {fixture} is (mounted if {point!r} in ("orchestrator", "context") else next(iter(mounted.values())))

def test_sync({fixture}):
    assert type({fixture}).__name__ == "Thing"
""",
    )
    result = expect_outcomes(pytester, "-s", f"--asyncio-mode={mode}", str(root), passed=2)
    assert result.outlines.count("cleaned up") == 2


@pytest.mark.parametrize("mode", MODES)
def test_a_hook_module_is_mounted_and_gives_its_cleanup(pytester: pytest.Pytester, mode: str) -> None:
    """In both modes of pytest-asyncio; the config is the one its author gives."""
    root = pytester.path / "amplifier-module-hooks-x"
    package(
        root / "amplifier_module_hooks_x",
        "async def watch(event, data): ...\n"
        "async def mount(coordinator, config):\n    return coordinator.hooks.register(config['event'], watch)\n",
    )
    write(
        root,
        tests__test_it="""
import pytest

@pytest.fixture
def amplifier_module_config():
    return {"event": "tool:pre"}

@pytest.mark.asyncio
async def test_it(hook_cleanup, coordinator):
    assert len(coordinator.hooks.list_handlers()["tool:pre"]) == 1
    hook_cleanup()
    assert coordinator.hooks.list_handlers()["tool:pre"] == []
""",
    )
    expect_outcomes(pytester, f"--asyncio-mode={mode}", str(root))


def test_a_module_is_loaded_by_file_and_leaves_no_trace(pytester: pytest.Pytester) -> None:
    """Each test gets a module object of its own; the test's own imports are left alone."""
    root = pytester.path / "amplifier-module-tool-x"
    package(root / "amplifier_module_tool_x", TOOL)
    write(
        root,
        tests__test_it="""
import sys

seen = []

def test_one(tool_module):
    seen.append(type(tool_module))

def test_two(tool_module):
    assert type(tool_module) is not seen[0]

def test_three():
    assert "amplifier_module_tool_x" not in sys.modules
""",
    )
    expect_outcomes(pytester, str(root), passed=3)


def test_without_a_module_mounting_fixtures_skip(pytester: pytest.Pytester) -> None:
    """The reason says how to name one."""
    write(pytester.path, test_it="def test_it(tool_module): raise AssertionError")
    result = expect_outcomes(pytester, "-rs", skipped=1)
    result.stdout.fnmatch_lines(["*No module to test: run inside the folder 'amplifier-module-…'*"])


def test_a_broken_promise_fails_without_a_traceback_of_ours(pytester: pytest.Pytester) -> None:
    """What the author has to change is all there is to read, at set-up and at the end."""
    root = pytester.path / "amplifier-module-tool-x"
    folder = package(root / "amplifier_module_tool_x", "async def mount(coordinator, config): ...\n")
    write(root, tests__test_it="def test_it(tool_module): pass")
    result = expect_outcomes(pytester, str(root), errors=1)
    result.stdout.fnmatch_lines(["mount(coordinator, {}) of *amplifier_module_tool_x mounted no tool, nor did it*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*_module_under_test.py*")

    (folder / "__init__.py").write_text(TOOL + "    def close(): raise OSError('shut')\n    return close\n")
    result = expect_outcomes(pytester, str(root), passed=1, errors=1)
    result.stdout.fnmatch_lines(["Cleaning up after *amplifier_module_tool_x failed: *close raised OSError: shut.*"])


def test_without_pytest_asyncio_only_what_needs_it_fails(pytester: pytest.Pytester) -> None:
    """The rest of the run works, strict markers included, and the message says what to install."""
    root = pytester.path / "amplifier-module-tool-x"
    package(root / "amplifier_module_tool_x", TOOL)
    write(
        root,
        tests__test_it="""
from amplifier_core.validation.behavioral import ToolBehaviorTests

class TestTool(ToolBehaviorTests):
    pass

def test_it(module_path, coordinator, mock_deps):
    assert module_path.name == "amplifier_module_tool_x"
""",
    )
    result = expect_outcomes(
        pytester, "-p", "no:asyncio", "-o", "addopts=", "--strict-markers", str(root), passed=1, errors=7
    )
    result.stdout.fnmatch_lines(
        ["The fixture 'tool_module' is async and needs pytest-asyncio, which is not installed*"]
    )


def test_an_author_may_name_the_path_as_text(pytester: pytest.Pytester) -> None:
    """A fixture of his own that overrides ours need not give a Path."""
    package(pytester.path / "hammers", TOOL)
    write(
        pytester.path,
        test_it="""
import pytest

@pytest.fixture
def module_path():
    return "hammers"

def test_it(tool_module):
    assert tool_module.name == "hammer"
""",
    )
    expect_outcomes(pytester, passed=1)


def test_a_pytest_asyncio_that_is_too_old_counts_as_none(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it cannot declare fixtures, the rest of the run works."""
    write(pytester.path, test_it="def test_it(): pass\ndef test_tool(tool_module): pass")
    monkeypatch.delattr("pytest_asyncio.plugin.fixture")
    expect_outcomes(pytester, passed=1, errors=1)


def suites(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """A run over the kernel's own suite files, as if their classes were tests themselves."""
    folder = Path(str(amplifier_core.validation.behavioral.__file__)).parent
    return run(pytester, "-rs", "-o", "python_classes=*Tests", "--import-mode=importlib", str(folder), *arguments)


@pytest.mark.slow
def test_the_suites_themselves_are_skipped_outside_of_modules(pytester: pytest.Pytester) -> None:
    """They have nothing to test there."""
    result = suites(pytester)
    outcomes = result.parseoutcomes()
    assert list(outcomes) == ["skipped"]
    result.stdout.fnmatch_lines(["*Not running in Amplifier module context*"])


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
def test_the_suites_of_other_kinds_are_skipped_inside_a_module(pytester: pytest.Pytester, named: bool) -> None:
    """Of the suite files the one of the module's kind runs."""
    source = "from amplifier_core.models import ToolResult\n" + TOOL.replace(
        "input): ...", "input): return ToolResult()"
    )
    tool = package(pytester.path / "amplifier_module_tool_x", source)
    result = suites(pytester, *(["--module-path", str(tool)] if named else []))
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] == 7
    assert sorted(outcomes) == ["passed", "skipped"]
    result.stdout.fnmatch_lines(["*Test for different module type (detected: tool)*"])


def test_a_module_of_unknown_kind_has_no_other_kinds(pytester: pytest.Pytester) -> None:
    """Where the kind is unknown, no suite is skipped for being of another."""
    result = suites(pytester, "--module-path", "nowhere", "--collect-only", "-q")
    assert "Test for different" not in result.stdout.str()
    assert result.ret == 0


def test_tests_of_the_suites_that_need_no_module_run_anywhere(pytester: pytest.Pytester) -> None:
    """Only what uses the module's path is skipped outside of one."""
    root = pytester.path / "amplifier_core" / "validation" / "behavioral"
    write(root, test_it="def test_without(): pass\ndef test_with(module_path): pass\n")
    expect_outcomes(pytester, str(root), passed=1, skipped=1)
