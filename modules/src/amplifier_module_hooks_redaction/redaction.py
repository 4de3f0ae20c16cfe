"""What an event's data look like to those who only watch: the same fields, with masks in the place of secrets."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from amplifier_modkit.secrets import Hits, TextMemo, redact_value
from amplifier_module_hooks_redaction.config import RedactionConfig

logger = logging.getLogger(__name__)

Data = dict[str, Any]

NOTE = "redaction"
"""The field that tells what was masked."""

# What may be shown of an event that could not be searched: where it belongs, nothing of what it says.
_FACTS = frozenset(
    {
        *("session_id", "parent_id", "timestamp", "request_id", "tool_name", "tool_call_id", "parallel_group_id"),
        *("provider", "block_index", "block_type", "sequence", "iteration", "status", "duration_ms"),
    }
)


class Note(dict[str, Any]):
    """What was masked in the data of one event; also says that the event has been through here."""

    def __init__(self, event: str, rules: list[str], count: int) -> None:
        super().__init__(applied=bool(rules), rules=rules, count=count)
        self.event = event


class Redaction:
    """Masks the data of events with one choice of rules; remembers texts that come again."""

    def __init__(self, config: RedactionConfig) -> None:
        self._allow = frozenset(config.allowlist)
        self.rules = frozenset(config.rules)
        self._memo = TextMemo(self.rules)

    def masked(self, event: str, data: Data) -> Data:
        """``data`` as watchers see them; the very same dict if there is nothing to hide.

        It never raises: data that cannot be searched are shown without anything but their facts.
        """
        try:
            shown, hits = self.redact(data)
        except Exception as error:
            logger.error("The data of '%s' could not be searched for secrets and are withheld: %r", event, error)
            return withheld(event, data)
        return noted(event, shown, hits) if hits or shown is not data else data

    def redact(self, value: Any) -> tuple[Any, Hits]:
        """``value`` with its secrets masked, and how many of each kind there were."""
        return redact_value(value, allow=self._allow, redact=self._memo.redact)

    def whole(self, value: Any) -> Any:
        """``value`` with its secrets masked wherever they are: it is no event, so no place in it is left alone."""
        return redact_value(value, redact=self._memo.redact)[0]


def noted(event: str, data: Data, hits: Hits) -> Data:
    """``data`` with the note of what was masked in them."""
    return {**data, NOTE: Note(event, sorted(hits), hits.total())}


def withheld(event: str, data: Mapping[Any, Any]) -> Data:
    """The facts of an event that could not be searched."""
    facts = {key: value for key, value in data.items() if key in _FACTS and isinstance(value, str | int | float)}
    return {**facts, NOTE: Note(event, ["unsearchable"], 1)}
