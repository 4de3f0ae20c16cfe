"""Redacts a text: what all finders find is masked, again until there is nothing more to find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from amplifier_modkit.secrets.blocks import find_blocks
from amplifier_modkit.secrets.masks import Hits, Span, merged, replaced, without_masked
from amplifier_modkit.secrets.pairs import find_pairs
from amplifier_modkit.secrets.tokens import find_tokens, to_ascii
from amplifier_modkit.secrets.urls import find_url_passwords

SECRETS: frozenset[str] = frozenset({"secrets"})
"""The group of rules that is used where nothing else is said."""

# A mask can lay bare the beginning of another secret that was glued to the first.
_MOST_PASSES = 8


def find_secrets(text: str, groups: Collection[str] = SECRETS) -> list[Span]:
    """Where the secrets of ``text`` are, in order and apart from each other."""
    data = to_ascii(text)
    spans = list(find_tokens(text, data, groups))
    if "secrets" in groups:
        spans += find_blocks(text)
        spans += find_url_passwords(text)
        spans += find_pairs(text, data)
    return merged(without_masked(text, spans)) if spans else []


def redact_text(text: str, groups: Collection[str] = SECRETS) -> tuple[str, Hits]:
    """``text`` with its secrets masked, and how many of each kind there were; doing it twice changes nothing more."""
    hits: Hits = Counter()
    passes = 0
    while (spans := find_secrets(text, groups)) and passes < _MOST_PASSES:
        hits.update(span.rule for span in spans)
        text = replaced(text, spans)
        passes += 1
    return text, hits
