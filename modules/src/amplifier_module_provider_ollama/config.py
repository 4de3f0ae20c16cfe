"""The config of the module.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from pydantic import Field

from amplifier_modkit.llm.settings import ProviderSettings


class OllamaSettings(ProviderSettings):
    """The keys of every provider over HTTP, and those of Ollama."""

    host: str | None = Field(default=None, description="Where the server is; also OLLAMA_HOST.")
    default_model: str | None = Field(default="llama3.2:3b", min_length=1, description="The model to ask.")
    max_tokens: int | None = Field(default=4096, ge=1, description="Length of an answer at most.")
    temperature: float | None = Field(default=0.7, ge=0, description="How freely the model chooses its words.")
    timeout: float = Field(default=300.0, gt=0, description="Seconds of silence until a call is given up.")
    auto_pull: bool = Field(default=False, description="Whether a model that is missing is fetched.")
    pull_timeout: float = Field(default=3600.0, gt=0, description="Seconds that fetching a model may take.")
    num_ctx: int = Field(default=0, ge=0, description="Tokens of a request at most; 0 asks the server, else 8192.")
    enable_thinking: bool = Field(default=True, description="Whether models that can think do.")
    keep_alive: str | int | None = Field(default=None, description="How long the server keeps the model loaded.")
    debug: bool = Field(default=False, description="The same as raw.")
    raw_debug: bool = Field(default=False, description="The same as raw.")
