"""The Responses API as the kit wants it: requests and answers as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from amplifier_core.llm_errors import InvalidRequestError
from amplifier_core.message_models import ChatRequest, ChatResponse, Message
from amplifier_core.models import ModelInfo
from amplifier_modkit.llm.catalogue import Catalogue
from amplifier_modkit.llm.wire import WireCall
from amplifier_modkit.llm_responses.abilities import Abilities, abilities_of
from amplifier_modkit.llm_responses.chain import ResponseChain
from amplifier_modkit.llm_responses.incoming import read_response
from amplifier_modkit.llm_responses.known_models import is_for_text
from amplifier_modkit.llm_responses.marks import Item
from amplifier_modkit.llm_responses.outgoing import ItemWriter
from amplifier_modkit.llm_responses.streams import ResponsesStream
from amplifier_modkit.llm_responses.wishes import ENCRYPTED_REASONING, JSON_REMINDER, Wishes, WishWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceForm:
    """How one service wants the API to be used.

    ``origin`` marks what only it can read; ``query`` ends every path; ``stores`` lets it keep the answers;
    ``deployment_of`` gives the name that a model has there.
    """

    origin: str
    catalogue: Catalogue
    wishes: Wishes = field(default_factory=Wishes)
    query: str = ""
    stores: bool = False
    deployment_of: Callable[[str], str] = str


class ResponsesWire:
    """Writes requests and reads answers for one service; with a ``chain``, requests go on from stored answers."""

    def __init__(self, form: ServiceForm, chain: ResponseChain | None = None) -> None:
        self._form = form
        self._chain = chain

    def path(self, *parts: str) -> str:
        """The path of an answer, of what one can do with it, or, without ``parts``, of all answers."""
        return "/".join(("/responses", *parts)) + self._form.query

    def to_call(self, request: ChatRequest, model: str, *, stream: bool, forgets_reasoning: bool = False) -> WireCall:
        """The request; ``forgets_reasoning`` leaves out the reasoning of earlier answers. See ``Wire``."""
        if not request.messages:
            raise InvalidRequestError(f"A request to {model} needs at least one message", model=model)
        form, abilities = self._form, abilities_of(model)
        written = ItemWriter(form.origin, form.stores, forgets_reasoning).write(request.messages)
        link = self._chain.find(written.items) if self._chain is not None else None
        in_background = _runs_in_background(request, abilities)
        writer = WishWriter(request, model, abilities, form.wishes)
        body: dict[str, Any] = {
            "model": form.deployment_of(model),
            "input": written.items if link is None else link.items,
            "store": form.stores or in_background,
            "stream": stream and not in_background,
            **writer.write(),
        }
        if link is not None and link.response_id is not None:
            body["previous_response_id"] = link.response_id
        if in_background:
            body["background"] = True
        _add_instructions(body, written.instructions)
        if abilities.reasons:
            body["include"] = list(dict.fromkeys([*body.get("include", ()), ENCRYPTED_REASONING]))
        return WireCall(self.path(), body, degradations=writer.degradations)

    def read_answer(self, body: Mapping[str, Any]) -> ChatResponse:
        """The answer; see ``Wire``."""
        return read_response(body, self._form.origin)

    def open_stream(self) -> ResponsesStream:
        """A reader for one streamed answer."""
        return ResponsesStream(self._form.origin)

    def read_models(self, body: Mapping[str, Any]) -> list[ModelInfo]:
        """The models that read and write text, newest first."""
        listed = sorted(cast("list[dict[str, Any]]", body["data"]), key=lambda each: -int(each.get("created") or 0))
        return [self._form.catalogue.info(each["id"]) for each in listed if is_for_text(each["id"])]

    def forget_answers(self) -> None:
        """Lets the next request be sent whole."""
        if self._chain is not None:
            self._chain.clear()

    def remember(self, request: ChatRequest, response: ChatResponse, response_id: str) -> None:
        """Takes down that the service keeps ``response`` as the end of the conversation of ``request``."""
        if self._chain is not None:
            writer = ItemWriter(self._form.origin, self._form.stores)
            answer = Message(role="assistant", content=response.content)
            items: list[Item] = writer.write([*request.messages, answer]).items
            self._chain.remember(items, response_id)


def _runs_in_background(request: ChatRequest, abilities: Abilities) -> bool:
    wanted = (request.metadata or {}).get("background")
    return bool(abilities.runs_in_background if wanted is None else wanted)


def _add_instructions(body: dict[str, Any], instructions: str | None) -> None:
    # The service refuses to write JSON for a conversation in which nobody speaks of it.
    is_json = body.get("text", {}).get("format", {}).get("type") == "json_object"
    told = "\n\n".join(filter(None, (instructions, JSON_REMINDER if is_json else None)))
    if told:
        body["instructions"] = told
