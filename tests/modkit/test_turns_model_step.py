"""One model call: what is asked, what hooks may change, and what happens when a provider fails."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_core.events import (
    PROVIDER_ERROR,
    PROVIDER_REQUEST,
    PROVIDER_RESOLVE,
    PROVIDER_RESPONSE,
    PROVIDER_RETRY,
    TOOL_POST,
)
from amplifier_core.llm_errors import (
    AbortError,
    AccessDeniedError,
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    InvalidToolCallError,
    LLMError,
    LLMTimeoutError,
    NetworkError,
    NotFoundError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
    StreamError,
)
from amplifier_core.message_models import ChatRequest, ChatResponse, ResponseFormatJsonSchema, TextBlock
from amplifier_core.models import HookResult
from amplifier_core.testing import (
    EventRecorder,
    MockContextManager,
    MockProvider,
    MockTool,
    ScriptedReply,
    SequentialIds,
    TestCoordinator,
)
from amplifier_modkit.turns.rounds import run_rounds
from amplifier_modkit.turns.settings import LoopSettings
from amplifier_modkit.turns.turn import Turn, World

AT_ONCE = {"min_retry_delay": 0, "max_retry_delay": 0}
NOT_RETRIED = [
    AbortError,
    AccessDeniedError,
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    InvalidRequestError,
    LLMError,
    NotFoundError,
    QuotaExceededError,
]
RETRIED = [LLMTimeoutError, NetworkError, ProviderUnavailableError, RateLimitError, StreamError]


class Scene:
    """A turn among providers with scripts; the first of them is called ``mock``."""

    def __init__(
        self, replies: list[Any], *tools: Any, also: dict[str, list[Any]] | None = None, **settings: Any
    ) -> None:
        self.coordinator = TestCoordinator(new_id=SequentialIds())
        self.context = MockContextManager()
        self.coordinator.mount("context", self.context)
        self.hooks = EventRecorder()
        self.provider = MockProvider(replies)
        others = {name: MockProvider(script, name) for name, script in (also or {}).items()}
        self.providers: dict[str, Any] = {"mock": self.provider, **others}
        self.tools = {tool.name: tool for tool in tools}
        self.settings = LoopSettings(**{**AT_ONCE, **settings})

    async def run(self, **how: Any) -> str:
        """The answer to ``go``."""
        world = World(self.context, self.providers, self.tools, self.hooks, self.coordinator)
        return await Turn("loop-test", world, self.settings, **how).run("go", run_rounds)

    def on(self, event: str, answer: Any) -> None:
        """Has ``answer``, or what it gives for the data, said to ``event``."""
        self.hooks.register(event, lambda name, data: answer(data) if callable(answer) else answer, name="hook")

    def sent(self, number: int = -1) -> list[Any]:
        """The contents of the messages of one request."""
        return [message.content for message in self.provider.requests[number].messages]

    def events(self, *names: str) -> list[tuple[str, dict[str, Any]]]:
        """The events of these names with their data, without times."""
        drop = {"timestamp", "duration_ms"}
        return [
            (event, {key: value for key, value in data.items() if key not in drop})
            for event, data in self.hooks.events
            if event in names
        ]


CALL = ScriptedReply(tool_calls=[("t", {})])


async def test_a_request_has_the_conversation_the_tools_and_the_settings() -> None:
    """What the plan says about the call reaches the provider."""
    schema = {"type": "object"}
    scene = Scene(
        ["{}"],
        MockTool("t"),
        model="big",
        reasoning_effort="high",
        temperature=0.5,
        max_output_tokens=100,
        timeout=60,
        output_schema=schema,
        extended_thinking=True,
    )
    await scene.run()
    (request,) = scene.provider.requests
    assert [message.model_dump(exclude_none=True) for message in request.messages] == [
        {"role": "user", "content": "go"}
    ]
    assert [tool.name for tool in request.tools or ()] == ["t"]
    told = (request.model, request.reasoning_effort, request.temperature, request.max_output_tokens, request.timeout)
    assert told == ("big", "high", 0.5, 100, 60)
    assert request.response_format == ResponseFormatJsonSchema(json_schema=schema, strict=True)
    assert scene.provider.complete.call_args is not None
    assert scene.provider.complete.call_args.kwargs == {"extended_thinking": True}


async def test_a_plain_request_leaves_everything_to_the_provider() -> None:
    """No tools are no list, and no model is no name; observers learn the provider's own model."""
    scene = Scene(["hello"])
    assert await scene.run() == "hello"
    (request,) = scene.provider.requests
    assert (request.tools, request.model, request.response_format) == (None, None, None)
    assert scene.provider.complete.call_args is not None
    assert scene.provider.complete.call_args.kwargs == {}
    assert scene.events(PROVIDER_RESOLVE, PROVIDER_REQUEST) == [
        (PROVIDER_RESOLVE, {"provider": "mock", "candidates": ["mock"], "reason": "by priority"}),
        (
            PROVIDER_REQUEST,
            {
                "provider": "mock",
                "messages": [{"role": "user", "content": "go"}],
                "model": "mock-model",
                "iteration": 1,
            },
        ),
    ]


