"""The models that the service lists: those that hold a conversation, of each family the latest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amplifier_core.capabilities import THINKING
from amplifier_core.models import ModelInfo
from amplifier_module_provider_gemini.models import ABILITIES, CATALOGUE, bare, line_of

# Families that answer with something else than text, or that are made for one task.
_SPECIAL = ("image", "tts", "audio", "live", "robotics", "computer", "embedding", "cyber", "omni")


def read_models(body: Mapping[str, Any], *, only_latest: bool) -> list[ModelInfo]:
    """The models in an answer of the service, in its order."""
    listed: list[Mapping[str, Any]] = [
        each for each in body["models"] if "generateContent" in (each.get("supportedGenerationMethods") or ())
    ]
    if only_latest:
        listed = _latest(listed)
    return [_info(each) for each in listed]


def _latest(models: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    newest: dict[str, tuple[tuple[int, int], Mapping[str, Any]]] = {}
    for model in models:
        line = line_of(model["name"])
        if line is None or any(word in line[0] for word in _SPECIAL):
            continue
        family, version = line
        if family not in newest or version > newest[family][0]:
            newest[family] = (version, model)
    chosen = {id(model) for _, model in newest.values()}
    return [model for model in models if id(model) in chosen]


def _info(model: Mapping[str, Any]) -> ModelInfo:
    name = bare(model["name"])
    abilities = [each for each in ABILITIES if each != THINKING or model.get("thinking", True)]
    return CATALOGUE.info(
        name,
        display_name=model.get("displayName"),
        context_window=model.get("inputTokenLimit"),
        max_output_tokens=model.get("outputTokenLimit"),
        capabilities=None if CATALOGUE.find(name) else abilities,
    )
