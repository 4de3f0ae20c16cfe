"""The behaviour of a hook module."""

from __future__ import annotations

from typing import Any, cast, get_args

import pytest

from amplifier_core._awaiting import settle
from amplifier_core._composition import UnreadableAnswerError, read_answer
from amplifier_core._error_text import describe_error
from amplifier_core._handlers import Registration
from amplifier_core.hooks import HookRegistry
from amplifier_core.models import HookResult

_ACTIONS = get_args(HookResult.model_fields["action"].annotation)
_NO_EXIT = "a handler must not end the process; deny with HookResult(action='deny', reason=…), or raise an exception"
# Fields of many events at once: a handler finds what it looks for, whatever it is registered for.
_DATA: dict[str, Any] = {
    "session_id": "test-session",
    "prompt": "a prompt",
    "provider": "default",
    "messages": [],
    "tool_name": "test_tool",
    "tool_input": {},
    "tool_result": {"success": True, "output": "done", "error": None},
}


class HookBehaviorTests:
    """What every hook module promises to those who emit events; to be inherited by its author's tests."""

    @pytest.mark.asyncio
    async def test_mount_succeeds(self, hook_cleanup: Any, coordinator: Any) -> None:
        """Mounting registers handlers that can be called, if any."""
        for registration in _registrations(coordinator.hooks):
            assert callable(registration.handler), (
                f"mount() registered {type(registration.handler).__name__} for '{registration.event}', which cannot be "
                "called; register an async function of (event, data), or an object with an async __call__"
            )

    @pytest.mark.asyncio
    async def test_handler_returns_hook_result(self, hook_cleanup: Any, coordinator: Any) -> None:
        """Every handler answers with a HookResult, or with nothing, which means to continue."""
        for registration, answer in await _answers(coordinator.hooks):
            try:
                read_answer(answer)
            except UnreadableAnswerError as error:
                pytest.fail(
                    f"Handler '{registration.name}' answered '{registration.event}' with {error}. Such an answer "
                    "denies the operation; return a HookResult, such as HookResult(action='continue')",
                    pytrace=False,
                )

    @pytest.mark.asyncio
    async def test_hook_result_has_valid_action(self, hook_cleanup: Any, coordinator: Any) -> None:
        """The action of every answer is one of the five."""
        for registration, answer in await _answers(coordinator.hooks):
            action = _action_in(answer)
            assert action in _ACTIONS, (
                f"Handler '{registration.name}' answered '{registration.event}' with the action {action!r}; "
                f"expected one of: {', '.join(_ACTIONS)}"
            )

    @pytest.mark.asyncio
    async def test_cleanup_is_callable_if_present(self, hook_cleanup: Any) -> None:
        """What mount() returns to clean up can be called."""
        assert hook_cleanup is None or callable(hook_cleanup), (
            f"The clean-up is {type(hook_cleanup).__name__}; return a function that unregisters the handlers, or None"
        )

    @pytest.mark.asyncio
    async def test_cleanup_does_not_raise(self, hook_cleanup: Any) -> None:
        """Cleaning up works, right after mounting as well."""
        if hook_cleanup is None:
            return
        try:
            await settle(hook_cleanup())
        except Exception as error:
            pytest.fail(
                f"The clean-up raised {describe_error(error)}; it must not, also when the module was never used",
                pytrace=False,
            )

    @pytest.mark.asyncio
    async def test_handler_does_not_crash_on_malformed_data(self, hook_cleanup: Any, coordinator: Any) -> None:
        """An event whose data are no dict does not get its emitter into trouble."""
        await _emit_everything(coordinator.hooks, None)

    @pytest.mark.asyncio
    async def test_handler_does_not_crash_on_empty_data(self, hook_cleanup: Any, coordinator: Any) -> None:
        """An event that carries nothing does not get its emitter into trouble."""
        await _emit_everything(coordinator.hooks, {})


def _registrations(hooks: HookRegistry) -> list[Registration]:
    return hooks.registered_since(0)


async def _answers(hooks: HookRegistry) -> list[tuple[Registration, Any]]:
    """What each handler says when it is called; one that raises says nothing, as in an emit."""
    answers: list[tuple[Registration, Any]] = []
    for registration in _registrations(hooks):
        try:
            answers.append((registration, await settle(registration.handler(registration.event, dict(_DATA)))))
        except SystemExit:
            told = f"Handler '{registration.name}' called sys.exit on '{registration.event}'; {_NO_EXIT}"
            pytest.fail(told, pytrace=False)
        except Exception:
            continue
    return answers


async def _emit_everything(hooks: HookRegistry, data: Any) -> None:
    for event in dict.fromkeys(registration.event for registration in _registrations(hooks)):
        try:
            result = await hooks.emit(event, data)
        except SystemExit:
            pytest.fail(f"A handler called sys.exit on '{event}' with {data!r} for data; {_NO_EXIT}", pytrace=False)
        assert isinstance(result, HookResult), f"Emitting '{event}' gave {type(result).__name__}"


def _action_in(answer: Any) -> Any:
    if isinstance(answer, dict):
        return cast("dict[str, Any]", answer).get("action", "continue")
    return getattr(answer, "action", "continue")
