"""Secrets: what they look like, what they are called, and how they are taken out of texts, data and streams."""

from __future__ import annotations

from amplifier_modkit.secrets.environment import secret_env_names
from amplifier_modkit.secrets.masks import Hits, Span, mask
from amplifier_modkit.secrets.memo import TextMemo
from amplifier_modkit.secrets.names import names_secret
from amplifier_modkit.secrets.rules import GROUPS
from amplifier_modkit.secrets.streams import StreamRedactor
from amplifier_modkit.secrets.text import find_secrets, redact_text
from amplifier_modkit.secrets.values import redact_value

__all__ = [
    "GROUPS",
    "Hits",
    "Span",
    "StreamRedactor",
    "TextMemo",
    "find_secrets",
    "mask",
    "names_secret",
    "redact_text",
    "redact_value",
    "secret_env_names",
]
