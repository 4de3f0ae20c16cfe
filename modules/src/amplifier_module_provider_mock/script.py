"""The script: a list of answers or a function of the request, and what happens after the last one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from amplifier_core.message_models import ChatRequest
from amplifier_module_provider_mock.errors import ScriptError, ScriptFormatError
from amplifier_module_provider_mock.expectations import last_message
from amplifier_module_provider_mock.reading import Entry, EntryFunction, is_failure, read_entry

AtEnd = Literal["repeat", "last", "error"]


@dataclass(frozen=True, slots=True)
class _Computed:
    """An entry that is known when the request is."""

    function: EntryFunction


class Script:
    """What a provider answers, call by call; everything in it that is no function is checked when it is made.

    ``title`` names it in messages (``the script``, ``scenario x.yaml``), ``unit`` one of its entries.
    """

    def __init__(self, entries: Sequence[Any] | EntryFunction, title: str, at_end: AtEnd, unit: str = "Answer") -> None:
        self._title = title
        self._unit = unit
        # A function has an answer to every call, so it is its own last entry.
        self._at_end: AtEnd = "last" if callable(entries) else at_end
        listed: Sequence[Any] = [entries] if callable(entries) else entries
        self._entries = [self._checked(number, entry) for number, entry in enumerate(listed, start=1)]
        if not self._entries and at_end != "error":
            raise ScriptFormatError(f"{_opening(title)} has no answer, and at_end is '{at_end}'; give at least one")

    async def entry_for(self, call: int, request: ChatRequest) -> tuple[Entry, str]:
        """What is to be played for the call with this number, and its place in the script.

        Raises ``ScriptError`` when nothing is left.
        """
        number = self._number_for(call, request)
        entry = self._entries[number - 1]
        if not isinstance(entry, _Computed):
            return entry, self._place(number)
        place = f"What a function of {self._title} gives for call {call}"
        given = entry.function(request)
        return read_entry(await given if inspect.isawaitable(given) else given, place), place

    def _number_for(self, call: int, request: ChatRequest) -> int:
        length = len(self._entries)
        if call <= length:
            return call
        if self._at_end == "last":
            return length
        if self._at_end == "repeat":
            return (call - 1) % length + 1
        counted = "1 answer" if length == 1 else f"{length} answers"
        raise ScriptError(
            f"{_opening(self._title)} has {counted}; this is call {call}. {last_message(request)} "
            "Add an answer, or set at_end to 'repeat' or 'last'."
        )

    def _checked(self, number: int, entry: Any) -> Entry | _Computed:
        if callable(entry) and not is_failure(entry):
            return _Computed(entry)
        return read_entry(entry, self._place(number))

    def _place(self, number: int) -> str:
        return f"{self._unit} {number} of {self._title}"


def _opening(title: str) -> str:
    return f"{title[0].upper()}{title[1:]}"
