"""Makes one answer: a tool call where a tool fits the request, else a text.

After a tool has answered, the model puts its result into words: one call for each thing that the user says, so that
a model that cannot judge results never calls for ever. A required tool choice is obeyed all the same.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from typing import Any

from amplifier_core.llm_errors import InvalidRequestError, InvalidToolCallError
from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    Degradation,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    TextBlock,
    ToolCallBlock,
    ToolSpec,
    Usage,
)
from amplifier_modkit.llm.blocks import calls_of
from amplifier_modkit.llm.names import ToolChoice, read_tool_choice, safe_name
from amplifier_modkit.llm.wire import LENGTH, STOP, TOOL_CALLS, Piece
from amplifier_module_provider_local.asking import Generated, ask
from amplifier_module_provider_local.choosing import Choice, choose
from amplifier_module_provider_local.config import LocalConfig
from amplifier_module_provider_local.conversation import Conversation, read
from amplifier_module_provider_local.engine import Engine
from amplifier_module_provider_local.filling import fill
from amplifier_module_provider_local.grounding import numbers_grammar
from amplifier_module_provider_local.prompts import answer_from

_GO_ON = "Go on."
# A sentence. Whatever comes after it is the same once more.
_MOST_RESULT_TOKENS = 96
_FREE = Decimal(0)

Tell = Callable[[Piece], Awaitable[None]]


class Answerer:
    """Answers one request on an engine; ``tell`` gets the pieces of the answer as they come."""

    def __init__(self, engine: Engine, config: LocalConfig, tell: Tell) -> None:
        self._engine = engine
        self._config = config
        self._tell = tell

    async def answer(self, request: ChatRequest) -> tuple[ChatResponse, list[Degradation]]:
        """The answer, and what was done otherwise than wished."""
        limits = {"max_system_chars": self._config.max_system_chars, "max_result_chars": self._config.max_result_chars}
        conversation = read(request, **limits)
        if not conversation.messages and not conversation.results:
            raise InvalidRequestError("The request says nothing: it needs a message with text")
        choice = read_tool_choice(request.tool_choice) or ToolChoice("auto")
        tools = _offered(request.tools or (), choice, conversation)
        response = await self._call(conversation, tools, is_required=choice.mode in ("required", "tool"))
        if response is None:
            response = await self._text(request, conversation)
        return response, [*conversation.degradations, *_unheard(request)]

    async def _call(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, is_required: bool
    ) -> ChatResponse | None:
        """The best call that can be made; ``None`` where a text is the better answer."""
        if not tools:
            return None
        choices = await choose(self._engine, tools, conversation.asked, is_required=is_required)
        for choice in choices:
            if choice.tool is None:
                return None
            arguments = await fill(self._engine, choice.tool, conversation.asked, self._config.seed)
            if arguments is not None:
                return await self._as_call(conversation, choice.tool.name, arguments, choices)
            if not is_required:
                return None
        raise InvalidToolCallError(
            f"No arguments were found that fit the schema of {' or '.join(tool.name for tool in tools)}",
            tool_name=tools[0].name,
        )

    async def _as_call(
        self, conversation: Conversation, name: str, arguments: dict[str, Any], choices: Sequence[Choice]
    ) -> ChatResponse:
        text = json.dumps(arguments, ensure_ascii=False)
        # Told when it is known to fit: what was tried before that is nobody's business.
        await self._tell(Piece("start", 0, "tool_use", name=name))
        await self._tell(Piece("delta", 0, "tool_use", text))
        await self._tell(Piece("end", 0, "tool_use"))
        block = ToolCallBlock(id=f"call_{uuid.uuid4().hex}", name=name, input=arguments)
        response = ChatResponse(content=[block], finish_reason=TOOL_CALLS)
        response.tool_calls = calls_of(response.content)
        # Contexts learn the size of a conversation from here, so it is that, and not what choosing took.
        sizes = await asyncio.to_thread(lambda: (self._engine.count(conversation.messages), self._engine.tokens(text)))
        response.usage = _usage(sizes[0], len(sizes[1]), None)
        scores = {choice.tool.name if choice.tool else "": round(choice.score, 2) for choice in choices}
        response.metadata = {"tool_scores": scores}
        return response

    async def _text(self, request: ChatRequest, conversation: Conversation) -> ChatResponse:
        has_begun = False

        async def on_text(piece: str) -> None:
            nonlocal has_begun
            if not has_begun:
                has_begun = True
                await self._tell(Piece("start", 0, "text"))
            await self._tell(Piece("delta", 0, "text", piece))

        generated = await ask(self._engine, self._body(request, conversation), on_text)
        if has_begun:
            await self._tell(Piece("end", 0, "text"))
        return _as_text(generated)

    def _body(self, request: ChatRequest, conversation: Conversation) -> dict[str, Any]:
        config = self._config
        temperature = config.temperature if request.temperature is None else request.temperature
        most = min(config.max_tokens, _MOST_RESULT_TOKENS) if conversation.results else config.max_tokens
        body: dict[str, Any] = {
            "messages": _prompt(conversation),
            "max_tokens": request.max_output_tokens or most,
            "temperature": temperature,
            # An answer that tells a result says again what was asked, and must not be kept from it.
            "repeat_penalty": 1.0 if conversation.results else config.repeat_penalty,
            "seed": config.seed,
        }
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.stop:
            body["stop"] = request.stop
        schema = _schema_of(request)
        grammar = (
            numbers_grammar(conversation.asked, conversation.results)
            if schema is None
            else self._engine.grammar(schema)
        )
        return body if grammar is None else {**body, "grammar": grammar}


def _offered(tools: Sequence[ToolSpec], choice: ToolChoice, conversation: Conversation) -> list[ToolSpec]:
    """The tools that may be called now. Raises ``InvalidRequestError`` for a choice that cannot be obeyed."""
    if choice.mode == "none" or (choice.mode == "auto" and conversation.results):
        return []
    if choice.mode == "auto":
        return list(tools)
    offered = [tool for tool in tools if choice.name in (None, safe_name(tool.name))]
    if not offered:
        wanted = f"the tool '{choice.name}'" if choice.name else "a tool"
        known = ", ".join(tool.name for tool in tools) or "none"
        raise InvalidRequestError(f"The tool choice wants {wanted}; the tools on offer: {known}")
    return offered


def _prompt(conversation: Conversation) -> list[dict[str, str]]:
    if conversation.results:
        return answer_from(conversation.asked, conversation.results)
    messages = conversation.messages
    return messages if messages[-1]["role"] == "user" else [*messages, {"role": "user", "content": _GO_ON}]


def _schema_of(request: ChatRequest) -> dict[str, Any] | None:
    wanted = request.response_format
    if isinstance(wanted, ResponseFormatJsonSchema):
        return wanted.json_schema
    return {"type": "object"} if isinstance(wanted, ResponseFormatJson) else None


def _unheard(request: ChatRequest) -> list[Degradation]:
    if not request.reasoning_effort:
        return []
    return [
        Degradation(
            requested=f"reasoning_effort {request.reasoning_effort}", actual="none", reason="the model does not reason"
        )
    ]


def _as_text(generated: Generated) -> ChatResponse:
    return ChatResponse(
        content=[TextBlock(text=generated.text)] if generated.text else [],
        finish_reason=LENGTH if generated.finish == "length" else STOP,
        usage=_usage(generated.prompt_tokens, generated.output_tokens, generated.cached_tokens),
    )


def _usage(tokens_in: int, tokens_out: int, cached: int | None) -> Usage:
    return Usage(
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        total_tokens=tokens_in + tokens_out,
        cache_read_tokens=cached,
        cost_usd=_FREE,
    )
