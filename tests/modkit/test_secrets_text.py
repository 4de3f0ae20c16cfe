"""Redacting texts: what each rule masks, under which name, and what it leaves."""

from __future__ import annotations

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.modkit.secret_corpus import ALNUM, BASE64, HEX, TOKENS, benign_texts, draw, pem, secret_samples

from amplifier_modkit.secrets import TextMemo, find_secrets, mask, redact_text
from amplifier_modkit.secrets import memo as memo_module
from amplifier_modkit.secrets.masks import Span, merged, replaced
from amplifier_modkit.secrets.rules import NEAR_RULES, TOKEN_RULES

R = random.Random(5)
BASIC = base64.b64encode(b"aladdin:opensesame").decode()
WORD = draw(R, ALNUM, 24)

RULE_OF_TOKEN = {
    "openai": "openai-key",
    "openai-project": "openai-key",
    "openai-service": "openai-key",
    "openrouter": "openai-key",
    "anthropic": "anthropic-key",
    "github-classic": "github-token",
    "github-fine": "github-token",
    "gitlab": "gitlab-token",
    "aws-id": "aws-access-key",
    "azure-client": "azure-client-secret",
    "azure-storage": "azure-key",
    "google-api": "google-api-key",
    "google-oauth": "google-oauth",
    "slack-bot": "slack-token",
    "stripe-live": "stripe-key",
    "twilio": "twilio-key",
    "sendgrid": "sendgrid-key",
    "npm": "npm-token",
    "pypi": "pypi-token",
    "huggingface": "huggingface-token",
    "telegram": "telegram-token",
    "discord": "discord-token",
    "jwt": "jwt",
    "vault": "vault-token",
    "docker": "vendor-token",
    "mailgun": "mail-key",
    "age": "age-key",
    "bcrypt": "password-hash",
}


@pytest.mark.parametrize(("kind", "rule"), RULE_OF_TOKEN.items(), ids=RULE_OF_TOKEN.keys())
def test_a_mask_tells_what_kind_of_secret_it_hides(kind: str, rule: str) -> None:
    """The id of the rule stands in the mask and in the counts."""
    text = f"use {TOKENS[kind](R)} now"
    assert redact_text(text) == (f"use [REDACTED:{rule}] now", {rule: 1})


