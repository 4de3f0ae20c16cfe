"""Providers over HTTP: what they take of the processor beside the network, for vendors with different protocols.

Streams are read from memory, one piece right behind the other: the HTTP library and the system are left out, and so are
the pauses of a real stream. After a pause the same work takes several times as long, also without any socket; the note
of the figure tells how much, and the limit is not kept there. Mounting is measured in fresh processes, behind the
import of the kernel.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any, cast

from amplifier_core import ChatRequest, HookRegistry, HookResult, Message, ToolSpec
from amplifier_modkit.events import LLM_STREAM_BLOCK_DELTA
from amplifier_modkit.llm.errors import Blame
from amplifier_modkit.llm.http import Incoming
from amplifier_modkit.llm.repair import repair
from amplifier_modkit.llm.telling import CallEvents
from amplifier_modkit.llm.wire import Wire
from bench.figure import Figure
from bench.measure import Effort, cpu_seconds, quiet_heap

DELTA_LIMIT_US, HISTORY_LIMIT_MS, MOUNT_LIMIT_MS = 30.0, 20.0, 60.0
VENDORS = ("anthropic", "openai", "chat-completions")

_MESSAGES = 1_000
_PAUSE_S = 0.0003
_WORD = " und noch ein Wort"
_TOOL = ToolSpec(name="search", description="Searches.", parameters={"type": "object", "properties": {}})

Frames = list[bytes]


def figures(effort: Effort) -> Iterator[Figure]:
    """A piece of a stream, a long history, and mounting, for each vendor."""
    for vendor in VENDORS:
        yield _delta_figure(vendor, effort)
    for vendor in VENDORS:
        yield _history_figure(vendor, effort)
    with TemporaryDirectory() as folder:
        for vendor in VENDORS:
            yield _mount_figure(vendor, Path(folder), effort)


def _delta_figure(vendor: str, effort: Effort) -> Figure:
    count = effort.size(full=2_000, smoke=20)
    wire, frames = _wire(vendor), _FRAMES[vendor](count)

    async def read(times: int) -> None:
        for _ in range(times):
            await read_stream(wire, _Memory(frames), count)

    with asyncio.Runner() as runner:
        spent_s = _spent(lambda: runner.run(cpu_seconds(read, 1)), effort)
        note = runner.run(_with_pauses(vendor, effort))
    what = f"{vendor}: a piece of a stream without pauses, from its bytes in memory to the event at one handler"
    spent_us = [each * 1e6 / count for each in spent_s]
    return _figure(f"provider_delta_{_key(vendor)}", what, DELTA_LIMIT_US, "µs", spent_us, note)


async def _with_pauses(vendor: str, effort: Effort) -> str:
    """What a piece takes in a stream that pauses, beyond what waiting for it takes."""
    count = effort.size(full=500, smoke=5)
    wire, frames = _wire(vendor), _FRAMES[vendor](count)
    more_s: list[float] = []
    for _ in range(effort.size(full=7, smoke=1)):
        begin = time.process_time()
        await read_stream(wire, _Memory(frames, _PAUSE_S), count)
        middle = time.process_time()
        async for _ in _Memory(frames, _PAUSE_S).aiter_bytes():
            pass
        more_s.append((middle - begin) - (time.process_time() - middle))
    return f"with pauses of {_PAUSE_S * 1e3:g} ms {median(more_s) * 1e6 / count:.0f} µs more than waiting alone"


async def read_stream(wire: Wire, answer: _Memory, pieces: int) -> None:
    """Does with a stream what a provider does, and checks that every piece of it was told."""
    heard = 0

    async def handler(event: str, data: dict[str, Any]) -> HookResult:
        nonlocal heard
        heard += 1
        return HookResult()

    hooks = HookRegistry()
    hooks.register(LLM_STREAM_BLOCK_DELTA, handler)
    events, reader = CallEvents(hooks, "bench", "bench"), wire.open_stream()
    incoming = Incoming(cast("Any", answer), Blame("bench"), 1.0)
    async for event, data in incoming.events():
        for piece in reader.feed(event, data):
            await events.piece(piece)
        if reader.is_complete:
            break
    text = "".join(getattr(block, "text", "") for block in reader.response().content)
    if (heard, text) != (pieces, _WORD * pieces):
        raise RuntimeError(f"{heard} of {pieces} pieces were told, and {len(text)} characters came")


class _Memory:
    """An answer whose bytes are there already, each frame on its own, at once or with a pause before each."""

    def __init__(self, frames: Frames, pause_s: float | None = None) -> None:
        self._frames = frames
        self._pause_s = pause_s
        self.headers: Mapping[str, str] = {"content-type": "text/event-stream"}

    async def aiter_bytes(self) -> AsyncGenerator[bytes]:
        """The frames, one after another."""
        for frame in self._frames:
            if self._pause_s is not None:
                await asyncio.sleep(self._pause_s)
            yield frame


def _history_figure(vendor: str, effort: Effort) -> Figure:
    wire, origin = _wire(vendor), vendor
    count = effort.size(full=_MESSAGES, smoke=20)
    request = ChatRequest(messages=_history(count), tools=[_TOOL])
    sizes: list[int] = []

    def sample() -> float:
        begin = time.process_time()
        call = wire.to_call(repair(request, origin).request, "model", stream=True)
        spent_s = time.process_time() - begin
        sizes.append(len(json.dumps(call.body)))
        return spent_s

    spent_ms = [each * 1e3 for each in _spent(sample, effort)]
    what = f"{vendor}: a history of 1,000 messages with tool calls, put in order and mapped to a request"
    note = f"{sizes[-1] / 1000:.0f} kB of JSON"
    return _figure(f"provider_history_{_key(vendor)}", what, HISTORY_LIMIT_MS, "ms", spent_ms, note)


def _history(count: int) -> list[Message]:
    """A question, a call, its result and an answer, over and over."""
    made: list[Message] = []
    for number in range(count // 4):
        call = {"type": "tool_call", "id": f"call_{number}", "name": "search", "input": {"query": f"word {number}"}}
        texts = [{"type": "text", "text": "Let me look."}, call]
        made += [
            Message(role="user", content=f"Question {number}:" + _WORD * 5),
            Message.model_validate({"role": "assistant", "content": texts}),
            Message(role="tool", tool_call_id=f"call_{number}", name="search", content=_WORD * 20),
            Message(role="assistant", content=f"Answer {number}:" + _WORD * 10),
        ]
    return made


def _mount_figure(vendor: str, cache: Path, effort: Effort) -> Figure:
    _mounting_ms(vendor, cache)  # fills the cache of compiled files
    spent_ms = [_mounting_ms(vendor, cache) for _ in range(effort.rounds_of(0.05))]
    what = f"{vendor}: import and mount in a fresh process, behind the import of the kernel"
    return _figure(f"provider_mount_{_key(vendor)}", what, MOUNT_LIMIT_MS, "ms", spent_ms)


_MOUNT = """
import asyncio, sys, time
from amplifier_core import AmplifierSession, ChatRequest, HookResult, ToolResult
from amplifier_core.testing import TestCoordinator

