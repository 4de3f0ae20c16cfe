"""The front door: which names there are, that each is one object, and that the bare import costs nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import amplifier_core

_NAMES = """
AmplifierSession CancellationState CancellationToken capabilities ModuleCoordinator ModuleLoader ModuleValidationError
HookRegistry

ToolResult HookResult ConfigField ModelInfo ModuleInfo ProviderInfo SessionStatus ContextInjection Pricing

ApprovalRequest ApprovalResponse Orchestrator Provider Tool ContextManager HookHandler ApprovalProvider

ToolCall ChatRequest ChatResponse Message TextBlock ThinkingBlock RedactedThinkingBlock ToolCallBlock ToolResultBlock
ImageBlock ReasoningBlock ToolSpec Usage Degradation ResponseFormat ResponseFormatText ResponseFormatJson
ResponseFormatJsonSchema

LLMError RateLimitError AuthenticationError ContextLengthError ContentFilterError InvalidRequestError
ProviderUnavailableError LLMTimeoutError AccessDeniedError NetworkError QuotaExceededError NotFoundError StreamError
AbortError InvalidToolCallError ConfigurationError

ContentBlock ContentBlockType TextContent ThinkingContent ToolCallContent ToolResultContent

MockCoordinator MockTool MockContextManager EventRecorder ScriptedOrchestrator create_test_coordinator wait_for

RetryConfig retry_with_backoff classify_error_message

RUST_AVAILABLE RustSession RustHookRegistry RustCancellationToken RustCoordinator
"""
PUBLIC_NAMES = _NAMES.split()

RUST_ALIASES = {
    "RustSession": "AmplifierSession",
    "RustHookRegistry": "HookRegistry",
    "RustCoordinator": "ModuleCoordinator",
    "RustCancellationToken": "CancellationToken",
}

_SUBMODULES = """
approval cancellation capabilities content_models coordinator correlation display event_payloads events hooks interfaces
kernel_events llm_errors loader message_models models module_sources report session stream testing utils validation
"""
SUBMODULES = _SUBMODULES.split()


def in_new_process(code: str) -> str:
    """What ``code`` prints in an interpreter of its own; fails with the process's errors."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def front_door() -> ast.Module:
    """The source of the front door as a tree."""
    return ast.parse(Path(str(amplifier_core.__file__)).read_text(encoding="utf-8"))


def test_all_lists_exactly_the_eighty_public_names() -> None:
    """``__all__`` holds the published names, each once, and nothing else."""
    assert len(amplifier_core.__all__) == 80
    assert sorted(amplifier_core.__all__) == sorted(PUBLIC_NAMES)


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_every_public_name_is_there(name: str) -> None:
    """Each name of ``__all__`` resolves, and again to the same object."""
    assert getattr(amplifier_core, name) is getattr(amplifier_core, name)


@pytest.mark.parametrize(
    ("home", "name"), [(home, name) for home, names in amplifier_core._NAMES_BY_HOME.items() for name in names]
)
def test_every_name_is_the_object_of_its_submodule(home: str, name: str) -> None:
    """There is one object per name, whichever way it is imported."""
    assert getattr(amplifier_core, name) is getattr(import_module(f"amplifier_core.{home}"), name)


def test_names_that_several_submodules_show_are_one_object() -> None:
    """A class re-exported by a second submodule is the same class."""
    assert amplifier_core.HookResult is amplifier_core.models.HookResult is amplifier_core.hooks.HookResult
    assert amplifier_core.AmplifierSession is amplifier_core.session.AmplifierSession
    assert amplifier_core.capabilities is sys.modules["amplifier_core.capabilities"]


@pytest.mark.parametrize(("alias", "name"), RUST_ALIASES.items())
def test_the_rust_names_are_aliases(alias: str, name: str) -> None:
    """Old imports of the ``Rust…`` names get the one class there is."""
    assert getattr(amplifier_core, alias) is getattr(amplifier_core, name)


def test_there_is_no_native_engine() -> None:
    """The kernel is pure Python and says so."""
    assert amplifier_core.RUST_AVAILABLE is False
    assert not hasattr(amplifier_core, "_engine")


def test_the_version_is_that_of_the_distribution() -> None:
    """``__version__`` equals the installed distribution's."""
    assert amplifier_core.__version__ == version("amplifier-core")


