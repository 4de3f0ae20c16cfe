"""The settings that every provider over HTTP understands; a vendor's config class adds its own.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from pydantic import ConfigDict, Field, SecretStr

from amplifier_core.utils.retry import RetryConfig
from amplifier_modkit.module_config import ModuleConfig


class ProviderSettings(ModuleConfig):
    """What a mount plan may say about a provider; what is not given is the vendor's default."""

    # What is wrong with a key may be told, and the key may not.
    model_config = ConfigDict(hide_input_in_errors=True)

    api_key: SecretStr | None = Field(default=None, description="The key; else it comes from the environment.")
    base_url: str | None = Field(default=None, description="Where the service is, if not at the vendor's own place.")
    default_model: str | None = Field(default=None, min_length=1, description="The model unless a request names one.")
    max_tokens: int | None = Field(default=None, ge=1, description="Length of an answer at most; the model's limit.")
    temperature: float | None = Field(default=None, ge=0, description="How freely the model chooses its words.")
    timeout: float = Field(default=600.0, gt=0, description="Seconds of silence until a call is given up.")
    priority: int = Field(default=100, description="Providers with lower numbers are asked first.")
    raw: bool = Field(default=False, description="Whether events carry what goes over the wire.")
    use_streaming: bool = Field(default=True, description="Whether answers are told while they come.")
    filtered: bool = Field(default=True, description="Whether only current models are listed.")
    max_retries: int = Field(default=5, ge=0, description="Further attempts after an error that may pass.")
    min_retry_delay: float = Field(default=1.0, ge=0, description="Seconds before the first further attempt.")
    max_retry_delay: float = Field(default=60.0, ge=0, description="Seconds to wait for a further attempt at most.")
    retry_jitter: bool = Field(default=True, description="Whether these delays vary by chance.")
    max_concurrent_requests: int = Field(default=5, ge=0, description="Calls at the same time; 0 is no limit.")
    throttle_threshold: float = Field(default=0.02, ge=0, le=1, description="Share of a rate limit that is kept free.")
    throttle_delay: float = Field(default=1.0, ge=0, description="Seconds to wait at least when a limit is near.")

    @property
    def retries(self) -> RetryConfig:
        """How the kernel is to try again."""
        return RetryConfig(self.max_retries, self.min_retry_delay, self.max_retry_delay, jitter=self.retry_jitter)
