"""Runs one command of the user: data on its standard input, a time limit, bounded output, nothing left behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from amplifier_modkit.processes import Limits, start
from amplifier_modkit.secrets import secret_env_names

_SHELL = "/bin/sh"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a command: its exit code and output, or the trouble that kept it from ending by itself."""

    exit_code: int | None
    stdout: str = ""
    stderr: str = ""
    trouble: str = ""
    is_truncated: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What commands run in."""

    cwd: Path
    env: Mapping[str, str]
    max_output_bytes: int


def scrubbed_environment(allowed: Iterable[str], further: Mapping[str, str]) -> dict[str, str]:
    """The variables of this process without those that hold secrets, but for the ``allowed``, and with ``further``."""
    hidden = secret_env_names(os.environ) - set(allowed)
    return {name: value for name, value in os.environ.items() if name not in hidden} | dict(further)


async def run(command: str, stdin: bytes, timeout_s: float, around: Surroundings) -> Outcome:
    """Runs ``command`` as the user wrote it; whatever happens, it has ended with all it had started afterwards.

    Nothing of the data is ever part of what the shell reads as a command.
    """
    limits = Limits(max_output_bytes=around.max_output_bytes)
    try:
        process = await start((_SHELL, "-c", command), env=around.env, cwd=around.cwd, limits=limits, stdin=stdin)
    except OSError as error:
        return Outcome(None, trouble=f"could not be started: {error}")
    try:
        async with asyncio.timeout(timeout_s):
            code = await process.wait()
    except TimeoutError:
        return Outcome(None, trouble=f"did not end within {timeout_s:g} s and was stopped")
    finally:
        await process.end()
    stdout, stderr = process.outputs["stdout"], process.outputs["stderr"]
    return Outcome(code, stdout.text(), stderr.text(), is_truncated=stdout.is_truncated)
