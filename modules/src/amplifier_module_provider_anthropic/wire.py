"""The Messages API as a wire: requests and answers as data, with cache marks that keep the beginning the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_core.models import ModelInfo
from amplifier_modkit.llm.wire import StreamReader, WireCall
from amplifier_module_provider_anthropic.config import AnthropicConfig
from amplifier_module_provider_anthropic.incoming import read_answer, read_models
from amplifier_module_provider_anthropic.models import traits_of
from amplifier_module_provider_anthropic.options import VERSION, Options
from amplifier_module_provider_anthropic.outgoing import Block, Turn, to_conversation, to_tools
from amplifier_module_provider_anthropic.streams import MessageStream

PATH = "/v1/messages"
COUNT_PATH = "/v1/messages/count_tokens"
_CONTINUES = "continues_answer"
_WEB_SEARCH: Block = {"type": "web_search_20250305", "name": "web_search"}
_COUNTED = ("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config")
_MARK = "cache_control"
_MOST_MARKS = 4


class AnthropicWire:
    """How Claude is asked and how it answers, under one config."""

    def __init__(self, config: AnthropicConfig | None = None) -> None:
        self._config = config or AnthropicConfig()

    def to_call(self, request: ChatRequest, model: str, *, stream: bool) -> WireCall:
        """The request as the service reads it."""
        options = Options(request, model, self._config)
        is_continued = bool((request.model_extra or {}).get(_CONTINUES))
        may_end_with_answer = is_continued or traits_of(model).takes_sampling
        system, turns = to_conversation(request.messages, may_end_with_answer=may_end_with_answer)
        tools = to_tools(request.tools or ())
        if self._config.enable_web_search:
            tools.append(_WEB_SEARCH)
        body: dict[str, Any] = {
            "model": model,
            **({"system": system} if system else {}),
            **({"tools": tools} if tools else {}),
            "messages": [{"role": turn.role, "content": turn.content} for turn in turns],
            **options.body,
            **({"stream": True} if stream else {}),
        }
        if self._config.enable_prompt_caching:
            self._mark(system, tools, turns)
        betas = {"anthropic-beta": ",".join(dict.fromkeys(options.betas))} if options.betas else {}
        headers = {"anthropic-version": options.version, **betas}
        return WireCall(PATH, body, headers, options.degradations, options.facts)

    def to_count(self, request: ChatRequest, model: str) -> WireCall:
        """The question how many tokens a request has."""
        call = self.to_call(request, model, stream=False)
        body = {key: call.body[key] for key in _COUNTED if key in call.body}
        return WireCall(COUNT_PATH, body, {**call.headers, "anthropic-version": VERSION})

    def read_answer(self, body: Mapping[str, Any]) -> ChatResponse:
        """The response in a whole message."""
        return read_answer(body)

    def open_stream(self) -> StreamReader:
        """A reader for one streamed message."""
        return MessageStream()

    def read_models(self, body: Mapping[str, Any]) -> list[ModelInfo]:
        """The models that the service lists."""
        return read_models(body, only_latest=self._config.filtered)

    def _mark(self, system: list[Block], tools: list[Block], turns: Sequence[Turn]) -> None:
        """Marks where the cache is to be written, and where the request before wrote it.

        The service looks back only twenty blocks from a mark: with many tool results the mark of the request before
        would be out of sight, and so it is set again.
        """
        said = [(turn.content, turn.stable) for turn in turns if turn.role == "user" and turn.stable]
        ends = [*reversed(said[-2:]), (system, len(system)), (tools, len(tools))]
        everything = (system, tools, *(turn.content for turn in turns))
        free = _MOST_MARKS - sum(_MARK in block for blocks in everything for block in blocks)
        ttl = {} if self._config.cache_ttl == "5m" else {"ttl": self._config.cache_ttl}
        for blocks, count in ends:
            if free > 0 and count and _MARK not in blocks[count - 1]:
                # A copy: the block may be one that a message carries.
                blocks[count - 1] = {**blocks[count - 1], _MARK: {"type": "ephemeral", **ttl}}
                free -= 1


def continuing(request: ChatRequest, messages: Sequence[Any]) -> ChatRequest:
    """The request for the rest of an answer that the service paused; ``messages`` end with what came."""
    return request.model_copy(update={"messages": list(messages), _CONTINUES: True})
