"""Cutting long strings and blanking out secrets."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amplifier_core.utils.jsonable import CYCLE, TOO_DEEP
from amplifier_core.utils.truncate import (
    REDACTED,
    SENSITIVE_KEYS,
    redact_config,
    redact_secrets,
    truncate_values,
)


def test_long_strings_are_cut() -> None:
    """A string longer than the limit keeps its beginning and says how much is gone."""
    assert truncate_values("x" * 180) == "x" * 180
    assert truncate_values("x" * 181) == "x" * 180 + "... (truncated 1 chars)"
    assert truncate_values("hello", max_length=2) == "he... (truncated 3 chars)"


def test_truncation_goes_through_dicts_and_lists_only() -> None:
    """Values inside dicts and lists are cut; keys, tuples and other types stay as they are."""
    opaque = object()
    data = {"long key": ["abcdef", {"x": "abcdef"}], "t": ("abcdef",), "n": 1234567, "o": opaque, "b": b"abcdef"}
    assert truncate_values(data, 3) == {
        "long key": ["abc... (truncated 3 chars)", {"x": "abc... (truncated 3 chars)"}],
        "t": ("abcdef",),
        "n": 1234567,
        "o": opaque,
        "b": b"abcdef",
    }
    assert data["long key"] == ["abcdef", {"x": "abcdef"}]


def test_sensitive_keys() -> None:
    """The exact keys that hold secrets."""
    assert isinstance(SENSITIVE_KEYS, frozenset)
    assert {
        "api_key",
        "apikey",
        "api-key",
        "secret",
        "password",
        "token",
        "credential",
        "credentials",
        "private_key",
        "privatekey",
        "auth",
        "authorization",
    } == SENSITIVE_KEYS


def test_redaction_by_exact_key() -> None:
    """A value is blanked out if its key matches exactly in any case, whatever the value is."""
    data = {
        "API_KEY": "x",
        "Token": ["x"],
        "auth": {"user": "u"},
        "password": None,
        "auth_token": "kept",
        "list": [{"secret": 1}, "kept"],
        7: "kept",
        "tuple": ({"secret": 1},),
    }
    before = copy.deepcopy(data)
    assert redact_secrets(data) == {
        "API_KEY": REDACTED,
        "Token": REDACTED,
        "auth": REDACTED,
        "password": REDACTED,
        "auth_token": "kept",
        "list": [{"secret": REDACTED}, "kept"],
        7: "kept",
        "tuple": ({"secret": 1},),
    }
    assert data == before


def test_redaction_with_other_keys() -> None:
    """The caller may name other keys, in lower case, instead."""
    assert redact_secrets({"PIN": 1, "token": 2, "a": [{"pin": 3}]}, {"pin"}) == {
        "PIN": REDACTED,
        "token": 2,
        "a": [{"pin": REDACTED}],
    }


@pytest.mark.parametrize(
    "key",
    [
        *sorted(SENSITIVE_KEYS),
        "OPENAI_API_KEY",
        "OPENAI_API_KEY_2",
        "x-api-key",
        "apiKey",
        "openaiAPIKey",
        "OpenAiApiKey",
        "OPENAI_APIKEY",
        "api_keys",
        "authToken",
        "auth token",
        "github.token",
        "access_tokens",
        "client_secret",
        "clientSecret",
        "client-secrets",
        "AWS_SECRET_ACCESS_KEY",
        "dbPassword",
        "DB_PASS",
        "smtp_passwd",
        "Proxy-Authorization",
        "basic_auth",
        "Set-Cookie",
        "azure_connection_string",
        "GITHUB_PAT",
        "x" * 10_000 + "_token",
    ],
)
def test_config_keys_that_end_in_a_secret_word(key: str) -> None:
    """A key in snake, kebab or camel case that ends in a secret word hides its value, whatever it is."""
    for value in ("s3cret", {"deep": ["s3cret"]}, 7, None):
        assert redact_config({key: value, "other": 1}) == {key: REDACTED, "other": 1}


@pytest.mark.parametrize(
    "key",
    [
        "max_tokens",
        "maxTokens",
        "tokens",
        "author",
        "authority",
        "tokenizer",
        "token_count",
        "api_key_env",
        "secretary",
        "key",
        "primary_key",
        "keyboard",
        "path",
        "compass",
        "session_id",
        "passwordless",
        "",
        "123",
        "ключ",
    ],
)
def test_config_keys_that_only_resemble_a_secret(key: str) -> None:
    """A key that merely contains such letters, or counts such things, keeps its value."""
    assert redact_config({key: "value"}) == {key: "value"}


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("https://user:pw@host/path", "https://[REDACTED]@host/path"),
        ("https://ghp_token@github.com/a/b.git", "https://[REDACTED]@github.com/a/b.git"),
        ("git+https://ghp_token@github.com/a", "git+https://[REDACTED]@github.com/a"),
        ("HTTP://Token@host", "HTTP://[REDACTED]@host"),
        ("https://token:@host", "https://[REDACTED]@host"),
        ("postgres://u:p@ss:w@rd@db:5432/x", "postgres://[REDACTED]@db:5432/x"),
        ("redis://:pw@host", "redis://[REDACTED]@host"),
        ("see amqp://a:b@c and mysql://d:e@f", "see amqp://[REDACTED]@c and mysql://[REDACTED]@f"),
        ("https://h/?api_key=abc&page=2", "https://h/?api_key=[REDACTED]&page=2"),
        ("https://h/?page=2&access_token=abc#top", "https://h/?page=2&access_token=[REDACTED]#top"),
        ("https://h/#access_token=abc&x=1", "https://h/#access_token=[REDACTED]&x=1"),
        ("https://h/?key=AIza&alt=json", "https://h/?key=[REDACTED]&alt=json"),
        ("https://h/?X-Amz-Signature=a%2Fb=", "https://h/?X-Amz-Signature=[REDACTED]"),
        ("https://h/?sig=abc;sv=1", "https://h/?sig=[REDACTED];sv=1"),
        ("https://h/?a=b?token=c", "https://h/?a=b?token=[REDACTED]"),
        ("/relative?password=x y", "/relative?password=[REDACTED] y"),
        ("https://h/?next=https://u:p@h/", "https://h/?next=https://[REDACTED]@h/"),
    ],
)
def test_config_credentials_inside_urls(text: str, redacted: str) -> None:
    """The user part of a URL and its secret parameters are blanked out in values, keys and bytes."""
    assert redact_config({"url": text, "list": [text]}) == {"url": redacted, "list": [redacted]}
    assert redact_config({text: 1}) == {redacted: 1}
    assert redact_config(text.encode()) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "ssh://git@github.com/a/b.git",
        "git@github.com:a/b.git",
        "bob@example.org",
        "https://host:8080/@scope/package",
        "https://host/path?max_tokens=5&page=@bob",
        "https://medium.com/@user",
        "a=b",
        "token=abc",
        "what? key = value & more",
    ],
)
def test_config_text_without_credentials_stays(text: str) -> None:
    """Addresses, names and harmless parameters are kept."""
    assert redact_config(text) == text


def test_config_becomes_json_data() -> None:
    """Objects are converted on the way, so that no secret hides inside one; the input stays as it is."""

    @dataclass
    class Login:
        user: str
        api_key: str

    login = Login("ada", "s3cret")
    config = {"login": login, "hosts": ("https://t@h",), 1: {"b"}}
    assert redact_config(config) == {
        "login": {"user": "ada", "api_key": REDACTED},
        "hosts": ["https://[REDACTED]@h"],
        "1": ["b"],
    }
    assert config == {"login": login, "hosts": ("https://t@h",), 1: {"b"}}
    assert login.api_key == "s3cret"


def test_config_of_any_shape_ends() -> None:
    """Cyclic and very deep configuration is marked where it is cut, and unprintable objects are named."""

    class Shy:
        def __str__(self) -> str:
            raise RuntimeError("no")

    loop: dict[str, Any] = {"token": "x", "shy": Shy()}
    loop["self"] = [loop]
    assert redact_config(loop) == {"token": REDACTED, "shy": "<unprintable Shy>", "self": [CYCLE]}
    deep: Any = {"token": "s3cret"}
    for _ in range(5_000):
        deep = [deep]
    text = json.dumps(redact_config(deep))
    assert TOO_DEEP in text
    assert "s3cret" not in text


@pytest.mark.slow
def test_config_text_of_ten_megabytes_is_no_trouble() -> None:
    """Redaction is linear in the length of a text, also in one made to be slow."""
    assert redact_config("a." * 5_000_000 + "://u:p@h") == "a." * 5_000_000 + "://[REDACTED]@h"
    assert redact_config("://" * 1_000_000 + "@") == "://" * 1_000_000 + "@"
    assert redact_config("&a=" * 100_000 + "&token=x") == "&a=" * 100_000 + "&token=[REDACTED]"


urls = st.lists(
    st.sampled_from(
        [
            "http",
            "https",
            "ssh",
            "://",
            "/",
            "@",
            ":",
            "?",
            "&",
            ";",
            "#",
            "=",
            "token",
            "api_key",
            "x",
            "a.b",
            " ",
            "[",
            "é",
        ]
    ),
    max_size=16,
).map("".join)
keys = urls | st.sampled_from(["token", "max_tokens", "apiKey", "author", "url"])
configs = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.binary() | st.text() | urls,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.tuples(inner),
    max_leaves=15,
)


@pytest.mark.slow
@given(configs)
@example("://a:b&token=/c&d@e")
@example("&x://a=b:c@token=v")
def test_redacting_twice_is_redacting_once(config: Any) -> None:
    """What is redacted stays as it is, and is JSON data."""
    once = redact_config(config)
    assert redact_config(once) == once
    json.dumps(once).encode()


@pytest.mark.slow
@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=15))
def test_exact_redaction_twice_is_once(data: Any) -> None:
    """The exact redaction is idempotent and leaves its input alone."""
    before = copy.deepcopy(data)
    once = redact_secrets(data)
    assert redact_secrets(once) == once
    assert data == before


@given(st.text(st.characters(exclude_characters="@"), min_size=1), st.sampled_from(sorted(SENSITIVE_KEYS)))
def test_no_secret_survives_under_a_secret_key(prefix: str, word: str) -> None:
    """Whatever comes before a secret word in a key, the value does not come out."""
    assert "s3cret" not in json.dumps(redact_config({f"{prefix}_{word}": {"a": ["s3cret"]}}))
