"""Context: payloads of the events about the conversation's memory."""

from typing import Annotated, Any, NotRequired

from pydantic import Field

from amplifier_core.event_payloads.base import EventDefaults


class ContextPreCompact(EventDefaults):
    """Emitted by the context manager: the conversation is too long for the next request and will be shortened.

    Compaction makes a shorter view for one request; the stored history stays whole.
    """

    message_count: Annotated[int, Field(description="Number of messages before.")]
    token_count: Annotated[int, Field(description="Number of tokens before, as the context manager counts them.")]
    messages: NotRequired[
        Annotated[list[Any], Field(description="The messages before: the stored objects themselves.")]
    ]


class ContextPostCompact(EventDefaults):
    """Emitted by the context manager: the shorter view for the next request is made."""

    message_count: Annotated[int, Field(description="Number of messages in the view.")]
    token_count: Annotated[int, Field(description="Number of tokens in the view, as the context manager counts them.")]


class ContextCompaction(EventDefaults):
    """Emitted by the context manager: what a compaction did, in numbers.

    It comes after the view is made, beside `context:post_compact`.
    """

    before_tokens: Annotated[int, Field(description="Number of tokens before.")]
    after_tokens: Annotated[int, Field(description="Number of tokens in the view.")]
    before_messages: Annotated[int, Field(description="Number of messages before.")]
    after_messages: Annotated[int, Field(description="Number of messages in the view.")]
    messages_removed: NotRequired[Annotated[int, Field(description="Number of messages left out of the view.")]]
    messages_truncated: NotRequired[Annotated[int, Field(description="Number of messages cut short.")]]
    user_messages_stubbed: NotRequired[
        Annotated[int, Field(description="Number of user messages replaced by a short stand-in.")]
    ]
    system_messages_preserved: NotRequired[Annotated[int, Field(description="Number of system messages kept.")]]
    strategy_level: NotRequired[
        Annotated[int, Field(description="The last step of the strategy that was needed; a higher one cuts deeper.")]
    ]
    budget: NotRequired[Annotated[int, Field(description="Number of tokens that the request may have.")]]
    target_tokens: NotRequired[Annotated[int, Field(description="Number of tokens that the compaction aimed at.")]]
    protected_recent: NotRequired[
        Annotated[float, Field(description="Share of the budget at the end of the conversation that was left alone.")]
    ]
    protected_tool_results: NotRequired[
        Annotated[int, Field(description="Number of latest tool results that were left alone.")]
    ]


class ContextInclude(EventDefaults):
    """Emitted by the context manager or the app: a file or another text has been put into the context."""

    source: Annotated[str, Field(description="Where the text comes from, for example a path.")]
    bytes: NotRequired[Annotated[int, Field(description="Length of the text in bytes.")]]
    token_count: NotRequired[Annotated[int, Field(description="Length of the text in tokens.")]]
