"""Model calls: payloads of the events between orchestrator, provider and model.

`provider:request` and `provider:response` are the orchestrator's view of a call, `llm:*` the provider's own.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, with_config
from typing_extensions import TypedDict

from amplifier_core.event_payloads.base import OPEN, CorrelatedDefaults, DurationMs, ErrorDetails, EventDefaults

ProviderName = Annotated[str, Field(description="Name that the provider is mounted under.")]
ModelName = Annotated[str | None, Field(description="Id of the model, or nothing if the provider chooses.")]
Round = Annotated[int, Field(description="Number of the model call within the turn.")]
Raw = Annotated[Any, Field(description="What went over the wire; present only if the provider's config asks for it.")]
BlockIndex = Annotated[int, Field(description="Place of the block in the answer, counted from 0.")]
BlockType = Annotated[str, Field(description="Kind of the block: `text`, `thinking`, `tool_call` and so on.")]
Sequence = Annotated[int, Field(description="Number of the piece within its block.")]


@with_config(OPEN)
class TokenUsage(TypedDict):
    """What one model call consumed."""

    input_tokens: Annotated[int, Field(description="Tokens sent, those read from the cache included.")]
    output_tokens: Annotated[int, Field(description="Tokens received.")]
    total_tokens: NotRequired[Annotated[int, Field(description="Tokens sent and received.")]]
    reasoning_tokens: NotRequired[Annotated[int | None, Field(description="Tokens that the model spent on thinking.")]]
    cache_read_tokens: NotRequired[Annotated[int | None, Field(description="Tokens read from the provider's cache.")]]
    cache_write_tokens: NotRequired[Annotated[int | None, Field(description="Tokens written to the provider's cache.")]]
    cost_usd: NotRequired[
        Annotated[
            str | None,
            Field(description="Price of the call in US dollars, as decimal text so that nothing is rounded."),
        ]
    ]


class ProviderResolve(EventDefaults):
    """Emitted by the orchestrator: it has chosen the provider for the coming call."""

    provider: ProviderName
    model: NotRequired[ModelName]
    candidates: NotRequired[Annotated[list[str], Field(description="Names of the providers it chose from.")]]
    reason: NotRequired[Annotated[str, Field(description="Why it chose this one.")]]


class ProviderRequest(EventDefaults):
    """Emitted by the orchestrator: it is about to call a provider.

    Text that a handler injects as ephemeral goes into this one call only.
    """

    provider: ProviderName
    messages: Annotated[list[Any], Field(description="The messages to be sent: the very objects.")]
    model: ModelName
    iteration: NotRequired[Round]


class ProviderResponse(EventDefaults):
    """Emitted by the orchestrator: a provider has answered."""

    provider: ProviderName
    response: Annotated[Any, Field(description="The answer, usually a `ChatResponse`: the very object.")]
    usage: Annotated[Any, Field(description="What the call consumed, usually a `Usage` object; nothing if unknown.")]
    tool_calls: NotRequired[Annotated[bool, Field(description="Whether the answer asks for tools.")]]
    iteration: NotRequired[Round]
    duration_ms: NotRequired[DurationMs]


class ProviderRetry(CorrelatedDefaults):
    """Emitted by the provider: a call failed and will be tried again."""

    provider: ProviderName
    model: ModelName
    attempt: Annotated[int, Field(description="Number of the attempt that failed, counted from 1.")]
    max_retries: Annotated[int, Field(description="How many further attempts are allowed in all.")]
    delay: Annotated[float, Field(description="Seconds to wait before the next attempt.")]
    retry_after: Annotated[float | None, Field(description="Seconds that the service asked to wait, or nothing.")]
    error_type: Annotated[str, Field(description="Class name of the error.")]
    error_message: Annotated[str, Field(description="Text of the error.")]


class ProviderError(CorrelatedDefaults):
    """Emitted by the orchestrator or the provider: a call failed for good."""

    provider: ProviderName
    error: Annotated[ErrorDetails, Field(description="What went wrong.")]
    model: NotRequired[ModelName]
    status_code: NotRequired[
        Annotated[int | None, Field(description="HTTP status of the answer, where there was one.")]
    ]
    retryable: NotRequired[Annotated[bool, Field(description="Whether the same request may succeed later.")]]


class ProviderThrottle(CorrelatedDefaults):
    """Emitted by the provider: it waits before a call so as not to run into a rate limit."""

    provider: ProviderName
    delay: Annotated[float, Field(description="Seconds that it waits.")]
    model: NotRequired[ModelName]
    reason: NotRequired[Annotated[str, Field(description="Which limit is near.")]]


class ProviderToolSequenceRepaired(EventDefaults):
    """Emitted by the provider: the history had tool calls without results, and it filled the gaps.

    The repair is in the request only; the stored history stays as it is.
    """

    provider: ProviderName
    repair_count: Annotated[int, Field(description="Number of results made up.")]
    repairs: Annotated[list[Any], Field(description="One entry per repair, in the provider's own form.")]


class LlmRequest(CorrelatedDefaults):
    """Emitted by the provider: a request is about to leave for the model."""

    provider: ProviderName
    model: ModelName
    message_count: Annotated[int, Field(description="Number of messages in the request.")]
    has_system: NotRequired[Annotated[bool, Field(description="Whether there is a system prompt.")]]
    thinking_enabled: NotRequired[Annotated[bool, Field(description="Whether the model is asked to think first.")]]
    thinking_budget: NotRequired[
        Annotated[int | None, Field(description="Number of tokens the model may think for, where there is a limit.")]
    ]
    raw: NotRequired[Raw]


class LlmResponse(CorrelatedDefaults):
    """Emitted by the provider: the call to the model is over, well or badly."""

    provider: ProviderName
    model: ModelName
    status: Annotated[Literal["ok", "error", "timeout"], Field(description="How the call ended.")]
    duration_ms: DurationMs
    usage: NotRequired[
        Annotated[TokenUsage | None, Field(description="What the call consumed, where the service says so.")]
    ]
    rate_limits: NotRequired[
        Annotated[Any, Field(description="What the service said about its limits, in the provider's own form.")]
    ]
    error: NotRequired[Annotated[ErrorDetails, Field(description="What went wrong, unless the status is `ok`.")]]
    raw: NotRequired[Raw]


class ContentBlockStart(EventDefaults):
    """Emitted by the orchestrator: a block of the answer begins."""

    block_type: BlockType
    block_index: BlockIndex
    total_blocks: NotRequired[Annotated[int, Field(description="Number of blocks of the answer, where it is known.")]]


class ContentBlockDelta(EventDefaults):
    """Emitted by the provider or the orchestrator: a piece of a block has arrived."""

    block_index: BlockIndex
    text: Annotated[str, Field(description="The piece.")]
    block_type: NotRequired[BlockType]
    sequence: NotRequired[Sequence]


class ContentBlockEnd(ContentBlockStart):
    """Emitted by the orchestrator: a block of the answer is complete."""

    block: Annotated[Any, Field(description="The whole block: the very object of the answer or its dict.")]
    usage: NotRequired[Annotated[Any, Field(description="What the call consumed, where it is known.")]]


class ThinkingDelta(EventDefaults):
    """Emitted by the provider or the orchestrator: a piece of the model's thinking has arrived."""

    text: Annotated[str, Field(description="The piece.")]
    block_index: NotRequired[BlockIndex]
    sequence: NotRequired[Sequence]


class ThinkingFinal(EventDefaults):
    """Emitted by the provider or the orchestrator: the model has stopped thinking."""

    text: Annotated[str, Field(description="The whole thinking text.")]
    block_index: NotRequired[BlockIndex]
