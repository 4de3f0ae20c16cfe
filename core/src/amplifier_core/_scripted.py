"""Fakes that answer from a script: a provider and an orchestrator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from amplifier_core._awaiting import settle
from amplifier_core._error_text import describe_error
from amplifier_core._recording import Failure, RecordingCallable, is_failure
from amplifier_core.correlation import current_request_id
from amplifier_core.events import (
    PROMPT_COMPLETE,
    PROMPT_SUBMIT,
    PROVIDER_REQUEST,
    PROVIDER_RESPONSE,
    SESSION_END,
    SESSION_START,
)
from amplifier_core.hooks import HookRegistry
from amplifier_core.interfaces import ContextManager, Provider, Tool
from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
    ToolSpec,
    Usage,
)
from amplifier_core.models import ModelInfo, ProviderInfo

AFTER_THE_SCRIPT = "DONE"
"""What scripted fakes answer when their script is at its end."""

# What providers emit while an answer comes in; not among the kernel's own events.
STREAM_BLOCK_START = "llm:stream_block_start"
STREAM_BLOCK_DELTA = "llm:stream_block_delta"
STREAM_BLOCK_END = "llm:stream_block_end"
STREAM_ABORTED = "llm:stream_aborted"

_PREVIEW_CHARS = 200

Pieces = str | Sequence[str]


class Sleeper(Protocol):
    """A clock on which one can wait."""

    async def sleep(self, seconds: float) -> None:
        """Lets ``seconds`` pass."""
        ...


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One answer of a ``MockProvider`` in full: after ``delay_s`` seconds it thinks, speaks and calls tools.

    ``text`` and ``thinking`` may be lists of the pieces in which they stream. A tool call may be a pair of name and
    arguments; it then gets the ids ``call-1``, ``call-2``, … of its provider. With ``error`` the answer breaks off:
    what it has is streamed, then the error is raised.
    """

    text: Pieces = ""
    thinking: Pieces = ""
    tool_calls: Sequence[ToolCall | tuple[str, dict[str, Any]]] = ()
    usage: Usage | None = None
    delay_s: float = 0.0
    error: Failure | None = None


Reply = str | ScriptedReply | ChatResponse | Failure
ScriptItem = Reply | Callable[[ChatRequest], Any]


class MockProvider:
    """A provider that answers from a script; ``complete`` is a recording whose answers a test may change.

    An item of ``responses`` is a text, a ``ScriptedReply``, a ``ChatResponse`` (given back as it is), an exception to
    raise, or a function of the request (sync or async) that gives one of these. After the last one every answer is
    ``DONE``. Answers carry ``usage`` unless they have their own.

    Delays pass on ``clock`` (a ``FakeClock``), without one in real time. With ``hooks`` the provider streams: it emits
    ``llm:stream_block_start``, ``…_delta`` for each piece and ``…_end`` for every block of text or thinking, unless the
    request's metadata have ``stream`` as ``False``.
    """

    def __init__(
        self,
        responses: Iterable[ScriptItem] = (),
        name: str = "mock",
        *,
        model: str = "mock-model",
        usage: Usage | None = None,
        context_window: int = 100_000,
        max_output_tokens: int = 4_096,
        clock: Sleeper | None = None,
        hooks: HookRegistry | None = None,
    ) -> None:
        self.name = name
        self.responses: list[ScriptItem] = _script_of(responses)
        self.usage = usage or Usage(input_tokens=10, output_tokens=20, total_tokens=30)
        self._model = ModelInfo(
            id=model, display_name=model, context_window=context_window, max_output_tokens=max_output_tokens
        )
        self._clock = clock
        self._hooks = hooks
        self._answered = 0
        self._calls_made = 0
        self.complete = RecordingCallable(self._complete, name="complete")

    @property
    def requests(self) -> list[ChatRequest]:
        """Every request it got, in order."""
        return [call.argument(0, "request") for call in self.complete.call_args_list]

    def get_info(self) -> ProviderInfo:
        """Describes itself, with the limits of its one model as defaults."""
        model = self._model
        limits = {"context_window": model.context_window, "max_output_tokens": model.max_output_tokens}
        return ProviderInfo(
            id=self.name, display_name=f"Mock provider: {self.name}", defaults={"model": model.id, **limits}
        )

    async def list_models(self) -> list[ModelInfo]:
        """Lists its one model."""
        return [self._model]

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        """The tool calls of ``response``, in order."""
        return list(response.tool_calls or ())

    async def _complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        item = _next_of(self.responses, self._answered)
        self._answered += 1
        given = item if is_failure(item) or not callable(item) else await settle(item(request))
        if isinstance(given, ChatResponse):
            return given
        reply = self._to_reply(given)
        if reply.delay_s:
            await self._wait(reply.delay_s)
        await self._stream(request, reply)
        if reply.error is not None:
            raise reply.error
        return self._to_response(reply)

    def _to_reply(self, given: object) -> ScriptedReply:
        if isinstance(given, ScriptedReply):
            return given
        if is_failure(given):
            return ScriptedReply(error=given)
        if isinstance(given, str):
            return ScriptedReply(given)
        raise TypeError(
            f"The script of provider '{self.name}' has {type(given).__name__} for answer {self._answered}, expected a "
            "text, a ScriptedReply, a ChatResponse, an exception, or a function of the request that gives one of these"
        )

    async def _wait(self, seconds: float) -> None:
        if self._clock is not None:
            await self._clock.sleep(seconds)
            return
        import asyncio

        await asyncio.sleep(seconds)

    async def _stream(self, request: ChatRequest, reply: ScriptedReply) -> None:
        if self._hooks is None or (request.metadata or {}).get("stream") is False:
            return
        request_id = current_request_id() or f"{self.name}-{self._answered}"
        blocks = [(kind, pieces) for kind, pieces in (("thinking", reply.thinking), ("text", reply.text)) if pieces]
        for index, (kind, pieces) in enumerate(blocks):
            is_broken_off = reply.error is not None and index == len(blocks) - 1
            await _stream_block(self._hooks, request_id, index, kind, _pieces_of(pieces), is_broken_off)
        if reply.error is not None and blocks:
            await self._hooks.emit(STREAM_ABORTED, {"request_id": request_id, "error": _told(reply.error)})

    def _to_response(self, reply: ScriptedReply) -> ChatResponse:
        thinking, text = "".join(reply.thinking), "".join(reply.text)
        calls = [call if isinstance(call, ToolCall) else self._new_call(*call) for call in reply.tool_calls]
        content: list[Any] = [ThinkingBlock(thinking=thinking)] if thinking else []
        if text or not calls:
            content.append(TextBlock(text=text))
        content += [ToolCallBlock(id=call.id, name=call.name, input=call.arguments) for call in calls]
        return ChatResponse(
            content=content,
            tool_calls=calls or None,
            usage=reply.usage or self.usage,
            finish_reason="tool_calls" if calls else "stop",
        )

    def _new_call(self, name: str, arguments: dict[str, Any]) -> ToolCall:
        self._calls_made += 1
        return ToolCall(id=f"call-{self._calls_made}", name=name, arguments=arguments)


