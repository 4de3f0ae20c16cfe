"""A vendor as small as can be, for tests of what all vendors share: it says texts and calls tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tests.modules.llm_server import Answer, json_answer, sse_answer

from amplifier_core.events import (
    LLM_REQUEST,
    LLM_RESPONSE,
    PROVIDER_RETRY,
    PROVIDER_THROTTLE,
    PROVIDER_TOOL_SEQUENCE_REPAIRED,
)
from amplifier_core.hooks import HookRegistry
from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    ContentBlockUnion,
    Degradation,
    Message,
    TextBlock,
    Usage,
)
from amplifier_core.models import ModelInfo
from amplifier_modkit.events import (
    LLM_STREAM_ABORTED,
    LLM_STREAM_BLOCK_DELTA,
    LLM_STREAM_BLOCK_END,
    LLM_STREAM_BLOCK_START,
)
from amplifier_modkit.llm.blocks import calls_of, read_arguments, text_in, tool_call
from amplifier_modkit.llm.catalogue import Catalogue, KnownModel
from amplifier_modkit.llm.provider import HttpProvider, Timing
from amplifier_modkit.llm.settings import ProviderSettings
from amplifier_modkit.llm.vendor import Vendor
from amplifier_modkit.llm.wire import STOP, TOOL_CALLS, Piece, StreamReader, WireCall, WireError

KEY = "toy-key-0123456789"
ALL_EVENTS = (
    LLM_REQUEST,
    LLM_RESPONSE,
    PROVIDER_RETRY,
    PROVIDER_THROTTLE,
    PROVIDER_TOOL_SEQUENCE_REPAIRED,
    LLM_STREAM_BLOCK_START,
    LLM_STREAM_BLOCK_DELTA,
    LLM_STREAM_BLOCK_END,
    LLM_STREAM_ABORTED,
)
CATALOGUE = Catalogue(
    [
        KnownModel("toy-2", "Toy 2", 9_000, 700, ("tools",), "toy"),
        KnownModel("toy-1", "Toy 1", 5_000, 500, (), "toy"),
        KnownModel("gpt-6-luna", "Luna", 8_000, 800),
    ]
)
TOY = Vendor(
    name="toy",
    display_name="Toy",
    base_url="http://127.0.0.1:9",
    default_model="toy-2",
    catalogue=CATALOGUE,
    key_vars=("TOY_API_KEY", "TOY_KEY"),
    url_vars=("TOY_BASE_URL",),
    models_path="/models",
)


class ToyWire:
    """Requests are lists of texts; answers have a text and calls."""

    def to_call(self, request: ChatRequest, model: str, *, stream: bool) -> WireCall:
        """One text per message, the names of the tools, and whatever keywords came."""
        body = {
            "model": model,
            "texts": [f"{message.role}: {text_in(message)}" for message in request.messages],
            "tools": [tool.name for tool in request.tools or ()],
            "stream": stream,
            **(request.model_extra or {}),
        }
        warm = [] if request.temperature is None else [_no("temperature")]
        tight = [] if request.top_p is None else [_no("top_p")]
        return WireCall("/chat", body, {"x-toy": "1"}, [*warm, *tight])

    def read_answer(self, body: Mapping[str, Any]) -> ChatResponse:
        """The answer in a body; one with ``error`` is none."""
        if "error" in body:
            raise WireError(body["error"], status=body.get("status"), code="toy_error")
        content: list[ContentBlockUnion] = [TextBlock(text=body["text"])] if body["text"] else []
        content += [tool_call(call["id"], call["name"], read_arguments(call["args"])) for call in body.get("calls", ())]
        calls = calls_of(content)
        tokens = body.get("tokens")
        usage = None if tokens is None else Usage(input_tokens=tokens, output_tokens=1, total_tokens=tokens + 1)
        metadata = {"model": body["model"]} if "model" in body else None
        reason = TOOL_CALLS if calls else STOP
        return ChatResponse(content=content, tool_calls=calls, usage=usage, finish_reason=reason, metadata=metadata)

    def open_stream(self) -> StreamReader:
        """A reader for frames with a piece of text each, up to one that says ``done``."""
        return ToyStream(self)

    def read_models(self, body: Mapping[str, Any]) -> list[ModelInfo]:
        """The models by id."""
        return [CATALOGUE.info(name) for name in body["models"]]


class ToyStream:
    """Reads texts; ``call`` begins a tool call, which is told as a block of its own."""

    def __init__(self, wire: ToyWire) -> None:
        self._wire = wire
        self._body: dict[str, Any] = {"text": ""}
        self.is_complete = False

    def feed(self, event: str, data: str) -> Iterable[Piece]:
        """One frame."""
        told = json.loads(data)
        if "error" in told:
            raise WireError(told["error"], status=told.get("status"))
        if "call" in told:
            self._body["calls"] = [told["call"]]
            yield Piece("start", 1, "tool_use", name=told["call"]["name"])
            yield Piece("end", 1, "tool_use")
        if "text" in told:
            if not self._body["text"]:
                yield Piece("start", 0, "text")
            self._body["text"] += told["text"]
            yield Piece("delta", 0, "text", told["text"])
        if "tokens" in told:
            self._body["tokens"] = told["tokens"]
        self.is_complete = bool(told.get("done"))

    def response(self) -> ChatResponse:
        """What came."""
        return self._wire.read_answer(self._body)


def _no(what: str) -> Degradation:
    return Degradation(requested=what, actual="none", reason=f"a toy has no {what}")


def make_toy(
    url: str,
    hooks: HookRegistry | None = None,
    key: str | None = KEY,
    *,
    vendor: Vendor = TOY,
    timing: Timing | None = None,
    mounted: Any = dict,
    **settings: Any,
) -> HttpProvider:
    """A provider of the toy vendor that asks the server at ``url``, without waiting between attempts."""
    given = {"min_retry_delay": 0.0, "retry_jitter": False, "timeout": 5.0, **settings}
    config = ProviderSettings(base_url=url, **given)
    return HttpProvider(ToyWire(), config, vendor, key=key, hooks=hooks, timing=timing, mounted=mounted)


class Told:
    """The events of a provider, in order."""

    def __init__(self) -> None:
        self.hooks = HookRegistry()
        self.events: list[tuple[str, dict[str, Any]]] = []
        for event in ALL_EVENTS:
            self.hooks.register(event, self._note)

    async def _note(self, event: str, data: dict[str, Any]) -> None:
        self.events.append((event, data))

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [event for event, _ in self.events]

    def of(self, event: str) -> list[dict[str, Any]]:
        """The data of the events of one name."""
        return [data for name, data in self.events if name == event]


class Hours:
    """Clocks that a test sets, and that pass when somebody waits."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        """Lets time pass."""
        self.waits.append(seconds)
        self.now += seconds

    @property
    def timing(self) -> Timing:
        """The clocks as a provider takes them."""
        return Timing(lambda: self.now, lambda: self.now, self.sleep)


def question(text: str = "hello", **wishes: Any) -> ChatRequest:
    """A request with one message."""
    return ChatRequest(messages=[Message(role="user", content=text)], **wishes)


def answer(text: str = "hi", headers: dict[str, str] | None = None, **fields: Any) -> Answer:
    """A whole answer."""
    return json_answer({"text": text, **fields}, headers=headers)


def stream(*texts: str, **last: Any) -> Answer:
    """An answer in pieces."""
    return sse_answer([*((None, {"text": text}) for text in texts), (None, {"done": True, **last})])


def text_of(response: ChatResponse | None) -> str:
    """The text of a response."""
    assert response is not None
    return "".join(block.text for block in response.content if isinstance(block, TextBlock))
