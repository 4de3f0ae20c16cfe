"""The behaviour of a provider."""

from __future__ import annotations

from typing import Any, cast

import pytest

from amplifier_core._error_text import describe_error
from amplifier_core.message_models import ChatResponse, TextBlock, ToolCall, ToolCallBlock
from amplifier_core.models import ModelInfo, ProviderInfo
from amplifier_core.validation.behavioral._promises import CRASHES, require_all_members


class ProviderBehaviorTests:
    """What every provider promises, tested without asking its model anything; to be inherited by its author's tests."""

    @pytest.mark.asyncio
    async def test_mount_succeeds(self, provider_module: Any) -> None:
        """Mounting puts a complete provider in place."""
        require_all_members("provider", provider_module)

    @pytest.mark.asyncio
    async def test_get_info_returns_valid_provider_info(self, provider_module: Any) -> None:
        """The provider describes itself with an id and a name to display."""
        info = provider_module.get_info()
        assert isinstance(info, ProviderInfo), (
            f"get_info() returned {type(info).__name__}, expected ProviderInfo; it is a plain method, not async"
        )
        assert info.id, "ProviderInfo.id is empty: applications and reports name the provider by it"
        assert info.display_name, "ProviderInfo.display_name is empty: it is what users read"

    @pytest.mark.asyncio
    async def test_list_models_returns_list(self, provider_module: Any) -> None:
        """The provider lists its models; where it must ask its service for them and cannot, the test is skipped."""
        try:
            models = await provider_module.list_models()
        except CRASHES as error:
            pytest.fail(f"list_models() crashed with {describe_error(error)}; write async def list_models(self)")
        except Exception as error:
            pytest.skip(f"list_models() could not be answered here: {describe_error(error)}")
        assert isinstance(models, list), f"list_models() gave {type(models).__name__}, expected a list of ModelInfo"
        listed = cast("list[object]", models)
        strangers = [type(model).__name__ for model in listed if not isinstance(model, ModelInfo)]
        assert not strangers, f"list_models() has {', '.join(strangers)} in its list, expected ModelInfo only"

    @pytest.mark.asyncio
    async def test_provider_has_name_attribute(self, provider_module: Any) -> None:
        """The provider has a name."""
        name = provider_module.name
        assert isinstance(name, str), f"The provider's name is {type(name).__name__}, expected a string"
        assert name, "The provider's name is empty: it is mounted and configured by it"

    @pytest.mark.asyncio
    async def test_parse_tool_calls_returns_list(self, provider_module: Any) -> None:
        """The tool calls of a response come as a list, also when there are none."""
        call = ToolCall(id="call-1", name="test_tool", arguments={"a": 1})
        block = ToolCallBlock(id=call.id, name=call.name, input=call.arguments)
        for response in (
            ChatResponse(content=[TextBlock(text="no calls")]),
            ChatResponse(content=[block], tool_calls=[call], finish_reason="tool_calls"),
        ):
            calls = provider_module.parse_tool_calls(response)
            assert isinstance(calls, list), (
                f"parse_tool_calls() returned {type(calls).__name__} for a response with "
                f"{len(response.tool_calls or ())} tool calls, expected a list of ToolCall; it is a plain method, "
                "not async"
            )
