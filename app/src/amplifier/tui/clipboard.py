"""The clipboard of the system, by the programs that have it: which one fits, and giving it a text."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Mapping

_LIMIT_S = 5.0

Copier = Callable[[str], Awaitable[str | None]]
"""Puts a text into a clipboard; gives the name of what has done it, ``None`` where nothing could."""


def system_clipboard(
    environ: Mapping[str, str], platform: str, which: Callable[[str], str | None] = shutil.which
) -> Copier:
    """Copies with the first program that is there and does it."""

    async def copy(text: str) -> str | None:
        for command in _commands(environ, platform):
            if which(command[0]) and await _run(command, text):
                return command[0]
        return None

    return copy


async def no_clipboard(text: str) -> None:
    """There is no program for it."""
    return


def _commands(environ: Mapping[str, str], platform: str) -> Iterator[list[str]]:
    is_remote = any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"))
    # On another machine, its clipboard is not the one of who sits in front of the terminal.
    if not is_remote:
        yield from _local(environ, platform)
    if environ.get("TMUX"):
        # By itself tmux takes no clipboard from programs, but gives one to the terminal when it is told to.
        yield ["tmux", "load-buffer", "-w", "-"]


def _local(environ: Mapping[str, str], platform: str) -> Iterator[list[str]]:
    if platform == "darwin":
        yield ["pbcopy"]
    if platform == "win32" or environ.get("WSL_DISTRO_NAME") or environ.get("WSL_INTEROP"):
        yield ["clip.exe"]
    if environ.get("WAYLAND_DISPLAY"):
        yield ["wl-copy"]
    if environ.get("DISPLAY"):
        yield ["xclip", "-selection", "clipboard"]
        yield ["xsel", "--clipboard", "--input"]


async def _run(command: list[str], text: str) -> bool:
    # Some stay to hand out the text later: nobody waits for their output, and they outlive the chat.
    encoding = "utf-16" if command[0] == "clip.exe" else "utf-8"
    nothing = subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing, start_new_session=True
        )
    except OSError:
        return False
    try:
        await asyncio.wait_for(process.communicate(text.encode(encoding, "replace")), _LIMIT_S)
    except TimeoutError:
        process.kill()
        await process.wait()
    return process.returncode == 0
