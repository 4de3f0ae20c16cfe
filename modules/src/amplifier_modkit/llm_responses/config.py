"""The config of a provider of the Responses API, the same for every service that offers it.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from typing import Literal

from pydantic import Field

from amplifier_modkit.llm.settings import ProviderSettings
from amplifier_modkit.llm_responses.wishes import Wishes

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class ResponsesConfig(ProviderSettings):
    """What a mount plan may say beside what every provider understands."""

    reasoning: Effort | None = Field(default=None, description="How hard the model thinks, unless a request says so.")
    reasoning_summary: Literal["auto", "concise", "detailed"] | None = Field(
        default="detailed", description="What is shown of the reasoning."
    )
    verbosity: Literal["low", "medium", "high"] | None = Field(default=None, description="How much the model says.")
    truncation: Literal["auto", "disabled"] | None = Field(
        default=None, description="Whether the service may leave out the beginning of a conversation that is too long."
    )
    enable_state: bool = Field(default=False, description="Whether the service stores the answers.")
    enable_response_chaining: Literal["auto"] | bool = Field(
        default="auto",
        description="Whether requests go on from stored answers instead of sending the history; auto: if it stores.",
    )
    prompt_cache_key: str = Field(default="", description="What requests with a common beginning have in common.")
    prompt_cache_retention: Literal["", "in_memory", "24h", "30m", "12h"] = Field(
        default="", description="How long the service keeps a prompt in its cache; its own choice if empty."
    )
    poll_interval: float = Field(default=5.0, gt=0, description="Seconds between looks at work in the background.")
    background_timeout: float = Field(default=1800.0, gt=0, description="Seconds that such work may take.")
    enable_long_context: bool = Field(
        default=False, description="Whether to use a window beyond which every token costs more."
    )

    @property
    def chains(self) -> bool:
        """Whether requests go on from stored answers."""
        return self.enable_state if self.enable_response_chaining == "auto" else self.enable_response_chaining

    @property
    def stores(self) -> bool:
        """Whether the service is to keep the answers; there is nothing to go on from if it does not."""
        return self.enable_state or self.chains

    @property
    def wishes(self) -> Wishes:
        """What every request asks for."""
        return Wishes(
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            reasoning=self.reasoning,
            reasoning_summary=self.reasoning_summary,
            verbosity=self.verbosity,
            truncation=self.truncation,
            prompt_cache_key=self.prompt_cache_key or None,
            prompt_cache_retention=self.prompt_cache_retention or None,
        )
