"""Google's own library as the judge: it sends the same for the same meaning, and reads the same from the same bytes."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.modules.gemini_world import LITE, MODEL, answer, call_of, frames_of, make, sent_back, streamed
from tests.modules.llm_server import json_answer, serving, sse_answer
from tests.modules.provider_faults import KEY, question

from amplifier_core.message_models import ResponseFormatJsonSchema, ToolSpec
from amplifier_module_provider_gemini.config import GeminiConfig
from amplifier_module_provider_gemini.models import GEMINI, authorise
from amplifier_module_provider_gemini.usage import read_usage
from amplifier_module_provider_gemini.wire import GeminiWire, continuing

if TYPE_CHECKING:
    from google import genai

pytestmark = [
    pytest.mark.slow,  # importing the library alone takes more than a second
    pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning"),  # its first import compiles it
    pytest.mark.filterwarnings("ignore:invalid escape sequence:SyntaxWarning"),  # the same, from Python 3.12 on
]

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
SIGNATURE = base64.b64encode(b"signed").decode()
ANSWER = answer(
    {"text": "hm", "thought": True},
    {"text": "Grüße 🌍"},
    {"functionCall": {"id": "c1", "name": "read", "args": {"path": "ä"}}, "thoughtSignature": SIGNATURE},
    {"functionCall": {"id": "c2", "name": "read", "args": {}}},
    {"executableCode": {"language": "PYTHON", "code": "1"}},
    usageMetadata={
        "promptTokenCount": 30,
        "cachedContentTokenCount": 20,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 3,
        "totalTokenCount": 40,
    },
)


def client_of(sent: list[httpx.Request], *bodies: Any) -> genai.Client:
    """The vendor's client; what it sends is noted, and it gets the answers in turn."""
    from google import genai
    from google.genai import types

    left = list(bodies)

    async def note(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        body = left.pop(0)
        if isinstance(body, bytes):
            return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body)
        return httpx.Response(200, json=body)

    client = httpx.AsyncClient(transport=httpx.MockTransport(note))
    options = types.HttpOptions(api_version="v1beta", httpx_async_client=client)
    return genai.Client(api_key="k", http_options=options)


def camel(value: Any) -> Any:
    """A body with all its keys in one spelling: the library mixes two, the service reads both."""
    if isinstance(value, dict):
        return {re.sub("_([a-z])", lambda found: found[1].upper(), key): camel(each) for key, each in value.items()}
    return [camel(each) for each in value] if isinstance(value, list) else value


def body_of(request: httpx.Request) -> dict[str, Any]:
    """What was sent, in the spelling and the order that are ours where the service takes any."""
    body = camel(json.loads(request.content))
    if "tools" in body:
        body["tools"].sort(key=lambda tool: "functionDeclarations" not in tool)
    return {key: value for key, value in body.items() if value != {}}


async def test_it_sends_the_same() -> None:
    """Path, body and key are equal, for a conversation with everything in it."""
    from google.genai import types

    sent: list[httpx.Request] = []
    client = client_of(sent, ANSWER)
    part = types.Part
    called = types.FunctionCall(id="c1", name="read", args={"path": "ä"})
    result = types.FunctionResponse(
        id="c1",
        name="read",
        response={"output": "see"},
        parts=[types.FunctionResponsePart(inline_data=types.FunctionResponseBlob(mime_type="image/png", data=b"hi"))],
    )
    contents = [
        types.Content(role="user", parts=[part(text="see"), part.from_bytes(data=b"hi", mime_type="image/png")]),
        types.Content(
            role="model",
            parts=[
                part(text="hm", thought=True),
                part(text="I read."),
                part(function_call=called, thought_signature=b"signed"),
            ],
        ),
        types.Content(role="user", parts=[part(function_response=result)]),
        types.Content(role="user", parts=[part(text="and?")]),
    ]
    await client.aio.models.generate_content(
        model=LITE,
        contents=contents,  # pyright: ignore[reportArgumentType]
        config=types.GenerateContentConfig(
            system_instruction=types.Content(parts=[part(text="Be short.")]),
            tools=[
                types.Tool(
                    function_declarations=[
                        types.FunctionDeclaration(name="read", description="Reads.", parameters_json_schema=SCHEMA)
                    ]
                ),
                types.Tool(google_search=types.GoogleSearch()),
            ],
            tool_config=types.ToolConfig(
                function_calling_config=types.FunctionCallingConfig(
                    mode=types.FunctionCallingConfigMode.ANY, allowed_function_names=["read"]
                ),
                include_server_side_tool_invocations=True,
            ),
            max_output_tokens=500,
            temperature=0,
            top_p=0.5,
            stop_sequences=["END"],
            response_mime_type="application/json",
            response_json_schema=SCHEMA,
            thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level=types.ThinkingLevel.LOW),
            safety_settings=[
                types.SafetySetting(category=types.HarmCategory[f"HARM_CATEGORY_{harm}"], threshold="OFF")  # pyright: ignore[reportArgumentType]
                for harm in ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
            ],
            service_tier="flex",  # pyright: ignore[reportArgumentType]
        ),
    )
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    before = GeminiWire().read_answer(
        answer(
            {"text": "hm", "thought": True},
            {"text": "I read."},
            {"functionCall": {"id": "c1", "name": "read", "args": {"path": "ä"}}, "thoughtSignature": SIGNATURE},
        )
    )
    ours = call_of(
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": [{"type": "text", "text": "see"}, image]},
        {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in before.content]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "see"}, image]},
        {"role": "user", "content": "and?"},
        model=LITE,
        stream=False,
        config=GeminiConfig(enable_web_search=True, safety_threshold="OFF", service_tier="flex"),
        tools=[ToolSpec(name="read", description="Reads.", parameters=SCHEMA)],
        tool_choice={"name": "read"},
        max_output_tokens=500,
        temperature=0,
        top_p=0.5,
        stop=["END"],
        response_format=ResponseFormatJsonSchema(json_schema=SCHEMA),
        reasoning_effort="low",
    )
    assert ours.body == body_of(sent[0])
    assert sent[0].url.path == ours.path
    assert authorise("k") == {"x-goog-api-key": sent[0].headers["x-goog-api-key"]}
    assert f"{sent[0].url.scheme}://{sent[0].url.host}" == GEMINI.base_url


