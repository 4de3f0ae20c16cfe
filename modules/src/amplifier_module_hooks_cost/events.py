"""The events that the module emits beside ``policy:violation``."""

from __future__ import annotations

COST_WARNING = "cost:warning"
"""A limit is nearly reached: ``limit``, ``spent``, ``of``, ``session_id``."""

COST_LIMIT_REACHED = "cost:limit_reached"
"""A model call was refused: ``limit``, ``reason``, ``session_id``."""

COST_UNKNOWN_PRICE = "cost:unknown_price"
"""A call was answered of which nobody can tell what it cost: ``model``, ``provider``."""

OWN_EVENTS = (COST_WARNING, COST_LIMIT_REACHED, COST_UNKNOWN_PRICE)
