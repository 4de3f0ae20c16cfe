"""``amplifier provider`` and ``amplifier init``: which models there are, whether they answer, which is asked."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from tests.app.command import Command
from tests.app.run_world import write_bundle

from amplifier.bundles.providers import BY_VARIABLE
from amplifier.inspector import first_run
from amplifier.inspector.first_run import Choice, choices, ollama_address
from amplifier.inspector.provider_try import try_provider
from amplifier.problems import ProviderProblem


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    for _, names in BY_VARIABLE:
        for name in names:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(first_run, "_answers", lambda address: False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return Command(tmp_path, monkeypatch, capsys)


def settings_of(command: Command) -> dict[str, Any]:
    """What the user's settings say now."""
    import yaml

    return yaml.safe_load((command.home / "settings.yaml").read_text())


def test_providers_are_listed_with_why(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the plan first, then those that are only installed, with what would bring them in."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    result = command("provider", "list", "-c", "model=anthropic/claude-x")
    first = result.out.splitlines()[1].split()
    assert (result.code, first[:3], "sk-secret" in result.out) == (0, ["*", "anthropic", "claude-x"], False)
    listed = {each["name"]: each for each in json.loads(command("provider", "list", "--json").out)}
    assert (listed["openai"]["is_used"], listed["openai"]["why"]) == (
        False, "set OPENAI_API_KEY, or amplifier provider use openai",
    )  # fmt: skip
    assert listed["mock"]["why"] == "amplifier provider use mock"


def test_a_provider_answers(command: Command) -> None:
    """With its model and what it took; its models are listed."""
    bundle = write_bundle(command.work, ["OK"])
    result = command("provider", "test", "-B", bundle)
    assert (result.code, result.out, "model mock-model" in result.err) == (0, "mock answers: OK\n", True)
    told = json.loads(command("provider", "test", "mock", "-B", bundle, "-m", "mine", "--json").out)
    assert (told["text"], told["model"], told["provider"]) == ("OK", "mine", "mock")
    assert command("provider", "models", "-B", bundle).out.splitlines()[1].split()[0] == "mock-model"
    assert json.loads(command("provider", "models", "mock", "-B", bundle, "--json").out)[0]["id"] == "mock-model"


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (("test", "anthropic"), 69, "No provider is there."),
        (("test", "nothing"), 69, "there is no provider 'nothing'"),
        (("models", "nothing"), 69, "there is no provider 'nothing'"),
        (("use", "anthropc"), 69, "did you mean 'anthropic'?"),
        (("use", "nothing"), 69, "There is no provider 'nothing'."),
        (("test", "--timeout", "0"), 2, "0"),
    ],
)
def test_mistakes_are_told(command: Command, args: tuple[str, ...], code: int, told: str) -> None:
    """With what to do next."""
    result = command("provider", *args)
    assert (result.code, result.out, told in result.err) == (code, "", True)


def test_a_name_that_is_not_mounted_is_told(command: Command) -> None:
    """Beside others that are."""
    bundle = write_bundle(command.work, ["OK"])
    other = command("provider", "test", "-B", bundle, "-c", "providers.mock.name=mocked", "mock")
    assert (other.code, "The provider 'mock' is not mounted." in other.err, "There is: mocked." in other.err) == (
        69, True, True,
    )  # fmt: skip
    missing = command("provider", "test", "-B", bundle, "anthropic")
    assert (missing.code, "The provider 'anthropic' is not mounted: " in missing.err) == (69, True)


def test_a_provider_that_fails_says_why(command: Command) -> None:
    """Refused keys, failures, and models that cannot be listed."""
    broken = write_bundle(command.work, [{"error": {"type": "authentication", "message": "bad key"}}])
    assert command("provider", "test", "-B", broken).code == 69
    assert "cannot be listed" not in command("provider", "models", "-B", broken).err


class Silent:
    """A provider that fails in a chosen way."""

    def __init__(self, error: BaseException | None = None) -> None:
        self._error = error

    def get_info(self) -> Any:
        return SimpleNamespace(defaults={"model": "own"})

    async def list_models(self) -> list[Any]:
        raise OSError("no network")

    async def complete(self, request: Any) -> Any:
        if self._error is not None:
            raise self._error
        return SimpleNamespace(usage=None, content=[SimpleNamespace(text="O"), SimpleNamespace(text="K")])


async def test_asking_once() -> None:
    """An answer without usage has no tokens; what fails is a problem that names the provider."""
    from amplifier_core.llm_errors import AuthenticationError

    trial = await try_provider("p", Silent(), "?", None)
    assert (trial.text, trial.model, trial.input_tokens, trial.output_tokens) == ("OK", "own", 0, 0)
    for error, told in (
        (AuthenticationError("bad key"), "refuses the key"),
        (TimeoutError(), "did not answer in 1 s"),
        (OSError("no network"), "cannot be asked: OSError: no network"),
    ):
        with pytest.raises(ProviderProblem, match=told):
            await try_provider("p", Silent(error), "?", None, 1)


