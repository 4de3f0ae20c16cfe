"""The behaviour of an orchestrator."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_core.validation.behavioral._promises import CRASHES, no_crash, require_all_members


class OrchestratorBehaviorTests:
    """What every orchestrator promises a session, tested on fakes; to be inherited by its author's tests."""

    @pytest.mark.asyncio
    async def test_mount_succeeds(self, orchestrator_module: Any) -> None:
        """Mounting puts an orchestrator in place."""
        require_all_members("orchestrator", orchestrator_module)

    @pytest.mark.asyncio
    async def test_orchestrator_has_execute_method(self, orchestrator_module: Any) -> None:
        """The orchestrator can run a turn."""
        assert callable(getattr(orchestrator_module, "execute", None)), (
            f"{type(orchestrator_module).__name__} has no execute() method; write: "
            "async def execute(self, prompt, context, providers, tools, hooks, **kwargs) -> str"
        )

    @pytest.mark.asyncio
    async def test_execute_returns_string(self, orchestrator_module: Any, mock_deps: Any) -> None:
        """A turn ends with the answer as text, also without a coordinator."""
        answer = await _execute(orchestrator_module, mock_deps, "Test prompt")
        assert isinstance(answer, str), f"execute() returned {type(answer).__name__}, expected the answer as text"
        assert answer, (
            "execute() returned an empty text although the provider had answered; return the text of its last response"
        )

    @pytest.mark.asyncio
    async def test_execute_with_empty_prompt(self, orchestrator_module: Any, mock_deps: Any) -> None:
        """An empty prompt leads to an answer or a refusal, never to a crash."""
        with no_crash(
            "execute() with an empty prompt",
            "Answer it like any other, or refuse it with a ValueError.",
            (*CRASHES, KeyError),
        ):
            answer = await _execute(orchestrator_module, mock_deps, "")
            if not isinstance(answer, str):
                pytest.fail(f"execute() with an empty prompt returned {type(answer).__name__}, expected text")

    @pytest.mark.asyncio
    async def test_orchestrator_uses_provider(self, orchestrator_module: Any, mock_deps: Any) -> None:
        """A turn asks a provider."""
        await _execute(orchestrator_module, mock_deps, "Test prompt")
        provider = mock_deps[1]["default"]
        assert provider.complete.call_count > 0, (
            "The turn ended without a call of provider.complete(); ask one of the providers that execute() is given"
        )

    @pytest.mark.asyncio
    async def test_orchestrator_updates_context(self, orchestrator_module: Any, mock_deps: Any) -> None:
        """A turn leaves its messages in the context."""
        await _execute(orchestrator_module, mock_deps, "Test prompt")
        context = mock_deps[0]
        assert context.messages or context.add_message.call_count, (
            "The turn left no message in the context; add the prompt and the answer with context.add_message()"
        )


async def _execute(orchestrator: Any, deps: Any, prompt: str) -> Any:
    context, providers, tools, hooks = deps
    return await orchestrator.execute(prompt=prompt, context=context, providers=providers, tools=tools, hooks=hooks)
