"""The provider of Ollama over its own protocol: windows, reasoning, lines of JSON, models that are missing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.modules.chat_servers import FREE, lines, question, thirds, world
from tests.modules.llm_server import Answer, Frame, json_answer
from tests.modules.provider_faults import FAULTS, Fault, VendorUnderTest, text_of

import amplifier_module_provider_ollama
from amplifier_core.events import LLM_REQUEST, LLM_RESPONSE, PROVIDER_RETRY
from amplifier_core.hooks import HookRegistry
from amplifier_core.llm_errors import ContextLengthError, NotFoundError, ProviderUnavailableError
from amplifier_core.message_models import (
    ChatRequest,
    ImageBlock,
    Message,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    TextBlock,
    ToolCallBlock,
    ToolSpec,
)
from amplifier_core.testing import TestCoordinator
from amplifier_core.validation import ProviderValidator
from amplifier_core.validation.behavioral import ProviderBehaviorTests
from amplifier_core.validation.structural import ProviderStructuralTests
from amplifier_kit.chaos import ProviderChaosTests
from amplifier_modkit.events import LLM_STREAM_BLOCK_DELTA
from amplifier_modkit.llm.catalogue import Catalogue
from amplifier_modkit.llm.errors import BrokenStreamError
from amplifier_modkit.llm.vendor import Vendor
from amplifier_module_provider_ollama import mount
from amplifier_module_provider_ollama.config import OllamaSettings
from amplifier_module_provider_ollama.facts import loaded_window, read_facts
from amplifier_module_provider_ollama.provider import OllamaProvider
from amplifier_module_provider_ollama.wire import OllamaWire

PACKAGE = Path(amplifier_module_provider_ollama.__file__).parent
AWAY = {"host": "http://127.0.0.1:1", "max_retries": 0}
END = {"model": "qwen3:8b", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
COUNTED = {**END, "prompt_eval_count": 9, "eval_count": 3, "total_duration": 5}


def said(text: str = "", **others: Any) -> dict[str, Any]:
    """A line that says something."""
    return {"model": "qwen3:8b", "message": {"role": "assistant", "content": text, **others}, "done": False}


def shown(*capabilities: str, longest: int = 40960, parameters: str = "") -> Answer:
    """What Ollama shows of a model."""
    info = {"general.architecture": "qwen3", "qwen3.context_length": longest}
    return json_answer({"model_info": info, "capabilities": list(capabilities), "parameters": parameters})


def paths(
    show: Answer | None = None, running: Sequence[Mapping[str, Any]] = (), models: Sequence[str] = ("qwen3:8b",)
) -> dict[str, Answer]:
    """What the server tells about its models."""
    return {
        "/api/show": show or shown("completion", "tools", "thinking"),
        "/api/ps": json_answer({"models": list(running)}),
        "/api/tags": json_answer({"models": [{"name": name, "model": name} for name in models]}),
    }


def here_with(*answers: Answer, **config: Any) -> Any:
    """A session with the provider."""
    settings = {"paths": paths(), "default_model": "qwen3:8b", "place": "host", **config}
    return world(mount, "ollama", *answers, **settings)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that this machine has set matters."""
    for name in ("OLLAMA_HOST", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


class OfThisModule:
    """Tests of this module with nobody at its address."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return AWAY


class TestContract(OfThisModule, ProviderBehaviorTests, ProviderStructuralTests):
    """Everything a provider promises."""


class TestUnderChaos(OfThisModule, ProviderChaosTests):
    """And under every fault."""


class KnowingProvider(OllamaProvider):
    """A provider that asks nothing before a request, as if it knew all models."""

    async def prepare(self, model: str) -> None:
        """Nothing to ask."""


def make(url: str, hooks: HookRegistry | None, key: str | None, **settings: Any) -> OllamaProvider:
    """A provider without a session."""
    vendor = Vendor(name="ollama", display_name="Ollama", base_url=url, default_model="m", catalogue=Catalogue(()))
    read = OllamaSettings.read(settings)
    return KnowingProvider(OllamaWire(read), read, vendor, key=key, hooks=hooks)


def frames(text: str) -> Sequence[Frame]:
    """The lines of an answer, each as an event: the faults are the same."""
    return [*((None, said(part)) for part in thirds(text)), (None, COUNTED)]


VENDOR = VendorUnderTest(
    make=make,
    frames=frames,
    body=lambda text: {**COUNTED, "message": {"role": "assistant", "content": text}},
    refusal=lambda message: {"error": message},
)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_a_fault_ends_as_it_should(fault: Fault) -> None:
    """Each fault becomes the error that fits, told once, with what came; what is no fault makes no difference."""
    await fault.check_with(VENDOR)


async def test_the_validator_finds_nothing_to_complain_about() -> None:
    """All checks of the provider contract pass."""
    result = await ProviderValidator().validate(PACKAGE, config=AWAY)
    assert [check.message for check in result.checks if not check.passed] == []


async def test_it_mounts_with_one_warning_when_the_server_is_away(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says of itself then is what it would ask for."""
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    coordinator = TestCoordinator()
    close = await mount(coordinator)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("Ollama cannot be asked yet; the provider is mounted and will try again")
    info = coordinator.get("providers", "ollama").get_info()
    assert (info.id, info.credential_env_vars) == ("ollama", ["OLLAMA_API_KEY"])
    assert info.defaults == {
        "model": "llama3.2:3b",
        "context_window": 8192,
        "max_output_tokens": 4096,
        "max_tokens": 4096,
        "timeout": 300.0,
    }
    assert [field.id for field in info.config_fields] == ["host", "default_model"]
    assert close is not None
    await close()


async def test_a_whole_turn_goes_over_the_native_protocol() -> None:
    """Lines of JSON, reasoning where the API expects it, the window that was told, and what it took."""
    answer = lines([said(thinking="h"), said(thinking="m"), said("Hel"), said("lo"), COUNTED]).cut(7)
    told = (LLM_REQUEST, LLM_RESPONSE, LLM_STREAM_BLOCK_DELTA)
    async with here_with(answer, events=told, keep_alive="5m", raw_debug=True) as here:
        response = await here.provider.complete(question(temperature=0.0, stop=["END"], seed=3))
    assert here.server.bodies[-1] == {
        "model": "qwen3:8b",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "truncate": False,
        "think": True,
        "keep_alive": "5m",
        "options": {"num_predict": 4096, "temperature": 0.0, "stop": ["END"], "seed": 3, "num_ctx": 8192},
    }
    assert [seen.path for seen in here.server.requests] == ["/api/show", "/api/ps", "/api/chat"]
    assert [block.model_dump(exclude_none=True) for block in response.content] == [
        {"type": "thinking", "thinking": "hm", "vendor": "chat-completions", "chat": {"field": "reasoning"}},
        {"type": "text", "text": "Hello"},
    ]
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.cost_usd) == (9, 3, Decimal(0))
    assert response.metadata == {"model": "qwen3:8b", "total_duration": 5, "stop_reason": "stop"}
    assert here.events == [LLM_REQUEST, *[LLM_STREAM_BLOCK_DELTA] * 4, LLM_RESPONSE]
    assert here.recorder.events[0][1]["raw"]["think"] is True


