"""The guards of the module: one for every event, so that whoever watches finds masks in the place of secrets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import (
    ALL_EVENTS,
    EXECUTION_START,
    PROMPT_SUBMIT,
    PROVIDER_REQUEST,
    PROVIDER_RESPONSE,
    TOOL_POST,
    TOOL_PRE,
)
from amplifier_core.kernel_events import KERNEL_EVENTS
from amplifier_core.models import HookResult
from amplifier_modkit.events import TOOL_SELECTING
from amplifier_module_hooks_redaction.config import RedactionConfig
from amplifier_module_hooks_redaction.model_input import masked_messages
from amplifier_module_hooks_redaction.redaction import NOTE, Data, Note, Redaction, noted, withheld
from amplifier_module_hooks_redaction.tails import BEGINNINGS, BREAKS, ENDS, PIECES, Tails, text_field

logger = logging.getLogger(__name__)

NAME = "hooks-redaction"
CAPABILITY = "redaction.cover"
"""Takes names of events that are to be covered as well; for modules that announce theirs late."""
REDACT = "redaction.redact"
"""Takes any value and gives it with its secrets masked; for applications that write something down."""

WORKING = frozenset(
    {PROMPT_SUBMIT, EXECUTION_START, PROVIDER_REQUEST, PROVIDER_RESPONSE, TOOL_PRE, TOOL_POST, TOOL_SELECTING}
)
"""Events whose data are used afterwards: a mask in there would be sent, run or stored."""


class Cover:
    """All guards of one session; inherited by its children, as guards are."""

    def __init__(self, coordinator: ModuleCoordinator, config: RedactionConfig) -> None:
        self._coordinator = coordinator
        self._config = config
        self._redaction = Redaction(config)
        self._tails = Tails(self._redaction.rules)
        self._registered: dict[str, Callable[[], None]] = {}
        self._lift_veil: Callable[[], None] = lambda: None

    def spread_over_known_events(self) -> None:
        """Covers the canonical events, the kernel's own, and those of the standard modules' streams."""
        self.spread((*ALL_EVENTS, *KERNEL_EVENTS, *PIECES, *ENDS, *BEGINNINGS, *BREAKS))
        # What is used afterwards, and what nobody has announced, is masked for those who only watch.
        self._lift_veil = self._coordinator.hooks.veil(self._view)

    def spread(self, events: Iterable[Any]) -> None:
        """Covers ``events`` as well; one that is covered already, or shall be left alone, stays as it is."""
        for event in events:
            guard = self._guard_for(event) if isinstance(event, str) else None
            if guard is not None and event not in self._registered:
                self._registered[event] = self._coordinator.hooks.register(
                    event, guard, self._priority_for(event), NAME, on_error="deny"
                )

    def redacted(self, value: Any) -> Any:
        """``value`` with its secrets masked, by the rules of the config."""
        return self._redaction.whole(value)

    def lift(self) -> None:
        """Takes the cover off; what children inherited stays."""
        for remove in self._registered.values():
            remove()
        self._lift_veil()

    def _guard_for(self, event: str) -> Any:
        if event in self._config.skip_events:
            return None
        if event == PROVIDER_REQUEST and self._config.redact_model_input:
            return self._on_request
        if event in WORKING:
            return None
        special = {**dict.fromkeys(PIECES, self._on_piece), **dict.fromkeys(ENDS, self._on_end)}
        special |= {**dict.fromkeys(BEGINNINGS, self._on_beginning), **dict.fromkeys(BREAKS, self._on_break)}
        return special.get(event, self._on_told)

    def _priority_for(self, event: str) -> int:
        # Of several covers only that of the session itself can tell its registry more. So it comes before those that
        # the session inherited from its parent, and the parent from its own.
        return self._config.priority - self._coordinator.hooks.list_handlers(event)[event].count(NAME)

    def _view(self, event: str, data: Data) -> Data:
        is_masked_already = event in self._registered and event not in WORKING
        if is_masked_already or event in self._config.skip_events:
            return data
        return self._redaction.masked(event, data)

    async def _on_told(self, event: str, data: Data) -> HookResult:
        return _answer(data, self._redaction.masked(event, data))

    async def _on_request(self, event: str, data: Data) -> HookResult:
        messages: Any = data.get("messages")
        shown = masked_messages(messages, self._redaction.whole)
        return HookResult() if shown is messages else _answer(data, {**data, "messages": shown})

    async def _on_piece(self, event: str, data: Data) -> HookResult:
        name = text_field(data)
        note = data.get(NOTE)
        has_been_here = isinstance(note, Note) and note.event == event
        if name is None or has_been_here or name in self._config.allowlist:
            return await self._on_told(event, data)
        try:
            shown = self._shown_piece(event, data, name)
        except Exception as error:
            logger.error("A piece of '%s' could not be searched for secrets and is withheld: %r", event, error)
            shown = withheld(event, data)
        return _answer(data, shown)

    def _shown_piece(self, event: str, data: Data, name: str) -> Data:
        text, hits = self._tails.feed(event, data, data[name])
        shown, others = self._redaction.redact({key: value for key, value in data.items() if key != name})
        if text == data[name] and not others:
            return data
        return noted(event, {**shown, name: text}, hits + others)

    async def _on_end(self, event: str, data: Data) -> HookResult:
        pieces = ENDS[event]
        rest = self._tails.end(pieces, data)
        if rest is None:
            return await self._on_told(event, data)
        if data.get("session_id") in (None, self._coordinator.session_id):
            await self._coordinator.hooks.emit(pieces, rest)
            return await self._on_told(event, data)
        # A session that has this guard from its parent: its registry is out of reach.
        return _answer(data, self._redaction.masked(event, {**data, "held_back": rest[str(text_field(rest))]}))

    async def _on_beginning(self, event: str, data: Data) -> HookResult:
        self._tails.end(BEGINNINGS[event], data)
        return await self._on_told(event, data)

    async def _on_break(self, event: str, data: Data) -> HookResult:
        self._tails.forget(data)
        return await self._on_told(event, data)


def _answer(before: Data, after: Data) -> HookResult:
    if after is before:
        return HookResult()
    # Without validation: nobody promises that the keys of event data are text.
    return HookResult.model_construct(action="modify", data=after)