async def test_the_answer_is_told_with_its_usage_and_duration() -> None:
    """The response is the very object; the round is counted; the choice of a provider is told once."""
    scene = Scene([CALL, "done"], MockTool("t"))
    await scene.run()
    told = scene.events(PROVIDER_RESPONSE)
    assert [(data["provider"], data["tool_calls"], data["iteration"]) for _, data in told] == [
        ("mock", True, 1),
        ("mock", False, 2),
    ]
    assert all(isinstance(data["response"], ChatResponse) and data["usage"] == scene.provider.usage for _, data in told)
    assert all("duration_ms" in data for _, data in scene.hooks.get_events(PROVIDER_RESPONSE))
    assert len(scene.events(PROVIDER_RESOLVE)) == 1


async def test_a_hook_may_change_the_messages_and_the_model_of_a_request() -> None:
    """What it gives is sent, and the context keeps what it has."""
    scene = Scene(["done"])
    changed = {"messages": [{"role": "user", "content": "clean"}], "model": "small"}
    scene.on(PROVIDER_REQUEST, lambda data: HookResult(action="modify", data={**data, **changed}))
    await scene.run()
    assert (scene.sent(), scene.provider.requests[0].model) == (["clean"], "small")
    assert scene.context.messages[0]["content"] == "go"


async def test_a_hook_that_writes_into_the_messages_and_hands_them_back_is_obeyed() -> None:
    """Also for messages that were sent before."""
    scene = Scene([CALL, "done"], MockTool("t", "secret"))

    def redact(data: dict[str, Any]) -> HookResult:
        messages = [dict(message) for message in data["messages"]]
        for message in messages:
            if message["content"] in ("go", "secret"):
                message["content"] = "hidden"
        return HookResult(action="modify", data={**data, "messages": messages})

    scene.on(PROVIDER_REQUEST, redact)
    await scene.run()
    assert scene.sent(0) == ["hidden"]
    assert [content for content in scene.sent(1) if isinstance(content, str)] == ["hidden", "hidden"]


async def test_what_a_hook_injects_for_once_is_in_one_request() -> None:
    """At the request itself, or at an event before it; stored ones stay in the conversation."""
    scene = Scene([CALL, CALL, "done"], MockTool("t", "out"))
    once = iter(
        [
            HookResult(action="inject_context", context_injection="look", ephemeral=True),
            HookResult(
                action="inject_context", context_injection="end", ephemeral=True, append_to_last_tool_result=True
            ),
        ]
    )
    scene.on(PROVIDER_REQUEST, lambda data: next(once, None))
    await scene.run()
    assert scene.sent(0) == ["go", "look"]
    assert scene.sent(1)[-1] == "out\n\nend"
    assert [content for content in scene.sent(2) if isinstance(content, str)] == ["go", "out", "out"]
    assert {"look", "end"}.isdisjoint(str(message["content"]) for message in scene.context.messages)


