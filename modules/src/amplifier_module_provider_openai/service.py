"""What is fixed about OpenAI as a service: its place, its variables, what an application asks to set it up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from amplifier_core.capabilities import JSON_MODE, STREAMING, THINKING, TOOLS, VISION
from amplifier_core.models import ConfigField
from amplifier_modkit.llm.vendor import Vendor
from amplifier_modkit.llm_responses.known_models import DEFAULT_MODEL, MODELS
from amplifier_modkit.llm_responses.refusals import judge

_KEY_VAR, _URL_VAR = "OPENAI_API_KEY", "OPENAI_BASE_URL"

OPENAI = Vendor(
    name="openai",
    display_name="OpenAI",
    base_url="https://api.openai.com/v1",
    default_model=DEFAULT_MODEL,
    catalogue=MODELS,
    key_vars=(_KEY_VAR,),
    url_vars=(_URL_VAR,),
    models_path="/models",
    capabilities=(TOOLS, STREAMING, THINKING, VISION, JSON_MODE),
    config_fields=(
        ConfigField(
            id="api_key",
            display_name="API key",
            prompt="Which OpenAI API key is to be used?",
            field_type="secret",
            env_var=_KEY_VAR,
        ),
        ConfigField(
            id="base_url",
            display_name="Address",
            prompt="Where is the service, if not at OpenAI?",
            env_var=_URL_VAR,
            required=False,
        ),
        ConfigField(
            id="default_model",
            display_name="Model",
            prompt="Which model is to be used?",
            required=False,
            default=DEFAULT_MODEL,
        ),
        ConfigField(
            id="reasoning",
            display_name="Reasoning effort",
            prompt="How hard is the model to think?",
            field_type="choice",
            choices=["low", "medium", "high", "xhigh", "max"],
            required=False,
            requires_model=True,
        ),
    ),
    judge=judge,
)


def service_for(config: Mapping[str, Any]) -> Vendor:
    """OpenAI, or whoever is at the address that is configured: that one cannot read what OpenAI encrypted."""
    address = config.get("base_url") or os.environ.get(_URL_VAR, "").strip()
    host = urlsplit(str(address)).netloc if address else ""
    return replace(OPENAI, origin=f"openai@{host}") if host and not OPENAI.base_url.endswith(f"{host}/v1") else OPENAI
