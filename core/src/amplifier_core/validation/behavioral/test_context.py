"""The behaviour of a context manager."""

from __future__ import annotations

from inspect import signature
from typing import Any, cast

import pytest

from amplifier_core._awaiting import settle
from amplifier_core.validation.behavioral._promises import no_crash, require_all_members


class ContextBehaviorTests:
    """What every context manager promises a loop that fills it; to be inherited by its author's tests."""

    @pytest.mark.asyncio
    async def test_mount_succeeds(self, context_module: Any) -> None:
        """Mounting puts a context manager in place."""
        assert context_module is not None, "mount() put nothing in place; call coordinator.mount('context', …) in it"

    @pytest.mark.asyncio
    async def test_context_has_required_methods(self, context_module: Any) -> None:
        """The context has the five methods of its contract."""
        require_all_members("context", context_module)

    @pytest.mark.asyncio
    async def test_message_round_trip(self, context_module: Any) -> None:
        """A message that is added can be read again."""
        await context_module.add_message(_message("Hello"))
        _require_at_the_end(await context_module.get_messages(), ["Hello"], "get_messages()")

    @pytest.mark.asyncio
    async def test_multiple_messages(self, context_module: Any) -> None:
        """Messages come back in the order in which they were added."""
        texts = ["first", "second", "third"]
        for role, text in zip(("user", "assistant", "user"), texts, strict=True):
            await context_module.add_message(_message(text, role))
        _require_at_the_end(await context_module.get_messages(), texts, "get_messages()")

    @pytest.mark.asyncio
    async def test_clear_removes_messages(self, context_module: Any) -> None:
        """After clear() there are no messages."""
        await context_module.add_message(_message("Hello"))
        await context_module.clear()
        left = await context_module.get_messages()
        assert not left, f"{len(left)} messages are left after clear(); it has to forget all of them"

    @pytest.mark.asyncio
    async def test_get_messages_for_request_returns_messages(self, context_module: Any) -> None:
        """The messages for a request are there, the latest included."""
        await context_module.add_message(_message("Hello"))
        _require_at_the_end(await context_module.get_messages_for_request(), ["Hello"], "get_messages_for_request()")

    @pytest.mark.asyncio
    async def test_internal_should_compact_returns_bool(self, context_module: Any) -> None:
        """A context that decides about compaction in ``_should_compact()`` decides with True or False."""
        decides = _without_arguments(context_module, "_should_compact")
        decision = await settle(decides())
        assert isinstance(decision, bool), f"_should_compact() gave {type(decision).__name__}, expected True or False"

    @pytest.mark.asyncio
    async def test_internal_compact_does_not_crash(self, context_module: Any) -> None:
        """A context that compacts in ``_compact_internal()`` can do so at any time."""
        compact = _without_arguments(context_module, "_compact_internal")
        await context_module.add_message(_message("Hello"))
        with no_crash("_compact_internal() with one message", "Leave alone what is too short to be compacted."):
            await settle(compact())

    @pytest.mark.asyncio
    async def test_add_invalid_message_does_not_crash(self, context_module: Any) -> None:
        """A message without role and content is taken or refused, never a crash."""
        with no_crash(
            "add_message({'invalid': 'message'})", "Refuse it: raise ValueError(\"Message must have 'role' field\")."
        ):
            await context_module.add_message({"invalid": "message"})

    @pytest.mark.asyncio
    async def test_get_messages_never_returns_none(self, context_module: Any) -> None:
        """An empty context has a list of no messages."""
        for method in ("get_messages", "get_messages_for_request"):
            messages = await getattr(context_module, method)()
            assert isinstance(messages, list), (
                f"{method}() gave {type(messages).__name__} for an empty context; return []"
            )


def _message(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def _require_at_the_end(messages: Any, texts: list[str], source: str) -> None:
    assert isinstance(messages, list), f"{source} gave {type(messages).__name__}, expected a list of messages"
    found = [message["content"] for message in cast("list[dict[str, Any]]", messages)[-len(texts) :]]
    assert found == texts, f"{source} ends with {found} after {texts} were added; keep every message, in order"


def _without_arguments(context: Any, name: str) -> Any:
    """The inner method ``name``; skips the test of a context that has none, or one with parameters of its own."""
    method = getattr(context, name, None)
    if not callable(method):
        pytest.skip(f"{type(context).__name__} has no {name}(), which is its own affair")
    try:
        signature(method).bind()
    except (TypeError, ValueError):
        pytest.skip(f"{name}() of {type(context).__name__} takes arguments that only it knows")
    return method
