"""The config of the module: what every provider understands, and what is Gemini's own.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from typing import Literal

from pydantic import Field

from amplifier_modkit.llm.settings import ProviderSettings

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Threshold = Literal["OFF", "BLOCK_NONE", "BLOCK_ONLY_HIGH", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_LOW_AND_ABOVE"]


class GeminiConfig(ProviderSettings):
    """Every key with its default."""

    effort: Effort | None = Field(default=None, description="How hard to think, unless a request says.")
    thinking_budget_tokens: int | None = Field(
        default=None, ge=-1, description="Tokens to think for, with models that have a budget; -1 leaves it to them."
    )
    include_thoughts: bool = Field(default=True, description="Whether summaries of the thoughts can be read.")
    safety_threshold: Threshold | None = Field(default=None, description="What is blocked; the service's default.")
    enable_web_search: bool = Field(default=False, description="Whether the service may search the web by itself.")
    service_tier: Literal["flex", "standard", "priority"] | None = Field(
        default=None, description="How fast and at which price the service answers."
    )