async def test_calls_come_whole_and_go_back_with_the_name_of_their_tool() -> None:
    """Without ids they get one; arguments are objects both ways; reasoning goes back with them."""
    call = {"function": {"name": "add", "arguments": {"a": 2}}}
    named = {"id": "c9", "function": {"name": "add", "arguments": {"a": 3}}}
    first = lines([said(thinking="hm"), said(tool_calls=[call]), said(tool_calls=[named]), COUNTED])
    whole = json_answer({**COUNTED, "message": {"role": "assistant", "content": "5"}})
    async with here_with(first, whole) as here:
        asked = await here.provider.complete(question())
        one, two = here.provider.parse_tool_calls(asked)
        history = [
            Message(role="user", content="hi"),
            Message(role="assistant", content=asked.content),
            Message(role="tool", tool_call_id=one.id, content="2"),
            Message(role="tool", tool_call_id=two.id, content="3"),
        ]
        answered = await here.provider.complete(ChatRequest(messages=history, metadata={"stream": False}))
    assert (one.name, one.arguments, two.id, two.arguments) == ("add", {"a": 2}, "c9", {"a": 3})
    assert (asked.finish_reason, text_of(answered)) == ("tool_calls", "5")
    sent = here.server.bodies[-1]
    assert sent["stream"] is False
    assert sent["messages"][1:] == [
        {
            "role": "assistant",
            "content": "",
            "thinking": "hm",
            "tool_calls": [
                {"id": one.id, "type": "function", "function": {"name": "add", "arguments": {"a": 2}}},
                {"id": "c9", "type": "function", "function": {"name": "add", "arguments": {"a": 3}}},
            ],
        },
        {"role": "tool", "content": "2", "tool_call_id": one.id, "tool_name": "add"},
        {"role": "tool", "content": "3", "tool_call_id": "c9", "tool_name": "add"},
    ]


def native(request: ChatRequest, **settings: Any) -> Any:
    """The call for a request, without a server."""
    return OllamaWire(OllamaSettings.read(settings)).to_call(request, "m", stream=False)