def test_rules_are_data_that_can_be_read() -> None:
    """Every rule has an id fit for a mask, and begins where one of its literals does."""
    for rule in (*TOKEN_RULES, *NEAR_RULES):
        assert redact_text(mask(rule.id)) == (mask(rule.id), {})
        assert rule.literals or rule.id == "discord-token"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password=hunter2 user=bob", "password=[REDACTED:password] user=bob"),
        ('{"password": "a \\"b\\" c", "x": 1}', '{"password": "[REDACTED:password]", "x": 1}'),
        ("password='it''s'", "password='[REDACTED:password]''s'"),
        ('password = """two\nlines1"""', 'password = """[REDACTED:password]"""'),
        ('password="""cut off1\nnext', 'password="""[REDACTED:password]\nnext'),
        ("password=hunter2, token=abc123, n=1", "password=[REDACTED:password], token=[REDACTED:token], n=1"),
        ("f(password=hunter2).x", "f(password=[REDACTED:password]"),
        ("a?sig=abc%2Bdef&b=1", "a?sig=[REDACTED:signature]&b=1"),
        ("a?key=0123456789abcdefgh", "a?key=[REDACTED:api-key]"),
        ("a&amp;token=abc123&amp;b=2", "a&amp;token=[REDACTED:token]&amp;b=2"),
        (f"Authorization: Basic {BASIC}", "Authorization: [REDACTED:authorization]"),
        ("Authorization: abcdef1234567890", "Authorization: [REDACTED:authorization]"),
        ('Authorization: "Bearer abc123def456"', 'Authorization: "[REDACTED:authorization]"'),
        ("Cookie: a=b; c=d\nHost: h", "Cookie: [REDACTED:cookie]\nHost: h"),
        ("deploy --token abc123 --to prod", "deploy --token [REDACTED:token] --to prod"),
        ("the token is abc123def now", "the token is [REDACTED:token] now"),
        ("password was set to: hunter2", "password was set to: [REDACTED:password]"),
        ("password: 12345678", "password: [REDACTED:password]"),
        ("password: hunter\nuser: bob", "password: [REDACTED:password]\nuser: bob"),
        ("x://bob:pa@ss@h y://eve@h", "x://bob:[REDACTED:url-password]@h y://eve@h"),
        (f"https://{WORD}@h/x", "https://[REDACTED:url-password]@h/x"),
        ("redis://:p/w#1@h:1/0", "redis://:[REDACTED:url-password]@h:1/0"),
        (f"Private-Lines: 1\n{WORD}\nPrivate-MAC: x PuTTY-User-Key-File-3", None),
        (f"key b3BlbnNzaC1rZXktdjE{WORD}", "key [REDACTED:openssh-key]"),
        (
            f"hook https://hooks.slack.com/services/T1/B1/{WORD}",
            "hook https://hooks.slack.com/services/[REDACTED:slack-webhook]",
        ),
        ("secret = Some('abcdef')", "secret = Some('[REDACTED:secret]')"),
        ("password: |\n  hunter2\n  more\nuser: x", "password: |\n  [REDACTED:password]\nuser: x"),
        (r"{\"password\": \"cut off1", r"{\"password\": \"[REDACTED:password]"),
    ],
)
def test_the_secret_is_masked_and_the_rest_stays(text: str, expected: str | None) -> None:
    """Names, quotes, separators and whatever follows are still there."""
    redacted, hits = redact_text(text)
    assert hits.total() >= 1
    assert redacted == (expected or "Private-Lines: 1[REDACTED:private-key]\nPrivate-MAC: x PuTTY-User-Key-File-3")


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Basic authentication",
        "Authorization: Basic !!!",
        "Authorization: Basic xxxxx",
        "Authorization: Basic é",
        "Authorization: Bearer",
        "auth = base64.b64encode(user1.encode())",
        "token == 'x1234567'",
        "AWS::IAM::AccessKey: 72c2d9dd90025459",
        "arn:aws:secretsmanager:eu:1:secret:name-a1b2c3",
        "password: choose something long1".replace("long1", "long"),
        "token = auth_token",
        "password = split_password",
        "username, password = index_info",
        "token = f'{a}-{b}'",
        "cookie: monster",
        "Token: #ff8800",
        "a?key=short1",
        "password_hint | type | x",
        "https://{user}:{password}@h",
        "mongodb://h1:27017,h2:27017/db?x=a@b",
        "redis://h:6379/0?x=a@b",
        "://",
        "-----BEGIN RSA PRIVATE KEY----- is how it begins",
        "-----BEGIN nothing",
        "apikey=",
        "password: ''",
        "accesskey='N'",
        "secret: 2024-01-02",
        'token_x "value"',
        "password ,",
    ],
)
def test_what_only_speaks_of_secrets_is_left_alone(text: str) -> None:
    """Code that passes secrets on, templates, prose and types stay as they are."""
    assert redact_text(text) == (text, {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write to bob.smith+x@example.co.uk, please", "write to [REDACTED:email], please"),
        ("call +44 20 7946 0958 or (555) 123-4567", "call [REDACTED:phone] or [REDACTED:phone]"),
        ("git@github.com:a/b.git pkg@1.2.3 @decorator a@b", None),
        ("2024-01-02T03:04:05+02:00 id 1234567890123456 +1234567890 (123) 1+2", None),
    ],
)
def test_personal_data_are_masked_on_request(text: str, expected: str | None) -> None:
    """Addresses and numbers of people are a group of rules of their own; dates, ids and sums are no numbers."""
    assert redact_text(text, {"pii-basic"})[0] == (expected or text)
    assert redact_text(text)[0] == text