def test_the_package_is_marked_as_typed() -> None:
    """Type checkers may read the sources."""
    assert (Path(str(amplifier_core.__file__)).parent / "py.typed").exists()


def test_a_star_import_gives_the_public_names() -> None:
    """``from amplifier_core import *`` binds all eighty."""
    namespace: dict[str, Any] = {}
    exec("from amplifier_core import *", namespace)
    del namespace["__builtins__"]
    assert sorted(namespace) == sorted(PUBLIC_NAMES)


def test_dir_shows_the_public_names_before_they_are_loaded() -> None:
    """Completion in an editor or a shell sees everything at once."""
    code = "import amplifier_core as a; print(set(a.__all__) <= set(dir(a)), 'HookResult' in vars(a))"
    assert in_new_process(code) == "True False"
    assert set(amplifier_core.__all__) <= set(dir(amplifier_core))


@pytest.mark.slow
def test_submodules_resolve_as_attributes_without_an_import() -> None:
    """After the bare import every public submodule is an attribute."""
    code = f"import amplifier_core\nfor name in {SUBMODULES!r}: print(getattr(amplifier_core, name).__name__)"
    assert in_new_process(code).split() == [f"amplifier_core.{name}" for name in SUBMODULES]


def test_the_bare_import_loads_nothing_heavy() -> None:
    """``import amplifier_core`` reads neither pydantic nor asyncio nor any room of the kernel."""
    code = (
        "import sys, amplifier_core\n"
        "heavy = {'pydantic', 'asyncio', 'typing', 'inspect', 'logging', 're'}\n"
        "print(sorted(n for n in sys.modules if n in heavy or n.startswith('amplifier_core.')))"
    )
    # What the interpreter loads at its own start is not ours.
    at_start = in_new_process("import sys; print(sorted(sys.modules))")
    loaded = [name for name in ast.literal_eval(in_new_process(code)) if name not in ast.literal_eval(at_start)]
    assert loaded == []


@pytest.mark.slow
def test_the_kernel_imports_without_pytest() -> None:
    """Nothing of the run-time kernel needs the test runner."""
    rooms = ["testing", "validation", "validation.base", "_session_init", "loader", "coordinator", "session"]
    code = "import sys; sys.modules['pytest'] = None\n" + "".join(f"import amplifier_core.{room}\n" for room in rooms)
    assert in_new_process(f"{code}print('fine')") == "fine"


def test_type_checkers_see_the_same_names() -> None:
    """What is imported for type checkers, what is loaded on demand and ``__all__`` agree, name and home."""
    block = next(node for node in front_door().body if isinstance(node, ast.If))
    imported = [
        (str(node.module), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("amplifier_core")
        for alias in node.names
    ]
    aliased = {
        node.targets[0].id: node.value.id
        for node in block.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Name)
    }
    on_demand = [
        (f"amplifier_core.{home}", name) for home, names in amplifier_core._NAMES_BY_HOME.items() for name in names
    ]
    assert sorted(imported) == sorted([*on_demand, ("amplifier_core", "capabilities")])
    assert aliased == RUST_ALIASES
    seen = {name for _, name in imported} | set(aliased) | {"RUST_AVAILABLE"}
    assert seen == set(amplifier_core.__all__)


@pytest.mark.parametrize("name", ["NoSuchName", "no.such", "utils.retry", "", "\0", "_engine", "__wrapped__"])
def test_an_unknown_attribute_is_an_attribute_error(name: str) -> None:
    """A name that is neither public nor a submodule gives Python's own message."""
    with pytest.raises(AttributeError) as caught:
        getattr(amplifier_core, name)
    assert str(caught.value) == f"module 'amplifier_core' has no attribute '{name}'"


def test_importing_an_unknown_name_is_an_import_error() -> None:
    """``from amplifier_core import X`` with a wrong name fails as in any package."""
    with pytest.raises(ImportError, match="cannot import name 'NoSuchName' from 'amplifier_core'"):
        exec("from amplifier_core import NoSuchName")


def test_a_submodule_that_lacks_something_names_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A submodule whose own import fails is not reported as missing itself."""
    (tmp_path / "room_in_ruins.py").write_text("import no_such_dependency\n", encoding="utf-8")
    monkeypatch.setattr(amplifier_core, "__path__", [*amplifier_core.__path__, str(tmp_path)])
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        _ = amplifier_core.room_in_ruins
