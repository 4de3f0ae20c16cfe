"""Answers everything with the same text."""

from amplifier_core.message_models import ChatResponse, TextBlock
from amplifier_core.models import ModelInfo, ProviderInfo

__amplifier_module_type__ = "provider"


class Fixed:
    def __init__(self, text):
        self.text = text

    @property
    def name(self):
        return "fixed"

    def get_info(self):
        return ProviderInfo(id="fixed", display_name="Fixed answers")

    async def list_models(self):
        return [ModelInfo(id="fixed", display_name="Fixed", context_window=100, max_output_tokens=10)]

    async def complete(self, request, **kwargs):
        return ChatResponse(content=[TextBlock(text=self.text)])

    def parse_tool_calls(self, response):
        return list(response.tool_calls or [])


async def mount(coordinator, config):
    return Fixed(config.get("text", "42"))
