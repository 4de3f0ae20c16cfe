"""Sessions that go from one vendor to another: what the next one gets is in order, and has nothing that is not its own.

Everything here is data: answers as each vendor gives them, stored as a loop stores them, written as the next one reads
them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import pytest
from tests.modules.provider_samples import SAID, SAMPLES, SECRET, SIGNATURE, THOUGHT, Body, stored

from amplifier_core.message_models import ChatRequest
from amplifier_modkit.llm.repair import NO_RESULT, repair
from amplifier_modkit.llm.wire import Wire
from amplifier_modkit.llm_chat.wire import ChatWire
from amplifier_modkit.llm_responses.known_models import MODELS
from amplifier_modkit.llm_responses.wire import ResponsesWire, ServiceForm
from amplifier_modkit.turns.requests import to_model
from amplifier_module_provider_anthropic.wire import AnthropicWire
from amplifier_module_provider_gemini.wire import GeminiWire
from amplifier_module_provider_local.conversation import read
from amplifier_module_provider_ollama.config import OllamaSettings
from amplifier_module_provider_ollama.wire import OllamaWire

USER: Body = {"role": "user", "content": "What is the weather in Paris and Rome?"}
GO_ON: Body = {"role": "user", "content": "Go on, please."}
LOST_RESULT: Body = {"role": "tool", "tool_call_id": "nobody-knows", "content": "a result of long ago"}
OUR_KEYS = ('"vendor"', '"vendor_block"', '"visibility"')

Round = tuple[list[str], list[str]]
"""The calls of one answer, and the results that follow it, as a service pairs them."""


@dataclass(frozen=True)
class Vendor:
    """One vendor: its wire, the mark of its blocks, a model, and how its requests pair calls with results."""

    name: str
    wire: Wire
    mark: str
    model: str
    rounds: Callable[[Body], list[Round]]

    @property
    def secrets(self) -> list[str]:
        """What only this vendor can read, in the answer that it gives."""
        return [f"of-{self.name}-{each}" for each in (SIGNATURE, SECRET) if each in json.dumps(self._sample)]

    @property
    def _sample(self) -> Body:
        return next(sample.body for sample in SAMPLES if sample.name == self.name)

    def answer(self) -> Body:
        """An answer of this vendor, as it is stored: thoughts, text and two calls."""
        text = json.dumps(self._sample)
        for secret in (SIGNATURE, SECRET):
            text = text.replace(secret, f"of-{self.name}-{secret}")
        return stored(self.wire.read_answer(json.loads(text)))

    def turn(self) -> list[Body]:
        """The same with the results of its calls."""
        answer = self.answer()
        results = [{"role": "tool", "tool_call_id": call["id"], "content": "sunny"} for call in answer["tool_calls"]]
        return [USER, answer, *results]

    def asked(self, history: Sequence[Body]) -> tuple[Body, list[str]]:
        """The request for a history, and the kinds of repairs that it took."""
        repaired = repair(ChatRequest(messages=[to_model(each) for each in history]), self.mark)
        body = self.wire.to_call(repaired.request, self.model, stream=True).body
        return body, [each["kind"] for each in repaired.repairs]


def anthropic_rounds(body: Body) -> list[Round]:
    """The results of an answer are the beginning of the next message."""
    messages = body["messages"]
    return _neighbours(
        [
            (
                [block["id"] for block in message["content"] if block["type"] == "tool_use"],
                [block["tool_use_id"] for block in following["content"] if block["type"] == "tool_result"],
            )
            for message, following in zip(messages, [*messages[1:], {"content": []}], strict=True)
        ]
    )


def responses_rounds(body: Body) -> list[Round]:
    """Calls and results are items, paired by their ids wherever they are."""
    items = body["input"]
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    return [(calls, [item["call_id"] for item in items if item.get("type") == "function_call_output"])]


def gemini_rounds(body: Body) -> list[Round]:
    """There must be as many results as calls, under the same names, right behind them."""

    def named(content: Body, key: str) -> list[str]:
        return [f"{part[key]['name']} {part[key].get('id')}" for part in content["parts"] if key in part]

    contents = body["contents"]
    pairs = zip(contents, [*contents[1:], {"parts": []}], strict=True)
    return _neighbours([(named(first, "functionCall"), named(second, "functionResponse")) for first, second in pairs])


def chat_rounds(body: Body) -> list[Round]:
    """Each call is answered by a message of its own, right behind those that call."""
    rounds: list[Round] = []
    for message in body["messages"]:
        if message.get("tool_calls"):
            rounds.append(([call["id"] for call in message["tool_calls"]], []))
        elif message["role"] == "tool":
            rounds[-1][1].append(message["tool_call_id"])
    return rounds


def _neighbours(rounds: list[Round]) -> list[Round]:
    return [each for each in rounds if each != ([], [])]


def _responses(origin: str) -> Wire:
    return ResponsesWire(ServiceForm(origin=origin, catalogue=MODELS))


VENDORS = {
    vendor.name: vendor
    for vendor in (
        Vendor("anthropic", AnthropicWire(), "anthropic", "claude-sonnet-5-5", anthropic_rounds),
        Vendor("openai", _responses("openai"), "openai", "gpt-6.1-sol", responses_rounds),
        Vendor("azure-openai", _responses("azure@there"), "azure@there", "gpt-6.1-sol", responses_rounds),
        Vendor("gemini", GeminiWire(), "gemini", "gemini-3.8-flash", gemini_rounds),
        Vendor("chat-completions", ChatWire(), "chat-completions", "m", chat_rounds),
        Vendor("ollama", OllamaWire(OllamaSettings()), "chat-completions", "m", chat_rounds),
    )
}


def require_in_order(vendor: Vendor, body: Body, calls: int) -> None:
    """Every call has its result where the service wants it, no id is there twice, and nothing of ours goes out."""
    rounds = vendor.rounds(body)
    assert [sorted(made) for made, _ in rounds] == [sorted(results) for _, results in rounds]
    ids = [call for made, _ in rounds for call in made]
    assert (len(ids), len(set(ids))) == (calls, calls)
    assert [key for key in OUR_KEYS if key in json.dumps(body)] == []


def foreign_secrets(body: Body, *own: Vendor) -> list[str]:
    """What is in a request and can be read by nobody but somebody else."""
    sent, marks = json.dumps(body), {vendor.mark for vendor in own}
    others = [vendor for vendor in VENDORS.values() if vendor.mark not in marks]
    return [secret for vendor in others for secret in vendor.secrets if secret in sent]


@pytest.mark.parametrize(("before", "after"), list(product(VENDORS, repeat=2)))
def test_a_vendor_goes_on_where_another_was_interrupted(before: str, after: str) -> None:
    """A call without a result gets one, a result without a call becomes text, and foreign secrets stay behind."""
    first, second = VENDORS[before], VENDORS[after]
    *turn, _ = first.turn()
    body, repairs = second.asked([*turn, LOST_RESULT, GO_ON])
    require_in_order(second, body, calls=2)
    assert sorted(repairs) == ["missing_result", "orphan_result"]
    sent = json.dumps(body, ensure_ascii=False)
    assert [text for text in (SAID, NO_RESULT, "a result of long ago", "Go on, please.") if text not in sent] == []
    assert foreign_secrets(body, second) == []
    if first.mark != second.mark:
        assert THOUGHT not in sent  # a vendor refuses thinking that it did not sign
    if first is second:
        assert [secret for secret in first.secrets if secret not in sent] == []


@pytest.mark.parametrize(("before", "between"), list(permutations(VENDORS, 2)))
def test_a_vendor_that_is_asked_again_gets_back_what_is_its_own(before: str, between: str) -> None:
    """Between its own answers another one answered: its secrets are unchanged, the other's are not there."""
    first, second = VENDORS[before], VENDORS[between]
    body, repairs = first.asked([*first.turn(), *second.turn(), GO_ON])
    require_in_order(first, body, calls=4)
    assert repairs == []
    sent = json.dumps(body)
    assert [secret for secret in first.secrets if secret not in sent] == []
    assert foreign_secrets(body, first) == []
    assert sent.count(SAID) == 2


