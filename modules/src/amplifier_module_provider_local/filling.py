"""The second stage of a tool call: its arguments, which always fit the tool's schema, or are not given at all."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, cast

from amplifier_core.llm_errors import InvalidRequestError
from amplifier_core.message_models import ToolSpec
from amplifier_modkit.turns.schemas import Schema
from amplifier_module_provider_local.asking import ask
from amplifier_module_provider_local.engine import Engine
from amplifier_module_provider_local.narrowing import narrow
from amplifier_module_provider_local.prompts import arguments_for

logger = logging.getLogger(__name__)

_MOST_TOKENS = 200
# The first attempt takes what is likeliest; if that does not fit, others are drawn.
_TEMPERATURES = (0.0, 0.7, 1.0)


async def fill(engine: Engine, tool: ToolSpec, asked: str, seed: int) -> dict[str, Any] | None:
    """Arguments for ``tool`` out of what was asked; ``None`` where the model finds none that fit the schema."""
    try:
        narrowed = narrow(tool.parameters, asked)
        schema = _checked(tool)
    except (ValueError, TypeError) as error:
        logger.warning("Tool '%s' is not called: its schema cannot be followed: %s", tool.name, error)
        return None
    names = list(narrowed["properties"])
    if not names:
        return {} if schema is None or schema.complaint({}) is None else None
    prompt: dict[str, Any] = {"messages": arguments_for(tool, names, asked), "max_tokens": _MOST_TOKENS}
    prompt["grammar"] = engine.grammar(narrowed)
    for attempt, temperature in enumerate(_TEMPERATURES):
        try:
            generated = await ask(engine, {**prompt, "temperature": temperature, "seed": seed + attempt})
        except InvalidRequestError as error:
            logger.warning("Tool '%s' is not called: its schema cannot be followed: %s", tool.name, error)
            return None
        arguments = _fitting(generated.text, schema)
        if arguments is not None:
            return arguments
        logger.debug("Attempt %d at the arguments of '%s' does not fit: %s", attempt + 1, tool.name, generated.text)
    return None


def _checked(tool: ToolSpec) -> Schema | None:
    schema: Mapping[str, Any] = tool.parameters
    return Schema(dict(schema)) if schema else None


def _fitting(text: str, schema: Schema | None) -> dict[str, Any] | None:
    try:
        arguments: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(arguments, dict) or (schema is not None and schema.complaint(arguments) is not None):
        return None
    return cast("dict[str, Any]", arguments)