async def test_a_refused_request_is_not_made() -> None:
    """The answer says why; the refusal of an answer, or of a provider, is told in the same way."""
    for event, asked in ((PROVIDER_RESOLVE, 0), (PROVIDER_REQUEST, 0), (PROVIDER_RESPONSE, 1)):
        scene = Scene(["secret"])
        scene.on(event, HookResult(action="deny", reason="budget spent"))
        assert await scene.run() == "Denied: budget spent"
        assert len(scene.provider.requests) == asked
        assert scene.events(PROVIDER_ERROR) == []


async def test_a_hook_may_replace_the_answer() -> None:
    """With its calls: what the hook gives is what counts."""
    scene = Scene([ScriptedReply("hello", tool_calls=[("t", {})])], tool := MockTool("t"))
    other = ChatResponse(content=[TextBlock(text="replaced")], finish_reason="stop")
    scene.on(PROVIDER_RESPONSE, lambda data: HookResult(action="modify", data={**data, "response": other}))
    assert await scene.run() == "replaced"
    assert tool.call_count == 0
    same = Scene(["hello"])
    same.on(PROVIDER_RESPONSE, lambda data: HookResult(action="modify", data={**data, "note": 1}))
    assert await same.run() == "hello"


@pytest.mark.parametrize("messages", [None, "text", ["text"], {"role": "user"}])
async def test_a_hook_that_replaces_the_messages_by_none_ends_the_turn(messages: Any) -> None:
    """The provider is not asked with nonsense."""
    scene = Scene(["not asked"])
    scene.on(PROVIDER_REQUEST, lambda data: HookResult(action="modify", data={**data, "messages": messages}))
    assert await scene.run() == "Denied: a hook replaced the messages by something that is no list of messages"
    assert scene.provider.requests == []


async def test_a_hook_that_replaces_the_answer_by_none_ends_the_turn() -> None:
    """That is no failure of the provider."""
    scene = Scene(["secret"])
    scene.on(PROVIDER_RESPONSE, lambda data: HookResult(action="modify", data={**data, "response": None}))
    assert await scene.run() == "Denied: a hook replaced the model's answer by something that is none"
    assert scene.events(PROVIDER_ERROR) == []


async def test_what_a_hook_stores_at_the_request_is_seen_by_the_model_at_once() -> None:
    """It stands before the answer in the conversation, so the answer must know it."""
    scene = Scene(["done"])
    scene.on(PROVIDER_REQUEST, HookResult(action="inject_context", context_injection="kept"))
    await scene.run()
    assert (scene.sent(), [each["content"] for each in scene.context.messages]) == (
        ["go", "kept"],
        ["go", "kept", "done"],
    )


@pytest.mark.parametrize("kind", NOT_RETRIED)
async def test_an_error_that_will_not_pass_comes_out_at_once(kind: type[LLMError]) -> None:
    """With its type, told once, even if another provider stands by."""
    error = kind("no way", status_code=499)
    scene = Scene([error, "not asked"])
    with pytest.raises(kind) as raised:
        await scene.run()
    assert raised.value is error
    facts = {"provider": "mock", "model": None, "error": {"type": kind.__name__, "msg": "no way"}}
    assert scene.events(PROVIDER_RETRY, PROVIDER_ERROR) == [
        (PROVIDER_ERROR, {**facts, "status_code": 499, "retryable": False})
    ]


