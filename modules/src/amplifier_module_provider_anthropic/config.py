"""The config of the module: what every provider understands, and what is Claude's own.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from typing import Literal

from pydantic import Field

from amplifier_modkit.llm.settings import ProviderSettings

Effort = Literal["low", "medium", "high", "xhigh", "max"]


class AnthropicConfig(ProviderSettings):
    """Every key with its default."""

    enable_prompt_caching: bool = Field(default=True, description="Whether the beginning of requests is cached.")
    cache_ttl: Literal["5m", "1h"] = Field(default="5m", description="How long the cache keeps it.")
    enable_1m_context: bool = Field(default=True, description="Whether models that can have a long window get it.")
    beta_headers: str | list[str] = Field(default_factory=list[str], description="Features to be switched on by name.")
    effort: Effort | None = Field(default=None, description="How hard to think, unless a request says.")
    thinking_type: Literal["adaptive", "enabled", "between_tools", "disabled"] | None = Field(
        default=None, description="How to think; as the model does best without it."
    )
    thinking_budget_tokens: int | None = Field(default=None, ge=1024, description="Tokens to think for, where fixed.")
    thinking_display: Literal["summarized", "omitted"] = Field(
        default="summarized", description="Whether thinking can be read."
    )
    enable_web_search: bool = Field(default=False, description="Whether the service may search the web by itself.")
    overloaded_delay_multiplier: float = Field(
        default=10.0, gt=0, description="How much longer to wait when the service is overloaded."
    )
    fallback_on_overload: bool = Field(default=False, description="Whether a smaller model answers then.")
    fallback_retry_count: int = Field(default=1, ge=0, description="Further attempts before it does.")
    fallback_cooldown_seconds: float = Field(default=1800.0, ge=0, description="How long it goes on to answer.")
    fallback_sonnet_model: str = Field(default="claude-sonnet-5-5", description="What stands in for larger models.")
    fallback_haiku_model: str = Field(default="claude-haiku-5-5", description="What stands in for that one.")
    speed: Literal["standard", "fast"] | None = Field(default=None, description="The speed mode, where there is one.")
    task_budget_tokens: int | None = Field(default=None, ge=1, description="Tokens that a whole task should take.")

    @property
    def betas(self) -> list[str]:
        """The names of the features, however they were given."""
        given = self.beta_headers.split(",") if isinstance(self.beta_headers, str) else self.beta_headers
        return [name.strip() for name in given if name.strip()]
