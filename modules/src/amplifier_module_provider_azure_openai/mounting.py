"""Finds the endpoint and the credential, and mounts the provider with them."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from pydantic import SecretStr

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_modkit.llm.mounting import Cleanup
from amplifier_modkit.llm.vendor import Vendor, bearer
from amplifier_modkit.llm_responses.mounting import mount_responses_provider
from amplifier_module_provider_azure_openai.config import AzureConfig
from amplifier_module_provider_azure_openai.service import AZURE, ENDPOINT_VARS, TOKEN_VARS, VERSION_VARS, base_url_of

logger = logging.getLogger(__name__)


async def mount_azure(coordinator: ModuleCoordinator, config: Mapping[str, Any]) -> Cleanup | None:
    """Mounts the provider; what is missing is named in a warning."""
    settings = AzureConfig.read(config)
    endpoint = settings.base_url or settings.endpoint or _first_set(ENDPOINT_VARS)
    if not endpoint:
        logger.warning("%s is not mounted: set %s, or 'endpoint'", AZURE.display_name, " or ".join(ENDPOINT_VARS))
        return None
    base_url = settings.base_url or base_url_of(endpoint)
    version = settings.api_version or _first_set(VERSION_VARS)
    query = f"?api-version={quote(version)}" if version else ""
    token = _token_of(settings)
    vendor = replace(_authorised(settings, token), origin=f"azure@{base_url}", models_path=f"/models{query}")
    adapted = {**config, "base_url": base_url, **({"api_key": token} if token else {})}
    return await mount_responses_provider(
        coordinator, adapted, vendor, AzureConfig, query=query, deployment_of=_deployments(settings, vendor)
    )


def _authorised(settings: AzureConfig, token: str | None) -> Vendor:
    """The service, shown the credential in the form that it has: a function for tokens, a token, or a key."""
    new_token = settings.azure_ad_token_provider
    if new_token is None:
        return replace(AZURE, authorise=bearer) if token else AZURE

    def authorise(key: str | None) -> Mapping[str, str]:
        return bearer(new_token())

    return replace(AZURE, authorise=authorise, needs_key=False)


def _token_of(settings: AzureConfig) -> str | None:
    """The token, where one is to be used: a key in the config goes before a token of the environment."""
    if settings.azure_ad_token is not None:
        return settings.azure_ad_token.get_secret_value()
    return None if _is_set(settings.api_key) else _first_set(TOKEN_VARS)


def _is_set(secret: SecretStr | None) -> bool:
    return secret is not None and bool(secret.get_secret_value().strip())


class _Deployments:
    """The name of a model's deployment; a model that nobody named is deployed under its own."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def __call__(self, model: str) -> str:
        return self._names.get(model, model)


def _deployments(settings: AzureConfig, vendor: Vendor) -> _Deployments:
    first = {settings.default_model or vendor.default_model: settings.deployment} if settings.deployment else {}
    return _Deployments({**first, **settings.deployments})


def _first_set(variables: tuple[str, ...]) -> str | None:
    values = (os.environ.get(name, "").strip() for name in variables)
    return next((value for value in values if value), None)
