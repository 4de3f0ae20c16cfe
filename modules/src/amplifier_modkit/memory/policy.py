"""The settings of a conversation's memory: as config keys, and as the policy that the memory goes by.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

Verbosity = Literal["minimal", "normal", "verbose"]

# Where only the threshold is configured, compaction still has to go down far enough below it.
_TARGET_BELOW_THRESHOLD = 0.6


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """When the view of a conversation is shortened, how far down, and what is left alone; shares are of the budget."""

    max_tokens: int = 200_000
    caps_provider: bool = False
    """Whether ``max_tokens`` is a limit also for providers that could take more."""
    threshold: float = 0.92
    target: float = 0.50
    protected_recent: float = 0.30
    protected_tool_results: int = 5
    truncate_chars: int = 250
    notice_enabled: bool = True
    notice_token_reserve: int = 800
    notice_verbosity: Verbosity = "normal"
    notice_min_level: int = 1
    output_reserve_fraction: float = 1.0
    max_tool_result_bytes: int = 131_072
    """The most that is kept of one tool result; 0 keeps everything."""
    calibrates: bool = True
    """Whether token counts follow what providers report."""
    summarizes: bool = False
    summary_max_tokens: int = 1_500
    auto_compact: bool = True


class ContextConfig(BaseModel):
    """The config keys that all our contexts share."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_tokens: int = Field(default=200_000, gt=0)
    compact_threshold: float = Field(
        default=0.92, gt=0, le=1, validation_alias=AliasChoices("compact_threshold", "compaction_threshold")
    )
    target_usage: float = Field(default=0.50, gt=0, lt=1)
    protected_recent: float = Field(default=0.30, ge=0, lt=1)
    protected_tool_results: int = Field(default=5, ge=0)
    truncate_chars: int = Field(default=250, ge=0)
    compaction_notice_enabled: bool = True
    compaction_notice_token_reserve: int = Field(default=800, ge=0)
    compaction_notice_verbosity: Verbosity = "normal"
    compaction_notice_min_level: int = Field(default=1, ge=1)
    output_reserve_fraction: float = Field(default=1.0, ge=0, le=1)
    max_tool_result_bytes: int = Field(default=131_072, ge=0)
    token_meter: Literal["actual", "estimate"] = "actual"
    strategy: Literal["truncate", "summarize"] = "truncate"
    summary_max_tokens: int = Field(default=1_500, gt=0)
    auto_compact: bool = True

    @model_validator(mode="after")
    def _require_room_between(self) -> Self:
        if "target_usage" in self.model_fields_set and self.target_usage >= self.compact_threshold:
            raise ValueError("target_usage must be below compact_threshold, or compaction would free nothing")
        return self

    @classmethod
    def read(cls, config: Mapping[str, Any] | None) -> Self:
        """The settings in a module's config; keys that are unknown here were told by the kernel and are left out."""
        known = {"compaction_threshold", *cls.model_fields}
        return cls.model_validate({key: value for key, value in (config or {}).items() if key in known})

    def policy(self) -> CompactionPolicy:
        """The settings as the memory uses them."""
        return CompactionPolicy(
            max_tokens=self.max_tokens,
            caps_provider="max_tokens" in self.model_fields_set,
            threshold=self.compact_threshold,
            target=self._target(),
            protected_recent=self.protected_recent,
            protected_tool_results=self.protected_tool_results,
            truncate_chars=self.truncate_chars,
            notice_enabled=self.compaction_notice_enabled,
            notice_token_reserve=self.compaction_notice_token_reserve,
            notice_verbosity=self.compaction_notice_verbosity,
            notice_min_level=self.compaction_notice_min_level,
            output_reserve_fraction=self.output_reserve_fraction,
            max_tool_result_bytes=self.max_tool_result_bytes,
            calibrates=self.token_meter == "actual",
            summarizes=self.strategy == "summarize",
            summary_max_tokens=self.summary_max_tokens,
            auto_compact=self.auto_compact,
        )

    def _target(self) -> float:
        if "target_usage" in self.model_fields_set:
            return self.target_usage
        return min(self.target_usage, self.compact_threshold * _TARGET_BELOW_THRESHOLD)