def test_images_go_as_bytes_and_addresses_cannot() -> None:
    """What could not be sent is told."""
    picture = ImageBlock(source={"type": "base64", "media_type": "image/png", "data": "QUJD"})
    linked = ImageBlock(source={"type": "url", "url": "http://x/y.png"})
    message = Message(role="user", content=[TextBlock(text="see"), picture, linked])
    call = native(ChatRequest(messages=[message]))
    assert call.body["messages"] == [
        {"role": "user", "content": "see\n[an image that could not be sent]", "images": ["QUJD"]}
    ]
    assert [each.reason for each in call.degradations] == ["Ollama takes images as bytes only"]


@pytest.mark.parametrize(
    ("choice", "offered", "told"),
    [
        (None, ["f", "g"], 0),
        ("auto", ["f", "g"], 0),
        ("none", None, 0),
        ("required", ["f", "g"], 1),
        ({"type": "tool", "name": "g"}, ["g"], 1),
    ],
)
def test_a_tool_choice_becomes_what_is_on_offer(choice: Any, offered: list[str] | None, told: int) -> None:
    """Ollama has no word for it."""
    tools = [ToolSpec(name=name, parameters={"type": "object"}) for name in "fg"]
    call = native(question(tools=tools, tool_choice=choice))
    names = [tool["function"]["name"] for tool in call.body["tools"]] if "tools" in call.body else None
    assert (names, len(call.degradations)) == (offered, told)
    assert "tools" not in native(question(tool_choice="required")).body


def test_the_form_of_the_answer_is_asked_for() -> None:
    """Some JSON, or JSON after a schema."""
    schema = ResponseFormatJsonSchema(json_schema={"type": "object"})
    assert native(question(response_format=schema)).body["format"] == {"type": "object"}
    assert native(question(response_format=ResponseFormatJson())).body["format"] == "json"
    assert "format" not in native(question()).body


@pytest.mark.parametrize(
    ("capabilities", "enabled", "effort", "expected"),
    [
        (["thinking"], True, None, True),
        (["thinking"], False, None, False),
        (["thinking"], False, "xhigh", "high"),
        (["thinking"], True, "odd", "high"),
        (["thinking"], True, "none", False),
        (["tools"], True, None, None),
        (["tools"], True, "high", None),
        (["tools"], True, "none", None),
    ],
)
def test_reasoning_is_asked_of_models_that_can(
    capabilities: list[str], enabled: bool, effort: str | None, expected: Any
) -> None:
    """At the top of the request; a wish that cannot be met is told."""
    wire = OllamaWire(OllamaSettings.read({"enable_thinking": enabled}))
    wire.facts["m"] = read_facts({"capabilities": capabilities})
    call = wire.to_call(question(reasoning_effort=effort), "m", stream=False)
    assert call.body.get("think") == expected
    assert len(call.degradations) == (expected is None and effort == "high")


async def test_a_model_that_refuses_to_think_is_asked_without() -> None:
    """First without degrees, then without reasoning at all; both are kept."""
    no_levels = json_answer({"error": 'think value "low" is not supported for this model'}, 400)
    no_thinking = json_answer({"error": '"qwen3:8b" does not support thinking'}, 400)
    no = json_answer({"error": "nonsense"}, 400)
    good = lines([said("ok"), COUNTED])
    async with here_with(no_levels, no_thinking, good, no, events=(PROVIDER_RETRY,)) as here:
        response = await here.provider.complete(question(reasoning_effort="low"))
        with pytest.raises(Exception, match="nonsense"):
            await here.provider.complete(question())
    thinks = [sent.get("think") for sent in here.server.bodies if sent and "messages" in sent]
    assert (thinks, here.events) == (["low", True, None, None], [PROVIDER_RETRY] * 2)
    assert response.degradation is not None
    assert response.degradation.reason == "qwen3:8b does not think"


@pytest.mark.parametrize(
    ("show", "running", "num_ctx", "expected"),
    [
        (shown(longest=2048), [], 0, 2048),
        (shown(longest=131072), [], 0, 8192),
        (shown(longest=131072), [], 32768, 32768),
        (shown(parameters="stop  <|x|>\nnum_ctx   16384\n"), [], 0, 16384),
        (shown(), [{"name": "other", "context_length": 5}, {"name": "qwen3:8b", "context_length": 12345}], 0, 12345),
        (json_answer({}), [{"model": "qwen3:8b"}], 0, 8192),
        (json_answer({"model_info": {"x.context_length": 131072}, "remote_host": "https://x"}), [], 0, 131072),
    ],
)
async def test_the_window_that_is_told_is_the_one_that_is_asked_for(
    show: Answer, running: list[dict[str, Any]], num_ctx: int, expected: int
) -> None:
    """As set, as the model's file says, as it is loaded, or what most models can take."""
    told = paths(show, running)
    async with here_with(lines([said("ok"), COUNTED]), paths=told, num_ctx=num_ctx) as here:
        assert here.provider.get_info().defaults["context_window"] == expected
        await here.provider.complete(question())
    assert here.server.bodies[-1]["options"]["num_ctx"] == expected


