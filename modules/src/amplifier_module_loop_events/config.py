"""What a mount plan may say about ``loop-events``."""

from pydantic import Field

from amplifier_modkit.turns.settings import LoopSettings


class EventsSettings(LoopSettings):
    """The settings of every loop; tools run one by one unless told otherwise, as schedulers count on it."""

    max_parallel_tools: int = Field(default=1, ge=0, description="Tool calls that run at the same time; 0 is no limit.")
