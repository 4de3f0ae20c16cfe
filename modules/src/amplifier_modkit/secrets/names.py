"""Which names hold secrets: keys of dicts, variables of an environment, options of a command, headers.

The kernel's knowledge of such keys is the basis; here stand the kinds of names, and what it does not know.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from amplifier_core.utils.truncate import REDACTED, redact_config


@dataclass(frozen=True, slots=True)
class NameRule:
    """One kind of names: what they end in, in lower case without anything between the words."""

    id: str
    endings: tuple[str, ...]
    is_strong: bool = True
    """Whether hardly anything but a secret has such a name; tokens, for one, are also what parsers and models count."""


NAME_RULES: tuple[NameRule, ...] = (
    NameRule("password", ("password", "passwords", "passwd", "passphrase", "passcode", "passwort")),
    NameRule("password", ("pwd", "pass"), is_strong=False),
    NameRule("private-key", ("privatekey", "privatekeys")),
    NameRule("api-key", ("apikey", "apikeys", "accesskey", "secretkey", "secretaccesskey", "accountkey")),
    NameRule("api-key", ("sharedaccesskey", "subscriptionkey", "signingkey", "encryptionkey", "masterkey", "authkey")),
    NameRule("connection-string", ("connectionstring", "connstr")),
    NameRule("secret", ("secret", "secrets", "secretstring", "secretvalue", "sharedaccesssignature")),
    NameRule("credential", ("credential", "credentials"), is_strong=False),
    NameRule("authorization", ("authorization", "auth", "bearer"), is_strong=False),
    NameRule("cookie", ("cookie", "cookies"), is_strong=False),
    NameRule("token", ("accesstoken", "authtoken", "refreshtoken", "idtoken", "sessiontoken", "bearertoken")),
    NameRule("token", ("apitoken", "csrftoken", "xsrftoken", "bottoken", "accesstokens", "apitokens", "authtokens")),
    NameRule("token", ("token", "pat", "jwt"), is_strong=False),
)
"""The first rule that fits counts."""

# Endings that mean a secret even where nothing parts them from what stands before: PGPASSWORD, dbpasswd.
_SPEAKING = tuple(
    ending
    for rule in NAME_RULES
    for ending in rule.endings
    if len(ending) >= 8 or ending in ("secret", "apikey", "passwd", "idtoken", "authkey")
)
_UNKNOWN_KIND = NameRule("secret", ())
# Tokens that are counted, that a parser or a tokenizer deals with, or that only say where a listing goes on.
_HARMLESS = re.compile(
    r"(?:next|prev|previous|page|pagination|continuation|cursor|sync|change|lock|creation|sequence|publickey|starting|forward|backward|idempotency|clientrequest|stop|eos|bos|pad|unk|sep|cls|mask|special|start|"
    r"end|first|last|max|min|num|total|prompt|input|output|per|image|text|class|operator)token$"
)
_DIRECTORIES = frozenset({"PWD", "OLDPWD"})
_OTHER = re.compile(r"[^a-z0-9]+")
# More than enough for any ending; keeps the cache small, whatever is used for a key.
_NAME_TAIL = 64


def name_rule(name: str) -> NameRule | None:
    """The kind of secret that a value of this name is, or nothing."""
    return _rule_of(name[-_NAME_TAIL:])


def names_secret(name: str) -> bool:
    """Whether values of this name are secrets: ``OPENAI_API_KEY``, ``x-api-key``, ``authToken``; not ``max_tokens``."""
    return _rule_of(name[-_NAME_TAIL:]) is not None


@lru_cache(maxsize=4096)
def _rule_of(name: str) -> NameRule | None:
    squeezed = _OTHER.sub("", name.lower()).rstrip("0123456789")
    # A mask that stands where a name was is none, though it ends in the name of its rule.
    if name in _DIRECTORIES or _HARMLESS.search(squeezed) or "[REDACTED" in name:
        return None
    if not (squeezed.endswith(_SPEAKING) or REDACTED in redact_config({name: "-"}).values()):
        return None
    return next((rule for rule in NAME_RULES if squeezed.endswith(rule.endings)), _UNKNOWN_KIND)
