"""Names that hold secrets, and variables of an environment that do."""

from __future__ import annotations

import pytest

from amplifier_modkit.secrets import names_secret, secret_env_names
from amplifier_modkit.secrets.names import NAME_RULES, name_rule


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("password", "password"),
        ("PGPASSWORD", "password"),
        ("dbpasswd2", "password"),
        ("MYSQL_PWD", "password"),
        ("OPENAI_API_KEY", "api-key"),
        ("x-api-key", "api-key"),
        ("aws_secret_access_key", "api-key"),
        ("AccountKey", "api-key"),
        ("privateKey", "private-key"),
        ("client_secret", "secret"),
        ("appsecret", "secret"),
        ("authToken", "token"),
        ("accesstoken", "token"),
        ("GITHUB_PAT", "token"),
        ("Authorization", "authorization"),
        ("Set-Cookie", "cookie"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "credential"),
        ("AZURE_STORAGE_CONNECTION_STRING", "connection-string"),
        ("x" * 5000 + "_password", "password"),
    ],
)
def test_names_of_secrets_are_known_with_their_kind(name: str, rule: str) -> None:
    """The last words of a name tell, in any spelling."""
    found = name_rule(name)
    assert found is not None
    assert (found.id, names_secret(name)) == (rule, True)


@pytest.mark.parametrize(
    "name",
    [
        *("max_tokens", "input_tokens", "next_token", "nextPageToken", "eos_token", "stop_token", "lockToken"),
        *("PWD", "OLDPWD", "author", "keyboard", "monkey", "primary_key", "public_key", "key", "access_key_id"),
        *("token_type", "password_file", "secret_name", "compass", "bypass", "oauth", "path", "session_id", "", "é"),
    ],
)
def test_other_names_are_left_alone(name: str) -> None:
    """Counts, types, places and words that only sound alike are no names of secrets."""
    assert names_secret(name) is False


def test_every_rule_knows_its_own_endings() -> None:
    """A name that is nothing but an ending is of the kind that the first rule with it says."""
    for rule in NAME_RULES:
        for ending in rule.endings:
            found = name_rule(f"my_{ending}")
            assert found is None or found.id == rule.id


def test_a_name_that_only_the_kernel_knows_is_a_secret_all_the_same() -> None:
    """What the kernel blanks out in configs is masked here, under a general name."""
    found = name_rule("my_signing_keys_private_keys")
    assert found is not None
    assert names_secret("api_tokens")


def test_variables_with_secrets_are_found_by_name_and_by_value() -> None:
    """Harmless, empty and merely referring variables are kept."""
    token = "ghp_" + "a1" * 18
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/home/bob",
        "PWD": "/home/bob",
        "SSH_AUTH_SOCK": "/tmp/agent.1",
        "LS_COLORS": "*.key=01;35:*.tar=01;31",
        "TOKENIZERS_PARALLELISM": "false",
        "EMPTY_TOKEN": "",
        "INDIRECT_PASSWORD": "${OTHER}",
        "OPENAI_API_KEY": "k-1",
        "DATABASE_URL": "postgres://bob:hunter2@db/x",
        "HARMLESS_NAME": token,
        "PGPASSWORD": "hunter2",
    }
    assert secret_env_names(environ) == {"OPENAI_API_KEY", "DATABASE_URL", "HARMLESS_NAME", "PGPASSWORD"}
