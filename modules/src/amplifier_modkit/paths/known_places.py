"""Places that are refused without anybody saying so: where secrets are, what guards the agent, what is no file at all.

Names hold at any depth, for whatever user. A pattern's ``*`` stands for any part of one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SECRET_NAMES = (
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".vault-token",
    "credentials.json",
)
"""Names of files that hold secrets."""

HARMLESS_NAMES = (
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    "example.env",
    "sample.env",
    "template.env",
)
"""What looks like one of them and is written for everybody to read."""

SECRET_PLACES = (
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".password-store",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/op",
    ".config/rclone",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".docker/config.json",
    ".gem/credentials",
    ".local/share/keyrings",
    ".terraform.d/credentials.tfrc.json",
    ".amplifier/keys.env",
    "etc/shadow",
    "etc/shadow-",
    "etc/gshadow",
    "etc/gshadow-",
)
"""Folders, with everything in them, and files that hold secrets."""

GUARDING_PLACES = (
    ".amplifier",
    ".git",
    ".mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
)
"""What decides about agents or runs by itself; an agent that writes there could give itself every permission."""

_GUARDS_IN_ROOTS = (".amplifier", ".git/hooks", ".git/config", *GUARDING_PLACES[2:])

_SYSTEM_PLACES = re.compile(r"^(?:[a-z]:)?/(?:proc|sys|dev(?!/shm(?:/|\Z)|\Z))(?:/|\Z)")


@dataclass(frozen=True, slots=True)
class KnownPlaces:
    """Places of one sort, and what is told about them."""

    names: re.Pattern[str] | None
    """Matches a folded name that is one of them."""
    places: re.Pattern[str]
    """Matches a folded path that is one of them, or below."""
    rule: str
    way_out: str

    def holds(self, folded: str, *, is_last: bool) -> bool:
        """Whether a path is one of them; a name in the middle of a path may be any folder's."""
        if self.places.search(folded):
            return True
        return is_last and self.names is not None and bool(self.names.fullmatch(folded.rpartition("/")[2]))


def _sequences(places: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"/(?:{'|'.join(map(re.escape, places))})(?:/|\Z)")


def _one_name(patterns: Iterable[str], but: Iterable[str]) -> re.Pattern[str]:
    wanted = "|".join(re.escape(each).replace(r"\*", "[^/]*") for each in patterns)
    return re.compile(rf"(?!(?:{'|'.join(map(re.escape, but))})\Z)(?:{wanted})", re.DOTALL)


SECRETS = KnownPlaces(
    _one_name(SECRET_NAMES, but=HARMLESS_NAMES),
    _sequences(SECRET_PLACES),
    "secrets are kept there",
    "Do without it, or ask the user to name it under 'allow_secrets'.",
)
GUARDS = KnownPlaces(
    None,
    _sequences(GUARDING_PLACES),
    "what is written there decides what agents may do, or runs by itself",
    "Ask the user to do it, or to name it under 'allowed_write_paths'.",
)
SYSTEM = KnownPlaces(
    None,
    _SYSTEM_PLACES,
    "what is there belongs to the operating system and its devices",
    "Use a command that tells the same.",
)


def secret_roots(home: Path) -> list[Path]:
    """Where the secrets of the user with this home are, as far as they are there now."""
    names = [name for name in SECRET_NAMES if "*" not in name]
    candidates = [home / each for each in (*SECRET_PLACES, *names)]
    candidates += [Path("/", each) for each in SECRET_PLACES if each.startswith("etc/")]
    return [path for path in candidates if _is_there(path)]


def guarded_roots(roots: Iterable[Path]) -> list[Path]:
    """What guards agents directly below ``roots``, as far as it is there; of ``.git`` only what runs by itself."""
    return [root / each for root in roots for each in _GUARDS_IN_ROOTS if _is_there(root / each)]


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except OSError:
        return False
    return True
