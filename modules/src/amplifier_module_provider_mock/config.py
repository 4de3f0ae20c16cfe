"""The config of the module: where its script comes from, what it says of itself, how it streams.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from amplifier_module_provider_mock.items import UsageItem


class MockConfig(BaseModel):
    """Every key with its default; the script is one of ``responses``, ``script`` and ``scenario``."""

    model_config = ConfigDict(extra="forbid")

    responses: list[Any] | None = None
    script: list[Any] | Callable[..., Any] | None = None
    scenario: Path | None = None
    at_end: Literal["repeat", "last", "error"] | None = None

    name: str = Field(default="mock", min_length=1)
    priority: int = 100
    model: str | None = None
    default_model: str | None = None
    """The same as ``model``, as other providers call it; goes before it."""
    context_window: int = Field(default=200_000, gt=0)
    max_output_tokens: int = Field(default=8_192, gt=0)
    usage: UsageItem = UsageItem()

    stream: bool = True
    chunk_chars: int = Field(default=16, gt=0)
    delay_s: float = Field(default=0.0, ge=0, allow_inf_nan=False)

    debug: bool = False
    raw: bool = False
    raw_debug: bool = False

    @model_validator(mode="after")
    def _require_one_script(self) -> Self:
        given = [key for key in ("responses", "script", "scenario") if getattr(self, key) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are scripts, and only one can be played; leave the others out")
        return self
