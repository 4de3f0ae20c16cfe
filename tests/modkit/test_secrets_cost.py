"""Texts made to be slow: the search takes time in proportion to their length, whatever they repeat."""

from __future__ import annotations

import time

import pytest

from amplifier_modkit.secrets import GROUPS, redact_text
from amplifier_modkit.secrets.judging import Style
from amplifier_modkit.secrets.readings import Reader
from amplifier_modkit.secrets.rules import NEAR_RULES, TOKEN_RULES

CHARS = 60_000
# Twenty times what the slowest takes. With work that grows with the square of the length it would be minutes.
LIMIT_S = 4.0

REPEATED = [
    *sorted({literal for rule in (*TOKEN_RULES, *NEAR_RULES) for literal in rule.literals}),
    *(
        "a",
        "A",
        "0",
        "-",
        "_",
        ".",
        "=",
        "\\",
        '"',
        "'",
        " ",
        "\n",
        ":",
        "/",
        "@",
        "%",
        "$",
        "[REDACTED:x]",
        "[REDACTED",
    ),
    *("eyJ.", "eyJaaaaaaaaaaaaaaaa", "eyJaaaaaaaaaaaaaaaa.", "SG.aaaaaaaaaaaaaaaaaaa.", "MTE4" * 6, "MTE4" * 6 + "."),
    *("://", "://a:", "://a:b", "postgres://a:/b", "https://a", "://a@", "a@", "a@b.", "+1 2", "(123"),
    *("password=", 'password:"', '"password": "', "password==", "password: |\n  a\n", "| password | ", "password is "),
    *("token=", "auth=", "key=", "?sig=a&", "?key=a", "%3Dpassword%3D", 'password\\"', "x\\u0026token=", "--password "),
    *(
        "<password>",
        "name: PASSWORD\n value:",
        "Authorization: ",
        "Cookie: a=",
        'Cookie: a="',
        "password=a,",
        "secret`",
    ),
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\n" + "A" * 24 + "\n", "-----END", "\\\\n"),
    *("curl -u ", "curl -u a", "mysql -p ", "machine a login b password", "$6$a$", "$argon2id$", "Private-Lines: 3\n"),
    *("AKIA" + "A" * 16, "AKIA" + "A" * 20, "bearer ", "Bearer aaaaaaaaaaaaaaaaaaaaaaaa", "jdbc:oracle:thin:a/"),
]


def test_what_is_looked_at_too_often_is_taken_whole() -> None:
    """When the effort for a text is used up, a long value is a secret up to the next blank, without a closer look."""
    text = "a" * 9000 + " b"
    reader = Reader(text)
    reading = None
    while reading is None or not reading.is_certain:
        reading = reader.value(0, Style.TIGHT)
    assert reading == (0, 9000, Style.TIGHT, True)


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("tail", ["", "=", '"', " x ", "a" * 30], ids=["alone", "sign", "quote", "word", "run"])
def test_no_repetition_makes_the_search_slow(tail: str) -> None:
    """Every beginning of a secret, repeated, with several things behind it, is searched within the limit."""
    slow: dict[str, float] = {}
    for part in REPEATED:
        text = (part + tail) * (CHARS // len(part + tail))
        started = time.process_time()
        redact_text(text[: CHARS // 4] if tail else text, GROUPS)
        taken = time.process_time() - started
        if taken > LIMIT_S:
            slow[part] = taken
    assert slow == {}
