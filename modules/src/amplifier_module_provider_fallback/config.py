"""The config of the module: whom to ask in which order, and which failures lead on to the next.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from amplifier_modkit.module_config import ModuleConfig

Condition = Literal["unavailable", "rate_limit", "context_length", "authentication", "content_filter", "not_found"]
USUAL_CONDITIONS: tuple[Condition, ...] = ("unavailable", "rate_limit")


class Choice(BaseModel):
    """One provider to ask, by the name it is mounted under."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: str = Field(min_length=1)
    model: str | None = None
    """The model to ask for; without it the first choice is asked for what the request says, and others for theirs."""
    on: tuple[Condition, ...] | None = None
    """Which failures of this provider lead on; without it, those of the whole list."""
    cooldown_seconds: float | None = Field(default=None, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _read_name(cls, value: Any) -> Any:
        """A name alone is a choice; ``name/model`` has the model as well."""
        if not isinstance(value, str):
            return value
        name, _, model = value.partition("/")
        return {"provider": name, "model": model or None}


class FallbackConfig(ModuleConfig):
    """Every key with its default."""

    providers: tuple[Choice, ...] = Field(min_length=1)
    on: tuple[Condition, ...] = USUAL_CONDITIONS
    cooldown_seconds: float = Field(default=60.0, ge=0)
    """How long a provider that failed is passed over; longer if the provider itself asks for it."""
    priority: float = 0
    """Below the 100 of others, so that loops ask this one first."""
