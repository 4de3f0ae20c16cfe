"""The rules that know a secret by what it looks like: data, one entry per kind of secret.

A rule is tried only where one of its ``literals`` is found, and most of them only in the stretches of a text that have
a long unbroken run of letters and digits. So a text without secrets is passed at the speed of a substring search.
A pattern that can fail behind a long run begins where a run begins, so that no run is read twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import ascii_letters, digits, hexdigits
from typing import Literal

Group = Literal["secrets", "pii-basic"]

GROUPS: tuple[Group, ...] = ("secrets", "pii-basic")


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret; ``pattern`` marks what is masked as the group ``secret``, or is masked as a whole."""

    id: str
    pattern: str
    literals: tuple[str, ...]
    """A match begins with one of them, or with what ``lead`` says; without any it is looked for everywhere."""
    lead: str = ""
    """The characters that a match has before the literal."""
    longest_lead: int = 64
    group: Group = "secrets"


# Nothing that could belong to the same word stands before: but "\\n", "%3D" and their like do, in texts that were
# escaped, and are not part of the word.
_B = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u00[0-9a-f]{2}))"
_BASE64 = ascii_letters + digits + "+/"
_GITLAB = ("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-", "gloas-")
_VAULTS = ("hvs.", "hvb.", "hvr.", "atlasv1.", "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.")
_VENDOR_REST = r"(?=[A-Za-z_\-]{0,40}\d)(?:[A-Za-z0-9]{1,8}[_\-])?[A-Za-z0-9]{20,}[A-Za-z0-9_\-]*"
_E = r"(?![A-Za-z0-9])"

TOKEN_RULES: tuple[Rule, ...] = (
    Rule("anthropic-key", r"sk-ant-[A-Za-z0-9_\-]{16,}", ("sk-ant-",)),
    Rule(
        "openai-key",
        _B + r"sk-(?:(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_\-]{20,}|[A-Za-z0-9]{32,})",
        ("sk-",),
    ),
    Rule("github-token", r"gh[pousr]_[A-Za-z0-9_]{30,}", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    Rule("github-token", r"github_pat_[A-Za-z0-9_]{22,}", ("github_pat_",)),
    Rule(
        "gitlab-token",
        _B + r"gl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent|oas)-[A-Za-z0-9_\-.]{20,}",
        _GITLAB,
    ),
    Rule(
        "aws-access-key",
        r"(?:(?<![A-Z0-9])|(?<=%[0-9A-F]{2}))(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
    ),
    Rule("aws-bedrock-key", _B + r"(?:ABSK|bedrock-api-key-)[A-Za-z0-9+/=]{60,}", ("ABSK", "bedrock-api-key-")),
    Rule(
        "azure-client-secret",
        _B + r"[A-Za-z0-9_~.\-]{3}[78]Q~[A-Za-z0-9_~.\-]{31,34}" + _E,
        ("7Q~", "8Q~"),
        _BASE64 + "_~.-",
        3,
    ),
    Rule("azure-devops-token", _B + r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}" + _E, ("AZDO",), _BASE64, 76),
    Rule(
        "azure-ai-key", _B + r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{2,8}AC[A-Za-z0-9]{10,20}" + _E, ("JQQJ99",), _BASE64, 52
    ),
    Rule("azure-key", r"[A-Za-z0-9+/]{76}(?:\+ASt|ACDb)[A-Za-z0-9+/]{6}==", ("+ASt", "ACDb"), _BASE64, 76),
    Rule("google-api-key", r"AIza[A-Za-z0-9_\-]{35}(?![A-Za-z0-9_\-])", ("AIza",)),
    Rule("google-oauth", r"ya29\.[A-Za-z0-9_\-.]{20,}|GOCSPX-[A-Za-z0-9_\-]{20,}", ("ya29.", "GOCSPX-")),
    Rule("google-oauth", _B + r"1//0[A-Za-z0-9_\-]{30,}", ("1//0",)),
    Rule("slack-token", _B + r"xox[abceoprs](?:\.xox[abceoprs])?-[A-Za-z0-9\-]{10,}", ("xox",)),
    Rule("slack-token", r"xapp-\d-[A-Za-z0-9\-]{20,}", ("xapp-",)),
    Rule(
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/]{20,})",
        ("hooks.slack.com/",),
    ),
    Rule("stripe-key", _B + r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}", ("k_live_", "k_test_"), "sr", 1),
    Rule("stripe-key", r"whsec_[A-Za-z0-9+/=]{24,}", ("whsec_",)),
    Rule("twilio-key", _B + r"SK[0-9a-f]{32}" + _E, ("SK",)),
    Rule("twilio-key", _B + r"AC[0-9a-f]{32}:(?P<secret>[0-9a-f]{32})" + _E, ("AC",)),
    Rule("sendgrid-key", r"SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{30,}", ("SG.",)),
    Rule("mail-key", _B + r"key-[0-9a-f]{32}" + _E, ("key-",)),
    Rule("mail-key", _B + r"[0-9a-f]{32}-us\d{1,2}" + _E, ("-us",), hexdigits, 32),
    Rule("mail-key", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}", ("xkeysib-",)),
    Rule("npm-token", _B + r"npm_[A-Za-z0-9]{30,}", ("npm_",)),
    Rule("pypi-token", r"pypi-AgE[A-Za-z0-9_\-]{40,}", ("pypi-AgE",)),
    Rule("huggingface-token", _B + r"(?:hf|api_org)_[A-Za-z0-9]{30,}", ("hf_", "api_org_")),
    Rule("telegram-token", r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_\-]{32,35}(?![A-Za-z0-9_\-])", (":AA",), digits, 11),
    # The first part is a number in base64, and digits leave few characters to choose from.
    Rule(
        "discord-token",
        r"[MNO][DTjz](?:(?<![A-Za-z0-9]..)|(?<=\\[nrt]..)|(?<=%[0-9A-F]{2}..))[AEIMQUYcgk][wxyz0-5](?:[MNO][DTjz][AEIMQUYcgk][wxyz0-5]){4,6}"
        r"[A-Za-z0-9]{0,3}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,}",
        (),
    ),
    Rule(
        "discord-webhook",
        r"discord(?:app)?\.com/api/webhooks/\d{5,20}/(?P<secret>[A-Za-z0-9_\-]{40,})",
        ("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
    ),
    Rule(
        "jwt",
        _B + r"(?<![_\-])eyJ[A-Za-z0-9_\-]{10,}={0,2}\.[A-Za-z0-9_\-]{8,}={0,2}(?:\.[A-Za-z0-9_\-]*={0,2}){0,3}",
        ("eyJ",),
    ),
    Rule("openssh-key", r"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=]{20,}", ("b3BlbnNzaC1rZXktdjE",)),
    Rule("age-key", r"AGE-SECRET-KEY-1[0-9A-Z]{40,}", ("AGE-SECRET-KEY-1",)),
    Rule("vault-token", _B + r"(?:hv[sbr]|atlasv1|dp\.(?:pt|st|ct|sa))\.[A-Za-z0-9_\-]{24,}", _VAULTS),
    *(
        Rule("vendor-token", _B + re.escape(prefix) + _VENDOR_REST, (prefix,))
        for prefix in (
            *("dop_v1_", "doo_v1_", "dor_v1_", "dckr_pat_", "dckr_oat_", "lin_api_", "lin_oauth_", "ntn_", "shpat_"),
            *("shpss_", "shpca_", "shppa_", "gsk_", "xai-", "r8_", "pplx-", "tvly-", "glsa_", "glc_", "sntrys_"),
            *("sntryu_", "figd_", "sbp_", "sb_secret_", "pscale_tkn_", "pscale_pw_", "nvapi-", "PMAK-", "NRAK-"),
            *("HRKU-", "ATATT3", "ATCTT3", "ATBB", "sq0csp-", "sq0atp-", "fo1_", "dapi", "tfp_", "fw_", "jina_"),
            *("ctx7sk-", "phx_", "phc_", "rubygems_", "bkua_", "ccipat_", "vcp_", "secret_"),
        )
    ),
)