def test_a_key_reaches_to_its_end_or_as_far_as_it_looks_like_one() -> None:
    """A whole key goes with its last line, one cut off with what is left of it; what follows stays."""
    whole, other = pem(R, "RSA "), pem(R, "EC ")
    assert redact_text(f"a {whole} b")[0] == "a [REDACTED:private-key] b"
    assert redact_text(f"{whole}\n{other}")[0] == "[REDACTED:private-key]\n[REDACTED:private-key]"
    cut = whole[: whole.index("-----END")]
    assert redact_text(f"{cut}\n{other}\nend")[0].endswith("[REDACTED:private-key]\nend")
    assert redact_text(cut.rstrip()[:-30] + "\n\nThe end.")[0] == "[REDACTED:private-key]\n\nThe end."
    assert redact_text(whole.replace("-----END RSA PRIVATE KEY-----", "-----END"))[0] == "[REDACTED:private-key]"
    headers = "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n"
    assert redact_text(whole.replace("-----\n", headers, 1))[0] == "[REDACTED:private-key]"


def test_a_second_half_is_known_by_the_first() -> None:
    """Beside the id of an access key forty characters are its secret, unless they are a hash."""
    key, secret, digest = TOKENS["aws-id"](R), draw(R, BASE64, 40), draw(R, HEX, 40)
    assert redact_text(f"{key} {secret}")[1] == {"aws-access-key": 1, "aws-secret-key": 1}
    assert redact_text(f"{key} {digest}")[1] == {"aws-access-key": 1}
    assert redact_text(secret)[1] == {}


def test_spans_that_overlap_become_one() -> None:
    """The rule that found most of it gives the name; what is apart stays apart."""
    spans = [Span(6, 7, "c"), Span(0, 4, "a"), Span(1, 5, "b"), Span(2, 3, "d"), Span(5, 6, "e")]
    assert merged(spans) == [Span(0, 5, "a"), Span(5, 6, "e"), Span(6, 7, "c")]
    assert replaced("0123456789", merged(spans)) == "[REDACTED:a][REDACTED:e][REDACTED:c]789"
    assert merged([Span(0, 2, "a"), Span(1, 9, "b")]) == [Span(0, 9, "b")]


def test_masks_of_the_kernel_and_of_others_are_no_secrets() -> None:
    """What is masked already, by whomever, is left as it is."""
    text = "password=[REDACTED] token: [REDACTED:token] https://[REDACTED]@h/?key=[REDACTED]&x=1 password=***"
    assert (find_secrets(text), redact_text(text)) == ([], (text, {}))


def test_a_memo_remembers_texts_up_to_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that comes again is not searched again, until too much has come since; a huge one is never kept."""
    searched: list[str] = []

    def watch(text: str, groups: frozenset[str]) -> object:
        searched.append(text)
        return redact_text(text, groups)

    monkeypatch.setattr(memo_module, "redact_text", watch)
    memo = TextMemo(max_texts=2, max_chars=40)
    for text in ("password=hunter2", "b", "password=hunter2", "c", "b", "d" * 41, "d" * 41, "e" * 40, "c"):
        assert memo.redact(text) == redact_text(text)
    assert searched == ["password=hunter2", "b", "c", "b", "d" * 41, "d" * 41, "e" * 40, "c"]


FRAGMENTS = st.sampled_from(
    [
        *(make(R) for make in TOKENS.values()),
        *(sample.text for sample in secret_samples()[::97]),
        *benign_texts(count=40)[::5],
        *(
            "password=",
            "token: ",
            '"',
            "'",
            "\\n",
            "\n",
            " ",
            "=",
            ":",
            "@",
            "://",
            "?",
            "&",
            "[REDACTED:x]",
            "sk-",
            "eyJ",
        ),
    ]
)


@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=8)), max_size=8).map("".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    """Whatever stands beside whatever, a second pass finds nothing more."""
    once, _ = redact_text(text)
    assert redact_text(once) == (once, {})
