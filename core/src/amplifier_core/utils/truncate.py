"""Making data fit to be shown: long strings cut, secrets blanked out. Every function answers a copy."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, cast

from amplifier_core.utils.jsonable import JsonConverter

REDACTED = "[REDACTED]"

SENSITIVE_KEYS: frozenset[str] = frozenset(
    {
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
    }
)

# Last words of keys with secret values, beside the keys above. Not "tokens" or "key" alone: they count or sort things.
_SECRET_ENDINGS = (
    "access_key",
    "access_tokens",
    "api_keys",
    "api_tokens",
    "apikeys",
    "auth_tokens",
    "bearer",
    "connection_string",
    "cookie",
    "cookies",
    "encryption_key",
    "jwt",
    "pass",
    "passphrase",
    "passwd",
    "passwords",
    "pat",
    "private_keys",
    "pwd",
    "secret_key",
    "secrets",
    "signing_key",
)

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_ENDINGS = frozenset(tuple(_WORD.findall(key)) for key in (*SENSITIVE_KEYS, *_SECRET_ENDINGS))
_LONGEST_ENDING = max(map(len, _ENDINGS))
# More than enough for any ending; keeps the cache small, whatever is used for a key.
_KEY_TAIL = 64

# Up to the last "@" before the path, so that a password with an "@" is caught whole.
_USER_INFO = re.compile(r"://([^\s/?#]*)@")
_PARAMETER = re.compile(r"[?&#;]([\w.%-]+)=")
_PARAMETER_END = re.compile(r"[&#;\s]|\Z")


def truncate_values(obj: Any, max_length: int = 180) -> Any:
    """``obj`` with the strings inside its dicts and lists cut to ``max_length`` characters, with a note of the rest."""
    if isinstance(obj, str):
        if len(obj) <= max_length:
            return obj
        return f"{obj[:max_length]}... (truncated {len(obj) - max_length} chars)"
    if isinstance(obj, dict):
        return {key: truncate_values(value, max_length) for key, value in cast("dict[Any, Any]", obj).items()}
    if isinstance(obj, list):
        return [truncate_values(item, max_length) for item in cast("list[Any]", obj)]
    return obj


def redact_secrets(obj: Any, sensitive_keys: frozenset[str] | set[str] = SENSITIVE_KEYS) -> Any:
    """``obj`` with every value blanked out whose key is, in lower case, exactly one of ``sensitive_keys``.

    ``redact_config`` is stricter: it knows keys by their last words, and credentials inside URLs.
    """
    if isinstance(obj, dict):
        return {
            key: REDACTED
            if isinstance(key, str) and key.lower() in sensitive_keys
            else redact_secrets(value, sensitive_keys)
            for key, value in cast("dict[Any, Any]", obj).items()
        }
    if isinstance(obj, list):
        return [redact_secrets(item, sensitive_keys) for item in cast("list[Any]", obj)]
    return obj


def redact_config(obj: object) -> Any:
    """``obj`` as JSON data without secrets, for configuration that is told to others; never raises.

    Blanks out every value whose key ends in a secret word (``OPENAI_API_KEY``, ``x-api-key``, ``authToken``; not
    ``max_tokens``), and inside any text the user part of URLs and the parameters whose names end so. Redacting twice
    changes nothing more.
    """
    return _Redactor().convert(obj)


class _Redactor(JsonConverter):
    """A conversion to JSON data that leaves the secrets behind."""

    def text(self, text: str) -> str:
        plain = text if text.isascii() else super().text(text)
        return _redact_url(plain) if "=" in plain or "@" in plain else plain

    def value(self, key: str, value: object) -> Any:
        return REDACTED if _names_secret(key[-_KEY_TAIL:]) else self.convert(value)


@lru_cache(maxsize=1024)
def _names_secret(key: str) -> bool:
    words = tuple(word.lower() for word in _WORD.findall(key))
    return any(words[-count:] in _ENDINGS for count in range(1, _LONGEST_ENDING + 1))


def _redact_url(text: str) -> str:
    # Parameters first: what they hide could otherwise look like a user part to a second pass.
    return _USER_INFO.sub(_redact_user_info, _redact_parameters(text))


def _redact_user_info(found: re.Match[str]) -> str:
    scheme = found.string[max(0, found.start() - 5) : found.start()].lower()
    # For http a lone user name is a token; elsewhere (``ssh://git@host``) it is a name.
    is_secret = ":" in found[1] or scheme.endswith(("http", "https"))
    return f"://{REDACTED}@" if is_secret else found[0]


def _is_secret_parameter(name: str) -> bool:
    # In a URL a bare "key" is a credential, and a signature is as good as one.
    lowered = name.lower()
    return lowered == "key" or lowered.endswith(("sig", "signature")) or _names_secret(name[-_KEY_TAIL:])


def _redact_parameters(text: str) -> str:
    parts: list[str] = []
    position = 0
    while found := _PARAMETER.search(text, position):
        parts.append(text[position : found.end()])
        position = found.end()
        if _is_secret_parameter(found[1]):
            parts.append(REDACTED)
            position = cast("re.Match[str]", _PARAMETER_END.search(text, position)).start()
    return "".join((*parts, text[position:]))
