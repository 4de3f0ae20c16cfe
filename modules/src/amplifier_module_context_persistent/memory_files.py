"""Memory files: texts that a conversation begins with, each as a system message of its own.

They are read once, when a session begins; a session that goes on has them in its journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from amplifier_modkit.memory.tokens import estimate_text
from amplifier_modkit.messages import Message

MEMORY_FILE = "memory_file"
"""The ``kind`` in the metadata of a message that stands for a memory file."""


class MemoryFileError(ValueError):
    """Memory files cannot be read, or are too long together."""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A memory file that was read."""

    path: Path
    text: str
    bytes: int

    @property
    def token_count(self) -> int:
        """About how many tokens its text has."""
        return estimate_text(self.text)

    def to_message(self) -> Message:
        """The system message that stands for it."""
        content = f"[Context from {self.path.name}]\n{self.text}"
        metadata = {"source": "context", "kind": MEMORY_FILE, "path": str(self.path)}
        return {"role": "system", "content": content, "metadata": metadata}


def read_memory_files(names: Iterable[str], working_dir: Path, max_tokens: int) -> list[MemoryFile]:
    """Reads the files in order; blocks, so it belongs into a thread.

    Raises ``MemoryFileError`` for one that cannot be read, and for all if they have more than ``max_tokens``.
    """
    files = [_read(working_dir / Path(name).expanduser()) for name in names]
    _require_room(files, max_tokens)
    return files


def _read(path: Path) -> MemoryFile:
    try:
        # Looked at first: reading a pipe would wait for its writer.
        if path.exists() and not path.is_file():
            raise OSError("it is not a regular file")
        data = path.read_bytes()
    except OSError as error:
        raise MemoryFileError(
            f"The memory file {path} cannot be read: {error.strerror or error}. Correct 'memory_files' in the config "
            "of context-persistent, or take the file out of it."
        ) from error
    return MemoryFile(path, data.decode("utf-8", "replace").removeprefix("\ufeff"), len(data))


def _require_room(files: Sequence[MemoryFile], max_tokens: int) -> None:
    total = sum(file.token_count for file in files)
    if total <= max_tokens:
        return
    table = "\n".join(f"  {file.token_count:>12,}  {file.path}" for file in files)
    raise MemoryFileError(
        f"The memory files have about {total:,} tokens together, and 'max_tokens' of context-persistent allows "
        f"{max_tokens:,}. Shorten them, take some out of 'memory_files', or raise 'max_tokens':\n{table}"
    )
