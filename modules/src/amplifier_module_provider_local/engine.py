"""The library that runs the model, behind the few calls that are made of it; all of them block, so threads make them.

The library opens a listener on loopback whether one wants it or not; a random key, known to this process only, keeps
everybody else out. It is used here for the one thing that the library offers nowhere else: to cut text into tokens.
"""

from __future__ import annotations

import importlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from amplifier_module_provider_local.errors import LibraryMissingError, ModelFileError

_GGUF = b"GGUF"
# The prompt is read in steps of that many tokens, between which a cancellation is seen: about a second each.
_STEP_TOKENS = 64
# What is asked in turns (which tool, which arguments, the answer) keeps its beginning in a place of its own.
_PLACES = 4
_COMPACT = {"x-guidance": {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}}
_TIMEOUT_S = 30.0

ChatMessages = Sequence[Mapping[str, str]]
Take = Callable[[dict[str, Any]], bool]
"""Takes a chunk of an answer, and says whether it has enough."""


class Engine(Protocol):
    """A loaded model; may be asked from several threads at once."""

    def chat(self, body: Mapping[str, Any], take: Take) -> None:
        """Answers a request in the form of chat completions, streamed; an error is a chunk as well."""
        ...

    def tokens(self, text: str) -> list[int]:
        """``text`` as the model reads it."""
        ...

    def count(self, messages: ChatMessages) -> int:
        """How many tokens a conversation has in the model's own form."""
        ...

    def grammar(self, schema: Mapping[str, Any]) -> str:
        """A grammar for JSON that fits ``schema``, written without needless blanks."""
        ...


class LlamaEngine:
    """A model in llama.cpp; lives until nobody holds it any more, its last running request included.

    Raises ``LibraryMissingError`` and ``ModelFileError``.
    """

    def __init__(self, path: Path, *, context_window: int, n_threads: int) -> None:
        _require_gguf(path)
        self._library = _library()
        self._key = secrets.token_urlsafe(32)
        try:
            self._server = self._library.Server(self._params(path, context_window, n_threads))
        except Exception as error:
            raise ModelFileError(
                f"The model in {path} cannot be loaded: {error}. Give another GGUF file as 'model_path'."
            ) from error
        self._address: str = self._server.listening_address.partition("//")[2]

    def chat(self, body: Mapping[str, Any], take: Take) -> None:
        """Answers a request; what cannot be read as one comes out as ``ValueError``."""
        self._server.handle_chat_completions(dict(body), take)

    def tokens(self, text: str) -> list[int]:
        """``text`` as the model reads it."""
        return self._post("/tokenize", {"content": text})["tokens"]

    def count(self, messages: ChatMessages) -> int:
        """How many tokens a conversation has in the model's own form."""
        return len(self.tokens(self._post("/apply-template", {"messages": list(messages)})["prompt"]))

    def grammar(self, schema: Mapping[str, Any]) -> str:
        """A grammar for JSON that fits ``schema``."""
        return self._library.json_schema_to_grammar(json.dumps({**schema, **_COMPACT}))

    def _params(self, path: Path, context_window: int, n_threads: int) -> Any:
        params = self._library.CommonParams()
        params.model.path = str(path)
        params.n_ctx = context_window
        params.n_parallel = _PLACES
        params.kv_unified = True
        params.n_batch = params.n_ubatch = _STEP_TOKENS
        # Copies of old prompts beside the places themselves; by default they may take gigabytes.
        params.cache_ram_mib = 0
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = n_threads
        params.use_jinja = True
        params.warmup = False
        params.verbosity = -1
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.api_keys = [self._key]
        params.ui = params.endpoint_slots = params.endpoint_props = False
        return params

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        import http.client  # a tenth of what the whole module takes to import

        connection = http.client.HTTPConnection(self._address, timeout=_TIMEOUT_S)
        try:
            headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
            connection.request("POST", path, json.dumps(body), headers)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


def _library() -> Any:
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as error:
        raise LibraryMissingError(
            f"provider-local needs the library xllamacpp ({error}). Install it with: "
            'pip install "amplifier-modules[local]"'
        ) from error


def _require_gguf(path: Path) -> None:
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_GGUF))
    except OSError as error:
        raise ModelFileError(f"The model file {path} cannot be read: {error}. Check 'model_path'.") from error
    if beginning != _GGUF:
        raise ModelFileError(f"{path} is no GGUF file: it begins with {beginning!r}. Check 'model_path'.")
