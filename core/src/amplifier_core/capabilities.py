"""Names of well-known *model* capabilities, as ``ModelInfo.capabilities`` and ``ProviderInfo.capabilities`` list them.

They have nothing to do with the capabilities that modules register on the coordinator.
"""

from __future__ import annotations

TOOLS = "tools"
STREAMING = "streaming"
THINKING = "thinking"
VISION = "vision"
JSON_MODE = "json_mode"
FAST = "fast"
CODE_EXECUTION = "code_execution"
WEB_SEARCH = "web_search"
DEEP_RESEARCH = "deep_research"
LOCAL = "local"
AUDIO = "audio"
IMAGE_GENERATION = "image_generation"
COMPUTER_USE = "computer_use"
EMBEDDINGS = "embeddings"
LONG_CONTEXT = "long_context"
BATCH = "batch"

ALL_WELL_KNOWN_CAPABILITIES: list[str] = [
    TOOLS,
    STREAMING,
    THINKING,
    VISION,
    JSON_MODE,
    FAST,
    CODE_EXECUTION,
    WEB_SEARCH,
    DEEP_RESEARCH,
    LOCAL,
    AUDIO,
    IMAGE_GENERATION,
    COMPUTER_USE,
    EMBEDDINGS,
    LONG_CONTEXT,
    BATCH,
]

__all__ = [
    "ALL_WELL_KNOWN_CAPABILITIES",
    "AUDIO",
    "BATCH",
    "CODE_EXECUTION",
    "COMPUTER_USE",
    "DEEP_RESEARCH",
    "EMBEDDINGS",
    "FAST",
    "IMAGE_GENERATION",
    "JSON_MODE",
    "LOCAL",
    "LONG_CONTEXT",
    "STREAMING",
    "THINKING",
    "TOOLS",
    "VISION",
    "WEB_SEARCH",
]