@pytest.mark.parametrize("kind", RETRIED)
async def test_an_error_that_may_pass_is_tried_again(kind: type[LLMError]) -> None:
    """Each further attempt is told; success makes them forgotten."""
    scene = Scene([kind("busy"), kind("busy"), "done"])
    assert await scene.run() == "done"
    facts = {"provider": "mock", "model": None, "max_retries": 2, "delay": 0.0, "retry_after": None}
    told = {"error_type": kind.__name__, "error_message": "busy"}
    assert scene.events(PROVIDER_RETRY, PROVIDER_ERROR) == [
        (PROVIDER_RETRY, {**facts, "attempt": attempt, **told}) for attempt in (1, 2)
    ]
    assert len(scene.events(PROVIDER_REQUEST)) == 1


@pytest.mark.parametrize("max_retries", [0, 1, 3])
async def test_after_so_many_attempts_the_error_comes_out(max_retries: int) -> None:
    """The last one, with how often it was tried."""
    errors = [RateLimitError(f"busy {number}") for number in range(9)]
    scene = Scene(list(errors), max_retries=max_retries)
    with pytest.raises(RateLimitError) as raised:
        await scene.run()
    assert (raised.value, raised.value.attempts) == (errors[max_retries], max_retries + 1)
    assert len(scene.provider.requests) == max_retries + 1
    assert [data["retryable"] for _, data in scene.events(PROVIDER_ERROR)] == [True]


async def test_what_the_provider_has_tried_again_itself_is_not_tried_once_more() -> None:
    """Or three attempts of ours times three of its own would be nine."""
    error = RateLimitError("busy")
    error.attempts = 3
    scene = Scene([error, "not asked"])
    with pytest.raises(RateLimitError) as raised:
        await scene.run()
    assert raised.value is error
    assert (len(scene.provider.requests), scene.events(PROVIDER_RETRY)) == (1, [])


async def test_an_error_of_another_kind_comes_out_as_it_is() -> None:
    """A bug of the provider is told as its failure, too."""
    scene = Scene([KeyError("choices")])
    with pytest.raises(KeyError):
        await scene.run()
    facts = {"provider": "mock", "model": None, "error": {"type": "KeyError", "msg": "'choices'"}}
    assert scene.events(PROVIDER_ERROR) == [(PROVIDER_ERROR, facts)]


@pytest.mark.parametrize("kind", [*RETRIED, QuotaExceededError])
async def test_the_next_provider_is_asked_where_that_is_allowed(kind: type[LLMError]) -> None:
    """By priority, when one is at its end for now; the choice is told, and the turn stays with who answered."""
    scene = Scene(
        [kind("busy")],
        MockTool("t"),
        also={"second": [kind("too")], "third": [CALL, "done"]},
        provider_fallback=True,
        max_retries=0,
    )
    assert await scene.run() == "done"
    assert [len(provider.requests) for provider in scene.providers.values()] == [1, 1, 2]
    assert [(event, data["provider"]) for event, data in scene.events(PROVIDER_RESOLVE, PROVIDER_ERROR)] == [
        (PROVIDER_RESOLVE, "mock"),
        (PROVIDER_ERROR, "mock"),
        (PROVIDER_RESOLVE, "second"),
        (PROVIDER_ERROR, "second"),
        (PROVIDER_RESOLVE, "third"),
    ]
    resolved = [(data["candidates"], data["reason"]) for _, data in scene.events(PROVIDER_RESOLVE)]
    assert resolved == [
        (["mock", "second", "third"], "by priority"),
        (["second", "third"], "'mock' failed"),
        (["third"], "'second' failed"),
    ]


async def test_without_leave_or_without_another_provider_there_is_no_fallback() -> None:
    """Nor for an error that would be the same elsewhere."""
    for error, allowed, also in (
        (RateLimitError("busy"), False, {"second": ["x"]}),
        (RateLimitError("busy"), True, {}),
        (AuthenticationError("key"), True, {"second": ["x"]}),
        (ContextLengthError("long"), True, {"second": ["x"]}),
        (ValueError("bug"), True, {"second": ["x"]}),
    ):
        scene = Scene([error] * 9, also=also, provider_fallback=allowed, max_retries=0)
        with pytest.raises(type(error)):
            await scene.run()
        assert all(not provider.requests for name, provider in scene.providers.items() if name != "mock")


