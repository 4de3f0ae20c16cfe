"""What complaints of servers teach, and where a server is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from amplifier_modkit.llm_chat.dialect import Dialect
from amplifier_modkit.llm_chat.lessons import is_known, learn
from amplifier_modkit.llm_chat.places import is_near, to_base_url

COMMON = Dialect()


@pytest.mark.parametrize(
    ("complaint", "changes"),
    [
        (
            "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            {"max_tokens_key": "max_completion_tokens"},
        ),
        ("Unrecognized request argument supplied: stream_options", {"stream_usage": False}),
        ("Conversation roles must alternate user/assistant/user/assistant/...", {"alternates": True}),
        ("Tool call id was x1 but must be a-z, A-Z, 0-9, with a length of 9.", {"short_call_ids": True}),
        ("The `reasoning_content` in the thinking mode must be passed back to the API.", {"reasoning": "always"}),
        ("'messages.2' : property 'reasoning_content' is unsupported: unexpected", {"reasoning": "never"}),
        ("System role not supported", {"system_role": "user"}),
        ("This model does not support system messages", {"system_role": "user"}),
        ("Cannot use tools with stream", {"streams_tools": False}),
        ("streaming is not available when using tools", {"streams_tools": False}),
    ],
)
def test_a_known_complaint_changes_the_dialect_once(complaint: str, changes: dict[str, Any]) -> None:
    """The same complaint again teaches nothing."""
    learnt = learn(COMMON, {}, complaint)
    assert learnt is not None
    assert learnt == replace(COMMON, **changes)
    assert is_known(complaint)
    assert learn(learnt, {}, complaint) is None


def test_the_role_and_the_limit_are_changed_back_where_a_server_wants_the_old_ones() -> None:
    """Both directions happen."""
    begun = Dialect(system_role="developer", max_tokens_key="max_completion_tokens")
    assert learn(begun, {}, "'developer' is not one of ['system', 'user']") == replace(begun, system_role="system")
    assert learn(begun, {}, "please use 'max_tokens'") == replace(begun, max_tokens_key="max_tokens")


@pytest.mark.parametrize("key", ["reasoning_effort", "response_format", "tool_choice", "temperature", "stop"])
def test_an_option_that_is_refused_by_name_is_left_out(key: str) -> None:
    """Only one that was sent, and only if the complaint is about it."""
    complaint = f"body.{key}: Extra inputs are not permitted"
    learnt = learn(COMMON, {key: 1}, complaint)
    assert learnt == replace(COMMON, left_out=frozenset({key}))
    assert learn(COMMON, {}, complaint) is None
    assert learn(COMMON, {key: 1}, f"{key} must be at most 2") is None
    assert learn(COMMON, {key: 1}, f"my_{key}_2 is unknown") is None
    assert not is_known(complaint)


def test_addresses_are_made_complete() -> None:
    """Scheme, path and port where they are missing; an endpoint means its base."""
    assert to_base_url("localhost:8080") == "http://localhost:8080/v1"
    assert to_base_url("https://api.x.ai/") == "https://api.x.ai/v1"
    assert to_base_url("https://router.x/api/v1/chat/completions") == "https://router.x/api/v1"
    assert to_base_url("http://x/base/") == "http://x/base"
    assert to_base_url("http://me:pw@x/v1") == "http://me:pw@x/v1"
    assert to_base_url("0.0.0.0", default_path="", default_port=11434) == "http://127.0.0.1:11434"
    assert to_base_url("[::]:99", default_path="") == "http://[::1]:99"
    assert to_base_url("[2001:db8::1]", default_path="") == "http://[2001:db8::1]"
    assert to_base_url("https://x", default_path="", default_port=11434) == "https://x"
    assert to_base_url(":8080", default_path="") == "http://127.0.0.1:8080"
    assert to_base_url("http://x:port") == "http://x:port"


def test_a_server_is_near_by_its_address() -> None:
    """On this machine or in the own network."""
    near = [
        "http://localhost:1/v1",
        "http://127.0.0.1",
        "http://192.168.1.2/v1",
        "http://gpu-box:8000",
        "http://a.local",
    ]
    assert [is_near(url) for url in near] == [True] * 5
    assert [is_near(url) for url in ("https://api.x.ai/v1", "http://8.8.8.8")] == [False, False]
