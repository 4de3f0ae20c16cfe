"""The contract pages tell the truth: their protocols are the kernel's, and their examples keep them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from amplifier_core.events import ALL_EVENTS
from amplifier_core.kernel_events import KERNEL_EVENTS
from amplifier_core.validation import VALIDATORS, validate_static
from amplifier_kit import chaos

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "contracts"

_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CANONICAL = {name.partition(":")[0] for name in ALL_EVENTS}


class Page(NamedTuple):
    """The page of one kind of module, with the id of the example on it and the config that the example needs."""

    kind: str
    protocol: str
    module_id: str
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def config(self) -> dict[str, str]:
        """The config that the example is mounted with."""
        return dict(self.settings)

    @property
    def blocks(self) -> list[str]:
        """The Python blocks, in order."""
        return python_blocks(PAGES / f"{self.kind}.md")

    @property
    def example(self) -> str:
        """The block that is a whole module."""
        return next(block for block in self.blocks if "\nasync def mount(" in block)

    @property
    def suite(self) -> str:
        """The block that inherits the behaviour suite."""
        return next(block for block in self.blocks if "validation.behavioral" in block)

    def write_repository(self, folder: Path) -> Path:
        """Writes the example as the repository of a module, with its test file; gives the repository."""
        repository = folder / f"amplifier-module-{self.module_id}"
        package = repository / f"amplifier_module_{self.module_id.replace('-', '_')}"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(self.example, encoding="utf-8")
        (repository / "tests").mkdir()
        test_file = repository / "tests" / f"test_{self.kind}_page.py"
        config = f"import pytest\n\n\n@pytest.fixture\ndef amplifier_module_config():\n    return {self.config}\n\n\n"
        test_file.write_text(config + self.suite, encoding="utf-8")
        return repository


KINDS = [
    Page("tool", "Tool", "tool-notes"),
    Page("provider", "Provider", "provider-parrot", (("api_key", "test"),)),
    Page("hook", "HookHandler", "hooks-secrets"),
    Page("orchestrator", "Orchestrator", "loop-plain"),
    Page("context", "ContextManager", "context-newest"),
]
each_kind = pytest.mark.parametrize("page", KINDS, ids=[page.kind for page in KINDS])


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[Page, Path]:
    """The examples as repositories, once for all tests: one process holds one package of a name."""
    folder = tmp_path_factory.mktemp("pages")
    return {page: page.write_repository(folder) for page in KINDS}


def python_blocks(page: Path) -> list[str]:
    """The Python blocks of a page."""
    return _PYTHON.findall(page.read_text(encoding="utf-8"))


def signatures(source: str, name: str) -> dict[str, str]:
    """The methods of a class in ``source``: how each is declared, without docstring and body."""
    classes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef) and node.name == name)
    methods = [node for node in next(classes).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {method.name: declaration(method) for method in methods}


def declaration(method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """How a method is declared, in one line."""
    method.body = [ast.Expr(ast.Constant(...))]
    return ast.unparse(method)


@each_kind
def test_the_protocol_of_a_page_is_the_kernels(page: Page) -> None:
    """The signatures on the page are those of ``interfaces``, to the last annotation."""
    interfaces = (ROOT / "core/src/amplifier_core/interfaces.py").read_text(encoding="utf-8")
    assert signatures(page.blocks[0], page.protocol) == signatures(interfaces, page.protocol)


def test_the_protocols_of_sources_are_the_kernels() -> None:
    """The signatures on the page about sources are those of ``module_sources``."""
    shown = next(block for block in python_blocks(PAGES / "module-sources.md") if "(Protocol)" in block)
    source = (ROOT / "core/src/amplifier_core/module_sources.py").read_text(encoding="utf-8")
    for name in ("ModuleSource", "ModuleSourceResolver"):
        assert signatures(shown, name) == {
            method: declared.replace("@abstractmethod\n", "") for method, declared in signatures(source, name).items()
        }


@each_kind
async def test_the_example_of_a_page_is_a_valid_module(page: Page, repositories: dict[Page, Path]) -> None:
    """The example validates without a single complaint, also when it is only read."""
    read = validate_static(repositories[page], page.kind)
    tried = await VALIDATORS[page.kind]().validate(repositories[page], config=page.config)
    assert [check.message for check in (*read.checks, *tried.checks) if not check.passed] == []


@pytest.mark.slow
def test_the_examples_of_the_pages_pass_their_behaviour_suites(repositories: dict[Page, Path]) -> None:
    """Each example passes the suite that its page tells to inherit, in a pytest run as an author starts it."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, repositories.values())]
    folder = repositories[KINDS[0]].parent
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"^\d+ passed", run.stdout, re.MULTILINE), run.stdout


@pytest.mark.slow
@each_kind
async def test_the_example_of_a_page_keeps_its_promises_under_faults(
    page: Page, repositories: dict[Page, Path]
) -> None:
    """No fault of the chaos suite makes the example break a promise."""
    result = await chaos.run(page.kind, repositories[page], page.config)
    assert [check.message for check in result.checks if not check.passed] == []
    assert len(result.checks) > 5


def named_events(page: Path) -> Iterator[str]:
    """The canonical event names that the text of a page mentions."""
    for name in re.findall(r"`([a-z_]+:[a-z_]+)`", page.read_text(encoding="utf-8")):
        if name.partition(":")[0] in _CANONICAL:
            yield name


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_the_events_that_a_page_names_exist(page: Path) -> None:
    """An event of a canonical subject that is named on a page is a canonical one, or one that the kernel adds."""
    streaming = {"llm:stream_block_start"}  # told by providers that stream; announced on a channel, not canonical
    assert set(named_events(page)) <= {*ALL_EVENTS, *KERNEL_EVENTS} | streaming
