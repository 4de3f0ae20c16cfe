"""Stand-ins for what runs a model: an engine that answers as it is told, and the library below the real engine."""

from __future__ import annotations

import importlib.machinery
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from amplifier_core.message_models import ChatRequest, Message
from amplifier_module_provider_local.config import LocalConfig
from amplifier_module_provider_local.engine import ChatMessages, Take
from amplifier_module_provider_local.engines import EngineKey, EngineTable
from amplifier_module_provider_local.provider import LocalProvider

Body = Mapping[str, Any]
Answer = Callable[[Body], Any]
"""Gives the text that the engine writes, or chunks as they are, such as an error; what it raises, the engine raises."""


def asking(text: str, **wishes: Any) -> ChatRequest:
    """A request with one message of the user."""
    return ChatRequest(messages=[Message(role="user", content=text)], **wishes)


def chunks_of(text: str, finish: str = "stop") -> Iterator[dict[str, Any]]:
    """An answer as llama.cpp streams it, word by word."""
    yield {"choices": [{"finish_reason": None, "index": 0, "delta": {"role": "assistant", "content": None}}]}
    words = text.split(" ") if text else []
    for place, word in enumerate(words):
        piece = word if place == 0 else f" {word}"
        yield {"choices": [{"finish_reason": None, "index": 0, "delta": {"content": piece}}]}
    yield {"choices": [{"finish_reason": finish, "index": 0, "delta": {}}]}
    usage = {"prompt_tokens": 20, "completion_tokens": len(words), "prompt_tokens_details": {"cached_tokens": 5}}
    yield {"choices": [], "usage": usage}


class FakeEngine:
    """Answers as ``answer`` says; a request for likelihoods gets those of ``likes`` by what the need begins with."""

    def __init__(self, answer: Answer | str = "Hello there", likes: Mapping[str, float] | None = None) -> None:
        self._answer: Answer = answer if callable(answer) else lambda body: answer
        self._likes = likes or {}
        self.bodies: list[dict[str, Any]] = []
        self.given_up = threading.Event()

    @property
    def asked(self) -> list[dict[str, Any]]:
        """All requests but those for likelihoods."""
        return [body for body in self.bodies if "logprobs" not in body]

    def chat(self, body: Body, take: Take) -> None:
        self.bodies.append(dict(body))
        if "logprobs" in body:
            need = body["messages"][-1]["content"]
            liked = next((value for words, value in self._likes.items() if need.startswith(words)), -10.0)
            take({"choices": [{"finish_reason": None, "delta": {"content": "x"}, "logprobs": _log_probs(liked)}]})
            return
        said = self._answer(body)
        for chunk in chunks_of(said) if isinstance(said, str) else said:
            if take(chunk):
                self.given_up.set()
                return

    def tokens(self, text: str) -> list[int]:
        return [len(word) for word in text.split()]

    def count(self, messages: ChatMessages) -> int:
        return sum(len(self.tokens(message["content"])) for message in messages)

    def grammar(self, schema: Mapping[str, Any]) -> str:
        return json.dumps(schema)


def _log_probs(value: float) -> dict[str, Any]:
    return {"content": [{"logprob": value}]}


def provider_on(engine: FakeEngine, hooks: Any = None, **config: Any) -> LocalProvider:
    """A provider with ``engine`` in the place of a model."""

    def load(key: EngineKey) -> FakeEngine:
        return engine

    settings = LocalConfig.model_validate({"model_path": "/models/tiny.gguf", **config})
    return LocalProvider(settings, hooks=hooks, engines=EngineTable(), load=load)


class FakeServer:
    """What ``xllamacpp.Server`` does for us, with a real listener on loopback; it says hello to everything."""

    def __init__(self, params: Any) -> None:
        if "broken" in params.model.path:
            raise RuntimeError("failed to load model")
        self.params = params
        self.listener = ThreadingHTTPServer(("127.0.0.1", 0), _handler(params.api_keys[0]))
        threading.Thread(target=self.listener.serve_forever, args=(0.01,), daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{self.listener.server_port}"

    def handle_chat_completions(self, body: dict[str, Any], take: Take) -> None:
        for chunk in chunks_of("{}" if "grammar" in body else "Hello there"):
            if take(chunk):
                return


def _handler(key: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Authorization"] == f"Bearer {key}"
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = "".join(f"<{each['role']}> {each['content']} " for each in body.get("messages", ()))
            told = (
                {"prompt": prompt} if self.path == "/apply-template" else {"tokens": [1] * len(body["content"].split())}
            )
            answer = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


@pytest.fixture
def fake_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[FakeServer]]:
    """Puts a stand-in where ``xllamacpp`` would be; gives the servers it makes."""
    servers: list[FakeServer] = []

    def server(params: Any) -> FakeServer:
        servers.append(FakeServer(params))
        return servers[-1]

    library: Any = ModuleType("xllamacpp")
    library.__spec__ = importlib.machinery.ModuleSpec("xllamacpp", None)
    library.Server = server
    library.CommonParams = lambda: SimpleNamespace(
        model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
    )
    library.json_schema_to_grammar = lambda text: f"grammar of {text}"
    monkeypatch.setitem(sys.modules, "xllamacpp", library)
    yield servers
    for each in servers:
        each.listener.shutdown()
        each.listener.server_close()


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    """A file that begins as a model file does."""
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF and so on")
    return path
