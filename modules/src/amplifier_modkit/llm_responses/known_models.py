"""The models that speak the Responses API, as far as they are known without asking."""

from __future__ import annotations

import re

from amplifier_core.capabilities import DEEP_RESEARCH, FAST, JSON_MODE, LONG_CONTEXT, STREAMING, THINKING, TOOLS, VISION
from amplifier_modkit.llm.catalogue import Catalogue, KnownModel

DEFAULT_MODEL = "gpt-6.1-sol"

SHORT_CONTEXT_WINDOW = 400_000
"""Up to which a model with a longer window costs what it usually costs: 272,000 tokens of input and its output."""

_NOT_FOR_TEXT = re.compile(
    r"embedding|tts|whisper|dall-e|image|moderation|realtime|audio|transcribe|sora|davinci|babbage|gpt-3\.5|instruct"
)
_COMMON = (TOOLS, STREAMING, JSON_MODE, VISION)
_REASONING = (*_COMMON, THINKING)
_LONG = (*_REASONING, LONG_CONTEXT)


def _long(model: str, name: str, *more: str, family: str = "") -> KnownModel:
    return KnownModel(model, name, 1_050_000, 128_000, (*_LONG, *more), family)


def _medium(model: str, name: str, *more: str, family: str = "") -> KnownModel:
    return KnownModel(model, name, 400_000, 128_000, (*_REASONING, *more), family)


MODELS = Catalogue(
    (
        _long("gpt-6.1-sol", "GPT-6.1 Sol", family="sol"),
        _long("gpt-6-astra", "GPT-6 Astra", family="astra"),
        _long("gpt-6.1-terra", "GPT-6.1 Terra", family="terra"),
        _long("gpt-6-luna", "GPT-6 Luna", FAST, family="luna"),
        _long("gpt-6-sol", "GPT-6 Sol", family="sol"),
        _long("gpt-5.6-sol", "GPT-5.6 Sol", family="sol"),
        _long("gpt-5.6-terra", "GPT-5.6 Terra", family="terra"),
        _long("gpt-5.6-luna", "GPT-5.6 Luna", FAST, family="luna"),
        _long("gpt-5.5", "GPT-5.5", family="gpt"),
        _medium("gpt-5.2", "GPT-5.2", family="gpt"),
        _medium("gpt-5.1", "GPT-5.1", family="gpt"),
        _medium("gpt-5", "GPT-5", family="gpt"),
        _medium("gpt-5-mini", "GPT-5 mini", FAST, family="gpt-mini"),
        KnownModel("gpt-4.1", "GPT-4.1", 1_047_576, 32_768, (*_COMMON, LONG_CONTEXT), "gpt-4"),
        KnownModel("gpt-4o", "GPT-4o", 128_000, 16_384, _COMMON, "gpt-4"),
        KnownModel("o3", "o3", 200_000, 100_000, _REASONING, "o"),
        KnownModel("o3-deep-research", "o3 deep research", 200_000, 100_000, (*_REASONING, DEEP_RESEARCH)),
    )
)


def is_for_text(model: str) -> bool:
    """Whether a listed model may be one that reads and writes text."""
    return _NOT_FOR_TEXT.search(model) is None
