"""The approval protocol between kernel and application."""

from __future__ import annotations

import inspect

from amplifier_core.approval import ApprovalSystem, ApprovalTimeoutError


def test_timeout_error_is_not_the_builtin_one() -> None:
    """The time-out of an approval is its own error, so that no other time-out passes for an answer."""
    assert ApprovalTimeoutError.__bases__ == (Exception,)
    assert not issubclass(TimeoutError, ApprovalTimeoutError)


def test_request_takes_four_positional_arguments() -> None:
    """The kernel calls the system positionally: prompt, options, timeout, default."""
    method = ApprovalSystem.request_approval
    assert inspect.iscoroutinefunction(method)
    assert list(inspect.signature(method).parameters) == ["self", "prompt", "options", "timeout", "default"]


async def test_any_object_of_that_shape_is_a_system() -> None:
    """A class needs no base to serve as approval system."""

    class Yes:
        async def request_approval(self, prompt: str, options: list[str], timeout: float, default: str) -> str:
            return f"{prompt} {options} {timeout} {default}"

    system: ApprovalSystem = Yes()
    assert await system.request_approval("ok?", ["Allow"], 3.0, "deny") == "ok? ['Allow'] 3.0 deny"
