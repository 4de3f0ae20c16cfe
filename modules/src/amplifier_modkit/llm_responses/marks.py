"""The vendor's side of a content block: what an item of an answer has beside its text, kept to be sent back as it was.

A block has its mark under one extra key, beside the name of the service that alone can read it. Whoever stores the
block stores both; other vendors pass them over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from amplifier_modkit.llm.blocks import VENDOR

MARK = "responses_item"
"""The key of a block under which its mark stands."""

Item = dict[str, Any]


def new_mark(origin: str, item: Mapping[str, Any], *, has_thought: bool, **more: Any) -> dict[str, Any]:
    """The extras of a block that ``item`` came as; ``origin`` is the service that can read its ids and secrets.

    ``has_thought`` says that reasoning belongs to the answer: the service wants these items with it, or without ids.
    """
    mark: dict[str, Any] = {"item": dict(item), **more}
    return {VENDOR: origin, MARK: {**mark, "has_thought": True} if has_thought else mark}


def mark_of(block: Mapping[str, Any], origin: str) -> dict[str, Any] | None:
    """The mark of a block, if it comes from ``origin``."""
    mark: Any = block.get(MARK) if block.get(VENDOR) == origin else None
    if not isinstance(mark, dict) or not isinstance(cast("dict[str, Any]", mark).get("item"), dict):
        return None
    return cast("dict[str, Any]", mark)


def without(holder: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """What ``holder`` has beside ``names``."""
    return {name: value for name, value in holder.items() if name not in names}