async def test_it_reads_the_same_from_a_stream() -> None:
    """What its pieces have together is what goes back to the service from ours; so is the usage, and the address."""
    sent: list[httpx.Request] = []
    frames = frames_of(ANSWER)
    client = client_of(sent, sse_answer(frames).body)
    chunks = [each async for each in await client.aio.models.generate_content_stream(model=MODEL, contents="hi")]
    theirs: list[dict[str, Any]] = []
    for chunk in chunks:
        for part in (chunk.candidates or [])[0].content.parts or []:  # pyright: ignore[reportOptionalMemberAccess]
            found = json.loads(part.model_dump_json(exclude_none=True, by_alias=True))
            if "text" in found and theirs and set(theirs[-1]) == set(found):
                theirs[-1]["text"] += found["text"]
            else:
                theirs.append(found)
    response, _ = streamed(frames)
    assert sent_back(response) == theirs
    usage = chunks[-1].usage_metadata
    assert usage is not None
    assert response.usage == read_usage(json.loads(usage.model_dump_json(exclude_none=True, by_alias=True)))
    assert response.usage is not None
    assert response.usage.total_tokens == usage.total_token_count
    assert str(sent[0].url) == f"{GEMINI.base_url}{call_of().path}"


async def test_it_goes_on_in_the_same_way() -> None:
    """The call for the rest of an answer is the same with the service's token in it."""
    from google.genai import types

    first = answer({"text": "Hel"}, reason="CONTINUATION")
    first["candidates"][0]["continuationToken"] = SIGNATURE
    sent: list[httpx.Request] = []
    client = client_of(sent, first, answer({"text": "lo"}))
    content = types.Content(role="user", parts=[types.Part(text="hi")])
    theirs = await client.aio.models.generate_content(model=MODEL, contents=content)
    assert theirs.text == "Hello"
    ours = continuing(call_of(), SIGNATURE).body
    assert ours == body_of(sent[1])


async def test_it_lists_and_counts_at_the_same_places() -> None:
    """Addresses and pages."""
    sent: list[httpx.Request] = []
    client = client_of(sent, {"models": [], "nextPageToken": "p/2"}, {"models": []}, {"totalTokens": 3})
    pager = await client.aio.models.list(config={"page_size": 1000})
    with pytest.raises(IndexError):
        await pager.next_page()
        await pager.next_page()
    await client.aio.models.count_tokens(model=MODEL, contents="hi")
    pages = [json_answer({"models": [], "nextPageToken": "p/2"}), json_answer({"models": []})]
    async with serving(*pages, json_answer({"totalTokens": 3})) as server:
        provider = make(server.url, None, KEY)
        await provider.list_models()
        assert await provider.count_tokens(question()) == 3
        await provider.close()
        ours = [httpx.URL(seen.path) for seen in server.requests]
    assert [url.path for url in ours] == [each.url.path for each in sent]
    assert [dict(url.params) for url in ours] == [dict(each.url.params) for each in sent]