@pytest.mark.parametrize("before", VENDORS)
def test_the_embedded_model_goes_on_after_any_vendor(before: str) -> None:
    """It reads what was said and the results, and none of the thoughts, calls and secrets."""
    first = VENDORS[before]
    *turn, _ = first.turn()
    repaired = repair(ChatRequest(messages=[to_model(each) for each in turn]), "local")
    conversation = read(repaired.request, max_system_chars=1_000, max_result_chars=1_000)
    assert conversation.messages == [
        {"role": "user", "content": USER["content"]},
        {"role": "assistant", "content": SAID},
    ]
    assert (conversation.asked, conversation.results) == (USER["content"], ["sunny", NO_RESULT])


def test_a_session_goes_through_all_vendors() -> None:
    """With each step the conversation gets longer, and everybody can read all of it, the embedded model too."""
    history: list[Body] = []
    for number, vendor in enumerate(VENDORS.values(), 1):
        history += vendor.turn()
        for reader in VENDORS.values():
            body, repairs = reader.asked([*history, GO_ON])
            require_in_order(reader, body, calls=2 * number)
            assert repairs == []
            assert foreign_secrets(body, reader) == []
    repaired = repair(ChatRequest(messages=[to_model(each) for each in [*history, GO_ON]]), "local")
    conversation = read(repaired.request, max_system_chars=1_000, max_result_chars=1_000)
    assert [each["content"] for each in conversation.messages if each["role"] == "assistant"] == [SAID] * len(VENDORS)
    assert conversation.asked == GO_ON["content"]
