"""The conversation as the Messages API takes it: system text apart, turns that alternate, blocks in its own form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from amplifier_core.llm_errors import InvalidRequestError
from amplifier_core.message_models import Message, ToolSpec
from amplifier_modkit.llm.blocks import VENDOR, blocks_in, carried_in, extras_of, is_failed, text_in
from amplifier_module_provider_anthropic.models import NAME

Block = dict[str, Any]

_CALL_KEYS = frozenset({"type", "id", "name", "input", "raw_arguments"})
_TEXT_KEYS = frozenset({"type", "text", "citations"})
_ANSWER_KEYS = frozenset({"type", "text"})
_PLAIN_KEYS = _ANSWER_KEYS | _CALL_KEYS
_THINKING_KEYS = frozenset({"type", "thinking", "signature", "content"})
_TOOL_KEYS = frozenset({"name", "description", "parameters"})
_IMAGE_KEYS = frozenset({"type", "source"})
_BEGINNING = "(The conversation begins here.)"
_GO_ON = "Continue."


@dataclass(slots=True)
class Turn:
    """One message of the API; ``stable`` is how many of its blocks will be there in the next request, too."""

    role: str
    content: list[Block] = field(default_factory=list[Block])
    stable: int = 0


class Conversation(NamedTuple):
    """System text and turns."""

    system: list[Block]
    turns: list[Turn]


def to_conversation(messages: Sequence[Message], *, may_end_with_answer: bool) -> Conversation:
    """The messages in turns; raises ``InvalidRequestError`` where nothing is said.

    What stands before everything else is the system text. Later words of the system are said within the user's turn,
    since a system text that changes would cost the whole cache.
    """
    begin = next((place for place, each in enumerate(messages) if each.role not in ("system", "developer")), None)
    head = messages[:begin]
    system: list[Block] = [{"type": "text", "text": text} for text in map(text_in, head) if text.strip()]
    turns: list[Turn] = []
    for message in messages[len(head) :]:
        _add(turns, message)
    if not turns:
        raise InvalidRequestError("A request needs at least one message that says something", provider=NAME)
    if turns[0].role == "assistant":
        turns.insert(0, Turn("user", [{"type": "text", "text": _BEGINNING}], 1))
    if turns[-1].role == "assistant" and not may_end_with_answer:
        turns.append(Turn("user", [{"type": "text", "text": _GO_ON}]))
    return Conversation(system, turns)


def to_tools(specs: Iterable[ToolSpec]) -> list[Block]:
    """The tools on offer; one that has a ``type`` of its own is the service's, and is passed on as it is."""
    return [_to_tool(spec) for spec in specs]


def closed(schema: Any) -> Any:
    """A JSON Schema whose objects allow only what they name, as the API wants it of the schema of an answer."""
    if isinstance(schema, list):
        return [closed(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, Mapping):
        return schema
    found = {key: closed(value) for key, value in cast("Mapping[str, Any]", schema).items()}
    return {**found, "additionalProperties": False} if found.get("type") == "object" else found


def _add(turns: list[Turn], message: Message) -> None:
    role = "assistant" if message.role == "assistant" else "user"
    blocks = _blocks_of(message)
    if not blocks:
        return
    if not turns or turns[-1].role != role:
        turns.append(Turn(role))
    turn = turns[-1]
    is_all_stable = turn.stable == len(turn.content)
    turn.content += blocks
    if is_all_stable and not (message.metadata or {}).get("ephemeral"):
        turn.stable = len(turn.content)


def _blocks_of(message: Message) -> list[Block]:
    if message.role == "assistant":
        return [sent for fields in blocks_in(message) for sent in _answer_block(fields)]
    if message.role in ("tool", "function"):
        return [_result(message)]
    if message.role in ("system", "developer"):
        text = text_in(message)
        told = f"<system-reminder>\n{text}\n</system-reminder>"
        return [{"type": "text", "text": told}] if text.strip() else []
    return [sent for fields in blocks_in(message) for sent in _user_block(fields)]


def _answer_block(fields: Mapping[str, Any]) -> Iterable[Block]:
    """A block of an answer as it goes back: as it came, or not at all."""
    carried = carried_in(fields, NAME)
    if carried is not None:
        yield carried
        return
    if fields.get(VENDOR, NAME) != NAME:
        # What another vendor has noted on a block says nothing here, and would be refused.
        fields = {key: value for key, value in fields.items() if key in _PLAIN_KEYS}
    match fields.get("type"):
        case "text":
            if str(fields.get("text", "")).strip():
                yield {"type": "text", "text": fields["text"], **extras_of(fields, _ANSWER_KEYS)}
        case "thinking":
            # Only signed thinking can go back; what is said twice in the answer itself is never needed.
            if fields.get("signature"):
                sent = {"type": "thinking", "thinking": fields["thinking"], "signature": fields["signature"]}
                yield {**sent, **extras_of(fields, _THINKING_KEYS)}
        case "redacted_thinking":
            yield {"type": "redacted_thinking", "data": fields["data"]}
        case "tool_call" | "tool_use":
            given: Any = fields.get("input") or {}
            sent = {"type": "tool_use", "id": fields["id"], "name": fields["name"], "input": given}
            yield {**sent, **extras_of(fields, _CALL_KEYS)}
        case "image" | "reasoning" | "tool_result":
            return  # the API takes none of them in an answer
        case _:
            yield {"type": fields.get("type"), **extras_of(fields, frozenset({"type"}))}


def _user_block(fields: Mapping[str, Any]) -> Iterable[Block]:
    match fields.get("type"):
        case "text":
            if str(fields.get("text", "")).strip():
                yield {"type": "text", "text": fields["text"], **extras_of(fields, _TEXT_KEYS)}
        case "image":
            yield {"type": "image", "source": _source(fields["source"]), **extras_of(fields, _IMAGE_KEYS)}
        case "thinking" | "redacted_thinking" | "reasoning" | "tool_call" | "tool_use" | "tool_result":
            return  # nothing that a user says
        case kind:
            yield {"type": kind, **extras_of(fields, frozenset({"type"}))}


def _source(source: Mapping[str, Any]) -> dict[str, Any]:
    """Where an image is; a URL that has the data in itself becomes data, since the API fetches only the others."""
    url: Any = source.get("url")
    if isinstance(url, str) and url.startswith("data:"):
        head, _, data = url.removeprefix("data:").partition(",")
        return {"type": "base64", "media_type": head.partition(";")[0] or "image/png", "data": data}
    return dict(source)


def _result(message: Message) -> Block:
    sent: Block = {"type": "tool_result", "tool_use_id": message.tool_call_id}
    content = [block for fields in blocks_in(message) for block in _user_block(fields)]
    if len(content) == 1 and content[0].keys() == {"type", "text"}:
        sent["content"] = content[0]["text"]
    elif content:
        sent["content"] = content
    return {**sent, "is_error": True} if is_failed(message) else sent


def _to_tool(spec: ToolSpec) -> Block:
    extras = spec.model_extra or {}
    if extras.get("type") not in (None, "custom", "function"):
        return {"name": spec.name, **extras}
    schema = spec.parameters if spec.parameters.get("type") == "object" else {"type": "object", **spec.parameters}
    described = {"description": spec.description} if spec.description else {}
    own = {key: value for key, value in extras.items() if key not in _TOOL_KEYS and key != "type"}
    return {"name": spec.name, **described, "input_schema": schema, **own}
