"""Files of settings and keys: read as UTF-8 whole or not at all, written under a lock and all at once."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from amplifier.problems import SettingsProblem

MOST_BYTES = 2 * 1024 * 1024
LOCK_TIMEOUT_S = 10.0
_POLL_S = 0.005
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: Path, *, is_scope_file: bool = True) -> str | None:
    """The text of a file, or ``None`` where there is none; what cannot be read is a ``SettingsProblem``.

    Anything but a regular file is refused unless ``is_scope_file`` is false: reading a pipe would wait for its writer.
    """
    try:
        if is_scope_file and not stat.S_ISREG(path.stat().st_mode):
            raise SettingsProblem(f"{path} is not a regular file.", "Remove it, or put a file there.")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return _nothing_or_dangling(path)
    except OSError as error:
        raise SettingsProblem(
            f"{path} cannot be read: {error.strerror}.", "Check what it is and who may read it."
        ) from None
    if len(content) > MOST_BYTES:
        raise SettingsProblem(f"{path} is larger than {MOST_BYTES:,} bytes.", "Is it the right file?")
    return _decoded(content, path)


def _nothing_or_dangling(path: Path) -> None:
    if path.is_symlink():
        raise SettingsProblem(
            f"{path} is a link to {path.readlink()}, which does not exist.", "Make that file, or remove the link."
        )


def _decoded(content: bytes, path: Path) -> str:
    if content.startswith(_UTF16_MARKS):
        raise SettingsProblem(f"{path} is UTF-16; expected UTF-8.", "Save it as UTF-8.")
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        raise SettingsProblem(
            f"{path}:{line}:{column}: the byte 0x{content[error.start]:02X} is no UTF-8.", "Save it as UTF-8."
        ) from None


@contextmanager
def locked(path: Path, timeout_s: float = LOCK_TIMEOUT_S) -> Generator[Path]:
    """Holds the lock of a file for the block, and gives the file itself where ``path`` is a link.

    Folders that are not there are made. Other processes wait; after ``timeout_s`` they are told.
    """
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _acquired(target.with_name(f".{target.name}.lock"), timeout_s)
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        yield target
    finally:
        # Removed while it is held: whoever waits for it sees that it is gone, and begins again.
        with suppress(OSError):
            target.with_name(f".{target.name}.lock").unlink()
        os.close(descriptor)


def _acquired(lock_file: Path, timeout_s: float) -> int:
    deadline = time.monotonic() + timeout_s
    while True:
        descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        if _try_lock(descriptor) and _is_still(lock_file, descriptor):
            return descriptor
        os.close(descriptor)
        if time.monotonic() >= deadline:
            raise TimeoutError(None, f"another process has held {lock_file} for more than {timeout_s:g} s")
        time.sleep(_POLL_S)


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        return _try_lock_on_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_lock_on_windows(descriptor: int) -> bool:  # pragma: no cover - Windows
    import importlib
    from typing import Any

    msvcrt: Any = importlib.import_module("msvcrt")
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True


def _is_still(lock_file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(lock_file.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def write_atomically(target: Path, text: str, mode: int | None = None) -> None:
    """Puts ``text`` in the place of a file whose lock is held; readers see the old text or this one, nothing between.

    The file keeps its permissions; ``mode`` sets them. What a killed writer left is cleared away.
    """
    for left in target.parent.glob(f".{target.name}.*.tmp"):
        left.unlink(missing_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        _write_synced(draft, text.encode("utf-8"), _mode_of(target) if mode is None else mode)
        draft.replace(target)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise cannot_write(target, error) from None


def _mode_of(target: Path) -> int | None:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return None


def _write_synced(draft: Path, content: bytes, mode: int | None) -> None:
    # Never readable by more people than the finished file, not even for a moment.
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        draft.chmod(mode)


def cannot_write(path: Path, error: OSError) -> SettingsProblem:
    """The problem of a file that cannot be written."""
    return SettingsProblem(
        f"{path} cannot be written: {error.strerror}.",
        "Check the folder's permissions and the room on the disk, or choose another place with AMPLIFIER_HOME.",
    )
