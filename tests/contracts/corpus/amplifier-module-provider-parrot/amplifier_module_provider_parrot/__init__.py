"""Parrot provider: says what it was told. Needs a key, as providers do."""

import logging
import os
from typing import Any

from amplifier_core import (
    ChatRequest,
    ChatResponse,
    ModelInfo,
    ModuleCoordinator,
    ProviderInfo,
    TextBlock,
    ToolCall,
    Usage,
)
from amplifier_core.llm_errors import AuthenticationError

logger = logging.getLogger(__name__)


class Client:
    """Stands for a vendor's library."""

    def __init__(self, api_key: str):
        self.api_key = api_key
        self.closed = False

    async def say(self, text: str) -> str:
        if self.api_key == "wrong":
            raise PermissionError("401")
        return text

    async def close(self) -> None:
        self.closed = True


class ParrotProvider:
    name = "parrot"

    def __init__(self, client: Client, config: dict[str, Any], coordinator: ModuleCoordinator | None = None):
        self.client = client
        self.coordinator = coordinator
        self.default_model = config.get("default_model", "parrot-1")
        self.priority = config.get("priority", 100)

    def get_info(self) -> ProviderInfo:
        return ProviderInfo(
            id="parrot",
            display_name="Parrot",
            credential_env_vars=["PARROT_API_KEY"],
            capabilities=["tools"],
            defaults={"model": self.default_model, "context_window": 1000, "max_output_tokens": 100},
        )

    async def list_models(self) -> list[ModelInfo]:
        return [ModelInfo(id="parrot-1", display_name="Parrot", context_window=1000, max_output_tokens=100)]

    async def complete(self, request: ChatRequest, **kwargs) -> ChatResponse:
        await self._emit("llm:request", {"provider": self.name, "model": self.default_model})
        try:
            text = await self.client.say(str(request.messages[-1].content))
        except PermissionError as e:
            raise AuthenticationError(str(e), provider=self.name) from e
        words = len(text.split())
        usage = Usage(input_tokens=words, output_tokens=words, total_tokens=2 * words)
        await self._emit("llm:response", {"provider": self.name, "status": "ok", "usage": usage.model_dump()})
        return ChatResponse(content=[TextBlock(text=text)], usage=usage, finish_reason="stop")

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return response.tool_calls or []

    async def _emit(self, event: str, data: dict[str, Any]) -> None:
        if self.coordinator and hasattr(self.coordinator, "hooks"):
            await self.coordinator.hooks.emit(event, data)


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None):
    config = config or {}
    api_key = config.get("api_key") or os.environ.get("PARROT_API_KEY")
    if not api_key:
        logger.warning("No API key found for Parrot provider")
        return None

    client = Client(api_key)
    provider = ParrotProvider(client, config, coordinator)
    await coordinator.mount("providers", provider, name="parrot")
    logger.info("Mounted ParrotProvider")

    async def cleanup():
        await client.close()

    return cleanup
