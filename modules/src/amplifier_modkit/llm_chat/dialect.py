"""How one server departs from the common form of chat completions: switches, each with what most servers want."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SystemRole = Literal["system", "developer", "user"]
ReasoningPolicy = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server wants; a config gives some of it, and a server's own complaints teach the rest."""

    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system_role: SystemRole = "system"
    """Under which role the instructions go that stand at the beginning; ``user`` for models that know no other."""
    system_anywhere: bool = False
    """Whether instructions may come later too; else these are wrapped into a user message where they stand."""
    alternates: bool = False
    """Whether user and assistant must take turns, so that neighbours of one role are sent as one message."""
    stream_usage: bool = True
    """Whether a stream is asked to count its tokens."""
    streams_tools: bool = True
    """Whether an answer may come in pieces where there are tools."""
    reasoning: ReasoningPolicy = "auto"
    """Which reasoning goes back where it came from: of messages that call tools, all of it, or none."""
    short_call_ids: bool = False
    """Whether ids of tool calls must be nine letters and digits."""
    think_tags: bool = True
    """Whether an answer that begins with ``<think>`` is read as reasoning until the tag ends."""
    cumulative_text: bool = False
    """Whether each piece of a stream repeats the text from its beginning."""
    left_out: frozenset[str] = frozenset()
    """Keys of the request that the server does not take."""
