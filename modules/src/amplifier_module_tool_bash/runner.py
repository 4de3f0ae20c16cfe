"""Starts the commands of one session: in its sandbox, with its environment, and told as they write."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import tempfile
import time
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

from amplifier_modkit.paths.policy import PathPolicy
from amplifier_modkit.paths.working_dir import working_dir_of
from amplifier_modkit.processes import Confinement, KeptProcess, Limits, start
from amplifier_module_tool_bash.config import BashConfig
from amplifier_module_tool_bash.environment import environment
from amplifier_module_tool_bash.sandbox import Offer, Sandbox, choose
from amplifier_module_tool_bash.streaming import OutputTeller
from amplifier_module_tool_bash.surroundings import Runtime, Surroundings, surroundings_of

TOOL_NAME = "bash"
# A file with a secret that appears is hidden after so many seconds, or so many times what it takes to look for it.
_LOOK_AGAIN_S = 1.0
_LOOK_SHARE = 10


class Run:
    """One command that runs or has run; whoever has it ends it."""

    def __init__(self, run_id: str, process: KeptProcess, teller: OutputTeller) -> None:
        self.id = run_id
        self.process = process
        self._teller = teller

    async def wait(self) -> int:
        """Waits for the end of the command, and until its output was told; returns its exit code."""
        code = await self.process.wait()
        await self._teller.close()
        return code

    async def end(self) -> None:
        """Ends the command with everything it has started."""
        await self.process.end()
        await self._teller.close()


class Runner:
    """Starts commands; lives as long as the tools of one session."""

    def __init__(self, coordinator: Any, config: BashConfig, policy: PathPolicy, temporary: Path) -> None:
        self.config = config
        self.sandbox = Sandbox("off")
        self._coordinator = coordinator
        self._policy = policy
        self._temporary = temporary
        self._shell = shutil.which("bash") or "/bin/bash"
        self._runtime = Runtime.of_this_process()
        self._numbers = itertools.count(1)
        self._clock = time.monotonic
        self._known: tuple[Surroundings, float] | None = None
        """What was found around, and when it has to be looked for again."""
        limit = config.max_concurrent
        self.slot: AbstractAsyncContextManager[Any] = nullcontext() if limit is None else asyncio.Semaphore(limit)
        """Held by a command that is waited for."""

    @classmethod
    async def of_session(cls, coordinator: Any, config: BashConfig) -> Runner:
        """The runner of a session that begins; raises ``SandboxError`` where one is required and there is none."""

        def make() -> Runner:
            policy = PathPolicy.from_config(config, working_dir_of(coordinator, config.working_dir))
            return cls(coordinator, config, policy, Path(tempfile.mkdtemp(prefix="amplifier-bash-")).resolve())

        runner = await asyncio.to_thread(make)
        try:
            offer = await asyncio.to_thread(Offer.of_this_machine)
            runner.sandbox = await choose(config.sandbox, offer, await runner._surroundings())
        except BaseException:
            runner.close()
            raise
        return runner

    async def start(self, command: str) -> Run:
        """Starts a command by a shell; raises ``OSError`` if that cannot be."""
        run_id = f"run_{next(self._numbers)}"
        teller = OutputTeller(self._coordinator.hooks, TOOL_NAME, run_id)
        process = await start(
            (self._shell, "--noprofile", "--norc", "-c", "--", command),
            env=self._environment(),
            cwd=self._policy.working_dir,
            confinement=await self._confinement(),
            limits=Limits(max_output_bytes=self.config.max_output_bytes),
            listener=teller.take,
        )
        return Run(run_id, process, teller)

    @property
    def writable_told(self) -> str:
        """Where commands may write, in words."""
        return ", ".join([*map(str, self._policy.writable_roots()), "/tmp" if self.sandbox.temporary else "$TMPDIR"])

    def close(self) -> None:
        """Removes the session's temporary files."""
        shutil.rmtree(self._temporary, ignore_errors=True)

    def _environment(self) -> dict[str, str]:
        found = environment(os.environ, self.config)
        if self.sandbox.confine is None:
            return found
        return {**found, "TMPDIR": self.sandbox.temporary or str(self._temporary), **self.config.env}

    async def _confinement(self) -> Confinement:
        if self.sandbox.confine is None:
            return Confinement()
        surroundings = await self._surroundings()
        return await asyncio.to_thread(self.sandbox.confine, await asyncio.to_thread(surroundings.as_of_now))

    async def _surroundings(self) -> Surroundings:
        """What is around; looking for secrets goes through all the files, so it is not done for each command."""
        if self._known is not None and self._clock() < self._known[1]:
            return self._known[0]
        begun = self._clock()
        found = await asyncio.to_thread(
            surroundings_of, self._policy, self._temporary, self._runtime, network=self.config.network
        )
        ended = self._clock()
        self._known = found, ended + max(_LOOK_AGAIN_S, _LOOK_SHARE * (ended - begun))
        return found