async def main():
    coordinator = TestCoordinator()
    begin = time.process_time()
    from amplifier_module_provider_{module} import mount
    close = await mount(coordinator, {{"api_key": "key", "base_url": "http://127.0.0.1:9"}})
    print(time.process_time() - begin)
    assert coordinator.get("providers", {name!r}) is not None
    await close()

asyncio.run(main())
"""


def _mounting_ms(vendor: str, cache: Path) -> float:
    source = _MOUNT.format(module=_key(vendor), name=vendor)
    command = [sys.executable, "-I", "-X", f"pycache_prefix={cache}", "-c", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"A process that mounts provider-{vendor} ended with {done.returncode}: {done.stderr}")
    return float(done.stdout) * 1e3


def _spent(sample: Callable[[], float], effort: Effort) -> list[float]:
    sample()  # what is done only once is not what a session takes
    with quiet_heap():
        return [sample() for _ in range(effort.rounds_of(0.1))]


def _figure(key: str, what: str, limit: float, unit: str, spent: list[float], note: str = "") -> Figure:
    low, _, high = quantiles(spent, n=4)
    return Figure(key, what, median(spent), limit, unit, low, high, note)


def _key(vendor: str) -> str:
    return vendor.replace("-", "_")


def _wire(vendor: str) -> Wire:
    if vendor == "anthropic":
        from amplifier_module_provider_anthropic.wire import AnthropicWire

        return AnthropicWire()
    if vendor == "openai":
        from amplifier_modkit.llm_responses.known_models import MODELS
        from amplifier_modkit.llm_responses.wire import ResponsesWire, ServiceForm

        return ResponsesWire(ServiceForm(origin="openai", catalogue=MODELS))
    from amplifier_modkit.llm_chat.wire import ChatWire

    return ChatWire()


def _frame(event: str | None, data: Any) -> bytes:
    name = "" if event is None else f"event: {event}\n"
    text = data if isinstance(data, str) else json.dumps(data)
    return f"{name}data: {text}\n\n".encode()


def _anthropic_frames(count: int) -> Frames:
    def typed(kind: str, **fields: Any) -> bytes:
        return _frame(kind, {"type": kind, **fields})

    usage = {"input_tokens": 9, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    delta = {"type": "text_delta", "text": _WORD}
    return [
        typed("message_start", message=message),
        typed("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        *[typed("content_block_delta", index=0, delta=delta)] * count,
        typed("content_block_stop", index=0),
        typed("message_delta", delta={"stop_reason": "end_turn"}, usage=usage),
        typed("message_stop"),
    ]


def _openai_frames(count: int) -> Frames:
    def typed(kind: str, **fields: Any) -> bytes:
        return _frame(kind, {"type": kind, "sequence_number": 1, **fields})

    where = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    part = {"type": "output_text", "annotations": [], "text": _WORD * count}
    item = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [part]}
    usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}
    response = {"id": "resp_1", "object": "response", "model": "m", "status": "completed", "output": [item]}
    delta = {"delta": _WORD, "logprobs": [], "obfuscation": "x8KfQ2mLw0"}
    return [
        typed("response.created", response={**response, "status": "in_progress", "output": []}),
        typed("response.output_item.added", output_index=0, item={**item, "content": []}),
        typed("response.content_part.added", **where, part={**part, "text": ""}),
        *[typed("response.output_text.delta", **where, **delta)] * count,
        typed("response.output_item.done", output_index=0, item=item),
        typed("response.completed", response={**response, "usage": usage}),
    ]


def _chat_frames(count: int) -> Frames:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return _frame(None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    return [
        chunk({"role": "assistant", "content": ""}),
        *[chunk({"content": _WORD})] * count,
        chunk({}, "stop"),
        _frame(None, "[DONE]"),
    ]


_FRAMES: Mapping[str, Callable[[int], Frames]] = {
    "anthropic": _anthropic_frames,
    "openai": _openai_frames,
    "chat-completions": _chat_frames,
}
