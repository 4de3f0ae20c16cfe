"""Fakes that answer from a script: a provider and an orchestrator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from amplifier_core._awaiting import settle
from amplifier_core._recording import Failure, RecordingCallable, is_failure
from amplifier_core.events import PROMPT_COMPLETE, PROMPT_SUBMIT, SESSION_END, SESSION_START
from amplifier_core.hooks import HookRegistry
from amplifier_core.interfaces import ContextManager, Provider, Tool
from amplifier_core.message_models import ChatRequest, ChatResponse, TextBlock, ToolCall, Usage
from amplifier_core.models import ModelInfo, ProviderInfo

AFTER_THE_SCRIPT = "DONE"
"""What scripted fakes answer when their script is at its end."""

_PREVIEW_CHARS = 200

Reply = str | ChatResponse | Failure
ScriptItem = Reply | Callable[[ChatRequest], Any]


class MockProvider:
    """A provider that answers from a script; ``complete`` is a recording whose answers a test may change.

    An item of ``responses`` is a text, a ``ChatResponse`` (given back as it is), an exception to raise, or a function
    of the request (sync or async) that gives one of these. After the last one every answer is ``DONE``. Answers made
    of texts carry ``usage``.
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
    ) -> None:
        self.name = name
        self.responses: list[ScriptItem] = _script_of(responses)
        self.usage = usage or Usage(input_tokens=10, output_tokens=20, total_tokens=30)
        self._model = ModelInfo(
            id=model, display_name=model, context_window=context_window, max_output_tokens=max_output_tokens
        )
        self._answered = 0
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
        reply = item if is_failure(item) or not callable(item) else await settle(item(request))
        return self._to_response(cast("Reply", reply))

    def _to_response(self, reply: Reply) -> ChatResponse:
        if is_failure(reply):
            raise reply
        if isinstance(reply, ChatResponse):
            return reply
        if not isinstance(reply, str):
            raise TypeError(
                f"The script of provider '{self.name}' has {type(reply).__name__} for answer {self._answered}, "
                "expected a text, a ChatResponse, an exception, or a function of the request that gives one of these"
            )
        return ChatResponse(content=[TextBlock(text=reply)], usage=self.usage, finish_reason="stop")


class ScriptedOrchestrator:
    """An orchestrator that answers each prompt with the next of ``responses``, then with ``DONE``; asks no provider.

    A response that is an exception is raised. Prompt and answer go into the context. Called by itself it emits
    ``session:start`` and ``session:end`` around a turn; inside a session, which tells these itself, ``prompt:submit``
    and ``prompt:complete``.
    """

    def __init__(self, responses: Iterable[str | Failure]) -> None:
        self.responses: list[str | Failure] = _script_of(responses)
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
        response = _next_of(self.responses, self.call_count)
        self.call_count += 1
        await hooks.emit(PROMPT_SUBMIT if in_session else SESSION_START, {"prompt": prompt})
        await context.add_message({"role": "user", "content": prompt})
        if is_failure(response):
            raise response
        await context.add_message({"role": "assistant", "content": response})
        if in_session:
            facts = {"response": response, "response_preview": response[:_PREVIEW_CHARS], "length": len(response)}
            await hooks.emit(PROMPT_COMPLETE, facts)
        else:
            await hooks.emit(SESSION_END, {"response": response})
        return response


def _script_of(responses: Iterable[Any]) -> list[Any]:
    if isinstance(responses, str):
        raise TypeError(f"Responses must be a list, got the text {responses!r}; write [{responses!r}]")
    return list(responses)


def _next_of(script: Sequence[Any], position: int) -> Any:
    return script[position] if position < len(script) else AFTER_THE_SCRIPT