def test_models_that_cannot_be_listed_are_told(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a provider problem."""
    monkeypatch.setattr("amplifier.inspector.provider_list.require_provider", lambda session, name: ("p", Silent()))
    result = command("provider", "models", "-B", write_bundle(command.work, ["OK"]))
    assert (result.code, "The models cannot be listed: OSError: no network" in result.err) == (69, True)


def test_a_provider_is_chosen(command: Command) -> None:
    """With a model, and without one, which forgets the model of another provider."""
    chosen = command("provider", "use", "openai/gpt-x")
    assert (chosen.code, "openai needs OPENAI_API_KEY" in chosen.err) == (0, True)
    assert settings_of(command) == {"provider": "openai", "model": "gpt-x"}
    assert command("provider", "use", "provider-anthropic").out.startswith("New sessions ask anthropic (")
    assert settings_of(command) == {"provider": "anthropic"}
    assert command("provider", "use", "mock").err == ""
    assert command("provider", "use", "openai", "--model", "gpt-y").out.startswith("New sessions ask openai for gpt-y")


def test_the_first_run_takes_what_is_there(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """One way needs no question; several need an answer, --yes, or a terminal."""
    monkeypatch.setattr(first_run, "find_spec", lambda name: None)
    nothing = command("init")
    assert (nothing.code, "No model can be asked" in nothing.err) == (69, True)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    one = command("init")
    assert (one.code, "found openai: OPENAI_API_KEY is set" in one.err, "sk-secret" in one.err) == (0, True, False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-other")
    several = command("init")
    assert (several.code, "There is more than one way: anthropic, openai." in several.err) == (2, True)
    assert command("init", "--yes", "--model", "claude-x").code == 0
    assert settings_of(command) == {"provider": "anthropic", "model": "claude-x"}


def test_the_first_run_asks_on_a_terminal(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one is offered; any of them may be typed."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(first_run, "find_spec", lambda name: None)
    monkeypatch.setenv("OPENAI_API_KEY", "a")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "b")
    monkeypatch.setattr(sys, "stdin", Terminal("openai\n"))
    assert command("init", "--scope", "local").code == 0
    assert "provider: openai" in (command.work / ".amplifier" / "settings.local.yaml").read_text()


def test_the_first_run_tells_what_is_still_missing(command: Command) -> None:
    """The key of a provider that was named, and the bundle that is made for the small model."""
    result = command("init", "--provider", "anthropic")
    assert (result.code, "amplifier config set-key ANTHROPIC_API_KEY" in result.err) == (0, True)
    local = command("init", "--provider", "local")
    assert (local.code, "amplifier bundle use offline" in local.out, "set-key" in local.err) == (0, True, False)
    assert command("init", "--provider", "nothing").code == 69


@contextmanager
def served(status: int) -> Iterator[str]:
    """A server on this machine that answers everything with a status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_ollama_is_found_where_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own variable; a server that is something else is none."""
    monkeypatch.setattr(first_run, "find_spec", lambda name: None)
    with served(200) as address:
        found = choices({"OLLAMA_HOST": address}, [])
        assert found == [Choice("provider-ollama", f"Ollama answers at http://{address}")]
    with served(404) as address:
        assert choices({"OLLAMA_HOST": address}, []) == []
    assert choices({"OLLAMA_HOST": "http://[broken"}, []) == []


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("", "http://localhost:11434"),
        ("box", "http://box:11434"),
        ("0.0.0.0:99", "http://localhost:99"),
        ("https://far.example/", "https://far.example"),
        ("http://[::1]", "http://[::1]:11434"),
    ],
)
def test_the_address_of_ollama_has_many_forms(given: str, address: str) -> None:
    """All that Ollama itself takes."""
    assert ollama_address({"OLLAMA_HOST": given}) == address


def test_the_embedded_model_is_the_last_choice() -> None:
    """Where its library is there."""
    found = choices({"GEMINI_API_KEY": "x"}, ["OPENAI_API_KEY"], lambda address: True)
    assert [each.name for each in found] == ["openai", "gemini", "ollama", "local"]


@pytest.mark.slow
def test_as_a_process(command: Command) -> None:
    """Choosing without questions, asking, and a mistake."""
    bundle = write_bundle(command.work, ["OK"])
    assert command.process("provider", "test", "-B", bundle).out == "mock answers: OK\n"
    done = command.process("init", "--provider", "local", "--yes", OLLAMA_HOST="127.0.0.1:1")
    assert (done.code, settings_of(command)) == (0, {"provider": "local"})
    assert command.process("provider", "use", "nothing").code == 69
