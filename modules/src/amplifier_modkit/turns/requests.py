"""The request that a model gets: the context's messages with what hooks add for this once, and the tools on offer."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError

from amplifier_core.interfaces import Tool
from amplifier_core.message_models import Message as RequestMessage
from amplifier_core.message_models import ToolSpec
from amplifier_core.models import ContextInjection, sanitize_for_llm
from amplifier_modkit.messages import Message

logger = logging.getLogger(__name__)


def with_injections(messages: Sequence[Message], injections: Iterable[ContextInjection]) -> list[Message]:
    """``messages`` with the injections behind them, or at the end of the last tool result for those that ask for it.

    The given messages stay as they are; each added one says which hook it comes from. One that is stored as well goes
    where it stands in the conversation: behind everything.
    """
    extended = list(messages)
    for injection in injections:
        is_glued = injection.append_to_last_tool_result and injection.ephemeral
        place = _last_tool_result(extended) if is_glued else None
        if place is None:
            extended.append(_as_message(injection))
        else:
            extended[place] = _appended(extended[place], injection.content, _origin(injection))
    return extended


def _as_message(injection: ContextInjection) -> Message:
    text = sanitize_for_llm(injection.content)
    return {"role": injection.role, "content": text, "metadata": _origin(injection)}


def _origin(injection: ContextInjection) -> dict[str, Any]:
    named = {"source": "hook", "hook_name": injection.hook_name, "event": injection.event}
    return {**named, "ephemeral": injection.ephemeral}


def reminder(text: str) -> Message:
    """A message of the loop's own, for one request."""
    told = f"<system-reminder>\n{text}\n</system-reminder>"
    return {"role": "user", "content": told, "metadata": {"source": "orchestrator", "ephemeral": True}}


class RequestMessages:
    """Messages as the models of a request; those that the request before began with are made once.

    Holding on to the messages of that request, it knows them by being the same objects, or equal ones.
    """

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._models: list[RequestMessage] = []

    def to_models(self, messages: Sequence[Message], is_changed: bool = False) -> list[RequestMessage]:
        """``messages`` as models; one that is not quite right is passed on as it is, for the provider to judge.

        ``is_changed`` says that hooks may have written into messages known from before.
        """
        known = 0 if is_changed else self._shared_with(messages)
        self._models = [*self._models[:known], *map(to_model, messages[known:])]
        self._messages = list(messages)
        return self._models

    def _shared_with(self, messages: Sequence[Message]) -> int:
        """How many messages both requests begin with."""
        most = min(len(messages), len(self._messages))
        # Comparing whole lists of the same objects costs next to nothing, and nearly always settles it.
        if self._messages[:most] == list(messages[:most]):
            return most
        return next(place for place in range(most) if self._messages[place] != messages[place])


def to_model(message: Message) -> RequestMessage:
    """One message of a context as a model."""
    fields: dict[str, Any] = {**message, "content": ""} if message.get("content") is None else message
    try:
        return RequestMessage.model_validate(fields)
    except ValidationError as error:
        logger.debug("A message with role %r is sent as it is: %s", message.get("role"), error)
        return RequestMessage.model_construct(None, **fields)


class ToolOffer:
    """The tools as the model sees them; a tool is described anew only when it says something else than before."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._tools = tools
        self._known: dict[str, tuple[tuple[Any, ...], ToolSpec]] = {}

    def specs(self) -> list[ToolSpec]:
        """What is on offer now; a tool that cannot be described is left out with a warning."""
        specs: list[ToolSpec] = []
        for name, tool in self._tools.items():
            try:
                specs.append(self._spec(name, tool))
            except Exception as error:
                logger.warning("Tool '%s' is not offered to the model: %s: %s", name, type(error).__name__, error)
        return specs

    def _spec(self, name: str, tool: Tool) -> ToolSpec:
        schema = getattr(tool, "input_schema", None)
        if schema is None:
            return _spec(name, tool)  # it may have a method for it, which is not called twice
        said = (tool, tool.description, schema, getattr(tool, "native_tool_spec", None))
        known = self._known.get(name)
        if known is None or known[0] != said:
            known = self._known[name] = (said, _spec(name, tool))
        return known[1]


def _spec(name: str, tool: Tool) -> ToolSpec:
    spec = ToolSpec.from_tool(tool)
    native = getattr(tool, "native_tool_spec", None)
    changes: dict[str, Any] = dict(cast("Mapping[str, Any]", native)) if isinstance(native, Mapping) else {}
    # Calls come back by the name the tool is mounted under, which may differ from its own.
    if changes or spec.name != name:
        return ToolSpec.model_validate({**spec.model_dump(), **changes, "name": name})
    return spec


def _last_tool_result(messages: Sequence[Message]) -> int | None:
    # Only at the very end: further up, the change would spoil what the provider has cached.
    return len(messages) - 1 if messages and messages[-1].get("role") == "tool" else None


def _appended(message: Message, text: str, origin: dict[str, Any]) -> Message:
    content: Any = message.get("content")
    if isinstance(content, list):
        content = [*cast("list[Any]", content), {"type": "text", "text": text}]
    else:
        content = f"{content}\n\n{text}" if content else text
    metadata: dict[str, Any] = message.get("metadata") or {}
    appended = [*metadata.get("appended", ()), origin]
    return {**message, "content": content, "metadata": {**metadata, "appended": appended}}
