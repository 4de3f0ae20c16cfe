"""What a mount plan may say about ``loop-streaming``."""

from pydantic import Field

from amplifier_modkit.turns.settings import LoopSettings


class StreamingSettings(LoopSettings):
    """The settings of every loop, and those of streams, pacing and goals."""

    stream_delay: float = Field(default=0.0, ge=0, description="Seconds to wait after each piece of a stream.")
    min_delay_between_calls_ms: float = Field(default=0, ge=0, description="Least time between two model calls.")
    goal_stall_threshold: int = Field(default=3, ge=1, description="Equal verdicts in a row that are a stall.")
    goal_model_role: str = Field(default="fast", description="Kind of model to judge, told to the provider.")
    goal_provider_preferences: list[str] = Field(default=[], description="Patterns of providers or models to judge.")
    goal_busy_stall_window: int = Field(default=3, ge=2, description="Turns compared to notice a busy stall.")
    goal_busy_stall_min_overlap: float = Field(default=0.5, ge=0, le=1, description="Share of equal calls therein.")
    goal_summary_max_reasons: int = Field(default=20, ge=1, description="Reasons of verdicts that a goal keeps.")
    goal_clip_chars: int = Field(default=4000, ge=100, description="Characters of an answer that the judge reads.")