async def test_the_last_error_comes_out_when_all_providers_failed() -> None:
    """Each was told as it failed."""
    scene = Scene(
        [RateLimitError("one")], also={"second": [NetworkError("two")]}, provider_fallback=True, max_retries=0
    )
    with pytest.raises(NetworkError, match="two"):
        await scene.run()
    assert [data["error"]["msg"] for _, data in scene.events(PROVIDER_ERROR)] == ["one", "two"]


async def test_the_provider_that_is_asked_for_goes_first() -> None:
    """For this turn alone, before the default of the plan."""
    scene = Scene(["mock"], also={"second": ["second"], "third": ["third"]}, default_provider="third")
    assert await scene.run(provider="second") == "second"
    assert await scene.run() == "third"


async def test_a_conversation_that_is_too_long_is_compacted_harder_once() -> None:
    """The context gets half of what was sent as its budget; the retry is told."""
    scene = Scene([ContextLengthError("too long"), "done"])
    scene.context.messages.append({"role": "user", "content": "x" * 796})
    assert await scene.run() == "done"
    budgets = [call.kwargs.get("token_budget") for call in scene.context.get_messages_for_request.call_args_list]
    assert budgets == [None, (796 + 2) // 4 // 2]
    told = {"attempt": 1, "max_retries": 1, "delay": 0.0, "retry_after": None}
    assert scene.events(PROVIDER_RETRY, PROVIDER_ERROR) == [
        (
            PROVIDER_RETRY,
            {
                "provider": "mock",
                "model": None,
                **told,
                "error_type": "ContextLengthError",
                "error_message": "too long",
            },
        )
    ]
    assert len(scene.events(PROVIDER_REQUEST)) == 2


async def test_a_conversation_that_is_still_too_long_is_the_typed_error() -> None:
    """After one retry; the next turn may compact again."""
    scene = Scene([ContextLengthError("one"), ContextLengthError("two"), ContextLengthError("three"), "done"])
    with pytest.raises(ContextLengthError, match="two"):
        await scene.run()
    assert [data["error"]["msg"] for _, data in scene.events(PROVIDER_ERROR)] == ["two"]
    assert await scene.run() == "done"


async def test_what_waits_for_the_next_request_is_in_every_attempt_at_it() -> None:
    """Neither a retry nor another provider loses what a hook said at a tool's result."""
    scene = Scene(
        [CALL, ContextLengthError("long"), InvalidToolCallError("bad"), RateLimitError("busy")],
        MockTool("t"),
        also={"second": ["done"]},
        provider_fallback=True,
        max_retries=0,
    )
    scene.on(TOOL_POST, HookResult(action="inject_context", context_injection="look", ephemeral=True))
    assert await scene.run() == "done"
    requests = [*scene.provider.requests[1:], *scene.providers["second"].requests]
    assert len(requests) == 4
    assert ["look" in [message.content for message in request.messages] for request in requests] == [True] * 4


async def test_a_tool_call_that_the_provider_cannot_read_is_asked_for_again() -> None:
    """The model is told what was wrong, in the requests that follow and nowhere else."""
    scene = Scene([InvalidToolCallError("no end of the string"), "done"])
    assert await scene.run() == "done"
    told = (
        "<system-reminder>\nYour tool call could not be read: no end of the string. Make it again.\n</system-reminder>"
    )
    assert scene.sent(1) == ["go", told]
    assert [message["content"] for message in scene.context.messages] == ["go", "done"]
    assert [(data["attempt"], data["max_retries"]) for _, data in scene.events(PROVIDER_RETRY)] == [(1, 2)]


@pytest.mark.parametrize("by_parser", [False, True])
async def test_a_model_that_cannot_make_a_readable_call_is_given_up(by_parser: bool) -> None:
    """After two further attempts, whether the provider fails to answer or to find the calls."""
    scene = Scene(["x"] * 9 if by_parser else [InvalidToolCallError(f"bad {n}") for n in range(9)])
    if by_parser:

        def parse(response: ChatResponse) -> Any:
            raise InvalidToolCallError("bad 2")

        scene.provider.parse_tool_calls = parse  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(InvalidToolCallError, match="bad 2"):
        await scene.run()
    assert (len(scene.provider.requests), len(scene.events(PROVIDER_RETRY))) == (3, 2)
    assert [data["error"]["type"] for _, data in scene.events(PROVIDER_ERROR)] == ["InvalidToolCallError"]


async def test_a_provider_that_does_not_answer_in_time_is_a_typed_error() -> None:
    """It is tried again like any other error that may pass, and then says what to do."""
    was_cancelled: list[bool] = []

    async def hang(request: ChatRequest) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            was_cancelled.append(True)
            raise
        return ""

    scene = Scene([hang, "done"], timeout=0.001)
    assert await scene.run() == "done"
    assert scene.events(PROVIDER_RETRY)[0][1]["error_message"] == (
        "Provider 'mock' did not answer within 0.001 s; raise 'timeout' of the loop to wait longer"
    )
    with pytest.raises(LLMTimeoutError):
        await Scene([hang], timeout=0.001, max_retries=0).run()
    assert was_cancelled == [True, True]


async def test_a_time_out_of_the_providers_own_keeps_its_words() -> None:
    """With a limit of the loop or without."""
    for timeout in (None, 60):
        with pytest.raises(TimeoutError, match="^socket$"):
            await Scene([TimeoutError("socket")], timeout=timeout).run()


async def test_a_provider_that_cancels_its_own_call_has_failed() -> None:
    """Nobody asked the turn to stop."""
    scene = Scene([asyncio.CancelledError()])
    with pytest.raises(AbortError, match="^Provider 'mock' cancelled its own call$"):
        await scene.run()
    assert [data["error"]["type"] for _, data in scene.events(PROVIDER_ERROR)] == ["AbortError"]


async def test_the_cancellation_of_the_task_reaches_the_provider() -> None:
    """And is no failure of it."""
    asked = asyncio.Event()

    async def hang(request: ChatRequest) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    scene = Scene([hang])
    task = asyncio.create_task(scene.run())
    await asked.wait()
    task.cancel()
    await asyncio.wait([task])
    assert (task.cancelled(), scene.events(PROVIDER_ERROR)) == (True, [])


@pytest.mark.parametrize("answer", [None, "text", 5, {"content": []}])
async def test_an_answer_that_is_none_is_told_by_its_type(answer: Any) -> None:
    """With the provider's name and what was expected."""
    scene = Scene([])
    scene.provider.complete.side_effect = [answer]
    with pytest.raises(TypeError) as raised:
        await scene.run()
    assert str(raised.value) == f"Provider 'mock' answered with {type(answer).__name__}, expected a ChatResponse"
    assert len(scene.events(PROVIDER_ERROR)) == 1


async def test_a_failure_of_the_context_is_no_failure_of_the_provider() -> None:
    """It comes out as it is."""
    scene = Scene(["x"])
    scene.context.get_messages_for_request.side_effect = OSError("journal gone")
    with pytest.raises(OSError, match="journal gone"):
        await scene.run()
    assert scene.events(PROVIDER_ERROR) == []


async def test_the_model_of_a_provider_is_asked_for_once_per_turn() -> None:
    """It may be costly to find out."""
    scene, asked = Scene([CALL, "done"], MockTool("t")), []
    scene.provider.get_info = lambda: asked.append(1) or SimpleNamespace(defaults={"model": "m"})  # pyright: ignore[reportAttributeAccessIssue]
    await scene.run()
    assert [data["model"] for _, data in scene.events(PROVIDER_REQUEST)] == ["m", "m"]
    assert len(asked) == 1
