"""Finds the passwords in addresses: ``scheme://user:password@host``, and tokens that stand in the user's place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from amplifier_modkit.secrets.judging import is_plain
from amplifier_modkit.secrets.masks import Span

RULE = "url-password"

# Up to the last "@" before the path, so that a password with an "@" is caught whole.
_USER_INFO = re.compile(
    r"(?P<user>[^\s/?#:@\"'<>`]{0,128}+)(?::(?P<password>[^\s/?#\"'<>`]{1,512})|)@(?=[\w\[%$*{.\-])"
)
# Where people write passwords as they are, with every sign that should have been escaped.
_CARELESS = re.compile(r"[^\s/?#:@\"'<>`]{0,128}+:(?P<password>(?!\d{1,5}[/?,])[^\s\"'<>`@]{1,128})@(?=[\w\[.\-])")
_DATABASES = (
    *("postgres", "postgresql", "mysql", "mariadb", "mongodb", "mongodb+srv", "redis", "rediss", "amqp", "amqps"),
    *("mssql", "sqlserver", "oracle", "clickhouse", "cockroachdb", "snowflake", "ldap", "ldaps", "smtp", "smtps"),
    *("imap", "imaps", "ftp", "sftp"),
)
_NAME = re.compile(r"[a-z][a-z._\-]{0,30}\d{0,4}|[A-Z_]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{0,30}$")
_LONGEST_SCHEME = 31


def find_url_passwords(text: str) -> Iterator[Span]:
    """The passwords of the addresses in ``text``."""
    place = text.find("://") if "@" in text else -1
    while place >= 0:
        span = _secret_of(text, place)
        if span is not None and not is_plain(text[slice(*span)]):
            yield Span(*span, RULE)
        place = text.find("://", place + 3)


def _secret_of(text: str, place: int) -> tuple[int, int] | None:
    found = _USER_INFO.match(text, place + 3)
    if found is not None and found["password"] is not None:
        return found.span("password")
    scheme = _SCHEME.search(text[max(0, place - _LONGEST_SCHEME) : place])
    name = "" if scheme is None else scheme[0].lower()
    if found is not None:
        # Over http a lone user is a token, unless it looks like the name of one; elsewhere it is a name.
        is_token = name.endswith(("http", "https")) and not _NAME.fullmatch(found["user"])
        return found.span("user") if is_token else None
    careless = _CARELESS.match(text, place + 3) if name.endswith(_DATABASES) else None
    return None if careless is None else careless.span("password")
