"""The config of the module.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from typing import Any

from pydantic import Field

from amplifier_modkit.llm_chat.settings import ChatSettings


class VllmSettings(ChatSettings):
    """The keys of every OpenAI-compatible server, and whether the model is to think."""

    enable_thinking: bool | None = Field(default=None, description="Switches reasoning, where the template can.")

    @property
    def template_arguments(self) -> dict[str, Any]:
        """What goes into every request for the chat template of the model."""
        if self.enable_thinking is None:
            return {}
        return {"chat_template_kwargs": {"enable_thinking": self.enable_thinking}}