Turn = Callable[[str, ContextManager, dict[str, Provider], dict[str, Tool], HookRegistry], Any]


class ScriptedOrchestrator:
    """An orchestrator that answers each prompt with the next of ``responses``, then with ``DONE``.

    A response that is an exception is raised; one that is a function, such as ``ask_provider``, is called with the five
    arguments of ``execute`` (and awaited) for its answer. Otherwise no provider is asked. Prompt and answer go into the
    context. Called by itself it emits ``session:start`` and ``session:end`` around a turn; inside a session, which
    tells these itself, ``prompt:submit`` and ``prompt:complete``.
    """

    def __init__(self, responses: Iterable[str | Failure | Turn]) -> None:
        self.responses: list[str | Failure | Turn] = _script_of(responses)
        self.call_count = 0
        """How many prompts it got."""

    async def execute(
        self,
        prompt: str,
        context: ContextManager,
        providers: dict[str, Provider],
        tools: dict[str, Tool],
        hooks: HookRegistry,
        **kwargs: Any,
    ) -> str:
        """Answers ``prompt`` from the script."""
        in_session = kwargs.get("coordinator") is not None
        item = _next_of(self.responses, self.call_count)
        self.call_count += 1
        await hooks.emit(PROMPT_SUBMIT if in_session else SESSION_START, {"prompt": prompt})
        await context.add_message({"role": "user", "content": prompt})
        if is_failure(item):
            raise item
        response = await settle(item(prompt, context, providers, tools, hooks)) if callable(item) else item
        await context.add_message({"role": "assistant", "content": response})
        if in_session:
            facts = {"response": response, "response_preview": response[:_PREVIEW_CHARS], "length": len(response)}
            await hooks.emit(PROMPT_COMPLETE, facts)
        else:
            await hooks.emit(SESSION_END, {"response": response})
        return response


async def ask_provider(
    prompt: str,
    context: ContextManager,
    providers: dict[str, Provider],
    tools: dict[str, Tool],
    hooks: HookRegistry,
) -> str:
    """A turn for a ``ScriptedOrchestrator``: the text with which the first provider answers the conversation.

    Tools are offered and not run. Raises ``RuntimeError`` when there is no provider.
    """
    name, provider = next(iter(providers.items()), (None, None))
    if provider is None:
        raise RuntimeError("ask_provider has no provider to ask; mount one, such as a MockProvider")
    messages = await context.get_messages_for_request(provider=provider)
    specs = [ToolSpec.from_tool(tool) for tool in tools.values()]
    request = ChatRequest(messages=[Message.model_validate(message) for message in messages], tools=specs or None)
    await hooks.emit(PROVIDER_REQUEST, {"provider": name, "messages": messages, "model": request.model})
    response = await provider.complete(request)
    await hooks.emit(PROVIDER_RESPONSE, {"provider": name, "response": response, "usage": response.usage})
    return "".join(block.text for block in response.content if isinstance(block, TextBlock))


async def _stream_block(
    hooks: HookRegistry, request_id: str, index: int, kind: str, pieces: Sequence[str], is_broken_off: bool
) -> None:
    block = {"request_id": request_id, "block_index": index, "block_type": kind}
    await hooks.emit(STREAM_BLOCK_START, block)
    for sequence, piece in enumerate(pieces):
        await hooks.emit(STREAM_BLOCK_DELTA, {**block, "sequence": sequence, "text": piece})
    if not is_broken_off:
        await hooks.emit(STREAM_BLOCK_END, block)


def _pieces_of(pieces: Pieces) -> Sequence[str]:
    return [pieces] if isinstance(pieces, str) else pieces


def _told(error: Failure) -> str:
    return describe_error(error) if isinstance(error, BaseException) else error.__name__


def _script_of(responses: Iterable[Any]) -> list[Any]:
    if isinstance(responses, str):
        raise TypeError(f"Responses must be a list, got the text {responses!r}; write [{responses!r}]")
    return list(responses)


def _next_of(script: Sequence[Any], position: int) -> Any:
    return script[position] if position < len(script) else AFTER_THE_SCRIPT
