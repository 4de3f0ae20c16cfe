"""What happens to the answer of an emit: questions are asked, context is injected, messages are shown.

Everything is delegated: the approval system asks, the context keeps messages, the display shows them. Limits come from
the plan.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any, Protocol

from amplifier_core._awaiting import settle
from amplifier_core._composition import ComposedResult, asks_of, injection_fields, single_injection
from amplifier_core.approval import ApprovalTimeoutError
from amplifier_core.models import ContextInjection, HookResult, sanitize_for_llm

logger = logging.getLogger(__name__)

_APPROVALS = frozenset({"allow", "allow once", "allow always"})
_APPROVING_FIRST_WORDS = frozenset({"allow", "approve", "yes", "ok", "accept", "proceed", "continue"})
_SHOWN_PROMPT_CHARS = 200
_CHARS_PER_TOKEN = 4

_NO_INJECTION: dict[str, Any] = {
    "context_injection": None,
    "context_injection_role": "system",
    "ephemeral": False,
    "append_to_last_tool_result": False,
}


class ResultHost(Protocol):
    """What processing needs of the coordinator."""

    approval_system: Any
    display_system: Any
    _current_turn_injections: int

    @property
    def injection_size_limit(self) -> int | None:
        """Characters that one injection may have."""
        ...

    @property
    def injection_budget_per_turn(self) -> int | None:
        """Tokens that all injections of a turn should stay under."""
        ...

    def get(self, mount_point: str, name: str | None = None) -> Any:
        """The module mounted there."""
        ...

    def timestamp(self) -> str:
        """The current time as ISO 8601 text in UTC."""
        ...


async def process_hook_result(host: ResultHost, result: HookResult, event: str, hook_name: str) -> HookResult:
    """Carries out ``result`` and returns what is left for the orchestrator to do.

    Questions come first and all must be approved; a denial leaves everything else undone. What was stored or shown is
    not in the returned result again, so nothing is added twice.
    """
    if result.action == "ask_user":
        denial = await _ask_all(host, result)
        if denial is not None:
            return denial
    injections = _admitted_injections(host, result, event, hook_name)
    await _show_message(host, result, hook_name)
    if result.suppress_output:
        logger.debug("Hook '%s' asks to suppress the output of '%s'", hook_name, event)
    await _store(host, [item for item in injections if not item.ephemeral])
    return _remainder(result, [item for item in injections if item.ephemeral])


async def _ask_all(host: ResultHost, result: HookResult) -> HookResult | None:
    """Asks one question after another; gives the first denial."""
    for ask in asks_of(result):
        denial = await _ask(host, ask)
        if denial is not None:
            return denial
    return None


async def _ask(host: ResultHost, ask: HookResult) -> HookResult | None:
    if host.approval_system is None:
        return HookResult(action="deny", reason="No approval system available")
    prompt = "Allow this operation?" if ask.approval_prompt is None else ask.approval_prompt
    options = ["Allow", "Deny"] if ask.approval_options is None else ask.approval_options
    try:
        request = host.approval_system.request_approval(prompt, options, ask.approval_timeout, ask.approval_default)
        decision = await settle(request)
    except ApprovalTimeoutError:
        if ask.approval_default == "allow":
            return None
        return HookResult(action="deny", reason=f"Approval timeout - denied by default: {_shortened(prompt)}")
    if _approves(decision, ask.approval_options or []):
        return None
    return HookResult(action="deny", reason=f"User denied: {_shortened(prompt)}")


def _approves(decision: Any, offered: Sequence[str]) -> bool:
    if not isinstance(decision, str):
        raise TypeError(
            f"An approval system must answer with one of the options as text, got {type(decision).__name__}"
        )
    answer = decision.strip().casefold()
    if answer in _APPROVALS:
        return True
    words = re.match(r"[a-z]+", answer)
    if answer in {option.strip().casefold() for option in offered} and words and words[0] in _APPROVING_FIRST_WORDS:
        return True
    if answer != "deny":
        logger.warning("Approval answer %r is not a known approval and counts as a denial", decision)
    return False


def _shortened(prompt: str) -> str:
    return prompt if len(prompt) <= _SHOWN_PROMPT_CHARS else prompt[:_SHOWN_PROMPT_CHARS] + "...[truncated]"


def _admitted_injections(host: ResultHost, result: HookResult, event: str, hook_name: str) -> list[ContextInjection]:
    """The sanitised injections of ``result``, charged to the turn; one beyond the size limit refuses them all."""
    requested = [(item, sanitize_for_llm(item.content)) for item in _requested_injections(result, event, hook_name)]
    injections = [item.model_copy(update={"content": text}) for item, text in requested if text]
    limit = host.injection_size_limit
    for item in injections:
        if limit is not None and len(item.content) > limit:
            logger.error(
                "Context injection of hook '%s' is too long: %d > %d", item.hook_name, len(item.content), limit
            )
            raise ValueError(
                f"Context injection exceeds {limit} characters: hook '{item.hook_name}' on '{item.event}' gave "
                f"{len(item.content)}; shorten it or raise session.injection_size_limit"
            )
    for item in injections:
        _charge(host, item)
    return injections


def _requested_injections(result: HookResult, event: str, hook_name: str) -> Sequence[ContextInjection]:
    if result.action not in ("inject_context", "ask_user"):
        return ()
    if result.context_injections:
        return result.context_injections
    if result.action == "ask_user" or not result.context_injection:
        return ()
    return (single_injection(event, hook_name, result, result.context_injection),)


def _charge(host: ResultHost, item: ContextInjection) -> None:
    tokens = len(item.content) // _CHARS_PER_TOKEN
    budget = host.injection_budget_per_turn
    used = host._current_turn_injections + tokens  # pyright: ignore[reportPrivateUsage]
    if budget is not None and used > budget:
        logger.warning(
            "Warning: Hook injection budget exceeded (hook=%s, used=%d, budget=%d tokens)", item.hook_name, used, budget
        )
    host._current_turn_injections = used  # pyright: ignore[reportPrivateUsage]
    logger.info(
        "Hook context injection (hook=%s, event=%s, chars=%d, role=%s, tokens=%d, ephemeral=%s)",
        item.hook_name,
        item.event,
        len(item.content),
        item.role,
        tokens,
        item.ephemeral,
    )


async def _show_message(host: ResultHost, result: HookResult, hook_name: str) -> None:
    if not result.user_message:
        return
    source = hook_name if result.user_message_source is None else result.user_message_source
    if host.display_system is None:
        logger.debug("Hook message (%s) from %s: %s", result.user_message_level, source, result.user_message[:200])
        return
    try:
        await settle(host.display_system.show_message(result.user_message, result.user_message_level, f"hook:{source}"))
    except Exception as error:
        logger.error("Error calling display_system: %s", error)


async def _store(host: ResultHost, injections: Sequence[ContextInjection]) -> None:
    add_message = getattr(host.get("context"), "add_message", None)
    if not callable(add_message):
        for item in injections:
            logger.warning(
                "No context is mounted to take the injection of hook '%s' on '%s'", item.hook_name, item.event
            )
        return
    for item in injections:
        message = {"role": item.role, "content": item.content, "metadata": _provenance(item, host.timestamp())}
        await settle(add_message(message))


def _provenance(item: ContextInjection, timestamp: str) -> dict[str, Any]:
    return {
        "source": "hook",
        "hook_name": item.hook_name,
        "event": item.event,
        "timestamp": timestamp,
        "requested_role": item.role,
        "ephemeral": False,
        "persisted": True,
    }


def _remainder(result: HookResult, ephemeral: Sequence[ContextInjection]) -> HookResult:
    if result.action not in ("inject_context", "ask_user"):
        return result
    is_modified = isinstance(result, ComposedResult) and result.is_modified
    action = "inject_context" if ephemeral else "modify" if is_modified else "continue"
    injection: dict[str, Any] = (
        {**injection_fields(ephemeral), "ephemeral": True} if ephemeral else {**_NO_INJECTION, "context_injections": []}
    )
    if result.action == "inject_context":
        return result.model_copy(update={"action": action, **injection})
    left = {"data": result.data if is_modified else None, "suppress_output": result.suppress_output}
    return HookResult().model_copy(update={"action": action, **left, **injection})
