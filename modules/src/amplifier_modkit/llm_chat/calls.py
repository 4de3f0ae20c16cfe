"""The arguments of a tool call in every form that servers of this protocol give them."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from amplifier_modkit.llm.blocks import read_arguments as read_once

_NOTHING = "null"


def read_arguments(given: Any) -> dict[str, Any] | str:
    """The object that arguments are, or are the JSON of, even twice over; what is no object stays as its text."""
    found = read_once(given)
    if isinstance(found, dict):
        return found
    if found.strip() == _NOTHING:
        return {}
    if found.lstrip().startswith('"'):
        with suppress(ValueError):  # a text that only begins like one stays what it is
            inner = read_once(json.loads(found))
            return inner if isinstance(inner, dict) else found
    return found


def arguments_text(arguments: Any) -> str:
    """The arguments of a call as JSON, the same bytes for the same arguments."""
    return json.dumps(arguments or {}, ensure_ascii=False)