async def test_models_are_listed_with_windows_and_abilities(caplog: pytest.LogCaptureFixture) -> None:
    """Each is asked about once; where the server cannot list them, it is said."""
    async with here_with(paths=paths(models=("qwen3:8b", "b"))) as here:
        found = await here.provider.list_models()
        here.server.paths["/api/tags"] = json_answer({"error": "no"}, 500)
        again = await here.provider.list_models()
    abilities = ["streaming", "local", "tools", "thinking"]
    assert [(each.id, each.context_window, each.capabilities) for each in found] == [
        ("qwen3:8b", 8192, abilities),
        ("b", 8192, abilities),
    ]
    assert again == found
    assert [seen.path for seen in here.server.requests].count("/api/show") == 2
    assert "ollama cannot list its models" in caplog.text


async def test_a_model_that_is_missing_is_fetched_if_the_plan_allows_it(caplog: pytest.LogCaptureFixture) -> None:
    """Else the warning says how to fetch it, and the call ends as it should."""
    missing = json_answer({"error": "model 'qwen3:8b' not found"}, 404)
    gone = {**paths(show=missing), "/api/pull": json_answer({"status": "success"})}
    good = lines([said("ok"), COUNTED])
    async with here_with(missing, good, paths=gone, auto_pull=True, events=(PROVIDER_RETRY,)) as here:
        assert text_of(await here.provider.complete(question())) == "ok"
    pulled = next(seen for seen in here.server.requests if seen.path == "/api/pull")
    assert pulled.body == {"model": "qwen3:8b", "stream": False}
    assert here.events == [PROVIDER_RETRY]
    assert "ollama does not have the model qwen3:8b and fetches it" in caplog.messages
    caplog.clear()
    async with here_with(missing, paths=gone) as here:
        with pytest.raises(NotFoundError):
            await here.provider.complete(question())
    assert "fetch it with: ollama pull qwen3:8b" in caplog.text


async def test_errors_of_every_kind_become_the_kernels(caplog: pytest.LogCaptureFixture) -> None:
    """In the middle of the lines, in the place of an answer, about the length, and what is no answer."""
    midway = lines([said("hel"), {"error": "the runner has died"}])
    long = json_answer({"error": "the input length exceeds the context length"}, 400)
    cut = lines([said("hel")])
    plain = {"use_streaming": False}
    async with here_with(midway, long, cut) as here:
        with pytest.raises(Exception, match="the runner has died"):
            await here.provider.complete(question())
        with pytest.raises(ContextLengthError):
            await here.provider.complete(question())
        with pytest.raises(BrokenStreamError) as broken:
            await here.provider.complete(question())
    assert text_of(broken.value.partial) == "hel"
    async with here_with(json_answer({"odd": 1}), json_answer({"error": "no"}), **plain) as here:
        with pytest.raises(ProviderUnavailableError, match="An answer needs a 'message', got the keys"):
            await here.provider.complete(question())
        with pytest.raises(Exception, match="no"):
            await here.provider.complete(question())


async def test_what_is_told_about_models_may_be_nonsense(caplog: pytest.LogCaptureFixture) -> None:
    """Then the least is assumed, and the request goes out."""
    odd = {"/api/show": json_answer([1]), "/api/ps": json_answer({"models": "x"}), "/api/tags": json_answer({})}
    async with here_with(lines([said("ok"), END]), paths=odd) as here:
        response = await here.provider.complete(question())
        assert await here.provider.list_models() == list(here.provider._known.values())
    assert response.usage is not None
    assert response.usage.model_extra == {"is_estimate": True}
    assert loaded_window({"models": [1]}, "m") is None
    assert read_facts({"model_info": 1, "capabilities": 1}).capabilities == ("streaming", "local")


async def test_the_rest_of_the_protocol_is_read() -> None:
    """A message that is none, an empty end, a cache that held everything."""
    answer = lines([{"message": None, "done": False}, said("ok"), {**END, "eval_count": 3}])
    async with here_with(answer) as here:
        response = await asyncio.wait_for(here.provider.complete(question()), 5)
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (0, 3)


def test_a_call_in_a_foreign_history_goes_out_whole() -> None:
    """A result without its call has no name of a tool."""
    history = [
        Message(role="assistant", content=[ToolCallBlock(id="c1", name="f", input={"a": None})]),
        Message(role="tool", tool_call_id="c2", content="x"),
    ]
    sent = native(ChatRequest(messages=history), **FREE).body["messages"]
    assert sent[0]["tool_calls"][0]["function"] == {"name": "f", "arguments": {"a": None}}
    assert sent[1]["tool_name"] == ""
