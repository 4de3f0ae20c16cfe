"""What a plan may say about an OpenAI-compatible server.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from typing import Any, Literal

from pydantic import Field

from amplifier_modkit.llm.settings import ProviderSettings
from amplifier_modkit.llm_chat.dialect import Dialect, ReasoningPolicy, SystemRole
from amplifier_modkit.llm_chat.models import Windows
from amplifier_modkit.llm_chat.options import Defaults
from amplifier_modkit.module_config import ModuleConfig

_CONTEXT_WINDOW = 32_768
_MAX_OUTPUT_TOKENS = 4_096


class QuirkSettings(ModuleConfig):
    """How the server departs from the common form; what is not given is found out where that is possible."""

    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] | None = None
    system_role: SystemRole | None = None
    system_anywhere: bool | None = None
    alternates: bool | None = None
    stream_usage: bool | None = None
    streams_tools: bool | None = None
    reasoning: ReasoningPolicy | None = None
    short_call_ids: bool | None = None
    think_tags: bool | None = None
    cumulative_text: bool | None = None
    left_out: frozenset[str] | None = Field(default=None, description="Keys of requests that the server refuses.")

    def to_dialect(self) -> Dialect:
        """The dialect to begin with."""
        return Dialect(**self.model_dump(exclude_none=True))


class ChatSettings(ProviderSettings):
    """The keys of every provider over HTTP, and those of this protocol."""

    api_key_env: str | None = Field(default=None, min_length=1, description="The variable that has the key.")
    headers: dict[str, str] = Field(default_factory=dict, description="Headers of every request.")
    context_window: int | None = Field(default=None, ge=1, description="Tokens of a request where nobody tells.")
    model_windows: dict[str, int] = Field(default_factory=dict, description="The same for single models.")
    quirks: QuirkSettings = Field(default_factory=QuirkSettings, description="How the server departs from others.")
    extra_body: dict[str, Any] = Field(default_factory=dict, description="What goes into every request as it is.")

    @property
    def windows(self) -> Windows:
        """How long requests and answers may be."""
        window = self.context_window or _CONTEXT_WINDOW
        return Windows(window, self.max_tokens or _MAX_OUTPUT_TOKENS, self.model_windows)

    @property
    def defaults(self) -> Defaults:
        """What holds for requests that do not say."""
        return Defaults(self.max_tokens, self.temperature)