NEAR_RULES: tuple[Rule, ...] = (
    Rule(
        "password-hash",
        r"\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{53}|argon2i?d?\$[^\s\"':]{40,300}|"
        r"(?:[156y7]|apr1)\$[^\s$\"':]{1,40}\$(?:[^\s$\"':]{1,40}\$)?[./A-Za-z0-9]{22,})",
        ("$",),
    ),
    Rule(
        "bearer-token",
        r"(?i:bearer)\s{1,4}(?=[A-Za-z_\-.~+/]{0,200}\d)(?P<secret>[A-Za-z0-9_\-.~+/]{12,}={0,2})",
        ("earer ",),
        "bB",
    ),
    Rule("oracle-password", r"jdbc:oracle:\w{1,10}:[^\s/\"']{1,64}/(?P<secret>[^\s@\"']{1,128})@", ("jdbc:oracle:",)),
    Rule(
        "netrc-password",
        r"machine\s{1,20}\S{1,128}\s{1,20}login\s{1,20}\S{1,128}\s{1,20}password\s{1,20}(?P<secret>[^\s\"']{1,256})",
        ("machine ",),
    ),
    Rule(
        "command-password",
        r"curl\s[^\n;|]{0,300}?(?<=\s)(?:-u|--user)[ =]?[\"']?[^\s:\"'$]{1,64}:(?P<secret>[^\s\"'$][^\s\"']{0,127})",
        ("curl ",),
    ),
    Rule(
        "command-password",
        r"(?:mysql|mysqldump|mysqladmin|mariadb)\s[^\n;|]{0,300}?(?<=\s)-p[\"']?(?P<secret>[^\s\"'$\-][^\s\"']{0,127})",
        ("mysql", "mariadb"),
    ),
    Rule("command-password", r"sshpass\s+-p\s?[\"']?(?P<secret>[^\s\"'$][^\s\"']{0,127})", ("sshpass ",)),
    Rule(
        "email",
        r"(?<![A-Za-z0-9._%+\-/:@])[A-Za-z0-9][A-Za-z0-9._%+\-]{0,63}@(?:[A-Za-z0-9\-]{1,63}\.){1,6}[A-Za-z]{2,24}"
        r"(?![A-Za-z0-9\-]|\.[A-Za-z0-9]|:[\w~/])",
        ("@",),
        ascii_letters + digits + "._%+-",
        group="pii-basic",
    ),
    # What must not stand before is looked for behind the first character, so that the search can jump to it.
    Rule(
        "phone",
        r"\+(?<![\w+./\-].)[1-9]\d{0,2}[ .\-](?:\(\d{1,4}\)[ .\-]?)?\d{2,4}(?:[ .\-]\d{2,5}){1,4}(?![\w\-])",
        ("+",),
        group="pii-basic",
    ),
    Rule("phone", r"\((?<![\w(].)\d{3}\) ?\d{3}-\d{4}(?![\w\-])", ("(",), group="pii-basic"),
)
