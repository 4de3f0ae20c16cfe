"""A model server nobody here wrote: llama.cpp's own, as it comes inside ``xllamacpp``, with the embedded model.

It speaks ``/v1/chat/completions``, ``/v1/responses`` and ``/v1/messages`` (with ``count_tokens``) on loopback, needs
the key of ``LlamaServer.api_key``, and runs in a process of its own, one for each test process, until that ends. Take
the fixture into a test file with ``from tests.modules.llama_server import llama_server``, and mark its tests ``slow``:
the model generates about 30 tokens a second, so ask for few. It is a very small model: assert forms, not wisdom.

Tools: the template shows the model each tool of a request in an example turn. With a required tool choice, and
better still with a call or two in the history, a call comes; with ``auto`` the server may well answer 500.
"""

from __future__ import annotations

import asyncio
import atexit
import importlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

API_KEY = "test-key"
MODEL = "smollm2"

TEMPLATE = """\
{%- set ns = namespace(system='You are a helpful assistant.') -%}
{%- for m in messages if m.role in ('system', 'developer') %}{% set ns.system = m.content %}{% endfor -%}
<|im_start|>system
{{ ns.system }}
{%- if tools %}
Answer every request with one function call in JSON.{% for t in tools %}
{{ t.function.name }}: {{ t.function.description or '' }}{% endfor %}
{%- endif %}<|im_end|>
{% for t in tools or [] -%}
<|im_start|>user
{{ t.function.description or t.function.name }}<|im_end|>
<|im_start|>assistant
{"name": "{{ t.function.name }}", "arguments": {
{%- for key in t.function.parameters.properties %}"{{ key }}": "{{ key }}"{{ '' if loop.last else ', ' }}{% endfor -%}
}}<|im_end|>
{% endfor -%}
{%- for m in messages if m.role not in ('system', 'developer') -%}
<|im_start|>{{ 'assistant' if m.role == 'assistant' else 'user' }}
{% if m.role == 'tool' %}Result: {% endif -%}
{%- for call in m.tool_calls or [] -%}
{%- set given = call.function.arguments -%}
{"name": "{{ call.function.name }}", "arguments": {{ given if given is string else given | tojson }}}
{%- else -%}{{ m.content or '' }}{%- endfor -%}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}"""


@dataclass(frozen=True)
class LlamaServer:
    """Where the server is and what it wants; ``base_url`` has no path, so add ``/v1`` for OpenAI's clients."""

    base_url: str
    api_key: str = API_KEY
    model: str = MODEL
    context_window: int = 4096


@pytest.fixture(scope="session")
def llama_server() -> LlamaServer:
    """The server of this test process, started when it is first wanted; skips where the model cannot be had."""
    from amplifier_module_provider_local.errors import FetchError

    try:
        return _started(embedded_model())
    except FetchError as error:
        pytest.skip(str(error))


@cache
def embedded_model() -> Path:
    """The model file of ``provider-local``, fetched into the user's cache if it is not there.

    Skips the test where the library that runs models is not installed.
    """
    pytest.importorskip("xllamacpp")
    from amplifier_module_provider_local.fetching import fetched
    from amplifier_module_provider_local.weights import SMOLLM2, models_folder

    async def unwatched(done: int, total: int) -> None:
        pass

    # In a thread, so that it works where a loop is running as well.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(fetched(SMOLLM2, models_folder(), unwatched))).result()


@cache
def _started(model: Path) -> LlamaServer:
    # Not in this process: its threads would outlive the tests that want it, and forking is not for threaded processes.
    process = subprocess.Popen(
        [sys.executable, __file__, str(model)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def stop() -> None:
        process.kill()
        process.communicate()

    atexit.register(stop)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "llama.cpp's server did not start; what it says is on stderr"
    return LlamaServer(json.loads(line))


def serve(model: str) -> None:
    """Serves until its standard input ends, so at the latest with the process that started it."""
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {MODEL}
    params.n_ctx = LlamaServer.context_window
    # More threads than one wait for each other in a loop, and crawl when a core is taken by somebody else.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_batch = params.n_ubatch = 64
    params.cache_ram_mib = 64
    params.warmup = False
    params.verbosity = -1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [API_KEY]
    params.use_jinja = True
    params.chat_template = TEMPLATE
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{json.dumps(server.listening_address)}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1])
