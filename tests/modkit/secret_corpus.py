"""A labelled corpus of secrets in odd places, and of strings that only look like secrets; made anew in each run.

No secret stands here as it is: each is drawn from a seeded source, so that nothing in this file is mistaken for one.
"""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import quote

ALNUM = string.ascii_letters + string.digits
URL_SAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
UPPER = string.ascii_uppercase + string.digits


class Sample(NamedTuple):
    """A text with secrets in it; none of ``secrets`` may be left."""

    id: str
    text: str
    secrets: tuple[str, ...]


def draw(source: random.Random, alphabet: str, length: int) -> str:
    """A random word that has a digit in it, as nearly every real one has."""
    word = [source.choice(alphabet) for _ in range(length)]
    word[length // 2] = source.choice([char for char in alphabet if char.isdigit()] or alphabet)
    return "".join(word)


def pem(source: random.Random, kind: str, lines: int = 6) -> str:
    """A private key as a block of lines."""
    body = "\n".join(draw(source, BASE64, 64) for _ in range(lines))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n{draw(source, BASE64, 22)}==\n-----END {kind}PRIVATE KEY-----"


def jwt(source: random.Random) -> str:
    """A signed token of three parts."""
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": draw(source, ALNUM, 10), "iat": 1_700_000_000})
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return ".".join((*encoded, draw(source, URL_SAFE, 43)))


def discord(source: random.Random) -> str:
    """A bot token: the number of the bot, a time, a signature."""
    number = base64.urlsafe_b64encode(draw(source, string.digits, 18).encode()).decode().rstrip("=")
    return f"{number}.{draw(source, URL_SAFE, 6)}.{draw(source, URL_SAFE, 38)}"


TOKENS: dict[str, Callable[[random.Random], str]] = {
    "openai": lambda r: "sk-" + draw(r, ALNUM, 20) + "T3BlbkFJ" + draw(r, ALNUM, 20),
    "openai-project": lambda r: "sk-proj-" + draw(r, URL_SAFE, 120),
    "openai-service": lambda r: "sk-svcacct-" + draw(r, URL_SAFE, 74),
    "openrouter": lambda r: "sk-or-v1-" + draw(r, HEX, 64),
    "anthropic": lambda r: "sk-ant-api03-" + draw(r, URL_SAFE, 93) + "AA",
    "github-classic": lambda r: "ghp_" + draw(r, ALNUM, 36),
    "github-oauth": lambda r: "gho_" + draw(r, ALNUM, 36),
    "github-server": lambda r: "ghs_" + draw(r, ALNUM, 36),
    "github-user": lambda r: "ghu_" + draw(r, ALNUM, 36),
    "github-fine": lambda r: "github_pat_" + draw(r, ALNUM, 22) + "_" + draw(r, ALNUM, 59),
    "gitlab": lambda r: "glpat-" + draw(r, URL_SAFE, 20),
    "gitlab-runner": lambda r: "glrt-" + draw(r, URL_SAFE, 20),
    "aws-id": lambda r: "AKIA" + draw(r, BASE32, 16),
    "aws-session-id": lambda r: "ASIA" + draw(r, BASE32, 16),
    "azure-client": lambda r: draw(r, ALNUM, 3) + "8Q~" + draw(r, ALNUM, 34),
    "azure-storage": lambda r: draw(r, BASE64, 76) + "+ASt" + draw(r, BASE64, 6) + "==",
    "google-api": lambda r: "AIza" + draw(r, URL_SAFE, 34) + draw(r, ALNUM, 1),
    "google-oauth": lambda r: "ya29." + draw(r, URL_SAFE, 60),
    "google-client": lambda r: "GOCSPX-" + draw(r, URL_SAFE, 28),
    "slack-bot": lambda r: f"xoxb-{draw(r, string.digits, 12)}-{draw(r, string.digits, 12)}-{draw(r, ALNUM, 24)}",
    "slack-app": lambda r: f"xapp-1-A{draw(r, UPPER, 10)}-{draw(r, string.digits, 13)}-{draw(r, HEX, 64)}",
    "stripe-live": lambda r: "sk_live_" + draw(r, ALNUM, 24),
    "stripe-restricted": lambda r: "rk_test_" + draw(r, ALNUM, 24),
    "stripe-webhook": lambda r: "whsec_" + draw(r, ALNUM, 32),
    "twilio": lambda r: "SK" + draw(r, HEX, 32),
    "sendgrid": lambda r: f"SG.{draw(r, URL_SAFE, 22)}.{draw(r, URL_SAFE, 43)}",
    "npm": lambda r: "npm_" + draw(r, ALNUM, 36),
    "pypi": lambda r: "pypi-AgEIcHlwaS5vcmc" + draw(r, URL_SAFE, 80),
    "huggingface": lambda r: "hf_" + draw(r, ALNUM, 34),
    "telegram": lambda r: "1" + draw(r, string.digits, 9) + ":AA" + draw(r, URL_SAFE, 33),
    "discord": discord,
    "jwt": jwt,
    "digitalocean": lambda r: "dop_v1_" + draw(r, HEX, 64),
    "groq": lambda r: "gsk_" + draw(r, ALNUM, 52),
    "vault": lambda r: "hvs." + draw(r, URL_SAFE, 90),
    "docker": lambda r: "dckr_pat_" + draw(r, ALNUM, 27),
    "databricks": lambda r: "dapi" + draw(r, HEX, 32),
    "mailgun": lambda r: "key-" + draw(r, HEX, 32),
    "age": lambda r: "AGE-SECRET-KEY-1" + draw(r, UPPER, 58),
    "bcrypt": lambda r: "$2b$12$" + draw(r, ALNUM, 53),
}
"""Secrets that are known by their looks, wherever they stand."""

PLACES: dict[str, Callable[[str], str]] = {
    "alone": lambda s: s,
    "sentence": lambda s: f"Please use {s}, it expires soon.",
    "end-of-sentence": lambda s: f"The one you want is {s}.",
    "brackets": lambda s: f"call({s})[{s}]{{{s}}}<{s}>",
    "json": lambda s: json.dumps({"a": [1, {"b": s}]}),
    "json-in-json": lambda s: json.dumps({"body": json.dumps({"inner": json.dumps([s])})}),
    "python-repr": lambda s: repr({"x": (s, None)}),
    "yaml": lambda s: f"service:\n  - name: web\n    x: {s}\n    y: 1\n",
    "env-file": lambda s: f"DEBUG=1\nSOME_NAME={s}\nOTHER=2\n",
    "export": lambda s: f"export FOO='{s}' && run",
    "flag": lambda s: f"tool --thing={s} --verbose",
    "url-path": lambda s: f"https://example.com/hooks/{s}/send?x=1",
    "url-query": lambda s: f"GET /v1/items?page=2&t={s}&limit=10 HTTP/1.1",
    "percent-encoded": lambda s: f"next=https%3A%2F%2Fh%2F%3Ft%3D{s}%26x%3D1",
    "escaped-newline": lambda s: f"first\\n{s}\\nlast",
    "escaped-tab": lambda s: f"a\\t{s}\\tb",
    "own-line": lambda s: f"line one\n{s}\nline three",
    "windows-lines": lambda s: f"one\r\n{s}\r\nthree",
    "markdown": lambda s: f"- **key**: `{s}`\n\n```\n{s}\n```\n",
    "table": lambda s: f"| name | thing |\n|---|---|\n| a | {s} |\n",
    "xml": lambda s: f"<config><x>{s}</x></config>",
    "log-line": lambda s: f"2024-05-06T07:08:09.123Z INFO [worker-3] got x={s} in 12 ms",
    "traceback": lambda s: f'  File "a.py", line 3, in f\n    raise ValueError("{s}")\nValueError: {s}',
    "diff": lambda s: f"@@ -1 +1 @@\n-X = '{s}'\n+X = None",
    "shell-prompt": lambda s: f"user@host:~$ echo {s}\n{s}",
    "quotes-of-all-kinds": lambda s: f"“{s}” «{s}» ‘{s}’",
    "other-scripts": lambda s: f"密钥是{s}，别外传。 Ключ {s} здесь",
    "csv": lambda s: f"id,name,thing\n1,bob,{s}\n2,eve,\n",
    "html-attribute": lambda s: f'<input type="hidden" value="{s}" data-x=1>',
    "comment": lambda s: f"x = 1  # {s}",
}
"""Where a secret may stand."""


def token_samples(seed: int = 1) -> Iterator[Sample]:
    """Every kind of token in every place."""
    source = random.Random(seed)
    for kind, make in TOKENS.items():
        for place, put in PLACES.items():
            secret = make(source)
            yield Sample(f"{kind} {place}", put(secret), (secret,))


PASSWORDS = (
    "hunter2",
    "S3cr3t!pass",
    "p@ss:w0rd/x",
    "correcthorse",
    "Tr0ub4dor&3",
    "x9$kQ2#v",
    "letmein99",
    "qwertzuiop1",
)

NAMED: dict[str, str] = {
    "env": "DB_PASSWORD={}",
    "env-export": "export POSTGRES_PASSWORD={}",
    "env-glued": "PGPASSWORD={} psql -h db",
    "env-quoted": "SECRET_KEY='{}'",
    "env-double-quoted": 'API_KEY="{}"',
    "env-file": "A=1\nCLIENT_SECRET={}\nB=2",
    "json": '{{"password": "{}", "user": "bob"}}',
    "json-compact": '{{"user":"bob","api_key":"{}"}}',
    "json-camel": '{{"clientSecret": "{}"}}',
    "json-escaped": '"{{\\"password\\": \\"{}\\"}}"',
    "json-twice-escaped": '"{{\\\\\\"password\\\\\\": \\\\\\"{}\\\\\\"}}"',
    "json-line-break": '{{"password":\n    "{}"}}',
    "json-cut-off": '{{"password": "{}',
    "yaml": "db:\n  user: bob\n  password: {}\n",
    "yaml-quoted": "db:\n  password: '{}'\n",
    "yaml-block": "db:\n  password: |\n    {}\n  user: bob\n",
    "yaml-name-value": "env:\n  - name: DB_PASSWORD\n    value: {}\n",
    "json-name-value": '{{"name": "API_KEY", "value": "{}"}}',
    "toml": '[db]\npassword = "{}"\n',
    "ini": "[db]\npassword = {}\n",
    "properties": "spring.datasource.password={}",
    "python": 'connect(user="bob", password="{}")',
    "python-bytes": "password = b'{}'",
    "python-dict": "{{'passwd': '{}'}}",
    "python-item": 'os.environ["SECRET_KEY"] = "{}"',
    "python-compared": 'if password == "{}":',
    "secret-str": 'password=SecretStr("{}")',
    "javascript": "const apiKey = '{}';",
    "typescript": "{{ secretKey: `{}` }}",
    "ruby": ":password => '{}'",
    "go": 'Password: "{}",',
    "xml": "<password>{}</password>",
    "xml-attribute": '<add key="Password" value="{}" />',
    "flag": "deploy --password {} --force",
    "flag-equals": "deploy --api-key={}",
    "flag-quoted": "deploy --client-secret '{}'",
    "flag-list": '["deploy", "--password", "{}"]',
    "mysql": "mysql -u root -p{} shop",
    "curl-user": "curl -s -u admin:{} https://example.com",
    "sshpass": "sshpass -p {} ssh bob@host",
    "query": "https://example.com/login?user=bob&password={}",
    "fragment": "https://example.com/#access_token={}&x=1",
    "dsn": "Server=db;Database=shop;User Id=sa;Password={};Encrypt=true",
    "odbc": "Driver=x;Uid=sa;Pwd={};",
    "header-api-key": "X-Api-Key: {}",
    "header-in-curl": "curl -H 'X-Auth-Token: {}' https://example.com",
    "netrc": "machine example.com login bob password {}",
    "npmrc": "//registry.example.com/:_authToken={}",
    "prose": "the password is {} by the way",
    "prose-colon": "Password: {}",
    "markdown-bold": "**Password:** {}",
    "markdown-table": "| password | {} |",
    "escaped-line": "user=bob\\npassword={}\\nhost=db",
    "github-actions": "        client_secret: {}",
    "docker-compose": '      - "MYSQL_ROOT_PASSWORD={}"',
    "kubectl": "kubectl create secret generic db --from-literal=password={}",
    "terraform": 'variable "x" {{\n  master_password = "{}"\n}}',
    "gradle": 'storePassword "x"\nkeyPassword = "{}"',
    "sql": "CREATE USER bob WITH PASSWORD = '{}'",
    "percent": "redirect=%2Flogin%3Fpassword%3D{}",
}
"""Texts in which a name tells that what stands there is a secret."""

# What a place cannot hold: the signs that end a value there.
_ENDS = {
    "query": "&#",
    "fragment": "&#",
    "percent": "&#$/:@!",
    "dsn": ";",
    "odbc": ";",
    "prose": "!",
    "mysql": "$",
    "flag": "$#&",
    "sshpass": "$#&",
}
_NEEDS_SIGNS = frozenset({"prose", "markdown-table", "odbc", "npmrc", "fragment", "header-in-curl"})
"""Places where a word of letters alone may well be no secret."""


def named_samples() -> Iterator[Sample]:
    """Every password in every place that has a name for it."""
    for place, template in NAMED.items():
        for password in PASSWORDS:
            if set(_ENDS.get(place, "")) & set(password) or (place in _NEEDS_SIGNS and password.isalpha()):
                continue
            yield Sample(f"named {place} {password}", template.format(password), (password,))


def other_samples(seed: int = 2) -> Iterator[Sample]:
    """Secrets of more than one word or line, and those that are known by what stands beside them."""
    r = random.Random(seed)
    for kind in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "):
        key = pem(r, kind)
        lines = tuple(key.splitlines()[1:-1])
        yield Sample(f"pem {kind}", f"before\n{key}\nafter", lines)
        yield Sample(f"pem {kind}escaped", json.dumps({"private_key": key + "\n"}), lines)
        yield Sample(f"pem {kind}escaped twice", json.dumps(json.dumps({"k": key})), lines)
        yield Sample(f"pem {kind}one line", key.replace("\n", " "), lines)
        yield Sample(f"pem {kind}windows", key.replace("\n", "\r\n"), lines)
        yield Sample(f"pem {kind}indented", "key: |\n" + "\n".join("    " + line for line in key.splitlines()), lines)
        yield Sample(f"pem {kind}cut off", key[: len(key) // 2].rsplit("\n", 1)[0], lines[:2])
        yield Sample(f"pem {kind}quoted", "\n".join("> " + line for line in key.splitlines()), lines)
        yield Sample(f"pem {kind}joined", " +\n".join(f'"{line}\\n"' for line in key.splitlines()), lines)
    yield from _addresses(r)
    yield from _headers(r)
    yield from _clouds(r)


def _addresses(r: random.Random) -> Iterator[Sample]:
    for scheme in (
        "postgres",
        "postgresql+asyncpg",
        "mysql",
        "mongodb+srv",
        "redis",
        "rediss",
        "amqp",
        "https",
        "ftp",
        "smtp",
    ):
        for password in ("hunter2", "p@ssw0rd", "a:b:c9", "x%21y%40z", "ünïcode1"):
            yield Sample(
                f"address {scheme} {password}", f"url = {scheme}://bob:{password}@db.example.com:5432/x", (password,)
            )
    yield Sample("address careless", "postgres://bob:pa/ss#wo?rd@db/x", ("pa/ss#wo?rd",))
    yield Sample("address no user", "REDIS_URL=redis://:s3cretpw@cache:6379/0", ("s3cretpw",))
    token = draw(r, ALNUM, 40)
    yield Sample("address token", f"git clone https://{token}@git.example.com/a/b.git", (token,))
    yield Sample("address x-access-token", f"https://x-access-token:{token}@git.example.com/a", (token,))
    yield Sample("address in json", json.dumps({"dsn": f"mysql://a:{token}@h/db"}), (token,))
    yield Sample("address jdbc", f"jdbc:postgresql://h:5432/d?user=bob&password={token}", (token,))
    yield Sample("address oracle", f"jdbc:oracle:thin:scott/{token}@//h:1521/x", (token,))
    yield Sample(
        "address sas", f"https://a.blob.core.windows.net/c?sv=2022&sp=r&sig={quote(token + '=')}&se=1", (token,)
    )
    yield Sample("address signed", f"https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature={draw(r, HEX, 64)}", ())
    webhook = f"https://hooks.slack.com/services/T{draw(r, UPPER, 9)}/B{draw(r, UPPER, 9)}/{token[:24]}"
    yield Sample("address slack", webhook, (token[:24],))
    yield Sample("address discord", f"https://discord.com/api/webhooks/123456789012345678/{token}{token}", (token,))


def _headers(r: random.Random) -> Iterator[Sample]:
    token = draw(r, URL_SAFE, 32)
    basic = base64.b64encode(b"aladdin:opensesame").decode()
    for name, value, secret in (
        ("Authorization", f"Bearer {token}", token),
        ("authorization", f"bearer {token}", token),
        ("Authorization", f"Basic {basic}", basic),
        ("Authorization", f"Token {token}", token),
        ("Proxy-Authorization", f"Basic {basic}", basic),
        ("Cookie", f"theme=dark; sid={token}", token),
        ("Set-Cookie", f'sid="{token}"; Path=/; HttpOnly', token),
        ("X-API-Key", token, token),
        ("Authorization", f'Digest username="bob", response="{token}"', token),
    ):
        title = f"header {name} {value.split()[0]}"
        yield Sample(title, f"GET / HTTP/1.1\r\nHost: h\r\n{name}: {value}\r\nAccept: */*\r\n", (secret,))
        yield Sample(f"{title} curl", f"curl -H '{name}: {value}' https://h/", (secret,))
        if '"' not in value:
            yield Sample(f"{title} json", json.dumps({"headers": {name: value}}), (secret,))
            yield Sample(f"{title} repr", repr({name: value}), (secret,))
            yield Sample(f"{title} escaped", json.dumps(f"{name}: {value}\r\nAccept: x"), (secret,))
    yield Sample("bearer alone", f"used Bearer {token} for it", (token,))


def _clouds(r: random.Random) -> Iterator[Sample]:
    key, secret = "AKIA" + draw(r, BASE32, 16), draw(r, ALNUM, 20) + "/" + draw(r, ALNUM, 19)
    yield Sample("aws csv", f"Access key ID,Secret access key\n{key},{secret}\n", (key, secret))
    yield Sample(
        "aws profile", f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n", (key, secret)
    )
    yield Sample("aws words", f"id {key} and {secret} for prod", (key, secret))
    yield Sample("aws json", json.dumps({"AccessKeyId": key, "SecretAccessKey": secret}), (key, secret))
    yield Sample("aws session", f"AWS_SESSION_TOKEN={draw(r, BASE64, 200)}", ())
    storage = draw(r, BASE64, 86) + "=="
    for name in ("AccountKey", "SharedAccessKey"):
        text = f"DefaultEndpointsProtocol=https;AccountName=shop;{name}={storage};EndpointSuffix=core.windows.net"
        yield Sample(f"azure {name}", text, (storage,))
    sid, auth = "AC" + draw(r, HEX, 32), draw(r, HEX, 32)
    yield Sample("twilio pair", f"curl https://api/ -u {sid}:{auth}", (auth,))
    yield Sample("twilio name", f"TWILIO_AUTH_TOKEN={auth}", (auth,))
    hashed = "$6$" + draw(r, ALNUM, 16) + "$" + draw(r, ALNUM, 86)
    yield Sample("shadow", f"root:{hashed}:19000:0:99999:7:::", (hashed[3:],))
    argon = "$argon2id$v=19$m=65536,t=3,p=4$" + draw(r, ALNUM, 22) + "$" + draw(r, ALNUM, 43)
    yield Sample("argon", f"hash {argon} ok", (argon[-43:],))


def secret_samples() -> list[Sample]:
    """The whole corpus of texts with secrets."""
    return [*token_samples(), *named_samples(), *other_samples()]


_BENIGN_LINES = (
    "max_tokens=4096 temperature=0.7 top_p=1",
    "def login(user: str, password: str | None = None, token: Optional[str] = None) -> None:",
    "password: str",
    "    password: SecretStr = Field(description='The password of the account')",
    "token: Token = self.next_token()",
    "authenticate(token=token, password=password, api_key=self.api_key)",
    "api_key = os.environ['OPENAI_API_KEY']",
    "api_key=os.getenv('API_KEY')",
    "password = getpass.getpass('Password: ')",
    "password = config.get('db', 'password')",
    "secret = hmac.new(key, msg, sha256).hexdigest()",
    "if token == '(' or token == ')': depth += 1",
    "for token in tokenizer.tokenize(text): print(token.text)",
    "PASSWORD=$DB_PASSWORD",
    "password: ${{ secrets.DB_PASSWORD }}",
    "password: ${DB_PASSWORD:-}",
    "token: {{ vault_token }}",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <your token>",
    'curl -H "Authorization: Bearer ${API_TOKEN}" https://example.com',
    'curl -u "$USER:$PASS" https://example.com',
    "postgres://$USER:$PASSWORD@localhost/db",
    "postgres://{user}:{password}@{host}/{db}",
    "https://bob@bitbucket.org/bob/repo.git",
    "git@github.com:python/cpython.git",
    "ssh://git@example.com/a/b.git",
    "ssh-rsa is the type of the key; see ssh-keygen(1)",
    "Enter your password: ",
    "The password must have at least eight characters.",
    "Password: required",
    "token: The token to use for the request.",
    "A secret is something that nobody knows.",
    "The key to success is hard work, and the token of it is sleep.",
    "Key: value pairs are separated by commas",
    "primary_key=True, foreign_key='users.id', sort_key: name",
    "keyboard: qwerty, monkey: banana, author: Bob, authority: none",
    "Tokens: 1,234 in, 567 out (cost: $0.0123)",
    "tokens_used: 15342, cached_tokens: 1024",
    "pass: 12, fail: 0, skipped: 3",
    "passed=104 failed=0",
    '{"usage": {"input_tokens": 120, "output_tokens": 48, "total_tokens": 168}}',
    '{"type": "object", "properties": {"password": {"type": "string"}, "token": {"type": "string"}}}',
    '{"nextPageToken": "CAUQAA", "kind": "list"}',
    '"next_token": "eyJhIjoxfQ"',
    "eos_token: </s>, pad_token: <pad>, bos_token: <s>",
    "import secrets, token, tokenize, keyword",
    "from getpass import getpass",
    "class TokenBucket(RateLimiter): tokens = 10",
    "sk-learn, sk-toggleable__label-arrow, sk-container-id-1",
    "task-management-system-for-distributed-teams",
    "risk-assessment-2024-final-version-number-3",
    "disk-usage-of-the-whole-machine-1234567890",
    "AKIA is how access keys begin; ASIA is for sessions",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n-----END CERTIFICATE-----",
    "look for '-----BEGIN PRIVATE KEY-----' in the file",
    "integrity sha512-0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefAB==",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit 30d76c5e0c5bd4d5a0a4c0e5b1a2d3e4f5a6b7c8",
    'ETag: "33a64df551425fcc55e4d42a148795d9f25f89d4"',
    "call_9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    "toolu_01A09q90qw90lq917835lq9",
    "chatcmpl-9Zk3vW8xYq2LmN4pR6tU8wXyZ0aB1",
    "msg_013Zva2CMHLNnjNjJKqJ2EF",
    "/usr/local/lib/python3.11/site-packages/google/oauth2/credentials.py",
    "secret_file: /run/secrets/db_password",
    "password_file=/etc/app/password.txt",
    "secretName: my-app-secrets",
    "version: 1.2.3, python>=3.11,<4, v2.10.0-rc.1+build.5",
    "def test_that_a_very_long_function_name_does_not_look_like_a_token_at_all(): ...",
    "https://example.com/a/b/c?key=name&sort=asc&page=2#section-3",
    "https://example.com/search?q=password+reset&lang=en",
    "X-Request-Id: 7f3c9a52-1f7e-4d58-8e11-6a0d0a3c5f2b",
    "Cookie policy: we use cookies to remember your choice",
    "auth: none",
    "authentication=required",
    "--token-limit 4096 --password-file x.txt --no-auth --key-type ed25519",
    "pwd: /home/bob/projects/amplifier",
    "PWD=/home/bob/projects OLDPWD=/tmp",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "hf_hub_download, npm_config_registry, pypi-server, xai-sdk, fw_version_of_the_device",
    "SKU-1234, ACME Corp, SGX enabled, Notification.create.something",
    "Bearer authentication is used; Basic authentication is not",
    "machine learning is fun; login is easy",
    "mysql -u root -p shop",
    "+1 for that; 2024-01-02T03:04:05+02:00; (123) items",
)


def benign_texts(seed: int = 3, count: int = 5000) -> list[str]:
    """Texts without any secret: the lines above, and as many generated ones as ``count`` says."""
    source = random.Random(seed)
    made = [maker(source) for maker in _BENIGN_MAKERS for _ in range(count // len(_BENIGN_MAKERS))]
    return [*_BENIGN_LINES, "\n".join(_BENIGN_LINES), *made]


def _uuid(r: random.Random) -> str:
    return str(uuid.UUID(int=r.getrandbits(128), version=4))


def _when(r: random.Random) -> str:
    moment = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(
        seconds=r.randrange(200_000_000), microseconds=r.randrange(10**6)
    )
    return moment.isoformat()


def _words(r: random.Random) -> str:
    letters = string.ascii_lowercase
    words = ["".join(r.choice(letters) for _ in range(r.randint(1, 12))) for _ in range(r.randint(3, 30))]
    return " ".join(words).capitalize() + "."


def _identifier(r: random.Random) -> str:
    parts = ["".join(r.choice(string.ascii_lowercase) for _ in range(r.randint(2, 9))) for _ in range(r.randint(3, 9))]
    return r.choice("_-./").join(parts) if r.random() < 0.7 else "".join(part.title() for part in parts)


def _record(r: random.Random) -> str:
    return json.dumps(
        {
            "session_id": draw(r, HEX, 16),
            "parent_id": f"{draw(r, HEX, 16)}-{draw(r, HEX, 16)}_agent",
            "request_id": _uuid(r),
            "tool_call_id": "call_" + draw(r, ALNUM, 24),
            "timestamp": _when(r),
            "duration_ms": r.random() * 1000,
            "max_tokens": r.randrange(10**6),
            "sha256": draw(r, HEX, 64),
            "count": r.randrange(10**12),
        }
    )


_BENIGN_MAKERS: tuple[Callable[[random.Random], str], ...] = (
    _uuid,
    _when,
    _words,
    _identifier,
    _record,
    lambda r: draw(r, HEX, 40),
    lambda r: draw(r, HEX, 64),
    lambda r: f"md5:{draw(r, HEX, 32)} file_{r.randrange(10**6)}.bin",
    lambda r: f"session {draw(r, HEX, 16)} took {r.random() * 100:.3f} s, {r.randrange(10**9)} bytes",
    lambda r: "toolu_" + draw(r, ALNUM, 24),
    lambda r: f"call_{draw(r, ALNUM, 24)}|fc_{draw(r, HEX, 48)}",
    lambda r: str(r.randrange(10 ** r.randint(1, 20))),
    lambda r: f"{r.random() * 10**6:.{r.randint(1, 12)}f}",
    lambda r: f"v{r.randrange(20)}.{r.randrange(90)}.{r.randrange(90)}",
    lambda r: f"192.168.{r.randrange(256)}.{r.randrange(256)}:{r.randrange(65536)} [fe80::{draw(r, HEX, 4)}%eth0]",
    lambda r: base64.b64encode(r.randbytes(r.randint(3, 200))).decode(),
    lambda r: f"/srv/{_identifier(r)}/{draw(r, ALNUM, 12)}/file.{draw(r, string.ascii_lowercase, 3)}",
    lambda r: (
        f"https://{_identifier(r).lower()}.example.com/{draw(r, ALNUM, 20)}?id={r.randrange(10**9)}&v={draw(r, HEX, 9)}"
    ),
    lambda r: f"{_identifier(r)} = {r.randrange(10**6)}  # {_words(r)}",
    lambda r: f"<div class='{_identifier(r)}' id='{draw(r, ALNUM, 8)}'>{_words(r)}</div>",
)
