"""What is fixed about Azure as a service: its variables, the form of its addresses and of its key."""

from __future__ import annotations

from collections.abc import Mapping

from amplifier_core.capabilities import JSON_MODE, STREAMING, THINKING, TOOLS, VISION
from amplifier_core.models import ConfigField
from amplifier_modkit.llm.vendor import Vendor
from amplifier_modkit.llm_responses.known_models import DEFAULT_MODEL, MODELS
from amplifier_modkit.llm_responses.refusals import judge

ENDPOINT_VARS = ("AZURE_OPENAI_ENDPOINT",)
TOKEN_VARS = ("AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_AUTH_TOKEN")
VERSION_VARS = ("OPENAI_API_VERSION",)
_KEY_VAR = "AZURE_OPENAI_API_KEY"
_API_ROOT = "/openai/v1"


def base_url_of(endpoint: str) -> str:
    """Where the API is at the resource with that endpoint."""
    address = endpoint.rstrip("/")
    return address if address.endswith(_API_ROOT) else f"{address.removesuffix('/openai')}{_API_ROOT}"


def _key_header(key: str | None) -> Mapping[str, str]:
    return {"api-key": key} if key else {}


AZURE = Vendor(
    name="azure-openai",
    display_name="Azure OpenAI",
    base_url="",
    default_model=DEFAULT_MODEL,
    catalogue=MODELS,
    key_vars=(_KEY_VAR, *TOKEN_VARS),
    authorise=_key_header,
    models_path="/models",
    capabilities=(TOOLS, STREAMING, THINKING, VISION, JSON_MODE),
    config_fields=(
        ConfigField(
            id="endpoint",
            display_name="Endpoint",
            prompt="What is the address of your Azure OpenAI resource?",
            env_var=ENDPOINT_VARS[0],
        ),
        ConfigField(
            id="api_key",
            display_name="API key",
            prompt="Which key of the resource is to be used?",
            field_type="secret",
            env_var=_KEY_VAR,
            required=False,
        ),
        ConfigField(
            id="azure_ad_token",
            display_name="Entra ID token",
            prompt="Or which token of Entra ID?",
            field_type="secret",
            env_var=TOKEN_VARS[0],
            required=False,
        ),
        ConfigField(
            id="default_model",
            display_name="Model",
            prompt="Which model is deployed?",
            required=False,
            default=DEFAULT_MODEL,
        ),
        ConfigField(
            id="deployment",
            display_name="Deployment",
            prompt="What is its deployment called, if not like the model?",
            required=False,
        ),
    ),
    judge=judge,
)
