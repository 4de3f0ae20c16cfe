"""Requests and answers between chat completions and Ollama's own protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from amplifier_core.message_models import Degradation
from amplifier_modkit.llm_chat.calls import read_arguments
from amplifier_modkit.llm_chat.parts import missing_image

_OPTIONS = {
    "max_tokens": "num_predict",
    "temperature": "temperature",
    "top_p": "top_p",
    "stop": "stop",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
}
_ANSWER_KEYS = frozenset({"message", "done", "done_reason", "prompt_eval_count", "eval_count"})


def to_native(body: Mapping[str, Any], notes: list[Degradation]) -> dict[str, Any]:
    """The request of chat completions in ``body`` as Ollama reads it; what it cannot do is told in ``notes``."""
    names: dict[str, str] = {}
    native: dict[str, Any] = {
        "model": body["model"],
        "messages": [_to_message(message, names, notes) for message in body["messages"]],
        "stream": body.get("stream", False),
        # Else the server leaves out the beginning of what is too long, and nobody is told.
        "truncate": False,
        "options": {name: body[key] for key, name in _OPTIONS.items() if key in body},
    }
    tools = _offered(body.get("tools") or (), body.get("tool_choice"), notes)
    if tools:
        native["tools"] = tools
    if "response_format" in body:
        wanted = body["response_format"]
        native["format"] = wanted["json_schema"]["schema"] if wanted["type"] == "json_schema" else "json"
    return native


def from_native(answer: Mapping[str, Any], new_id: Callable[[], str]) -> dict[str, Any]:
    """An answer of Ollama, or one line of a streamed one, as a chunk of chat completions."""
    found: Any = answer.get("message")
    message: Mapping[str, Any] = cast("Any", found) if isinstance(found, Mapping) else {}
    calls: Any = message.get("tool_calls")
    delta = {
        "content": message.get("content"),
        "reasoning": message.get("thinking"),
        # Every call comes whole, and none is to be taken for a piece of another.
        "tool_calls": [{**call, "id": call.get("id") or new_id(), "index": None} for call in _maps(calls)],
    }
    choice: dict[str, Any] = {"delta": delta}
    chunk = {key: value for key, value in answer.items() if key not in _ANSWER_KEYS}
    if answer.get("done"):
        choice["finish_reason"] = answer.get("done_reason") or "stop"
        sent, made = answer.get("prompt_eval_count"), answer.get("eval_count")
        if sent is not None or made is not None:
            # What is not counted was in the server's cache whole, or was not made.
            chunk["usage"] = {"prompt_tokens": sent or 0, "completion_tokens": made or 0}
    return {**chunk, "choices": [choice]}


def _to_message(message: Mapping[str, Any], names: dict[str, str], notes: list[Degradation]) -> dict[str, Any]:
    """One message; ``names`` are those of the tools by the ids of their calls, and grow with every call."""
    text, images = _taken_apart(message.get("content"), notes)
    native: dict[str, Any] = {"role": message["role"], "content": text}
    if images:
        native["images"] = images
    if message.get("reasoning"):
        native["thinking"] = message["reasoning"]
    if "tool_calls" in message:
        native["tool_calls"] = [_to_call(call) for call in message["tool_calls"]]
        names.update({call["id"]: call["function"]["name"] for call in message["tool_calls"]})
    if "tool_call_id" in message:
        native["tool_call_id"] = message["tool_call_id"]
        native["tool_name"] = names.get(message["tool_call_id"], "")
    return native


def _to_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = {**call["function"], "arguments": read_arguments(call["function"]["arguments"])}
    return {**call, "function": function}


def _taken_apart(content: Any, notes: list[Degradation]) -> tuple[str, list[str]]:
    """Text and images of a content; Ollama takes the bytes of an image and no address."""
    if not isinstance(content, list):
        return content or "", []
    texts: list[str] = []
    images: list[str] = []
    for part in _maps(cast("list[Any]", content)):
        if part.get("type") == "text":
            texts.append(part["text"])
            continue
        url: Any = cast("Mapping[str, Any]", part.get("image_url") or {}).get("url", "")
        head, _, data = str(url).partition(";base64,")
        if head.startswith("data:") and data:
            images.append(data)
        else:
            texts.append(missing_image(notes, "Ollama takes images as bytes only"))
    return "\n".join(texts), images


def _offered(tools: Iterable[Mapping[str, Any]], choice: Any, notes: list[Degradation]) -> list[Mapping[str, Any]]:
    """The tools on offer; Ollama knows no choice, so one comes near it by what is offered."""
    offered = list(tools)
    if choice == "none":
        return []
    if choice is None or choice == "auto" or not offered:
        return offered
    if isinstance(choice, dict):
        name: str = cast("dict[str, Any]", choice)["function"]["name"]
        offered = [tool for tool in offered if tool.get("function", {}).get("name") == name]
    reason = "Ollama lets the model choose among the tools on offer"
    notes.append(Degradation(requested=f"tool_choice={choice!r}", actual=f"{len(offered)} on offer", reason=reason))
    return offered


def _maps(values: Any) -> list[Mapping[str, Any]]:
    listed = cast("list[Any]", values) if isinstance(values, list) else []
    return [cast("Mapping[str, Any]", each) for each in listed if isinstance(each, Mapping)]
