"""Whether the value of a name that stands for secrets is one: not where a text only talks of it, or code passes it on.

In doubt it is. A mask too many costs the reader of a log a moment; one too few cannot be taken back.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from enum import Enum

from amplifier_modkit.secrets.masks import is_masked
from amplifier_modkit.secrets.names import NameRule


class Style(Enum):
    """How name and value stand together."""

    QUOTED = "the value is in quotes"
    TIGHT = "NAME=value, as in environments, queries and commands"
    LOOSE = "name: value"
    SPACED = "name = value"
    SAID = "in a sentence or a table"
    COMPARED = "name == value"


# Where the secret can be found, not the secret: variables, templates, and what documentation writes in its place.
_REFERENCE = re.compile(
    r"\$[A-Z_][A-Z0-9_]+|\$[a-z_]{2,}|\$\{.*|\$\(.*|\{\{.*|\{[\w.!:\[\]\"']*\}|<[^<>]*>|(?:%\(?\w*\)?[sdr][:/@.\-]?)+|%[A-Za-z_]+%|"
    r"[*x•.#_?\-\\]+|(?i:your|my|the|some|example|dummy|sample|test|fake)?[-_ ]?(?i:your|my|the|some)[-_ ][\w\- ]+|"
    r"@[A-Za-z].*|(?:env|file|secret|vault|op|ssm|arn|keyring|process|os)(?::|\.env).*",
    re.DOTALL,
)
# What stands in the place of a value in signatures, schemas, listings and sentences.
_WORDS = frozenset(
    word
    for line in (
        "none null nil undefined nan true false yes no on off self this cls any all never always auto empty unset",
        "str string bytes int integer float bool boolean object text secretstr secretbytes optional required default",
        "value values input output raw data result results split parts hidden missing invalid valid unknown expired",
        "enabled disabled set get new old current here is was are be the a an to of for in and or not with from must",
        "should can may will has have if when see field type name prompt reset change changed redacted masked removed",
        "omitted example env var func function const let await async return lambda callable args kwargs options",
        "config settings params request response context session client username user incomplete alias literal",
    )
    for word in line.split()  # laid out like this to be read
)
_SWITCHES = frozenset({"true", "false", "yes", "no", "on", "off", "none", "null"})
_IDENTIFIER = re.compile(r"[A-Za-z_][\w\-]*")
_SPEAKS_OF_SECRETS = re.compile(r"pass|pwd|secret|token|key|cred|auth", re.IGNORECASE)
_COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}")
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+[\[(]?.*|[A-Za-z_][\w.]*\(.*|[A-Za-z_][\w.]*\[.*|[\[({].*|"
    r"(?:Optional|Union|List|Dict|Literal|Annotated|Callable)\b.*|&[A-Za-z_]\w*|[A-Za-z_]\w*[*&]",
    re.DOTALL,
)
_PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][A-Za-z_.][\w.\- ]{0,60}){2,}[/\\]?|\.{1,2}[/\\][\w.\-]+")
_NUMBER = re.compile(r"[+-]?[\d_,.]+(?:[eE][+-]?\d+)?[%a-zA-Z]{0,2}|0[xX][0-9a-fA-F]{1,8}")
_VERSION_OR_DATE = re.compile(
    r"v?\d+(?:\.\d+){1,4}(?:[.\-+][a-z0-9.]+)?|\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?"
)
_SCHEME = re.compile(
    r"(?P<scheme>Bearer|Basic|Token|Digest|ApiKey|Api-Key|AWS4-HMAC-SHA256|Negotiate|NTLM|Hawk|OAuth|Splunk|"
    r"SharedAccessSignature|SharedKey|SharedKeyLite|GoogleLogin|Key|PVEAPIToken)[\s=]+(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_LEAST_SIGNS = 4
_LEAST_LETTERS = 4
_LEAST_AUTHORIZATION = 12
_LEAST_TOKEN = 6
_LONG = 16


def is_plain(value: str) -> bool:
    """Whether ``value`` says nothing: it is empty, masked already, or tells only where the secret is."""
    stripped = value.strip()
    if len(stripped) < _LEAST_SIGNS and not any(map(str.isalnum, stripped)):
        return True
    return is_masked(stripped) or _REFERENCE.fullmatch(stripped) is not None


def is_named_secret(rule: NameRule, value: str) -> bool:
    """Whether ``value``, which stands alone under a name of this kind, is to be masked."""
    if is_plain(value) or value.lower() in _SWITCHES:
        return False
    # A folder is called ``pwd``, a count of something that passed ``pass``.
    is_harmless = _NUMBER.fullmatch(value) or _VERSION_OR_DATE.fullmatch(value) or _PATH.fullmatch(value)
    return rule.is_strong or not is_harmless


def is_secret(rule: NameRule, value: str, style: Style, follows: str = "") -> bool:
    """Whether ``value`` is the secret that a name of this kind promises; ``follows`` is the text behind it."""
    if is_plain(value) or value.lower() in _WORDS or _COLOUR.fullmatch(value):
        return False
    if rule.id == "authorization":
        return _is_authorization(value)
    if style is Style.QUOTED:
        return _is_quoted_secret(rule, value)
    return not _is_ordinary(rule, value) and _is_bare_secret(rule, value, style, follows)


def _is_authorization(value: str) -> bool:
    found = _SCHEME.match(value)
    if found is None:
        is_word = " " not in value and _CODE.fullmatch(value) is None
        return is_word and len(value) >= _LEAST_AUTHORIZATION and _is_mixed(value)
    rest = found["rest"]
    if found["scheme"].lower() == "basic":
        return _is_basic(rest)
    return not is_plain(rest) and (_is_mixed(rest) or len(rest.split()[0]) >= _LONG)


def _is_basic(credentials: str) -> bool:
    try:
        return b":" in b64decode(credentials.split()[0].encode("ascii", "replace") + b"==", validate=False)
    except (Base64Error, ValueError):
        return False


def _is_quoted_secret(rule: NameRule, value: str) -> bool:
    if " " in value.strip():
        # A label or a description, unless it could be a pass phrase.
        return rule.is_strong and not (_SPEAKS_OF_SECRETS.search(value) and not _has_digit(value))
    if _is_name_of_secret(value) or (_VERSION_OR_DATE.fullmatch(value) and rule.id != "password"):
        return False
    if rule.id == "password":
        return rule.is_strong or len(value) >= _LEAST_TOKEN
    return len(value) >= (_LEAST_TOKEN if rule.is_strong or _is_mixed(value) else _LONG)


def _is_ordinary(rule: NameRule, value: str) -> bool:
    """Whether it is a number, a date, a path, or a piece of code that passes the secret on."""
    if _NUMBER.fullmatch(value):
        return rule.id != "password" or len(value) < _LEAST_LETTERS
    if _VERSION_OR_DATE.fullmatch(value) or _PATH.fullmatch(value) or _is_name_of_secret(value):
        return True
    return _IDENTIFIER.fullmatch(value) is None and _CODE.fullmatch(value) is not None


def _is_name_of_secret(value: str) -> bool:
    """Whether it is what secrets are called: ``token=auth_token``; with digits in it, it could be anything."""
    return (
        _IDENTIFIER.fullmatch(value) is not None
        and _SPEAKS_OF_SECRETS.search(value) is not None
        and not _has_digit(value)
    )


def _is_bare_secret(rule: NameRule, value: str, style: Style, follows: str) -> bool:
    if _is_mixed(value):
        return len(value) >= (_LEAST_LETTERS if rule.is_strong else _LEAST_TOKEN)
    if not rule.is_strong or style in (Style.SAID, Style.COMPARED) or len(value) < _LEAST_LETTERS:
        return False
    if style is Style.TIGHT:
        return True
    # Letters alone: a variable if it looks like one, a word of a sentence if others follow it, else a weak password.
    is_variable = style is Style.SPACED and "_" in value
    return not is_variable and not follows.split("\n", 1)[0].strip(" \t\r,;}")


def _is_mixed(value: str) -> bool:
    return (_has_digit(value) and any(map(str.isalpha, value))) or any(char in "!@#$%^&*+/=~" for char in value)


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value))
