"""The config of the module: where the deployment is, and who may use it.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from collections.abc import Callable

from pydantic import Field, SecretStr

from amplifier_modkit.llm_responses.config import ResponsesConfig


class AzureConfig(ResponsesConfig):
    """What a mount plan may say beside what every provider of the Responses API understands.

    ``default_model`` is the model as OpenAI calls it: abilities and prices are known under that name.
    """

    endpoint: str | None = Field(default=None, description="The address of the resource; else AZURE_OPENAI_ENDPOINT.")
    api_version: str | None = Field(
        default=None, description="Version of the API, such as 'preview'; the current one needs none."
    )
    deployment: str | None = Field(
        default=None, description="Name of the deployment of the default model, where it is not the model's own."
    )
    deployments: dict[str, str] = Field(
        default_factory=dict[str, str], description="Names of the deployments of further models."
    )
    azure_ad_token: SecretStr | None = Field(
        default=None, description="A token of Entra ID instead of a key; else AZURE_OPENAI_AD_TOKEN."
    )
    azure_ad_token_provider: Callable[[], str] | None = Field(
        default=None, description="A function that gives such a token for each request, for plans made in Python."
    )
